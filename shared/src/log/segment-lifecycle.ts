// Making and removing segment files so that a crash at any moment leaves a log that opens (docs/FORMAT.md, [F11] and
// [F12]).
import { crc32 } from "node:zlib";
import { isRunnelError } from "../errors.ts";
import type { DiskFile, DiskRoot } from "../host/disk.ts";
import type { Segment } from "./segment-files.ts";
import { type LogFormat, SEGMENT_HEADER_BYTES, encodeSegmentHeader, segmentName } from "./segment-format.ts";

export function pathIn(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** The file, its header and its name are on stable storage when it resolves. */
export async function createSegment(
  store: { root: DiskRoot; folder: string; format: LogFormat },
  segment: number,
  previousBytes: number,
): Promise<Segment> {
  const { root, folder, format } = store;
  const file = await root.open(pathIn(folder, segmentName(segment)), "createNew", 0o600);
  try {
    const header = { version: format.version, segment, previousBytes, salt: await drawSalt(file) };
    await file.write(0, encodeSegmentHeader(format.magic, header));
    await file.sync();
    await root.syncFolder(folder);
    return { header, file, sizeBytes: SEGMENT_HEADER_BYTES };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The name is gone from stable storage when it resolves; harmless when it was not there. */
export async function removeSegment(store: { root: DiskRoot; folder: string }, segment: number): Promise<void> {
  try {
    await store.root.removeFile(pathIn(store.folder, segmentName(segment)));
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
  await store.root.syncFolder(store.folder);
}

/**
 * Something that whoever writes file contents elsewhere cannot know: this file's inode number, handle and time of
 * making.
 */
async function drawSalt(file: DiskFile): Promise<number> {
  const { ino, ctimeNs } = await file.stat();
  return crc32(`${ino} ${ctimeNs} ${Buffer.from(await file.handle()).toString("hex")}`);
}
