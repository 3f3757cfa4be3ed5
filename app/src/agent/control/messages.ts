// The control protocol: what the faces of the agent (command line, tray) ask it over its local socket, and what it answers.
// Newline-delimited JSON, one message a line, checked here in both directions. Both sides open with a hello.
//
//     face → agent    {hello: {control, version}}  {id, request: {verb, …}}  {cancel: id}
//     agent → face    {hello: {control, version, pid}}  {id, part}…  {id, result} | {id, error: {kind, operation, message, detail}}
//
// Every request is answered by exactly one result or error; before it, `find` and `watch` send parts. A line that is none of
// these ends the connection.
import { ERROR_KINDS, type ErrorDetail, LOOKS, RunnelError } from "@runnel/shared";
import { z } from "zod";
import type { FoundEntry, MountStatistics, MountStatus, ServerStatus } from "../mount.ts";

/** Raised when an old face would misunderstand a new agent or the other way round. */
export const CONTROL_VERSION = 1;

/** Bounds of what one side accepts from the other. */
export const CONTROL_LIMITS = {
  /** One line from a face. */
  requestLineBytes: 256 * 1024,
  /** One line from the agent: a status with all its conflicts, or a part. */
  answerLineBytes: 16 * 1024 * 1024,
  /** A part of a find is sent when its entries reach this. */
  partBytes: 128 * 1024,
  /** Requests of one connection that are not yet answered. */
  requests: 64,
  /** Connections of one agent. */
  connections: 64,
  /** A connection that has not said hello by then is closed. */
  helloMs: 5000,
  /** An agent that ends waits so long for its last answers to go out. */
  finishMs: 2000,
} as const;

const text = z.string().max(8192);
const count = z.number();

export const Hello = z.object({ control: z.int(), version: text, pid: z.int().optional() });
export type Hello = z.infer<typeof Hello>;

export const Request = z.discriminatedUnion("verb", [
  z.object({
    verb: z.literal("mount"),
    url: text,
    mountpoint: text,
    cache: text.optional(),
    cacheBytes: z.int().nonnegative().optional(),
    mode: z.enum(["sync", "async"]),
    /** Show everything as the mounting user's; left out: for an ordinary user. */
    mapOwner: z.boolean().optional(),
    /** macOS: through FSKit. */
    usesFsKit: z.boolean().optional(),
    /** Path of the server's secret, without TLS. */
    secret: text.optional(),
  }),
  z.object({
    verb: z.literal("login"),
    invite: text,
    /** Of this device; left out: the machine's. */
    name: text.optional(),
    proxy: text.optional(),
    /** Certificates of authorities in PEM form. */
    caFile: text.optional(),
  }),
  /** `server`: HOST:PORT, or the URL of a volume there. */
  z.object({ verb: z.literal("logout"), server: text }),
  z.object({ verb: z.literal("unmount"), mountpoint: text, force: z.boolean() }),
  z.object({ verb: z.literal("flush"), mountpoint: text, up: z.boolean() }),
  /**
   * What is not on the server: of these paths in drives, of all drives when there are none. `exportTo`: a folder for copies. `discards`: it is given up; each
   * file by its path, or `all`.
   */
  z.object({
    verb: z.literal("unsent"),
    paths: z.array(text).max(1024),
    exportTo: text.optional(),
    discards: z.boolean(),
    all: z.boolean(),
  }),
  /** `asksServer`: each drive's server says how it stands with its folder. */
  z.object({ verb: z.literal("status"), asksServer: z.boolean().optional() }),
  z.object({ verb: z.literal("statistics"), mountpoint: text.optional(), reset: z.boolean() }),
  /** `target`: a mount point, or the URL of a volume that need not be mounted. `words`: the predicate as it was typed. */
  z.object({ verb: z.literal("find"), target: text, words: z.array(text).max(1024), secret: text.optional() }),
  /** `path`: of a file or folder in a drive; a folder goes with all that is in it. */
  z.object({ verb: z.literal("remove"), path: text }),
  /** Statistics again and again, until cancelled. */
  z.object({ verb: z.literal("watch"), mountpoint: text.optional(), intervalMs: z.int().min(100).max(60_000) }),
  z.object({ verb: z.literal("stop"), force: z.boolean() }),
]);
export type Request = z.infer<typeof Request>;
export type Verb = Request["verb"];
export type RequestOf<V extends Verb> = Extract<Request, { verb: V }>;

/** What a face sends. */
export const FaceMessage = z.union([
  z.strictObject({ hello: Hello }),
  z.strictObject({ id: z.int().nonnegative(), request: Request }),
  z.strictObject({ cancel: z.int().nonnegative() }),
]);
export type FaceMessage = z.infer<typeof FaceMessage>;

const WireBytes = z.object({ data: count, recipes: count, metadata: count, overhead: count });

const Statistics: z.ZodType<MountStatistics> = z.object({
  applications: z.object({ readBytes: count, writtenBytes: count }),
  sent: WireBytes,
  received: WireBytes,
  roundTrips: count,
  reusedChunks: z.object({ base: count, cache: count, server: count }),
  reusedBytes: count,
  offlineAnswers: count,
  savedPercent: count,
});

const Stuck = z.object({ path: z.string(), kind: z.string(), sentence: z.string() });

const Server: z.ZodType<ServerStatus> = z.object({
  seq: count,
  pending: count,
  stuck: Stuck.nullable(),
  look: z.object({ why: z.enum(LOOKS), done: count, total: count, stuck: Stuck.nullable() }).nullable(),
  conflicts: z.array(z.object({ path: z.string(), keptBeside: z.string(), atMs: count })),
  incomplete: z.array(
    z.object({
      path: z.string(),
      keptBeside: z.string(),
      missing: z.array(z.object({ offset: count, length: count })),
      missingBytes: count,
      atMs: count,
    }),
  ),
  lost: z.array(z.object({ path: z.string(), versions: count, atMs: count })),
  destroyed: z.array(z.object({ path: z.string(), seq: count, atMs: count })),
  missing: z.array(z.object({ path: z.string(), seq: count, atMs: count })),
  salvaged: z.array(z.object({ changes: count, atMs: count })),
  leftOut: z.object({ count, paths: z.array(z.string()) }),
});

const Status: z.ZodType<MountStatus> = z.object({
  url: text,
  volume: text,
  mountpoint: text,
  state: z.enum(["connecting", "listing", "connected", "offline"]),
  hasLease: z.boolean(),
  isReadOnly: z.boolean(),
  sentence: z.string(),
  epoch: z.string(),
  seq: count,
  unsentFiles: count,
  unsentBytes: count,
  waiting: z.array(z.object({ operation: z.string(), for: z.array(z.string()), untilMs: count })),
  conflicts: z.array(z.object({ path: z.string(), keptBeside: z.string() })),
  problems: z.array(z.string()),
  cacheBytes: count,
  pid: z.int(),
  server: Server.nullable(),
});

const Found: z.ZodType<FoundEntry> = z.object({
  path: z.string(),
  type: z.string(),
  sizeBytes: count,
  mtimeMs: count,
});

const Place = z.object({ url: text, mountpoint: text });
const MeasuredMounts = z.object({ mounts: z.array(Place.extend({ statistics: Statistics })) });

/** A mount that an earlier agent of this home did not end: it crashed or was killed. */
export type LostMount = z.infer<typeof Place>;

const Unsent = z.object({
  path: z.string(),
  sizeBytes: count,
  sinceMs: count,
  reason: z.string().nullable(),
  isStuck: z.boolean(),
});

const AgentStatus = z.object({ pid: z.int(), version: text, home: text, startedMs: count });

/** The result of each verb. */
export const RESULTS = {
  mount: z.object({ mount: Status }),
  login: z.object({ url: text, device: text, isReadOnly: z.boolean() }),
  logout: z.object({ server: text, device: text }),
  /** `wasLost`: what an earlier agent left behind was detached. `unsentFiles`: kept here, and sent when the drive is mounted there again; null: not known. */
  unmount: z.object({ unmounted: Place, wasLost: z.boolean(), unsentFiles: count.nullable() }),
  /** `unsent`: what is stuck; all else is on the server. */
  flush: z.object({ flushed: Place.extend({ up: z.boolean(), unsent: z.array(Unsent) }) }),
  /** `exportedTo`: path of the copy; `isWhole`: whether it has all bytes. */
  unsent: z.object({
    unsent: z.array(
      Unsent.extend({
        url: text,
        mountpoint: text,
        exportedTo: z.string().nullable(),
        isWhole: z.boolean().nullable(),
        isDiscarded: z.boolean(),
      }),
    ),
  }),
  status: z.object({ agent: AgentStatus, mounts: z.array(Status), lost: z.array(Place) }),
  statistics: MeasuredMounts,
  find: z.object({}),
  remove: z.object({ removed: Place.extend({ path: z.string() }) }),
  watch: z.object({}),
  stop: z.object({ unmounted: z.array(Place), unsentFiles: count }),
} as const satisfies Record<Verb, z.ZodType>;
export type ResultOf<V extends Verb> = z.infer<(typeof RESULTS)[V]>;

/** The parts that come before the result. */
export const PARTS = {
  find: z.object({ entries: z.array(Found) }),
  /** Of so many files and folders so many are gone. */
  remove: z.object({ removed: count, all: count }),
  watch: MeasuredMounts,
} as const;
export type StreamVerb = keyof typeof PARTS;
export type PartOf<V extends StreamVerb> = z.infer<(typeof PARTS)[V]>;

const Detail: z.ZodType<ErrorDetail> = z.object({
  asOf: count.exactOptional(),
  current: count.exactOptional(),
  limit: count.exactOptional(),
  retryAfterMs: count.exactOptional(),
  need: count.exactOptional(),
  rule: z.string().exactOptional(),
  node: count.exactOptional(),
  nodes: z.array(count).exactOptional(),
});

const WireError = z.object({
  kind: z.enum(ERROR_KINDS),
  operation: z.string(),
  message: z.string(),
  detail: Detail,
});
export type WireError = z.infer<typeof WireError>;

/** What the agent sends; results and parts are checked against the schema of the verb that was asked. */
export const AgentMessage = z.union([
  z.strictObject({ hello: Hello }),
  z.strictObject({ id: z.int(), part: z.unknown() }),
  z.strictObject({ id: z.int(), result: z.unknown() }),
  z.strictObject({ id: z.int(), error: WireError }),
]);
export type AgentMessage = z.infer<typeof AgentMessage>;

export function toWireError(error: RunnelError): WireError {
  return { kind: error.kind, operation: error.operation, message: error.message, detail: error.detail };
}

export function fromWireError(error: WireError): RunnelError {
  return new RunnelError(error.kind, error.operation, error.message, { detail: error.detail });
}

/** Parses one line. @throws RunnelError Invalid when it is not JSON or not of this shape. */
export function parseLine<T>(schema: z.ZodType<T>, line: string, operation: string): T {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new RunnelError("Invalid", operation, "A control message is not JSON.", { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RunnelError("Invalid", operation, "A control message has a shape that is not known here.", {
    cause: parsed.error,
  });
}
