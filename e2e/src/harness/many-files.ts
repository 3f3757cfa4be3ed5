// A served folder with very many files, all empty, half of them in one folder and half in folders of a hundred; and a
// drive of it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Device } from "./product.ts";
import { mustRun, onMount } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";

const IN_FOLDER = 100;
const MAKE_MS = 120_000;

export interface ManyFiles {
  served: string;
  device: Device;
  drive: string;
}

/**
 * They lie below `many`, and a file `kept` beside that. `mounting`: what is to be done to the agent before it mounts
 * them.
 */
export async function serveMany(
  sandbox: Sandbox,
  files: number,
  readyMs: number,
  mounting: (agentPid: number) => void = () => undefined,
): Promise<ManyFiles> {
  const served = sandbox.makeFolder("served");
  mkdirSync(join(served, "many"));
  const make = `cd "$1" && seq ${files / 2} | xargs touch && seq -f "f%g" ${files / 2 / IN_FOLDER} | while read -r d; do mkdir $d; (cd $d; seq ${IN_FOLDER} | xargs touch); done`;
  await mustRun("bash", ["-c", make, "bash", join(served, "many")], { deadlineMs: MAKE_MS });
  await mustRun("touch", [join(served, "kept")]);
  const other = sandbox.makeFolder("other");
  const server = await sandbox.startServer({ volumes: { docs: served, other }, readyMs });
  const device = sandbox.device();
  await device.mount(`${server.url}/other`, sandbox.makeFolder("other-drive"));
  mounting(device.agentPid());
  const drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive);
  return { served, device, drive };
}

/** Removes all of them with `runnel remove` and returns what is left in the drive and in the served folder. */
export async function removeMany(
  { served, device, drive }: ManyFiles,
  deadlineMs: number,
): Promise<{ removed: unknown; drive: string; served: string }> {
  const { removed } = await device.ask(["remove", join(drive, "many")], { deadlineMs });
  const left = await onMount('ls "$1"', [drive]);
  await device.flush(drive, { up: true, deadlineMs });
  return { removed, drive: left, served: await onMount('ls "$1"', [served]) };
}
