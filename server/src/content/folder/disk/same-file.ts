// Tells whether what is on disk is what was recorded. A handle is a file's identity; the stat tuple tells whether its
// content can have changed.
import { type DiskStat, NS_PER_MS } from "@runnel/shared";

/**
 * A change within this time of the tuple need not show in it (clock granularity), so digests taken then are not
 * trusted.
 */
export const SETTLE_MS = 2000;

export function isSameHandle(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && a.length > 0 && Buffer.compare(a, b) === 0;
}

/** A handle as a key of a Map. */
export function handleKey(handle: Uint8Array): string {
  return Buffer.from(handle.buffer, handle.byteOffset, handle.byteLength).toString("latin1");
}

/**
 * Nothing happened to the file: neither to its bytes nor to its attributes nor to its names. The device number may
 * differ after a reboot.
 */
export function isSameTuple(a: DiskStat, b: DiskStat): boolean {
  return a.ctimeNs === b.ctimeNs && a.ino === b.ino && isSameContent(a, b);
}

/** Nothing happened to its bytes: as it was, or a name of it came or went elsewhere, which explains another ctime. */
export function isSameBytes(a: DiskStat, b: DiskStat): boolean {
  return isSameTuple(a, b) || (a.ino === b.ino && a.nlink !== b.nlink && isSameContent(a, b));
}

/** Compares size and mtime alone; used where our own rename has changed the ctime. */
export function isSameContent(a: DiskStat, b: DiskStat): boolean {
  return a.type === b.type && a.sizeBytes === b.sizeBytes && a.mtimeNs === b.mtimeNs;
}

/** Old enough that any later change shows. */
export function isSettled(stat: DiskStat, wallNs: bigint): boolean {
  return wallNs - stat.ctimeNs >= BigInt(SETTLE_MS) * NS_PER_MS;
}

/**
 * Any write since shows, however young the tuple is: it sets the mtime to the time of the write, which this one is not.
 */
export function wouldShow(stat: DiskStat, wallNs: bigint): boolean {
  return stat.mtimeNs < stat.ctimeNs || stat.mtimeNs > wallNs;
}
