// Values that messages are made of, each in the one form that it has on the wire, and the check of a message (rule
// W10). What has passed here is trusted inside.
import { z } from "zod";
import { RunnelError } from "../errors.ts";
import type { FileType } from "../host/disk.ts";
import { LIMITS } from "../limits.ts";
import { nameFault } from "../model/names.ts";
import type { Change, NodeState, VersionId } from "../model/node.ts";
import { NODE_LIMIT } from "../model/node.ts";
import { isXattrName } from "../model/xattrs.ts";
import { count, countOrResult } from "./numbers.ts";

/** Wire numbers of file types; append-only. */
const TYPES: readonly FileType[] = ["file", "folder", "symlink", "fifo", "socket", "block", "char"];

export const nodeId = count.pipe(z.number().max(NODE_LIMIT - 1));
/** A node; or -n: that of the result of operation n (W63). */
export const nodeOrResult = countOrResult.pipe(z.number().max(NODE_LIMIT - 1));
export const nanoseconds = z
  .union([z.number(), z.bigint()])
  .transform((value, context) => {
    if (typeof value === "number" && !Number.isSafeInteger(value)) {
      context.addIssue({ code: "custom", message: "not a whole number" });
      return z.NEVER;
    }
    return BigInt(value);
  })
  .pipe(
    z
      .bigint()
      .min(-(2n ** 63n))
      .max(2n ** 63n - 1n),
  );
export const fileType = z
  .number()
  .int()
  .min(0)
  .max(TYPES.length - 1)
  .transform((code) => TYPES[code] as FileType);
/** A name that is asked for: whether it may be one is the server's answer (BadName). */
export const name = z.string().min(1);
/** A name that the server tells of goes to the kernel as it is. */
export const listedName = name.refine((word) => nameFault(word) === undefined, "not a name");
export const bytes: z.ZodType<Uint8Array, Uint8Array> = z.instanceof(Uint8Array);
/** SHA-256 of a public key, or a key of that length. */
export const keyDigest = bytes.refine(({ length }) => length === 32, "not 32 bytes");
export const mode = z.int().min(0).max(0o7777);
export const id32 = z
  .int()
  .min(0)
  .max(2 ** 32 - 1);
/** 256 random bits, base64url. */
export const token = z.string().regex(/^[\w-]{43}$/);
export const instance = z.string().regex(/^[0-9a-f]{32}$/);

export const versionId = z.tuple([nodeId, count]).transform(([node, seq]): VersionId => ({ node, seq }));

function isTarget(target: string): boolean {
  return target !== "" && !target.includes("\0");
}

/** [node, type, mode, uid, gid, size, mtime, ctime, nlink, rdev, target, version, seq, xattrs if it has any] */
export const state = z
  .tuple([
    nodeId,
    fileType,
    mode,
    id32,
    id32,
    count,
    nanoseconds,
    nanoseconds,
    count,
    id32,
    z.string().max(LIMITS.symlinkBytes),
    count,
    count,
    count.optional(),
  ])
  // The kernel would read less of another target than the server said [W191].
  .refine((packed) => packed[1] !== "symlink" || isTarget(packed[10]), "not a symlink's target")
  .transform(
    ([
      node,
      type,
      bits,
      uid,
      gid,
      sizeBytes,
      mtimeNs,
      ctimeNs,
      nlink,
      rdev,
      target,
      version,
      seq,
      xattrSeq,
    ]): NodeState => ({
      node,
      type,
      mode: bits,
      uid,
      gid,
      sizeBytes,
      mtimeNs,
      ctimeNs,
      nlink,
      rdev,
      target,
      version,
      seq,
      ...(xattrSeq === undefined ? {} : { xattrSeq }),
    }),
  );

/** A state as it is sent. */
export type SentState = z.input<typeof state>;

export function packState(of: NodeState): SentState {
  const packed: SentState = [
    of.node,
    TYPES.indexOf(of.type),
    of.mode,
    of.uid,
    of.gid,
    of.sizeBytes,
    of.mtimeNs,
    of.ctimeNs,
    of.nlink,
    of.rdev,
    of.target,
    of.version,
    of.seq,
  ];
  if (of.xattrSeq !== undefined) packed.push(of.xattrSeq);
  return packed;
}

export function packVersion(version: VersionId): [number, number] {
  return [version.node, version.seq];
}

/** [seq, [[folder, name, node]…], [state…], replaced version or null] */
export const change = z
  .tuple([count, z.array(z.tuple([nodeId, listedName, nodeId])).max(4), z.array(state).max(16), versionId.nullable()])
  .transform(([seq, bindings, nodes, replaces]): Change => ({
    seq,
    bindings: bindings.map(([folder, word, node]) => ({ folder, name: word, node })),
    nodes,
    replaces: replaces ?? undefined,
  }));

export function packChange(of: Change): unknown[] {
  return [
    of.seq,
    of.bindings.map((binding) => [binding.folder, binding.name, binding.node]),
    of.nodes.map(packState),
    of.replaces === undefined ? null : packVersion(of.replaces),
  ];
}

/** A byte string is an object, too, and would be taken for a map without any fields. */
const isMap = z.custom<object>((value) => !(value instanceof Uint8Array), "not a map");
const attributes = z.object({
  mode: mode.optional(),
  uid: id32.optional(),
  gid: id32.optional(),
  mtimeNs: nanoseconds.optional(),
});

export const attributeChange = isMap.pipe(attributes);

export const xattrName = z.string().refine(isXattrName, "not an attribute's name");
export const xattrValue = bytes.refine((value) => value.length <= LIMITS.xattrValueBytes, "too long");
/** `mtimeNs` null: the operation's timeNs. */
export const settable = isMap.pipe(
  attributes.extend({
    mtimeNs: nanoseconds.nullable().optional(),
    xattr: z.tuple([xattrName, xattrValue.nullable()]).optional(),
  }),
);

export const newAttributes = z.object({
  type: fileType,
  mode,
  uid: id32,
  gid: id32,
  mtimeNs: nanoseconds,
  rdev: id32,
  /** Target of a symlink. The server decides, too, whether it may be one. */
  target: z.string(),
});

export function packType(type: FileType): number {
  return TYPES.indexOf(type);
}

/** Checks a message that came from the other side. @throws RunnelError Invalid naming what is wrong. */
export function check<Schema extends z.ZodType>(schema: Schema, message: unknown, what: string): z.output<Schema> {
  const outcome = schema.safeParse(message);
  if (outcome.success) return outcome.data;
  const issue = outcome.error.issues[0];
  const where = issue === undefined ? "" : ` (${issue.path.join(".")}: ${issue.message})`;
  throw new RunnelError("Invalid", what, `A message "${what}" has the wrong form${where}.`, {
    detail: { rule: "W10" },
  });
}
