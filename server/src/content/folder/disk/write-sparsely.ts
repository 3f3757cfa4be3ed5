// Writing into a new file: long runs of zeros are skipped, so that they become holes.
import type { DiskFile } from "@runnel/shared";

const BLOCK_BYTES = 4096;
/** Shorter runs of zeros are written: a hole saves less than one more write costs. */
export const HOLE_BYTES = 16 * BLOCK_BYTES;
const ZEROS = Buffer.alloc(BLOCK_BYTES);

/** True when something was excluded: the file may be shorter than its content. */
export async function writeSparsely(file: DiskFile, offset: number, bytes: Uint8Array): Promise<boolean> {
  const holes = holesOf(offset, bytes);
  let at = 0;
  for (const { start, end } of [...holes, { start: bytes.length, end: bytes.length }]) {
    if (start > at) await file.write(offset + at, bytes.subarray(at, start));
    at = end;
  }
  return holes.length > 0;
}

/** Long runs of zeros, as positions in `bytes`; blocks are the file's. */
function holesOf(offset: number, bytes: Uint8Array): { start: number; end: number }[] {
  const holes: { start: number; end: number }[] = [];
  let start: number | undefined;
  const endAt = (end: number): void => {
    if (start !== undefined && end - start >= HOLE_BYTES) holes.push({ start, end });
    start = undefined;
  };
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + BLOCK_BYTES - ((offset + at) % BLOCK_BYTES));
    if (bytes[at] === 0 && isZero(bytes.subarray(at, end))) start ??= at;
    else endAt(at);
    at = end;
  }
  endAt(bytes.length);
  return holes;
}

function isZero(block: Uint8Array): boolean {
  return Buffer.compare(block, ZEROS.subarray(0, block.length)) === 0;
}
