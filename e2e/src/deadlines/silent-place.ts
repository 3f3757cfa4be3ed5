// A server, a link to it and one drive, where tests make the server silent.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Device,
  type LinkEmulator,
  type MountStatus,
  Sandbox,
  type ServerProcess,
  noise,
  onMount,
  waitFor,
  waitForMount,
} from "../harness/index.ts";

export const READY_MS = 30_000;
/** A program in the kernel that waits for the drive, for its pages or for a lock (proc(5), wchan). */
const WAITS = /fuse|request_wait|folio|lock/;
/** Long, so that no renewal finds out by itself that the server is silent. */
const LEASE_TERM_SECONDS = 120;

export class SilentPlace {
  readonly sandbox = new Sandbox();
  readonly served = this.sandbox.makeFolder("served");
  readonly drive = this.sandbox.makeFolder("drive");
  readonly device: Device = this.sandbox.device();
  server!: ServerProcess;
  link!: LinkEmulator;

  /** Mounted; the file `held` has been read, `unseen` has not. */
  async start(): Promise<void> {
    const { sandbox, served, drive } = this;
    writeFileSync(join(served, "held"), "seen before");
    writeFileSync(join(served, "unseen"), noise(5_000_000, 3));
    this.server = await sandbox.startServer({ volumes: { docs: served }, leaseTerm: LEASE_TERM_SECONDS });
    this.link = await sandbox.startEmulator(this.server.port);
    await this.mount();
    await this.waitForStatus(({ state }) => state === "connected", "the whole tree");
    await onMount('cat "$1/held" > /dev/null', [drive]);
  }

  get url(): string {
    return `ws://127.0.0.1:${this.link.port}/docs`;
  }

  async mount(): Promise<void> {
    await this.device.mount(this.url, this.drive);
  }

  async waitForStatus(condition: (status: MountStatus) => boolean, what: string): Promise<void> {
    await waitForMount(this.device, condition, READY_MS, what);
  }

  /** A program that goes on by itself, with pipes to it and from it. */
  program(command: string, ...args: string[]): ChildProcess {
    return spawn(command, args, { cwd: "/", env: this.sandbox.env, stdio: ["pipe", "pipe", "inherit"] });
  }

  /** A verb, and how long it took. */
  async timed(args: string[]): Promise<{ tookMs: number; text: string; code: number | null }> {
    const { durationMs, stdout, stderr, code } = await this.device.runnel(args, { deadlineMs: 60_000 });
    return { tookMs: durationMs, text: stdout + stderr, code };
  }
}

/** Resolves when a program has said something. */
export async function output(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error("Its output is not read.");
  await once(child.stdout, "data");
}

export async function waitsInKernel(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) throw new Error("It was not started.");
  const isWaiting = (): boolean => {
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode} instead of waiting.`);
    return WAITS.test(readFileSync(`/proc/${pid}/wchan`, "utf8"));
  };
  await waitFor(isWaiting, READY_MS, "the program to wait");
}

/** Milliseconds from the signal until the program is gone. */
export async function endBy(child: ChildProcess, signal: NodeJS.Signals): Promise<number> {
  const exit = once(child, "exit");
  const startMs = performance.now();
  child.kill(signal);
  await exit;
  return performance.now() - startMs;
}
