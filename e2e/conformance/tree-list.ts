// Compares what two folders show: names, types, modes, sizes, links, contents. Both are read by child processes.
import { run } from "../src/harness/index.ts";

/** Differences that are shown; the rest is counted. */
const SHOWN_MAX = 10;

/**
 * A line per node, and one per file for its content. A folder's size says nothing; what the server keeps for itself is
 * no part of a volume.
 */
const LIST = `cd "$1"
find . -path ./.runnel-store -prune -o -mindepth 1 \\( -type d -printf 'd %m %P\\n' -o -printf '%y %m %s %n %l %P\\n' \\)
find . -path ./.runnel-store -prune -o -type f -print0 | xargs -0 -r sha256sum --`;

async function listOf(folder: string, deadlineMs: number): Promise<Set<string>> {
  const listed = await run("bash", ["-euo", "pipefail", "-c", LIST, "bash", folder], { deadlineMs });
  if (listed.code === 0) return new Set(listed.stdout.split("\n").filter((line) => line !== ""));
  throw new Error(`Could not list ${folder} (${listed.isOverdue ? "overdue" : listed.code}): ${listed.stderr.trim()}`);
}

/** A sentence for each line that one side lacks. */
export async function differences(drive: string, served: string, deadlineMs: number): Promise<string[]> {
  const onDrive = await listOf(drive, deadlineMs);
  const onServer = await listOf(served, deadlineMs);
  const found = [
    ...[...onDrive].filter((line) => !onServer.has(line)).map((line) => `only the drive shows: ${line}`),
    ...[...onServer].filter((line) => !onDrive.has(line)).map((line) => `only the server's folder shows: ${line}`),
  ];
  if (found.length <= SHOWN_MAX) return found;
  return [...found.slice(0, SHOWN_MAX), `and ${found.length - SHOWN_MAX} differences more`];
}
