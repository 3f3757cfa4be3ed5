// Child processes with a deadline. Whatever touches a mount goes through here: a drive that hangs then costs a child,
// never the test process. A child that does not even die of SIGKILL (it waits in the kernel) is left behind; the sweep
// gets it later.
import { type ChildProcess, spawn } from "node:child_process";

export interface RunOptions {
  /** After this the process group is killed. */
  deadlineMs?: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Goes to its stdin, which then ends. */
  input?: string | Uint8Array;
}

export interface RunResult {
  /** Null when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** It was still running at its deadline and was killed. */
  isOverdue: boolean;
  stdout: string;
  stderr: string;
  durationMs: number;
}

const DEADLINE_MS = 20_000;
/** Time that a killed child may take to go. */
const GRACE_MS = 1000;

/** Runs a command to its end or to its deadline. Throws only when it cannot be started. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const startMs = performance.now();
  // A session of its own, so that all that it starts dies with it.
  const child = spawn(command, args, {
    cwd: options.cwd ?? "/",
    env: options.env ?? process.env,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  return new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let isOverdue = false;
    let grace: NodeJS.Timeout | undefined;
    const finish = (code: number | null, signal: NodeJS.Signals | null): void => {
      clearTimeout(deadline);
      clearTimeout(grace);
      resolve({
        code,
        signal,
        isOverdue,
        stdout: Buffer.concat(stdout).toString(),
        stderr: Buffer.concat(stderr).toString(),
        durationMs: performance.now() - startMs,
      });
    };
    const deadline = setTimeout(() => {
      isOverdue = true;
      killGroup(child);
      grace = setTimeout(() => {
        for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
        child.unref();
        finish(null, "SIGKILL");
      }, GRACE_MS);
    }, options.deadlineMs ?? DEADLINE_MS);
    child.stdout.on("data", (bytes: Buffer) => stdout.push(bytes));
    child.stderr.on("data", (bytes: Buffer) => stderr.push(bytes));
    child.stdin.on("error", () => {}); // It may end without reading.
    child.on("error", (error) => {
      clearTimeout(deadline);
      reject(error);
    });
    // "close" rather than "exit": all of its output has been read. A daemon that it left must not hold its pipes.
    child.on("close", finish);
    child.stdin.end(options.input);
  });
}

/** Like run, but throws with the command's own words unless it ends with 0 in time. */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const result = await run(command, args, options);
  if (result.code === 0) return result;
  const shown = [command, ...args].join(" ");
  const ending = result.isOverdue
    ? `was still running after ${Math.round(result.durationMs)} ms`
    : `ended with ${result.signal ?? `code ${result.code}`}`;
  throw new Error(
    `${shown.length > 300 ? `${shown.slice(0, 300)}…` : shown} ${ending}\n${result.stderr || result.stdout}`,
  );
}

export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has gone already.
  }
}

/**
 * A shell script that touches a mount: `onMount('cat "$1"', [path])`. Stops at the first failing command. Returns its
 * stdout.
 */
export async function onMount(script: string, args: readonly string[] = [], options: RunOptions = {}): Promise<string> {
  const { stdout } = await mustRun("bash", ["-euo", "pipefail", "-c", script, "bash", ...args], options);
  return stdout;
}

/**
 * The same for what a shell cannot do: a function that runs in a Node process of its own. It sees only its argument,
 * which travels as JSON as its answer does; it imports what it needs itself (`await import("node:fs")`).
 */
export async function onMountInNode<Argument, Answer>(
  work: (argument: Argument) => Answer | Promise<Answer>,
  argument: Argument,
  options: RunOptions = {},
): Promise<Answer> {
  const code = `const work = ${work.toString()};
const answer = await work(JSON.parse(process.argv[1]));
process.stdout.write("\\n" + JSON.stringify({ answer }));`;
  const args = ["--input-type=module", "-e", code, JSON.stringify(argument)];
  const { stdout } = await mustRun(process.execPath, args, options);
  return (JSON.parse(stdout.slice(stdout.lastIndexOf("\n") + 1)) as { answer: Answer }).answer;
}
