// Starts a program that outlives its starter, as a process of Node's; what a system wants beside that, it says.
import { spawn, type SpawnOptions } from "node:child_process";
import { closeLog, openLog } from "./log-file.ts";
import type { BackgroundProgram, Launched } from "./system.ts";

export function launch(
  { command: [program, ...words], folder, environment, logPath }: BackgroundProgram,
  options: SpawnOptions,
): Launched {
  const log = openLog(logPath);
  let hasFailed = false;
  try {
    const stdio = ["ignore", log, log] as const;
    const child = spawn(program, words, { ...options, cwd: folder, env: environment, stdio: [...stdio] });
    child.once("exit", (code) => {
      hasFailed = code !== 0;
    });
    child.once("error", () => {
      hasFailed = true;
    });
    child.unref();
  } finally {
    closeLog(log);
  }
  return { hasFailed: () => hasFailed };
}
