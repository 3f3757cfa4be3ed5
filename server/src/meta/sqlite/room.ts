// Finds out by trying whether a folder takes more bytes: what the system says of the disk's room knows of no quota.
/* oxlint-disable node/no-sync -- in the thread of the database, after a failure */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const TRIED_FILE = "room.tmp";
/** More than what may be left of a disk that refused some pages. */
const TRIED_BYTES = 256 * 1024;

/** Tells whether the folder takes some more bytes; true as well where something else fails. */
export function hasRoom(folder: string, tried = TRIED_BYTES): boolean {
  const path = join(folder, TRIED_FILE);
  try {
    writeFileSync(path, new Uint8Array(tried));
    return true;
  } catch (error) {
    return !["ENOSPC", "EDQUOT"].includes((error as { code?: string }).code ?? "");
  } finally {
    try {
      rmSync(path, { force: true });
    } catch {
      // The next try writes over it.
    }
  }
}
