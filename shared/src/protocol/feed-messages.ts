// Items of the feed, which goes on the channel that `attach` opened.
import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { NODE_LIMIT } from "../model/node.ts";
import { bytes, change, keyDigest, nodeId, versionId } from "./fields.ts";
import { count, counts } from "./numbers.ts";

/**
 * Items of the attach channel, client to server: ["ack", seq] · ["current", k] · ["idle"] · ["unfollow", [folder…]] ·
 * ["want", [[node, version held or 0]…]] · ["have", version, offset, bytes], of what "lack" asked for ·
 * ["haveNot", version], when there is no more of it · ["acquire", k, node] (asks for the write lease on what is below
 * a folder) · ["yield", node] (gives it back) · ["heard", k] (of the write leases of others, as "others" said them).
 */
export const FEED_FROM_CLIENT = z.union([
  z.tuple([z.literal("ack"), count]),
  z.tuple([z.literal("current"), count]),
  z.tuple([z.literal("idle")]),
  z.tuple([z.literal("unfollow"), counts(LIMITS.unfollowFolders, NODE_LIMIT - 1)]),
  z.tuple([z.literal("want"), z.array(z.tuple([nodeId, count])).max(LIMITS.wantedFiles)]),
  z.tuple([z.literal("have"), versionId, count, bytes.refine(({ length }) => length <= LIMITS.runBytes, "too long")]),
  z.tuple([z.literal("haveNot"), versionId]),
  z.tuple([z.literal("acquire"), count, nodeId]),
  z.tuple([z.literal("yield"), nodeId]),
  z.tuple([z.literal("heard"), count]),
]);
export type FeedFromClient = z.output<typeof FEED_FROM_CLIENT>;

/**
 * A change of a file against a held version: [version held, size, parts of the recipe, runs as of a fetch with their
 * bytes].
 */
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
 * Items of the attach channel, server to client: ["changes", [change…], seqs whose contents follow] · ["content",
 * version, difference or null] · ["current", k, seq] (lease renewed, counted from sending k) · ["not", k] (no lease
 * now: ask at every open) · ["listAgain", seq] (the backlog was too long: everything is unknown) · ["waiting", n,
 * [who…], untilMs] (the commit n waits for these; 0: all that this client asks does) · ["lack", version, [[offset,
 * length]…]] (bytes of a version that this client committed, asked for once more) · ["granted", k, whether this
 * instance has had it without a break, folder that it is on] · ["refused", k, retryAfterMs] · ["recall", node] (the
 * write lease on it is asked back) · ["others", k, [folder…]] (all that write leases of others are on: nothing is
 * promised of what is below) · ["noticed"] (the notices of the status are others now) · ["shutOut",
 * key] (the device with that key has lost its right) · ["colleagues", whether
 * there are any who can be reached].
 */
export const FEED_FROM_SERVER = z.union([
  z.tuple([z.literal("changes"), z.array(change).max(4096), counts(4096).optional()]),
  z.tuple([z.literal("content"), versionId, difference.nullable()]),
  z.tuple([z.literal("current"), count, count]),
  z.tuple([z.literal("not"), count]),
  z.tuple([z.literal("listAgain"), count]),
  z.tuple([z.literal("waiting"), count, z.array(z.string().max(200)).max(100), count]),
  z.tuple([z.literal("lack"), versionId, z.array(z.tuple([count, count])).max(LIMITS.lackedRanges)]),
  z.tuple([z.literal("granted"), count, z.boolean(), nodeId]),
  z.tuple([z.literal("refused"), count, count]),
  z.tuple([z.literal("recall"), nodeId]),
  z.tuple([z.literal("others"), count, counts(LIMITS.writeLeases, NODE_LIMIT - 1)]),
  z.tuple([z.literal("noticed")]),
  z.tuple([z.literal("shutOut"), keyDigest]),
  z.tuple([z.literal("colleagues"), z.boolean()]),
]);
export type FeedFromServer = z.output<typeof FEED_FROM_SERVER>;
