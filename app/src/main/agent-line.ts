// The tray app's line to the agent: texts, a line each, over the agent's local socket. Starts the agent, by the program `runnel`, when none answers.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Line, LineEvents } from "../../../shared/ui/calls.ts";

/** The agent starts within this time, or is asked to once more. */
const START_MS = 15_000;

export class AgentLine {
  readonly #home: string;
  readonly #program: readonly string[];
  #startedMs = 0;

  /** `program`: the words that start `runnel`. `home`: the agent's folder. */
  constructor(home: string, program: readonly string[]) {
    this.#home = home;
    this.#program = program;
  }

  dial(events: LineEvents): Line {
    let socket: ReturnType<typeof connect> | undefined;
    let isClosed = false;
    const closed = (): void => {
      if (isClosed) return;
      isClosed = true;
      events.closed(false);
    };
    void this.#socketPath().then((path) => {
      if (isClosed) return;
      if (path === undefined) {
        this.#startAgent();
        closed();
        return;
      }
      socket = connect(path, () => events.opened());
      createInterface(socket).on("line", (text) => events.text(text));
      socket.on("error", () => this.#startAgent()).on("close", closed);
    });
    return {
      send: (text) => socket?.write(`${text}\n`),
      close: () => {
        isClosed = true;
        socket?.destroy();
      },
    };
  }

  /** @returns undefined when no agent runs. */
  async #socketPath(): Promise<string | undefined> {
    try {
      const record = JSON.parse(await readFile(join(this.#home, "agent.json"), "utf8")) as { socket?: unknown };
      return typeof record.socket === "string" ? record.socket : undefined;
    } catch {
      return undefined;
    }
  }

  #startAgent(): void {
    if (Date.now() - this.#startedMs < START_MS) return;
    this.#startedMs = Date.now();
    const [command = "runnel", ...words] = this.#program;
    const child = spawn(command, [...words, "ui", "--print"], { stdio: "ignore", env: { ...process.env, RUNNEL_HOME: this.#home } });
    child.on("error", () => undefined);
  }
}
