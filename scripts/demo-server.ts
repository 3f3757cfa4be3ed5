// The server of npm start: `runnel serve` as a process of its own, on the port it had last time, which ends with this
// one.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { RunnelError } from "@runnel/shared";

export interface DemoServer {
  /** URL of the demo's volume. */
  url: string;
  ended: Promise<void>;
  end(): Promise<void>;
}

/** A server whose starter was killed needs a moment to see it and to let go of the data. */
const ATTEMPTS = 20;
const ATTEMPT_MS = 250;

/** The object that `runnel serve --json` prints. */
interface Served {
  url?: string;
  volumes?: { url: string }[];
  error?: { kind: string; message: string };
}

/** @throws RunnelError with the server's sentence. */
export async function startDemoServer(root: string, folder: string, setup: string): Promise<DemoServer> {
  const portPath = join(setup, "demo-port");
  let port = readPort(portPath);
  for (let attempt = 1; ; attempt += 1) {
    const child = spawnServer(root, folder, setup, port);
    const served = await firstLine(child);
    const url = served.volumes?.[0]?.url;
    if (url !== undefined) {
      writeFileSync(portPath, new URL(url).port);
      return running(child, url);
    }
    const { kind, message } = served.error ?? {
      kind: "Io",
      message: "The server ended at once; see .setup/demo-server.log.",
    };
    if (kind !== "Busy" || attempt === ATTEMPTS) throw new RunnelError("Io", "start the server", message);
    // The port may be another program's by now.
    port = 0;
    await new Promise((again) => setTimeout(again, ATTEMPT_MS));
  }
}

function spawnServer(root: string, folder: string, setup: string, port: number): ChildProcess {
  const command = join(root, "app", "bin", "runnel.mjs");
  const args = [
    "serve",
    "--volume",
    `demo=${folder}`,
    "--listen",
    `127.0.0.1:${port}`,
    "--data",
    join(setup, "demo"),
    "--json",
  ];
  // A group of its own: Ctrl-C is for this process, which unmounts first. The channel tells the server that this
  // process is gone.
  const log = openSync(join(setup, "demo-server.log"), "a");
  const child = spawn(process.execPath, [command, ...args], { stdio: ["ignore", "pipe", log, "ipc"], detached: true });
  closeSync(log);
  return child;
}

async function firstLine(child: ChildProcess): Promise<Served> {
  if (child.stdout === null) return {};
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) return JSON.parse(line) as Served;
  return {};
}

function running(child: ChildProcess, url: string): DemoServer {
  const ended = new Promise<void>((done) => {
    child.once("exit", () => done());
  });
  return {
    url,
    ended,
    async end() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

function readPort(path: string): number {
  try {
    return Number(readFileSync(path, "utf8")) || 0;
  } catch {
    return 0;
  }
}
