// Processes that end by SIGKILL at their n-th change to the disk: the environment that arms them. What counts and how
// is in stop_at.cc, which a test has compiled.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mustRun } from "../harness/run.ts";
import type { Sandbox } from "../harness/sandbox.ts";

const SOURCE = fileURLToPath(new URL("stop_at.cc", import.meta.url));
const COMPILE_MS = 60_000;

export interface Stop {
  /** 0: never; only counted. */
  at: number;
  /** A write that is the n-th change is done by half. */
  isTorn?: boolean;
}

export class StopAt {
  readonly #sandbox: Sandbox;
  readonly #library: string;

  constructor(sandbox: Sandbox, library: string) {
    this.#sandbox = sandbox;
    this.#library = library;
  }

  /** Compiles the library into a folder; its path. */
  static async build(folder: string): Promise<string> {
    const library = join(folder, "stop_at.so");
    await mustRun("c++", ["-std=c++20", "-O1", "-shared", "-fPIC", "-o", library, SOURCE], { deadlineMs: COMPILE_MS });
    return library;
  }

  /**
   * Environment for a process of `program` (words of its command line), which counts changes below the folders while it
   * is armed.
   */
  environment(program: string, below: readonly string[], { at, isTorn = false }: Stop): NodeJS.ProcessEnv {
    return {
      LD_PRELOAD: this.#library,
      STOP_AT: String(at),
      STOP_AT_TORN: isTorn ? "1" : "",
      STOP_AT_PROGRAM: program,
      STOP_AT_BELOW: below.join(":"),
      STOP_AT_ARMED: this.#armed,
      STOP_AT_TRACE: this.#trace,
    };
  }

  arm(): void {
    writeFileSync(this.#armed, "");
  }

  disarm(): void {
    rmSync(this.#armed, { force: true });
  }

  /** The changes counted since the last call, one to a line: for the message of a test that fails. */
  takeTrace(): string[] {
    if (!existsSync(this.#trace)) return [];
    const lines = readFileSync(this.#trace, "utf8").trimEnd().split("\n");
    rmSync(this.#trace);
    return lines;
  }

  get #armed(): string {
    return this.#sandbox.path("stop_at.armed");
  }

  get #trace(): string {
    return this.#sandbox.path("stop_at.trace");
  }
}
