// Opening a log: its segments are checked, a torn tail is cut, and what was found is made durable before anybody builds
// on it.
import { isRunnelError } from "../errors.ts";
import type { DiskRoot } from "../host/disk.ts";
import type { OpenedLog } from "./log.ts";
import { type Segment, SegmentFiles } from "./segment-files.ts";
import {
  type LogFormat,
  SEGMENT_HEADER_BYTES,
  decodeSegmentHeader,
  segmentName,
  segmentOfName,
} from "./segment-format.ts";
import { createSegment, pathIn, removeSegment } from "./segment-lifecycle.ts";
import { damaged, scanRecords, wasSynced } from "./segment-scan.ts";
import { type LogStore, SegmentedLog } from "./segmented-log.ts";

const REWRITE_BYTES = 2 ** 20;

/**
 * Opens the log in a folder of the root, and makes it when there is none. One process at a time may have it open;
 * whoever calls sees to that. @throws RunnelError Version when a newer Runnel wrote it, Corrupt naming segment and
 * offset when it is damaged.
 */
export async function openLog(root: DiskRoot, folder: string, format: LogFormat): Promise<OpenedLog> {
  const store: LogStore = { root, folder, format };
  const segments: Segment[] = [];
  try {
    const { numbers, tornBytes: tornHeaderBytes } = await findSegments(store, segments);
    checkSequence(segments);
    let current = segments.at(-1);
    let tail = { tornBytes: 0, isClosed: false };
    if (current === undefined) {
      current = await createSegment(store, numbers[0] ?? 1, 0);
      segments.push(current);
    } else tail = await recoverTail(store, current);
    const files = new SegmentFiles();
    for (const segment of segments) files.add(segment);
    const log = new SegmentedLog(store, files, current, tail.isClosed);
    // [F3]: records of one version only in a segment.
    if (current.header.version < format.version) await log.rotate();
    return { log, tornBytes: tail.tornBytes + tornHeaderBytes };
  } catch (error) {
    await Promise.allSettled(segments.map(({ file }) => file.close()));
    throw error;
  }
}

/** Opens the segments into `segments`, oldest first. A last one that was never finished is removed ([F11]). */
async function findSegments(store: LogStore, segments: Segment[]): Promise<{ numbers: number[]; tornBytes: number }> {
  const numbers = await listSegments(store);
  let tornBytes = 0;
  for (const number of numbers) {
    const isLast = number === numbers.at(-1);
    const file = await store.root.open(pathIn(store.folder, segmentName(number)), isLast ? "write" : "read");
    try {
      const { sizeBytes } = await file.stat();
      const header = decodeSegmentHeader(await file.read(0, SEGMENT_HEADER_BYTES), store.format);
      if (header !== undefined && header.segment !== number)
        throw damaged(number, 8, "its header names another segment");
      if (header !== undefined) {
        segments.push({ header, file, sizeBytes });
        continue;
      }
      // It has no records before its header is on disk.
      if (!isLast || sizeBytes > SEGMENT_HEADER_BYTES) throw damaged(number, 0, "the header is not what was written");
      tornBytes = sizeBytes;
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    await removeSegment(store, number);
    await reopenLast(store, segments);
  }
  return { numbers, tornBytes };
}

/** The segment before an unfinished one goes on. */
async function reopenLast(store: LogStore, segments: Segment[]): Promise<void> {
  const last = segments.at(-1);
  if (last === undefined) return;
  await last.file.close();
  last.file = await store.root.open(pathIn(store.folder, segmentName(last.header.segment)), "write");
}

async function listSegments({ root, folder }: LogStore): Promise<number[]> {
  const numbers: number[] = [];
  try {
    await root.list(folder, (entries) => {
      for (const { name, stat } of entries) {
        const number = name === undefined || stat.type !== "file" ? undefined : segmentOfName(name);
        if (number !== undefined) numbers.push(number);
      }
    });
  } catch (error) {
    if (!isRunnelError(error, "NotFound") || folder === "") throw error;
    await root.makeFolder(folder, 0o700);
    await root.syncFolder(folder.includes("/") ? folder.slice(0, folder.lastIndexOf("/")) : "");
  }
  return numbers.toSorted((a, b) => a - b);
}

/** [F1] and [F7]: no number is left out, and each segment has the length that the next one says it had. */
function checkSequence(segments: readonly Segment[]): void {
  for (const [index, { header }] of segments.entries()) {
    const previous = segments[index - 1];
    if (previous === undefined) continue;
    const { segment } = previous.header;
    if (header.segment !== segment + 1) throw damaged(segment + 1, 0, "the segment is missing");
    if (header.previousBytes !== previous.sizeBytes) {
      const at = Math.min(header.previousBytes, previous.sizeBytes);
      throw damaged(
        segment,
        at,
        `the segment has ${previous.sizeBytes} bytes and was finished with ${header.previousBytes}`,
      );
    }
  }
}

/** [F6] and [F9]. */
async function recoverTail(
  { root, folder }: LogStore,
  current: Segment,
): Promise<{ tornBytes: number; isClosed: boolean }> {
  const { file, header, sizeBytes } = current;
  const { end, syncedTo, isClosed } = await scanRecords(file, header.salt, sizeBytes);
  const tornBytes = sizeBytes - end;
  if (tornBytes > 0) {
    if (await wasSynced(file, header.salt, end, sizeBytes)) throw damaged(header.segment, end);
    await file.truncate(end);
    current.sizeBytes = end;
  }
  if (!isClosed) {
    // A sync that failed may have left pages that the system holds for clean and will lose: written again, they are
    // written.
    for (let offset = syncedTo; offset < end; offset += REWRITE_BYTES) {
      await file.write(offset, await file.read(offset, Math.min(REWRITE_BYTES, end - offset)));
    }
  }
  await file.sync();
  await root.syncFolder(folder);
  return { tornBytes, isClosed };
}
