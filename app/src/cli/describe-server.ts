// Says in sentences how a server stands with its folder: what happened, then what to do.
import type { ServerStatus, Stuck } from "../agent/mount-status.ts";
import { formatCount, formatPercent } from "./format.ts";

/** More are counted; --json has them all. */
const SHOWN_MAX = 5;

export function describeServer(server: ServerStatus): string[] {
  const { scan, salvaged, destroyed, missing, incomplete, conflicts, lost, excluded } = server;
  const lines: string[] = [];
  if (scan !== null) lines.push(describeScan(scan));
  lines.push(...describePending(server));
  for (const { changes, atMs } of salvaged) {
    const were = formatCount(changes, "change that was saved was", "changes that were saved were");
    lines.push(`The server lost its index (${day(atMs)}); ${were} brought back into its folder.`);
  }
  lines.push(
    ...newest(destroyed, ({ path, seq }) => {
      return `${named(path)} (change ${seq}) was saved, and before it was in its plain file a program on the server destroyed bytes of it: that save cannot be read. Save it again from a copy.`;
    }),
    ...newest(missing, ({ path, seq }) => {
      return `${path} (change ${seq}) was saved and could not be brought back when the server lost its index. Save it again from a copy.`;
    }),
    ...newest(incomplete, ({ path, conflictCopy, missing: ranges, missingBytes }) => {
      return `A save of ${path} lacks ${formatCount(missingBytes, "byte", "bytes")} that a program on the server overwrote meanwhile (${describeRanges(ranges)}). What there is of it is ${conflictCopy}.`;
    }),
    ...newest(conflicts, ({ path, conflictCopy }) => {
      return `${path} was changed on the server and from a drive at once. Both are kept; the server's is ${conflictCopy}. Remove or rename that one to settle it.`;
    }),
  );
  if (lost.length > 0) lines.push(describeLost(lost));
  if (excluded.count > 0) lines.push(describeExcluded(excluded));
  return lines;
}

function describeRanges(ranges: readonly { offset: number; length: number }[]): string {
  return list(
    ranges.map(({ offset, length }) => `from ${offset} to ${offset + length}`),
    ranges.length,
  );
}

function describeScan({ why, done, total, stuck }: NonNullable<ServerStatus["scan"]>): string {
  const until = "Until then files may show as they were.";
  if (why === "behind") return `Programs on the server changed much at once: ${names(total)} to look at. ${until}`;
  const began = why === "start" ? "The server has started" : "The server may have missed changes of programs there";
  const far = total === 0 ? names(done) : formatPercent(Math.min(99, (100 * done) / total));
  const stops = stuck === null ? "" : ` It stops${at(stuck)}: ${reason(stuck, "read")}`;
  return `${began} and is looking through its folder: ${far} so far.${stops} ${until}`;
}

/** Says what keeps saved changes from the server's plain files, if anything does. */
export function describeStuck(server: ServerStatus): string[] {
  return server.stuck === null ? [] : describePending(server);
}

function describePending({ pending, stuck }: ServerStatus): string[] {
  if (pending === 0) return [];
  const saved = formatCount(pending, "change is", "changes are");
  if (stuck === null) return [`${saved} saved, and on the way into the server's plain files.`];
  const isOfAll = ["NoSpace", "Quota", "Unavailable"].includes(stuck.kind);
  const stops = isOfAll ? "It stops" : "The first of them cannot be put in place";
  const others = isOfAll ? "" : " What does not depend on it goes on.";
  const why = `${stops}${at(stuck)}: ${reason(stuck, "write")}${others}`;
  return [`${saved} saved, but not in the server's plain files yet. ${why}`];
}

function at({ path }: Stuck): string {
  return path === "" ? "" : ` at ${path}`;
}

function reason({ kind, sentence }: Stuck, act: "read" | "write"): string {
  if (kind === "NoSpace") return "the disk of the folder is full. Make room there.";
  if (kind === "Quota") return "the server's quota on the disk of the folder is used up. Make room there.";
  if (kind === "Denied") return `the server may not ${act} there. Grant it the right.`;
  if (kind === "ReadOnly") return "the folder's file system is read-only. Mount it writable.";
  return `${sentence} It is tried again.`;
}

function describeLost(lost: ServerStatus["lost"]): string {
  const versions = lost.reduce((sum, file) => sum + file.versions, 0);
  const old = formatCount(versions, "older version is", "older versions are");
  const paths = lost.map(({ path }) => path).filter((path) => path !== "");
  const to = paths.length === 0 ? "files" : list(paths.toReversed(), paths.length);
  return `Programs on the server wrote to ${to} in place: ${old} not kept. What the files hold now is whole.`;
}

function named(path: string): string {
  return path === "" ? "A file without a name" : path;
}

function describeExcluded({ count, paths }: ServerStatus["excluded"]): string {
  const left = formatCount(count, "name on the server is", "names on the server are");
  return `${left} left out, since drives cannot show such names: ${list(paths, count)}.`;
}

function list(paths: readonly string[], count: number): string {
  const shown = paths.slice(0, SHOWN_MAX);
  const more = count - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** Lines of the newest of what is listed oldest first. */
function newest<T>(all: readonly T[], line: (one: T) => string): string[] {
  const lines = all.slice(-SHOWN_MAX).toReversed().map(line);
  if (all.length > SHOWN_MAX) lines.push(`And ${all.length - SHOWN_MAX} more: runnel status --json lists them.`);
  return lines;
}

function names(count: number): string {
  return formatCount(count, "name", "names");
}

function day(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
