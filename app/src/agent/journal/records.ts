// Records of the journal (docs/FORMAT.md, "The agent's journal, cache and replica"). Pure: bytes to records and back.
import type { ByteRange } from "@runnel/native/drive";
import type { LogFormat } from "@runnel/shared";
import { RunnelError, check, decodeCbor, encodeCbor } from "@runnel/shared";
import { z } from "zod";
import type { JournalCommit, JournalOperation, ReservedNodes } from "./journal.ts";

export const JOURNAL_FORMAT: LogFormat = { magic: "RNLJ", version: 1 };

export interface OperationName {
  instance: string;
  n: number;
}

export interface CommitRecord {
  kind: "commit";
  /** The boot in which it was written before its data was on stable storage; "" = the data was, and has this digest. */
  unsyncedIn: string;
  digest?: Uint8Array;
  /** Commits that it takes the place of. */
  replaces?: OperationName[];
  commit: JournalCommit;
}

export type JournalRecord =
  /** The instance of this journal from here on; numbers below `below` may have been given. */
  | { kind: "numbers"; instance: string; below: number }
  | ({ kind: "nodes" } & ReservedNodes)
  | CommitRecord
  | { kind: "operation"; operation: JournalOperation }
  /** The data of these commits has come to stable storage. */
  | { kind: "onDisk"; ids: (OperationName & { digest: Uint8Array })[] }
  | { kind: "done"; instance: string; n: number }
  /** From here on an id that was given in the epoch stands for another node. */
  | { kind: "bound"; epoch: string; node: number; other: number };

const HEADER_LENGTH_BYTES = 4;
const EXTENT_BYTES = 16;

/** A non-negative integer below 2^53, whichever width CBOR gave it. */
const count = z.union([z.number(), z.bigint()]).transform(Number).pipe(z.int().min(0).max(Number.MAX_SAFE_INTEGER));
const nanoseconds = z.union([z.int(), z.bigint()]).transform(BigInt);
const instance = z.string().regex(/^[0-9a-f]{32}$/);
const blob = z.instanceof(Uint8Array).transform((bytes) => Uint8Array.from(bytes));
/** A name below data/, never a path. */
export const dataFileName = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/);

const mode = count.pipe(z.number().max(0o7777));
const expects = z.object({ node: count, version: count, own: z.array(count) }).exactOptional();
const treeOperation = z.discriminatedUnion("op", [
  z.object({
    op: z.literal("make"),
    folder: count,
    name: z.string().min(1),
    node: count,
    attributes: z.object({
      type: z.enum(["file", "folder", "symlink", "fifo", "socket", "block", "char"]),
      mode,
      uid: count,
      gid: count,
      mtimeNs: nanoseconds,
      rdev: count,
      target: z.string(),
    }),
  }),
  z.object({ op: z.literal("link"), node: count, folder: count, name: z.string().min(1) }),
  z.object({
    op: z.literal("rename"),
    folder: count,
    name: z.string().min(1),
    node: count,
    toFolder: count,
    toName: z.string().min(1),
    how: z.enum(["replace", "keep", "exchange"]),
    expects,
  }),
  z.object({
    op: z.literal("remove"),
    folder: count,
    name: z.string().min(1),
    node: count,
    isFolder: z.boolean(),
    expects,
  }),
  z.object({
    op: z.literal("setAttr"),
    node: count,
    change: z.object({
      mode: mode.exactOptional(),
      uid: count.exactOptional(),
      gid: count.exactOptional(),
      mtimeNs: nanoseconds.exactOptional(),
      /** null removes it. */
      xattr: z.tuple([z.string().min(1), blob.nullable()]).exactOptional(),
    }),
  }),
]);

const header = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("operation"),
    n: count,
    instance,
    epoch: z.string().max(64),
    timeNs: nanoseconds,
    path: z.string(),
    operation: treeOperation,
    early: count.exactOptional(),
  }),
  z.object({ kind: z.literal("numbers"), instance, below: count }),
  z.object({ kind: z.literal("nodes"), epoch: z.string().max(64), from: count, end: count }),
  z.object({
    kind: z.literal("commit"),
    unsyncedIn: z.string().max(64),
    digest: blob.optional(),
    n: count,
    instance,
    epoch: z.string().max(64),
    node: count,
    path: z.string(),
    baseVersion: count,
    baseOid: blob,
    baseBytes: count,
    sizeBytes: count,
    mtimeNs: nanoseconds,
    ctimeNs: nanoseconds,
    /** File, and how many of the extents behind the header are its. */
    layers: z.array(z.tuple([dataFileName, count])),
    baseContent: count,
    attributes: z.object({ mode: count, uid: count, gid: count }).exactOptional(),
    early: count.exactOptional(),
    follows: count.exactOptional(),
    copy: z
      .object({
        of: z.string(),
        n: count,
        folder: count,
        name: z.string().min(1),
        made: z.object({ mode: count, uid: count, gid: count, mtimeNs: nanoseconds }),
        base: z.object({ node: count, seq: count, epoch: z.string().max(64) }),
      })
      .exactOptional(),
    replaces: z.array(z.tuple([instance, count])).exactOptional(),
  }),
  z.object({ kind: z.literal("onDisk"), ids: z.array(z.tuple([instance, count, blob])) }),
  z.object({ kind: z.literal("done"), instance, n: count }),
  z.object({ kind: z.literal("bound"), epoch: z.string().max(64), node: count, other: count }),
]);

/** [F40]: header length (u32), header (CBOR), extents. */
export function encodeJournalRecord(record: JournalRecord): Uint8Array {
  const extents = record.kind === "commit" ? record.commit.layers.flatMap((layer) => layer.extents) : [];
  const head = encodeCbor(headOf(record));
  const bytes = new Uint8Array(HEADER_LENGTH_BYTES + head.length + extents.length * EXTENT_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, head.length, true);
  bytes.set(head, HEADER_LENGTH_BYTES);
  let at = HEADER_LENGTH_BYTES + head.length;
  for (const { offset, length } of extents) {
    view.setBigUint64(at, BigInt(offset), true);
    view.setBigUint64(at + 8, BigInt(length), true);
    at += EXTENT_BYTES;
  }
  return bytes;
}

function headOf(record: JournalRecord): unknown {
  if (record.kind === "onDisk")
    return { kind: record.kind, ids: record.ids.map((id) => [id.instance, id.n, id.digest]) };
  if (record.kind === "operation") return { kind: record.kind, ...record.operation };
  if (record.kind !== "commit") return record;
  // A list of its own: the drive's may be of another realm, as in a test, which the library takes for no array.
  const layers = Array.from(record.commit.layers, ({ file, extents }) => [file, extents.length]);
  const { kind, unsyncedIn, digest } = record;
  const replaces = record.replaces?.map((id) => [id.instance, id.n]);
  return { kind, unsyncedIn, ...(digest && { digest }), ...(replaces && { replaces }), ...record.commit, layers };
}

/** @throws RunnelError Corrupt for a payload that no writer of this format can have made. */
export function decodeJournalRecord(payload: Uint8Array): JournalRecord {
  try {
    return decode(payload);
  } catch (cause) {
    throw new RunnelError("Corrupt", "read journal", "A record of the journal has the wrong form.", { cause });
  }
}

function decode(payload: Uint8Array): JournalRecord {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const extentsAt = HEADER_LENGTH_BYTES + view.getUint32(0, true);
  const message = check(header, decodeCbor(payload.subarray(HEADER_LENGTH_BYTES, extentsAt)), "journal record");
  if (message.kind === "onDisk")
    return { kind: "onDisk", ids: message.ids.map(([id, n, digest]) => ({ instance: id, n, digest })) };
  if (message.kind === "operation") {
    const { kind: operationKind, ...operation } = message;
    return { kind: operationKind, operation };
  }
  if (message.kind !== "commit") return message;
  const { kind, unsyncedIn, digest, layers, replaces, ...commit } = message;
  const extents = decodeExtents(view, extentsAt);
  let from = 0;
  const layered = layers.map(([file, held]) => ({ file, extents: extents.slice(from, (from += held)) }));
  if (from !== extents.length) throw new RangeError("The extents do not fit the layers.");
  const replaced = replaces?.map(([id, n]) => ({ instance: id, n }));
  return {
    kind,
    unsyncedIn,
    ...(digest && { digest }),
    ...(replaced && { replaces: replaced }),
    commit: { ...commit, layers: layered },
  };
}

function decodeExtents(view: DataView, from: number): ByteRange[] {
  if ((view.byteLength - from) % EXTENT_BYTES !== 0) throw new RangeError("The extents have a ragged size.");
  const extents: ByteRange[] = [];
  for (let at = from; at < view.byteLength; at += EXTENT_BYTES) {
    extents.push({ offset: Number(view.getBigUint64(at, true)), length: Number(view.getBigUint64(at + 8, true)) });
  }
  return extents;
}
