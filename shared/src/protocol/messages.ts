// Every message's form, checked once where it enters (rules W10 and on, PROTOCOL.md). What has passed here is trusted inside.
import { z } from "zod";
import { RunnelError } from "../errors.ts";
import type { FileType } from "../host/disk.ts";
import { LIMITS, TIMING } from "../limits.ts";
import { nameFault } from "../model/names.ts";
import type { Change, NodeState, VersionId } from "../model/node.ts";
import { NODE_LIMIT } from "../model/node.ts";
import { isXattrName } from "../model/xattrs.ts";
import { label } from "./label.ts";
import { count, countOrResult, counts } from "./numbers.ts";

export const PROTOCOL_VERSION = 1;

/** Wire numbers of file types; append-only. */
const TYPES: readonly FileType[] = ["file", "folder", "symlink", "fifo", "socket", "block", "char"];

const nodeId = count.pipe(z.number().max(NODE_LIMIT - 1));
/** A node; or -n: that of the result of operation n (W63). */
const nodeOrResult = countOrResult.pipe(z.number().max(NODE_LIMIT - 1));
const nanoseconds = z
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
const fileType = z
  .number()
  .int()
  .min(0)
  .max(TYPES.length - 1)
  .transform((code) => TYPES[code] as FileType);
/** A name that is asked for: whether it may be one is the server's answer (BadName). */
const name = z.string().min(1);
/** A name that the server tells of goes to the kernel as it is. */
const toldName = name.refine((word) => nameFault(word) === undefined, "not a name");
const bytes = z.instanceof(Uint8Array);
const mode = z.int().min(0).max(0o7777);
const id32 = z
  .int()
  .min(0)
  .max(2 ** 32 - 1);
/** 256 random bits, base64url. */
const token = z.string().regex(/^[\w-]{43}$/);
const instance = z.string().regex(/^[0-9a-f]{32}$/);

const versionId = z.tuple([nodeId, count]).transform(([node, seq]): VersionId => ({ node, seq }));

/** [node, type, mode, uid, gid, size, mtime, ctime, nlink, rdev, target, version, seq, xattrs if it has any] */
const state = z
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

export function packState(of: NodeState): unknown[] {
  return [
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
    ...(of.xattrSeq === undefined ? [] : [of.xattrSeq]),
  ];
}

export function packVersion(version: VersionId): [number, number] {
  return [version.node, version.seq];
}

/** [seq, [[folder, name, node]…], [state…], replaced version or null] */
const change = z
  .tuple([count, z.array(z.tuple([nodeId, toldName, nodeId])).max(4), z.array(state).max(16), versionId.nullable()])
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
const attributeChange = z.object({
  mode: mode.optional(),
  uid: id32.optional(),
  gid: id32.optional(),
  mtimeNs: nanoseconds.optional(),
});

const xattrName = z.string().refine(isXattrName, "not an attribute's name");
const xattrValue = bytes.refine((value) => value.length <= LIMITS.xattrValueBytes, "too long");
/** `mtimeNs` null: the operation's timeNs. */
const settable = attributeChange.extend({
  mtimeNs: nanoseconds.nullable().optional(),
  xattr: z.tuple([xattrName, xattrValue.nullable()]).optional(),
});

const newAttributes = z.object({
  type: fileType,
  mode,
  uid: id32,
  gid: id32,
  mtimeNs: nanoseconds,
  rdev: id32,
  /** Whether it may be one is the server's answer, too. */
  target: z.string(),
});

export function packType(type: FileType): number {
  return TYPES.indexOf(type);
}

/** What every request on a volume carries: the attachment it belongs to. */
const attached = { attachment: count };
/**
 * What every change carries: its number within the instance's journal (executed once), all numbers up to which results were received `but` for these,
 * and when the program did it by the client's clock.
 */
const numbered = {
  ...attached,
  n: count,
  received: count,
  but: counts(LIMITS.notReceived).optional(),
  timeNs: nanoseconds.optional(),
  /** To be executed after these of the instance, and only if they were. */
  after: counts(LIMITS.operationsAfter).optional(),
};

/** Requests by operation. */
export const REQUESTS = {
  hello: z.object({ protocol: count, software: z.string().max(200), token: token.optional(), proof: token.optional() }),
  join: z.object({
    /** Of an invite. */
    secret: z.string().regex(/^[\w-]{22}$/),
    /** The client's from now on: the same again when the answer was lost. */
    token,
    /** Of the machine, for people. */
    name: label.min(1),
  }),
  attach: z.object({
    volume: z.string().min(1).max(LIMITS.nameBytes),
    instance,
    /** Epoch and seq the client's replica stands at, to resume its feed; absent: none. */
    epoch: z.string().max(64).optional(),
    seq: count.optional(),
    /** Folders followed before, on resume; "all" for the whole volume. */
    follows: z.union([z.literal("all"), counts(LIMITS.followedFolders, NODE_LIMIT - 1)]).optional(),
    wantsNodes: z.boolean(),
    /** Of its line, as the client has measured it; left out where that is short. */
    roundTripMs: count.pipe(z.int().max(TIMING.roundTripMsMax)).optional(),
  }),
  find: z.object({
    ...attached,
    folder: nodeId,
    /** Below it, too. */
    isDeep: z.boolean(),
    predicate: z.unknown().optional(),
    /** Register for the feed of every folder listed, before it is read. */
    follow: z.boolean(),
  }),
  stat: z.object({
    ...attached,
    nodes: counts(LIMITS.statNodes, NODE_LIMIT - 1),
    names: z.array(z.tuple([nodeId, name])).max(LIMITS.statNodes),
  }),
  getHash: z.object({ ...attached, version: versionId, from: count, count, oid: z.boolean().optional() }),
  fetch: z.object({
    ...attached,
    version: versionId,
    /** Versions whose chunks the client has; the first is preferred as the base of the recipe. */
    held: z.array(versionId).max(LIMITS.heldVersions),
    /** The client has the wanted version's recipe. */
    hasRecipe: z.boolean(),
    offset: count,
    length: count,
    /** The client can do without the recipe, and chunks longer than this may be cut to the range (W140, W141). */
    part: count.optional(),
    /** So many bytes of the range are waited for; what follows comes when nothing else does (W142). */
    asked: count.optional(),
  }),
  findGet: z.object({ ...attached, versions: z.array(versionId).max(LIMITS.findGetVersions) }),
  make: z.object({ ...numbered, folder: nodeOrResult, name, node: nodeId, attributes: newAttributes }),
  link: z.object({ ...numbered, node: nodeOrResult, folder: nodeOrResult, name }),
  rename: z.object({
    ...numbered,
    folder: nodeOrResult,
    name,
    node: nodeOrResult,
    toFolder: nodeOrResult,
    toName: name,
    how: z.enum(["replace", "keep", "exchange"]),
  }),
  remove: z.object({ ...numbered, folder: nodeOrResult, name, node: nodeOrResult, isFolder: z.boolean() }),
  /** A folder with all below it, unless something of it changed after `asOf`. */
  removeAll: z.object({
    ...numbered,
    folder: nodeOrResult,
    name,
    node: nodeOrResult,
    asOf: count,
    /** Of what is below as much as one operation removes; the folder itself once that is all. */
    isPart: z.boolean().optional(),
  }),
  setAttr: z.object({ ...numbered, node: nodeOrResult, change: isMap.pipe(settable) }),
  xattrs: z.object({ ...attached, node: nodeId }),
  write: z.object({
    ...numbered,
    node: nodeOrResult,
    base: countOrResult,
    sizeBytes: count.pipe(z.number().max(LIMITS.fileBytes)),
    attributes: isMap.pipe(attributeChange),
    /** What its runs are cut with (CHUNK_PRESETS). */
    preset: z.literal([0, 1, 2]).optional(),
    /** A repetition: the server says first from which item on it needs them. */
    isResumed: z.boolean(),
    /** The first items of the stream; each is checked when it is taken. Not with isResumed. */
    items: z.array(z.unknown()).max(LIMITS.channelItems).optional(),
  }),
  space: z.object(attached),
  status: z.object(attached),
  whenUp: z.object({ ...attached, seq: count }),
  newNodes: z.object(attached),
  detach: z.object(attached),
} as const;

/** Requests with bulk of the client, and with bulk of the server; on no other one is there any (W8). */
export const BULK_OF_CLIENT: ReadonlySet<string> = new Set(["write"]);
export const BULK_OF_SERVER: ReadonlySet<string> = new Set(["fetch", "findGet"]);

export type RequestName = keyof typeof REQUESTS;
export type RequestOf<Name extends RequestName> = z.output<(typeof REQUESTS)[Name]>;

/** Items of the attach channel, client to server: ["ack", seq] · ["current", k] · ["idle"] · ["unfollow", [folder…]] ·
 * ["want", [[node, version held or 0]…]] · ["have", version, offset, bytes] (of what it was asked for by "lack") · ["haveNot", version] (no more of it) */
export const FEED_FROM_CLIENT = z.union([
  z.tuple([z.literal("ack"), count]),
  z.tuple([z.literal("current"), count]),
  z.tuple([z.literal("idle")]),
  z.tuple([z.literal("unfollow"), counts(LIMITS.unfollowFolders, NODE_LIMIT - 1)]),
  z.tuple([z.literal("want"), z.array(z.tuple([nodeId, count])).max(LIMITS.wantedFiles)]),
  z.tuple([z.literal("have"), versionId, count, bytes.refine(({ length }) => length <= LIMITS.runBytes, "too long")]),
  z.tuple([z.literal("haveNot"), versionId]),
]);
export type FeedFromClient = z.output<typeof FEED_FROM_CLIENT>;

/** A change of a file against a held version: [version held, size, parts of the recipe, runs as of a fetch with their bytes]. */
const difference = z.tuple([
  count,
  count,
  z.array(z.union([bytes, z.tuple([count, count, count])])),
  z.array(
    z.tuple([
      count,
      count,
      z.union([z.enum(["raw", "zstd"]), z.tuple([count, count, count])]),
      count.pipe(z.number().max(LIMITS.runBytes)),
      bytes,
    ]),
  ),
]);
export type Difference = z.output<typeof difference>;

/**
 * Items of the attach channel, server to client: ["changes", [change…], seqs whose contents follow] · ["content", version, difference or null] · ["current", k, seq] (lease renewed, counted from sending k) ·
 * ["not", k] (no lease now: ask at every open) · ["listAgain", seq] (the backlog was too long: everything is unknown) ·
 * ["waiting", n, [who…], untilMs] (the commit n waits for these) · ["lack", version, [[offset, length]…]] (bytes of a version that this client committed, asked for once more).
 */
export const FEED_FROM_SERVER = z.union([
  z.tuple([z.literal("changes"), z.array(change).max(4096), counts(4096).optional()]),
  z.tuple([z.literal("content"), versionId, difference.nullable()]),
  z.tuple([z.literal("current"), count, count]),
  z.tuple([z.literal("not"), count]),
  z.tuple([z.literal("listAgain"), count]),
  z.tuple([z.literal("waiting"), count, z.array(z.string().max(200)).max(100), count]),
  z.tuple([z.literal("lack"), versionId, z.array(z.tuple([count, count])).max(LIMITS.lackedRanges)]),
]);
export type FeedFromServer = z.output<typeof FEED_FROM_SERVER>;

/** How a run of a write is encoded; a tuple is a delta against these chunks of a version: [version, first chunk, chunks] (W28). */
const runEncoding = z.union([z.enum(["raw", "zstd"]), z.tuple([versionId, count, count])]);
export type RunEncoding = z.output<typeof runEncoding>;
/** As it is sent: the version as [node, seq]. */
export type SentRunEncoding = z.input<typeof runEncoding>;

/** The same for a fetch, against a held version: [its index, first chunk, chunks] (W32). */
const fetchEncoding = z.union([z.enum(["raw", "zstd"]), z.tuple([count, count, count])]);
export type FetchEncoding = z.output<typeof fetchEncoding>;

/**
 * Items of a write, client to server. Ranges of chunks of a version's recipe ("c", CONDWRITE by place) · descriptors with the place that holds them
 * ("h"; null: by digest alone) · a run of new data ("d": encoding, raw and encoded length, bytes on the bulk stream, or inside when short) · new data for
 * an item that the server needs ("r": its index first) · the end ("e", COMMITTMP: OID of the whole).
 */
export const WRITE_ITEM = z.union([
  z.tuple([z.literal("c"), versionId, count, count]),
  z.tuple([z.literal("h"), bytes, versionId.nullable(), count]),
  z.tuple([z.literal("d"), runEncoding, count, z.union([count, bytes])]),
  z.tuple([z.literal("r"), count, z.enum(["raw", "zstd"]), count, z.union([count, bytes])]),
  z.tuple([z.literal("e"), bytes]),
]);
export type WriteItem = z.output<typeof WRITE_ITEM>;

/** After so many items of a write, or so many bytes in them, a server says how many it has taken (W35). */
export const TOOK_STEP = 4096;
export const TOOK_BYTES = 256 * 1024;

/** Items of a write, server to client: ["need", [item…]] · ["from", item] (resume: items before it are here) · ["took", items] (all since its beginning). */
export const WRITE_REPLY = z.union([
  z.tuple([z.literal("need"), counts(LIMITS.neededItems)]),
  z.tuple([z.literal("from"), count]),
  z.tuple([z.literal("took"), count]),
]);

const recipeParts = z.array(z.union([bytes, z.tuple([count, count, count])]));

/**
 * Items of a fetch, server to client: first ["v", size, recipe parts or null], then ["p", more parts] until the recipe has that size; then ["d", first chunk, chunks, encoding, raw length, encoded length] or, without a
 * recipe, ["s", offset, descriptors, encoding, raw length, encoded length] and ["raw", offset, encoding, raw length, encoded length], each with its bytes on the bulk stream. Recipe parts: [held index, from, count] or descriptors.
 */
export const FETCH_ITEM = z.union([
  z.tuple([z.literal("v"), count, recipeParts.nullable()]),
  z.tuple([z.literal("p"), recipeParts]),
  z.tuple([z.literal("d"), count, count, fetchEncoding, count, count]),
  z.tuple([z.literal("s"), count, bytes, fetchEncoding, count, count]),
  z.tuple([z.literal("raw"), count, z.enum(["raw", "zstd"]), count, count]),
]);
export type FetchItem = z.output<typeof FETCH_ITEM>;

/** Items of a findGet: ["g", [[index in the request, recipe] …], encoding, raw length, encoded length], the contents one after another on the bulk stream. */
export const FIND_GET_ITEM = z.tuple([
  z.literal("g"),
  z.array(z.tuple([count, bytes])).max(LIMITS.findGetVersions),
  z.enum(["raw", "zstd"]),
  count.pipe(z.number().max(LIMITS.runBytes)),
  count,
]);
export type FindGetItem = z.output<typeof FIND_GET_ITEM>;

/** Items of a find: [folder, as of seq, isLast, [[name, state]…]] for one folder's next entries; with a predicate: [path of folder, …]. */
export const FIND_ITEM = z.tuple([
  nodeId,
  count,
  z.boolean(),
  z.array(z.tuple([toldName, state])).max(4096),
  z
    .string()
    .max(LIMITS.symlinkBytes * 16)
    .optional(),
]);
export type FindItem = z.output<typeof FIND_ITEM>;

/** One of them, or several in a list. */
export const FIND_ITEMS = z.union([FIND_ITEM.transform((item) => [item]), z.array(FIND_ITEM).max(4096)]);

export const RESULTS = {
  hello: z.object({ protocol: count, software: z.string().max(200), termMs: count }),
  joined: z.object({
    device: z.string().max(LIMITS.deviceName),
    volume: z.string().max(LIMITS.nameBytes),
    isReadOnly: z.boolean(),
  }),
  attached: z.object({
    epoch: z.string().max(64),
    seq: count,
    root: state,
    nodes: z.tuple([nodeId, count]).nullable(),
    /** The feed goes on where the client stood; else everything is to be listed again. */
    isResumed: z.boolean(),
    isReadOnly: z.boolean(),
    termMs: count,
  }),
  stat: z.object({ asOf: count, nodes: z.array(state.nullable()), names: z.array(state.nullable()) }),
  getHash: z.object({ sizeBytes: count, recipe: bytes.nullable(), chunks: count, oid: bytes.nullable().optional() }),
  operation: z.object({ node: nodeId, seq: count, version: count, conflict: z.boolean() }),
  space: z.object({ totalBytes: count, freeBytes: count, availableBytes: count, totalFiles: count, freeFiles: count }),
  newNodes: z.tuple([nodeId, count]),
  xattrs: z.object({ seq: count, xattrs: z.array(z.tuple([xattrName, xattrValue])).max(LIMITS.xattrValueBytes) }),
} as const;

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
