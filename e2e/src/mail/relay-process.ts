// `runnel mail-relay` as a mail server has it: a process of its own, with the agent of a device.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type Device, LAUNCHER, waitFor } from "../harness/index.ts";

const READY_MS = 30_000;

export interface RelayProcess {
  readonly port: number;
  /** All that it has said of the mails that it had, a line for each. */
  readonly said: readonly string[];
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  stop(): Promise<number | null>;
}

/** Starts one on loopback, at a free port unless options say otherwise, and waits until it listens. */
export async function startRelay(
  device: Device,
  { volume, next, args = [] }: { volume: string; next: number; args?: readonly string[] },
): Promise<RelayProcess> {
  const listen = args.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const words = ["mail-relay", "--to", volume, "--next", `127.0.0.1:${next}`, ...listen, ...args, "--json"];
  const child = spawn(process.execPath, [LAUNCHER, ...words], {
    cwd: "/",
    env: device.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: string[] = [];
  let ready: string | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => (ready ??= line));
  createInterface({ input: child.stderr }).on("line", (line) => said.push(line));
  const first = await waitFor(
    () => {
      if (child.exitCode !== null) throw new Error(`The relay ended: ${said.join("\n")}`);
      return ready;
    },
    READY_MS,
    "the relay's first line",
  );
  const { listen: at } = JSON.parse(first) as { listen: string };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (hasEnded(child)) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  };
  return {
    port: Number(at.slice(at.lastIndexOf(":") + 1)),
    said,
    kill: () => end("SIGKILL"),
    stop: async () => {
      await end("SIGTERM");
      return child.exitCode;
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
