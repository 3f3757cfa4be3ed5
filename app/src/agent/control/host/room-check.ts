// Looks at the room on the disks of this computer.
import { statfs } from "node:fs/promises";
import { fromSystemError } from "@runnel/shared/base";
import prettyBytes from "pretty-bytes";
import type { Checked } from "./checked.ts";

/** Room below which a disk is called tight. */
const TIGHT_BYTES = 1024 ** 3;

/** Checks the room on the disk of a folder, which holds this. */
export async function checkRoom(folder: string, holds: string): Promise<Checked> {
  const about = `Disk with ${holds}`;
  try {
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const sentence = `${prettyBytes(free, { binary: true })} are free at ${folder}.`;
    return { about, isFine: free >= TIGHT_BYTES, sentence, next: free >= TIGHT_BYTES ? null : "Make room there." };
  } catch (error) {
    const { message } = fromSystemError(error, "look at a disk");
    return { about, isFine: false, sentence: message, next: `Look whether ${folder} is there.` };
  }
}
