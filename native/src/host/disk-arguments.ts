// Checks what the addon trusts: paths as expected failures, sizes as programmer's errors.
import { RunnelError } from "@runnel/shared/model";
import type { SetStat } from "@runnel/shared";

/** An empty, "." or ".." part; a "/" at either end makes an empty part. */
const BAD_PART = /(^|\/)\.{0,2}(\/|$)/;

/** @throws RunnelError Invalid for a path that is not relative and plain (disk.ts). "" is the root. */
export function checkPath(path: string, operation: string): void {
  if (path === "") return;
  if (BAD_PART.test(path) || path.includes("\0") || !path.isWellFormed()) {
    throw new RunnelError("Invalid", operation, `${operation}: not a path beneath the root`);
  }
}

/** Checks a path like checkPath, for operations that need a name: the root itself has none. */
export function checkName(path: string, operation: string): void {
  if (path === "") throw new RunnelError("Invalid", operation, `${operation}: the root has no name`);
  checkPath(path, operation);
}

/** @throws RunnelError Invalid for text that no system call can carry. */
export function checkText(text: string, operation: string): void {
  if (text.includes("\0") || !text.isWellFormed()) {
    throw new RunnelError("Invalid", operation, `${operation}: not a text for the system`);
  }
}

/** @throws RangeError unless it is a whole number of bytes. */
export function checkSize(value: number, what: string): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${what} is ${value}`);
}

/** @throws RangeError for memory of another length. */
export function checkRoom(into: Uint8Array, length: number): void {
  if (into.length !== length) throw new RangeError(`memory of ${into.length} bytes for ${length}`);
}

/** Offset, length, offset, length, … @throws RangeError unless all are whole numbers of bytes. */
export function flatRanges(ranges: readonly { offset: number; length: number }[]): number[] {
  const flat = ranges.flatMap(({ offset, length }) => [offset, length]);
  for (const value of flat) checkSize(value, "range");
  return flat;
}

export function statChangeArguments(
  change: SetStat,
): [number | undefined, number | undefined, number | undefined, bigint | undefined] {
  for (const value of [change.mode, change.uid, change.gid]) if (value !== undefined) checkSize(value, "stat field");
  return [change.mode, change.uid, change.gid, change.mtimeNs];
}
