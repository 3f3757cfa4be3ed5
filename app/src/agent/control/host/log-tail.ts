// Reads the end of a log file.
import { open } from "node:fs/promises";
import { fromSystemError } from "@runnel/shared/base";

/** Bytes read at most: what is asked for is some hundred lines. */
const TAIL_BYTES_MAX = 256 * 1024;

/** Returns the last lines of a file, the oldest first; none when there is none. */
export async function logTail(path: string, lines: number): Promise<string[]> {
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    const length = Math.min(size, TAIL_BYTES_MAX);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const all = buffer.subarray(0, bytesRead).toString().split("\n");
    // The first one may have lost its beginning.
    if (length < size) all.shift();
    return all.filter((line) => line !== "").slice(-lines);
  } catch (error) {
    const known = fromSystemError(error, "read the log");
    if (known.kind === "NotFound") return [];
    throw known;
  }
}
