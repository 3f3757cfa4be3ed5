// A served folder with very many files, all empty, half of them in one folder, and the drive that removes them.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onMount, mustRun } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";

const IN_FOLDER = 100;

/** What is left in the drive and in the served folder when `runnel remove` of all of them has ended. */
export async function removeMany(
  sandbox: Sandbox,
  files: number,
  { readyMs, deadlineMs }: { readyMs: number; deadlineMs: number },
): Promise<{ removed: unknown; drive: string; served: string }> {
  const served = sandbox.makeFolder("served");
  mkdirSync(join(served, "many"));
  const make = `cd "$1" && seq ${files / 2} | xargs touch && seq -f "f%g" ${files / 2 / IN_FOLDER} | while read -r d; do mkdir $d; (cd $d; seq ${IN_FOLDER} | xargs touch); done`;
  await mustRun("bash", ["-c", make, "bash", join(served, "many")], { deadlineMs: 120_000 });
  await mustRun("touch", [join(served, "kept")]);
  const server = await sandbox.startServer({ volumes: { docs: served }, readyMs });
  const device = sandbox.device();
  const drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive);
  const { removed } = await device.ask(["remove", join(drive, "many")], { deadlineMs });
  const left = await onMount('ls "$1"', [drive]);
  await device.flush(drive, { up: true, deadlineMs });
  return { removed, drive: left, served: await onMount('ls "$1"', [served]) };
}
