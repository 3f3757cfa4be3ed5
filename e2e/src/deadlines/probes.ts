// Runs the probes of probe.py: one process each, prepared while all is well, let go together, timed by themselves.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { killGroup, mustRun } from "../harness/run.ts";
import { waitFor } from "../harness/wait.ts";

const PROGRAM = fileURLToPath(new URL("probe.py", import.meta.url));

export interface Probe {
  name: string;
  /** Name of the operation, as fuseOperations has it. */
  operation: string;
  /** Kind of the operation for expectations.ts. */
  kind: string;
  isCold: boolean;
}

export interface Job {
  id: string;
  probe: string;
  folder: string;
  phase: string;
}

export interface Outcome {
  id: string;
  /** Duration of the call, and the name of its errno, "" for success. */
  ms?: number;
  error?: string;
  /** Why there was no call at all. */
  unprepared?: string;
}

export async function listProbes(): Promise<Probe[]> {
  return JSON.parse((await mustRun("python3", [PROGRAM, "--list"])).stdout) as Probe[];
}

export class ProbeRun {
  readonly outcomes = new Map<string, Outcome>();
  readonly #jobs: readonly Job[];
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #isReady = false;

  constructor(jobs: readonly Job[], env: NodeJS.ProcessEnv) {
    this.#jobs = jobs;
    this.#child = spawn("python3", [PROGRAM], { cwd: "/", env, detached: true, stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin.on("error", () => {}); // It ends when it is told to.
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(line));
    this.#child.stdin.write(`${JSON.stringify(jobs)}\n`);
  }

  async prepared(deadlineMs: number): Promise<void> {
    await waitFor(() => this.#isReady, deadlineMs, "the probes to be prepared");
  }

  /** Lets the jobs of a phase act. */
  go(phase: string): void {
    this.#child.stdin.write(`${phase}\n`);
  }

  /** Resolves when all jobs of a phase have ended, or the time is up: who is missing then hangs. */
  async ended(phase: string, deadlineMs: number): Promise<void> {
    const ids = this.#jobs.filter((job) => job.phase === phase).map(({ id }) => id);
    await waitFor(() => ids.every((id) => this.outcomes.has(id)), deadlineMs).catch(() => undefined);
  }

  stop(): void {
    killGroup(this.#child);
  }

  #take(line: string): void {
    if (line === "ready") {
      this.#isReady = true;
      return;
    }
    const outcome = JSON.parse(line) as Outcome;
    this.outcomes.set(outcome.id, outcome);
  }
}
