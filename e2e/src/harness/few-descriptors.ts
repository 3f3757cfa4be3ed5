// An agent that may have few files open, beside a volume of many, and a program that uses them all.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Device, LAUNCHER } from "./product.ts";
import { mustRun, onMount } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";

const PROGRAM = fileURLToPath(new URL("../../test/fixtures/many_files.py", import.meta.url));
const IN_FOLDER = 100;

export interface FewDescriptors {
  device: Device;
  drive: string;
  served: string;
  /** Descriptors that the agent has open. */
  open(): number;
  /** Reads and writes all files; what went wrong, and "done". */
  useAll(deadlineMs: number): Promise<string>;
}

/** The program has `openFiles` of the `files` open at a time. `args`: more of them for the mount. */
export async function withFewDescriptors(
  sandbox: Sandbox,
  {
    limit,
    files,
    openFiles,
    readyMs,
    args = [],
  }: { limit: number; files: number; openFiles: number; readyMs?: number; args?: readonly string[] },
): Promise<FewDescriptors> {
  const served = sandbox.makeFolder("served");
  for (let number = 0; number < files; number++) {
    const folder = join(served, `d${Math.floor(number / IN_FOLDER)}`);
    if (number % IN_FOLDER === 0) mkdirSync(folder);
    writeFileSync(join(folder, `f${number}`), `content ${number}`);
  }
  const server = await sandbox.startServer({
    volumes: { docs: served },
    ...(readyMs === undefined ? {} : { readyMs }),
  });
  const device = sandbox.device();
  const drive = sandbox.makeFolder("drive");
  const script = 'ulimit -n "$1"; exec "${@:2}"';
  const mount = [process.execPath, LAUNCHER, "mount", `${server.url}/docs`, drive, ...args];
  await mustRun("bash", ["-c", script, "bash", String(limit), ...mount], { env: device.env, deadlineMs: 60_000 });
  return {
    device,
    drive,
    served,
    open: () => readdirSync(`/proc/${device.agentPid()}/fd`).length,
    useAll: (deadlineMs) => onMount('python3 "$@"', [PROGRAM, drive, String(files), String(openFiles)], { deadlineMs }),
  };
}

/** The content of each file that the program wrote, as the served folder has it. */
export function writtenIn(served: string, files: number): number {
  let right = 0;
  for (let number = 0; number < files; number++) {
    const path = join(served, `n${Math.floor(number / IN_FOLDER)}`, `f${number}`);
    if (readFileSync(path, "utf8") === `new ${number}`) right += 1;
  }
  return right;
}
