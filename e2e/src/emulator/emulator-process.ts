// The emulator in a process of its own, so that a busy test process cannot bend its timing. One JSON line per request
// on its stdin ({id, method, args}), one per answer on its stdout ({id, result} or {id, error}). It ends when its stdin
// does: it never outlives whoever started it.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { EmulatorSettings, LinkCounts, LinkEmulator, LinkShape } from "./link-emulator.ts";

export type EmulatorRequest = { id: number } & (
  | { method: "start"; args: [EmulatorSettings] }
  | { method: "setShape"; args: [Partial<LinkShape>] }
  | { method: "cut"; args: ["accept" | "refuse"] }
  | { method: "flap"; args: [number, number] }
  | { method: "blackHole" | "restore" | "counts" | "resetCounts" | "close"; args: [] }
);

export interface EmulatorAnswer {
  id: number;
  result?: unknown;
  error?: string;
}

/** JSON has no Infinity: rates without a limit travel as 0. */
export function packShape(shape: Partial<LinkShape>): Partial<LinkShape> {
  return mapRates(shape, (rate) => (rate === Infinity ? 0 : rate));
}

export function unpackShape(shape: Partial<LinkShape>): Partial<LinkShape> {
  return mapRates(shape, (rate) => (rate === 0 ? Infinity : rate));
}

function mapRates(shape: Partial<LinkShape>, map: (rate: number) => number): Partial<LinkShape> {
  const mapped = { ...shape };
  if (mapped.upBitsPerSecond !== undefined) mapped.upBitsPerSecond = map(mapped.upBitsPerSecond);
  if (mapped.downBitsPerSecond !== undefined) mapped.downBitsPerSecond = map(mapped.downBitsPerSecond);
  return mapped;
}

class EmulatorProcess implements LinkEmulator {
  port = 0;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #lastId = 0;

  constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { id, result, error } = JSON.parse(line) as EmulatorAnswer;
      const waiter = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiter?.resolve(result);
      else waiter?.reject(new Error(`emulator: ${error}`));
    });
    child.stdin.on("error", () => {}); // The exit below says it.
    child.on("exit", (code, signal) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the emulator ended (${signal ?? code})`));
      this.#waiting.clear();
    });
  }

  async start(settings: EmulatorSettings): Promise<void> {
    const packed = settings.shape === undefined ? settings : { ...settings, shape: packShape(settings.shape) };
    this.port = (await this.#ask("start", [packed])) as number;
  }

  async setShape(shape: Partial<LinkShape>): Promise<void> {
    await this.#ask("setShape", [packShape(shape)]);
  }

  async cut(newConnections: "accept" | "refuse"): Promise<void> {
    await this.#ask("cut", [newConnections]);
  }

  async blackHole(): Promise<void> {
    await this.#ask("blackHole", []);
  }

  async flap(upMs: number, downMs: number): Promise<void> {
    await this.#ask("flap", [upMs, downMs]);
  }

  async restore(): Promise<void> {
    await this.#ask("restore", []);
  }

  async counts(): Promise<LinkCounts> {
    return (await this.#ask("counts", [])) as LinkCounts;
  }

  async resetCounts(): Promise<void> {
    await this.#ask("resetCounts", []);
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      this.#child.once("exit", () => resolve());
      this.#child.stdin.end();
    });
  }

  #ask(method: EmulatorRequest["method"], args: unknown[]): Promise<unknown> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
      return Promise.reject(new Error("the emulator has ended"));
    }
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ id, method, args })}\n`);
    });
  }
}

/** Starts an emulator in a process of its own. */
export async function startEmulator(settings: EmulatorSettings, env = process.env): Promise<LinkEmulator> {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const child = spawn(process.execPath, [main], { stdio: ["pipe", "pipe", "inherit"], cwd: "/", env });
  const emulator = new EmulatorProcess(child);
  await emulator.start(settings);
  return emulator;
}
