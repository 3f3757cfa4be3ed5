// Copies of what could not be sent, as files of a folder of this computer: what a person rescues before giving it up.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, DiskRoot } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { Cache, CachedContent } from "../../cache/cache.ts";
import type { JournalCommit } from "../../journal/journal.ts";
import { type ComposedContent, openComposed } from "../../transfer/compose.ts";
import type { Downloads } from "../../transfer/download.ts";
import type { Bases } from "./bases.ts";

export interface ExportDeps {
  bases: Bases;
  cache: Cache;
  downloads: Downloads;
  /** The journal's data folder. */
  data: DiskRoot;
}

export interface Exported {
  /** Path in the folder. */
  path: string;
  /**
   * All bytes are there; else zeros stand for what nobody has any more of the version that was edited, or what cannot
   * be had now.
   */
  isWhole: boolean;
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Names that are tried in place of one that is there. */
const NAMES_MAX = 10_000;

/** No file that is there is changed. @throws NotFound when the bytes that were written are gone; NoSpace; Io. */
export async function exportUnsent(deps: ExportDeps, record: JournalCommit, folder: DiskRoot): Promise<Exported> {
  const { composed, base, shown, close } = await openUnsent(deps, record);
  try {
    const { path, target } = await freshFile(folder, (record.copy?.of ?? record.path) || "file");
    let absent: ByteRange[];
    try {
      absent = await composed.copyTo(target);
      await target.sync();
    } finally {
      await target.close();
    }
    return { path, isWhole: absent.length === 0 && (base !== undefined || shown === 0) };
  } finally {
    await close();
  }
}

export interface OpenedUnsent {
  composed: ComposedContent;
  /** The version that it is an edit of. */
  base: CachedContent | undefined;
  /** Bytes of that which may show. */
  shown: number;
  close(): Promise<void>;
}

/** Opens the content, as far as it is here or can be had. Close it. */
export async function openUnsent(
  { bases, cache, downloads, data }: ExportDeps,
  record: JournalCommit,
): Promise<OpenedUnsent> {
  const shown = Math.min(record.baseBytes, record.sizeBytes);
  // Without a link, or the version, what is here has to do.
  const hold = shown === 0 ? undefined : await bases.hold(record).catch(() => undefined);
  const base = hold?.content;
  if (base !== undefined)
    await downloads.ensure(base, { offset: 0, length: shown }, "requestTimeout").catch(() => undefined);
  try {
    const file = base && (await cache.openFile(base));
    const composed = await openComposed(data, { ...record, ...belowOf(cache, base, file, shown) });
    const close = async (): Promise<void> => {
      hold?.[Symbol.dispose]();
      await composed.close();
    };
    return { composed, base, shown, close };
  } catch (error) {
    hold?.[Symbol.dispose]();
    throw error;
  }
}

function belowOf(cache: Cache, base: CachedContent | undefined, file: DiskFile | undefined, shown: number) {
  const absent = (range: ByteRange): ByteRange[] => (base === undefined ? [] : cache.missing(base, range));
  const verification = { unverified: (): ByteRange[] => [], absent, verify: async () => undefined };
  return { base: file, baseBytes: file === undefined ? 0 : shown, verification };
}

async function freshFile(folder: DiskRoot, path: string): Promise<{ path: string; target: DiskFile }> {
  const names = path.split("/");
  for (let count = 1; count < names.length; count++) {
    try {
      await folder.makeFolder(names.slice(0, count).join("/"), FOLDER_MODE);
    } catch (error) {
      if (!isRunnelError(error, "Exists")) throw error;
    }
  }
  for (let count = 1; ; count++) {
    const free = count === 1 ? path : `${path} ${count}`;
    try {
      return { path: free, target: await folder.open(free, "createNew", FILE_MODE) };
    } catch (error) {
      if (!isRunnelError(error, "Exists") || count === NAMES_MAX) throw error;
    }
  }
}
