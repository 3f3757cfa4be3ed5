// Objects: contents that programs put into a volume and get by their OID, wherever they lie (DOT §3). An OID gives no
// right: an object is a file of a volume, under the rights of that. docs/transfer.md describes them for programs.
import type { ByteRange } from "@runnel/native/drive";
import {
  type ChunkKind,
  type Clock,
  DIGEST_BYTES,
  EMPTY_OID,
  type ObjectUri,
  type Recipe,
  OBJECTS_FOLDER,
  RunnelError,
  isRunnelError,
} from "@runnel/shared";
import type { FileSource, OpenedFile, VolumeFiles } from "./volume-files.ts";

/** Life of an object that nobody said more of. */
export const LIFE_MS = 7 * 24 * 3_600_000;
/** Bytes that are asked for at once, and how many such windows are on their way: enough for any line. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const WINDOWS_AT_ONCE = 2;
const MS = 1000;

export interface PutObject extends ObjectUri {
  /** Second until which it lives at least. */
  until: number;
  /** It was there already: nothing of it was sent. */
  wasThere: boolean;
}

interface PutOptions {
  lifeMs: number;
  /** Left out: "content". */
  chunks?: ChunkKind | undefined;
  signal: AbortSignal;
  progress?(doneBytes: number): void;
}

export function objectPath(oid: string): string {
  return `${OBJECTS_FOLDER}/${oid}`;
}

/**
 * Puts a content into a volume. What is there already only lives longer, never shorter. @throws ReadOnly, Stale when
 * the source changed meanwhile, and the server's refusals.
 */
export async function putObject(
  files: VolumeFiles,
  source: PutSource,
  clock: Clock,
  options: PutOptions,
): Promise<PutObject> {
  files.mayChange("put");
  const content = source.sizeBytes === 0 ? EMPTY : await files.cut(source, options.chunks ?? "content");
  // Several of the same at the same moment go one after the other: the first sends it.
  const key = `${files.url} ${Buffer.from(content.oid).toString("hex")}`;
  const before = putting.get(key);
  const mine = (async () => {
    await before?.catch(() => undefined);
    options.signal.throwIfAborted();
    return putContent(files, source, content, clock, options);
  })();
  putting.set(key, mine);
  try {
    return await mine;
  } finally {
    if (putting.get(key) === mine) putting.delete(key);
  }
}

type PutSource = FileSource & { isUnchanged?(): Promise<boolean> };

/** The last put under way of each content, by volume and OID. */
const putting = new Map<string, Promise<unknown>>();

async function putContent(
  files: VolumeFiles,
  source: PutSource,
  { recipe, oid: digest }: { recipe: Recipe | undefined; oid: Uint8Array },
  clock: Clock,
  { lifeMs, chunks = "content", signal, progress }: PutOptions,
): Promise<PutObject> {
  const oid = Buffer.from(digest).toString("hex");
  const path = objectPath(oid);
  const about = { oid, sizeBytes: source.sizeBytes, hints: [files.url] };
  const until = Math.ceil(Number(clock.wallNs() / 1_000_000n) / MS + lifeMs / MS);
  await files.makeFolders(OBJECTS_FOLDER);
  if (await isThere(files, about)) {
    try {
      return { ...about, until: await files.liveUntil(path, until), wasThere: true };
    } catch (error) {
      // The server removed it in this moment.
      if (!isRunnelError(error, "NotFound")) throw error;
    }
  }
  try {
    // A version that is cut in another way has none of the chunks.
    const version = recipe === source.recipe ? source.version : undefined;
    await files.write(path, { ...source, recipe, version }, { signal, until, chunks, ...(progress && { progress }) });
  } catch (error) {
    if ((await source.isUnchanged?.()) !== false) throw error;
    throw new RunnelError("Stale", "put", "The file was changed while it was put.", { cause: error });
  }
  if (recipe !== undefined) await files.noteRecipe(path, recipe, digest);
  // Another device may have given up the name that both wrote to.
  if ((await files.find(path))?.sizeBytes !== source.sizeBytes)
    throw new RunnelError("Stale", "put", "The object was removed while it was put. Put it again.");
  return { ...about, until, wasThere: false };
}

const EMPTY = { recipe: undefined, oid: EMPTY_OID };

/** Says whether an object is there whole, and is what its name says. */
async function isThere(files: VolumeFiles, { oid, sizeBytes }: ObjectUri): Promise<boolean> {
  const path = objectPath(oid);
  const facts = await files.find(path);
  if (facts?.type !== "file" || facts.sizeBytes !== sizeBytes) return false;
  await using opened = await files.open(path);
  return oidOf(opened) === oid;
}

function oidOf({ oid, sizeBytes }: OpenedFile): string | undefined {
  if (sizeBytes === 0) return Buffer.from(EMPTY_OID).toString("hex");
  return oid?.length === DIGEST_BYTES ? Buffer.from(oid).toString("hex") : undefined;
}

/**
 * Opens an object of a volume, of which nothing but its recipe need be here. @throws NotFound; Corrupt when what is
 * there under its name is something else; Invalid when the URI says another size.
 */
export async function openObject(files: VolumeFiles, { oid, sizeBytes }: ObjectUri): Promise<OpenedFile> {
  const path = objectPath(oid);
  const facts = await files.find(path);
  if (facts === undefined) throw notThere(files);
  const opened = await files.open(path);
  try {
    // While it is put its name is there before its bytes are.
    if (opened.sizeBytes === 0 && oidOf(opened) !== oid) throw notThere(files);
    if (oidOf(opened) !== oid)
      throw new RunnelError("Corrupt", "get", `What ${files.url} has under this OID is something else.`);
    if (opened.sizeBytes !== sizeBytes)
      throw new RunnelError(
        "Invalid",
        "get",
        `The object has ${opened.sizeBytes} bytes, not ${sizeBytes} as its URI says.`,
      );
    return opened;
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

function notThere({ url }: VolumeFiles): RunnelError {
  return new RunnelError("NotFound", "get", `There is no such object in ${url}.`);
}

/**
 * Brings all of an opened file, and yields each range once it is here and right: in order, or those first that are here
 * first.
 */
export async function* bringAll(
  opened: Pick<OpenedFile, "sizeBytes" | "present" | "bring">,
  { inOrder, signal }: { inOrder: boolean; signal: AbortSignal },
): AsyncGenerator<ByteRange> {
  const windows = windowsOf(opened.sizeBytes);
  if (!inOrder) {
    const isHere = ({ offset, length }: ByteRange): boolean =>
      opened.present().some((range) => range.offset <= offset && offset + length <= range.offset + range.length);
    windows.sort((one, other) => Number(isHere(other)) - Number(isHere(one)) || one.offset - other.offset);
  }
  const coming = new Map<ByteRange, Promise<ByteRange>>();
  const begin = (): void => {
    const next = windows.shift();
    if (next === undefined) return;
    const brought = opened.bring(next, signal).then(() => next);
    brought.catch(() => undefined);
    coming.set(next, brought);
  };
  for (let index = 0; index < WINDOWS_AT_ONCE; index++) begin();
  while (coming.size > 0) {
    const [first] = coming.values();
    const range = inOrder && first !== undefined ? await first : await Promise.race(coming.values());
    coming.delete(range);
    begin();
    yield range;
  }
}

function windowsOf(sizeBytes: number): ByteRange[] {
  const count = Math.ceil(sizeBytes / WINDOW_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const offset = index * WINDOW_BYTES;
    return { offset, length: Math.min(WINDOW_BYTES, sizeBytes - offset) };
  });
}
