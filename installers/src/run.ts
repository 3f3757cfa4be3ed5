// Runs the tools of a system that make packages.
import { spawnSync } from "node:child_process";

export interface ToolOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** Runs a tool to its end and returns what it printed. @throws Error with its own words, or with what to install. */
export function runTool(command: string, args: readonly string[], options: ToolOptions = {}): string {
  const done = spawnSync(command, args, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    cwd: options.cwd,
    // Words of tools in one language, and files that others may read.
    env: { ...process.env, LC_ALL: "C.UTF-8", ...options.env },
  });
  if (done.error !== undefined) throw new Error(`${command} cannot be run: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`${command} ended with ${done.status}: ${done.stderr || done.stdout}`);
  return done.stdout;
}
