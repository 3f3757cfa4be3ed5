// Homes and processes for the tests: everything that a test starts is ended after it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach } from "@jest/globals";

const FAKE_AGENT = fileURLToPath(new URL("fake-agent.ts", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../bin/runnel.mjs", import.meta.url));

const children = new Set<ChildProcess>();
const folders: string[] = [];

afterEach(async () => {
  await Promise.all(
    [...children].map((child) => {
      const ended = new Promise((done) => child.once("close", done));
      child.kill("SIGKILL");
      return ended;
    }),
  );
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "runnel-test-"));
  folders.push(folder);
  return folder;
}

export interface TestProcess {
  child: ChildProcess;
  /** The first line on its stdout; empty when it ended without one. */
  firstLine: Promise<string>;
  exitCode: Promise<number | null>;
}

function start(
  args: string[],
  home: string,
  env: NodeJS.ProcessEnv = {},
): TestProcess & { stdout: Promise<string>; stderr: Promise<string> } {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env, RUNNEL_HOME: home, NODE_OPTIONS: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  const exitCode = new Promise<number | null>((done) => {
    child.once("close", (code) => {
      children.delete(child);
      done(code);
    });
  });
  const firstLine = new Promise<string>((done) => {
    createInterface({ input: child.stdout }).once("line", done);
    child.once("close", () => done(""));
  });
  return { child, firstLine, exitCode, stdout: collect(child.stdout), stderr: collect(child.stderr) };
}

async function collect(stream: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** A real agent over fake mounts. */
export function startFakeAgent(home: string, idleMs?: number): TestProcess {
  return start([FAKE_AGENT, ...(idleMs === undefined ? [] : [String(idleMs)])], home);
}

/** A process that does nothing. */
export function startSleeper(home: string): TestProcess {
  return start(["-e", "setInterval(() => undefined, 1e6)"], home);
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `runnel` to its end. */
export function runnel(home: string, ...args: string[]): Promise<Ran> {
  return runnelWith({}, home, ...args);
}

/** Runs it with variables besides those of the test. */
export async function runnelWith(env: NodeJS.ProcessEnv, home: string, ...args: string[]): Promise<Ran> {
  const { exitCode, stdout, stderr } = start([COMMAND, ...args], home, env);
  const [code, out, errors] = await Promise.all([exitCode, stdout, stderr]);
  return { code, stdout: out, stderr: errors };
}

/** Ends the agent that a command started by itself. */
export async function stopAgent(home: string): Promise<void> {
  await runnel(home, "stop", "--force");
}

/** A home of its own and an empty folder to mount at. */
export function makePlace(): { home: string; mountpoint: string } {
  const folder = makeFolder();
  const mountpoint = join(folder, "drive");
  mkdirSync(mountpoint);
  return { home: join(folder, "home"), mountpoint };
}
