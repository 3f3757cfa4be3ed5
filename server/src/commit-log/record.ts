// Records of the commit log (docs/FORMAT.md, "Commit records"): a CBOR header, then the commit's new data. The header's
// length stands first (u32, little-endian), so that data can be read in place: run "log" offsets count from the data's
// first byte.
import type { Change, Recipe, RecordPlace } from "@runnel/shared";
import { RunnelError, check, decodeCbor, decodeRecipe, encodeCbor, encodeRecipe } from "@runnel/shared";
import { z } from "zod";
import type { ExternalOperation, Operation, OperationId, OperationPaths, OperationResult } from "../meta/meta-store.ts";

export const COMMIT_LOG_FORMAT = { magic: "RNLC", version: 1 };

export interface CommitRecord {
  kind: "commit";
  seq: number;
  wallNs: bigint;
  id: OperationId | undefined;
  operation: Operation | ExternalOperation;
  change: Change | undefined;
  result: OperationResult;
  /** Paths of an operation that changed something. */
  paths: OperationPaths | undefined;
}

/** A copy of the record of a commit that waits, behind others [F211]. */
export interface CopyRecord extends Omit<CommitRecord, "kind"> {
  kind: "again";
  /** The seq up to which its paths follow what was renamed. */
  asOf: number;
}

/** Commits that are one: all of them, or none, without data. */
export interface BatchRecord {
  kind: "together";
  /** Seq of the last commit. */
  seq: number;
  commits: CommitRecord[];
}

/** The commit `seq` is about to put the file with this handle in place. */
export interface HandleRecord {
  kind: "handle";
  seq: number;
  handle: Uint8Array;
}

/** All commits up to `seq` are in the plain folder. A hint: not synced, and one that is missing costs work only. */
export interface UpRecord {
  kind: "up";
  seq: number;
}

/** These commits wait: from here on later ones, which do not depend on them, may be put in place before them. */
export interface WaitRecord {
  kind: "wait";
  /** Seq of the first commit. */
  seq: number;
  seqs: readonly number[];
}

/** All commits up to `seq` are in the plain folder but these, each of which has a copy before this record. */
export interface RestRecord {
  kind: "rest";
  seq: number;
  seqs: readonly number[];
}

export type LoggedRecord = CommitRecord | CopyRecord | BatchRecord | HandleRecord | UpRecord | WaitRecord | RestRecord;

/** Returns the commits that a record holds, copies left out. */
export function commitsOf(record: LoggedRecord): readonly CommitRecord[] {
  if (record.kind === "commit") return [record];
  return record.kind === "together" ? record.commits : [];
}

/** Returns the commits of which all that applying needs is found at a record. */
export function commitsAt(record: LoggedRecord): readonly (CommitRecord | CopyRecord)[] {
  return record.kind === "again" ? [record] : commitsOf(record);
}

/** Finds a commit's new data by its record's place. */
export function dataPlace({ segment, offset, length }: RecordPlace, dataOffset: number): RecordPlace {
  return { segment, offset: offset + dataOffset, length: length - dataOffset };
}

/**
 * Tells whether an operation is of the server's own: what another program did, which is on disk, or a recipe. It is not
 * applied.
 */
export function isExternal(operation: Operation | ExternalOperation): operation is ExternalOperation {
  return operation.op.startsWith("external") || operation.op === "setRecipe";
}

const HEADER_LENGTH_BYTES = 4;

/**
 * Our own writer made it and a checksum covers it: only what older versions could have written otherwise is checked
 * here.
 */
const header = z.looseObject({
  kind: z.enum(["commit", "again", "together", "handle", "up", "wait", "rest"]),
  seq: z.number(),
});

export function encodeRecord(
  record: LoggedRecord,
  data: Uint8Array = new Uint8Array(0),
): { bytes: Uint8Array; dataOffset: number } {
  const head = encodeCbor(flat(record));
  const bytes = new Uint8Array(HEADER_LENGTH_BYTES + head.length + data.length);
  new DataView(bytes.buffer).setUint32(0, head.length, true);
  bytes.set(head, HEADER_LENGTH_BYTES);
  bytes.set(data, HEADER_LENGTH_BYTES + head.length);
  return { bytes, dataOffset: HEADER_LENGTH_BYTES + head.length };
}

/** @throws RunnelError Corrupt for a payload that our own writer cannot have made. */
export function decodeRecord(payload: Uint8Array): { record: LoggedRecord; dataOffset: number } {
  try {
    return decode(payload);
  } catch (cause) {
    throw new RunnelError("Corrupt", "read commit log", "A record of the commit log has the wrong form.", { cause });
  }
}

function decode(payload: Uint8Array): { record: LoggedRecord; dataOffset: number } {
  const length = new DataView(payload.buffer, payload.byteOffset, payload.byteLength).getUint32(0, true);
  const dataOffset = HEADER_LENGTH_BYTES + length;
  if (dataOffset > payload.length) throw new RangeError("The header is longer than the record.");
  // The recipe of a large file makes a header larger than any message.
  const message = check(header, decodeCbor(payload.subarray(HEADER_LENGTH_BYTES, dataOffset), length), "commit record");
  return { record: round(message as unknown as LoggedRecord), dataOffset };
}

function flat(record: LoggedRecord): unknown {
  if (record.kind === "commit" || record.kind === "again")
    return { ...record, id: flatId(record.id), operation: flatten(record.operation) };
  return record.kind === "together" ? { ...record, commits: record.commits.map(flat) } : record;
}

function round(record: LoggedRecord): LoggedRecord {
  if (record.kind === "commit" || record.kind === "again") return roundCommit(record);
  return record.kind === "together" ? { ...record, commits: record.commits.map(roundCommit) } : record;
}

function roundCommit<T extends CommitRecord | CopyRecord>(record: T): T {
  return { ...record, id: roundId(record.id), operation: unflatten(record.operation) };
}

/** On disk a step is `isPart` [F71]. */
function flatId(id: OperationId | undefined): unknown {
  if (id?.isStep === undefined) return id;
  const { isStep: isPart, ...rest } = id;
  return { ...rest, isPart };
}

function roundId(id: (OperationId & { isPart?: true }) | undefined): OperationId | undefined {
  if (id?.isPart === undefined) return id;
  const { isPart: isStep, ...rest } = id;
  return { ...rest, isStep };
}

/** Recipes go as their encoded bytes. */
function flatten(operation: Operation | ExternalOperation): unknown {
  if (operation.op === "write")
    return { ...operation, content: { ...operation.content, recipe: flatRecipe(operation.content.recipe) } };
  if (operation.op === "setRecipe") return { ...operation, recipe: flatRecipe(operation.recipe) };
  return operation;
}

function unflatten(operation: Operation | ExternalOperation): Operation | ExternalOperation {
  if (operation.op === "write") {
    return { ...operation, content: { ...operation.content, recipe: roundRecipe(operation.content.recipe) } };
  }
  if (operation.op === "setRecipe") return { ...operation, recipe: roundRecipe(operation.recipe) ?? operation.recipe };
  return operation;
}

function flatRecipe(recipe: Recipe | undefined): Uint8Array | undefined {
  return recipe && encodeRecipe(recipe);
}

function roundRecipe(bytes: unknown): Recipe | undefined {
  return bytes instanceof Uint8Array ? decodeRecipe(bytes) : undefined;
}
