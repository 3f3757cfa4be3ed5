// The agent's control socket, as a face that stays: what a test does a thousand times need not start a program each
// time.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

const CONTROL_VERSION = 1;

/** An object as a verb's --json prints it. */
export type Json = Record<string, unknown>;

interface Answer {
  id?: number;
  part?: Json;
  result?: Json;
  error?: { kind: string; message: string };
}

export class Control {
  readonly #socket: Socket;
  readonly #pending = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  readonly #parts = new Map<number, (part: Json) => void>();
  #last = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    createInterface({ input: socket }).on("line", (line) => {
      const answer = JSON.parse(line) as Answer;
      if (answer.id === undefined) return;
      if (answer.part !== undefined) {
        this.#parts.get(answer.id)?.(answer.part);
        return;
      }
      this.#pending.get(answer.id)?.resolve(answer);
      this.#pending.delete(answer.id);
    });
    socket.on("close", () => {
      for (const { reject } of this.#pending.values()) reject(new Error("The agent closed its socket."));
    });
  }

  /** The agent must be running. */
  static async of(device: { home: string }): Promise<Control> {
    const { socket: path } = JSON.parse(readFileSync(join(device.home, "agent.json"), "utf8")) as { socket: string };
    const socket = connect(path);
    await once(socket, "connect");
    socket.write(`${JSON.stringify({ hello: { protocol: CONTROL_VERSION, version: "test" } })}\n`);
    return new Control(socket);
  }

  /** @throws with the agent's sentence, or when there is no answer in time. */
  async ask(request: Json, options: { deadlineMs?: number } = {}): Promise<Json> {
    const id = ++this.#last;
    const answered = new Promise<Answer>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
    this.#socket.write(`${JSON.stringify({ id, request })}\n`);
    const { result, error } = await inTime(answered, options.deadlineMs, `the agent's answer to ${request["verb"]}`);
    if (result === undefined) throw new Error(`${error?.kind}: ${error?.message}`);
    return result;
  }

  /** The first part of an answer; what would follow is not asked for. */
  async firstPart(request: Json): Promise<Json> {
    const id = ++this.#last;
    const part = await new Promise<Json>((resolve, reject) => {
      this.#parts.set(id, resolve);
      this.#pending.set(id, {
        resolve: ({ error }) => reject(new Error(`It ended without a part. ${error?.message ?? ""}`)),
        reject,
      });
      this.#socket.write(`${JSON.stringify({ id, request })}\n`);
    });
    this.#parts.delete(id);
    this.#socket.write(`${JSON.stringify({ cancel: id })}\n`);
    return part;
  }

  close(): void {
    this.#socket.destroy();
  }
}

async function inTime<T>(result: Promise<T>, deadlineMs: number | undefined, what: string): Promise<T> {
  if (deadlineMs === undefined) return result;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${deadlineMs} ms for ${what}.`)), deadlineMs);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
