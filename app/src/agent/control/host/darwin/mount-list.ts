// Parses what mount(8) of macOS prints: "SOURCE on MOUNTPOINT (FILESYSTEM, OPTION, … mounted by USER)". Nothing is
// escaped: a path with a line break in it is not read as it is, and may look like a mount that is not there. Drives of
// this process are therefore noted beside it (mount-table.ts).
import { type MountTableEntry, servedDrive } from "@runnel/shared/base";

/** Bytes of a path are 1024 at most on macOS (MAXPATHLEN), a line has two of them. */
const LINE_CHARACTERS_MAX = 4096;
const LINES_MAX = 16_384;

/** Address that an agent has mount_nfs map: 128 random bits on loopback. */
const SERVED = /^127\.0\.0\.1:\/[0-9a-f]{32}$/;
const ENDING = /^(\w[\w.-]*)(?:, [^()]*)?\)$/;

/** Every mount that a line tells of, the one on top last. Lines of another shape are skipped. */
export function parseMountList(text: string): MountTableEntry[] {
  const entries: MountTableEntry[] = [];
  for (const line of text.split("\n", LINES_MAX)) {
    const entry = line.length <= LINE_CHARACTERS_MAX ? parseLine(line) : undefined;
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** Paths may have " on " and " (" in them. Of a drive the source has neither; options and types have no brackets. */
function parseLine(line: string): MountTableEntry | undefined {
  const options = line.lastIndexOf(" (");
  const on = line.indexOf(" on /");
  if (on <= 0 || options <= on) return undefined;
  const fileSystem = ENDING.exec(line.slice(options + " (".length))?.[1];
  const source = line.slice(0, on);
  const mountpoint = line.slice(on + " on ".length, options);
  if (fileSystem === undefined) return undefined;
  if (fileSystem === "nfs" && SERVED.test(source)) return servedDrive(mountpoint);
  return { mountpoint, device: "", fileSystem, source };
}
