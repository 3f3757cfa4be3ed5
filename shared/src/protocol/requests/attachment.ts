// Requests that begin and end the use of a volume.
import { z } from "zod";
import { LIMITS, TIMING } from "../../limits.ts";
import { NODE_LIMIT } from "../../model/node.ts";
import { instance, nodeId, state } from "../fields.ts";
import { count, counts } from "../numbers.ts";
import { attached, defineRequest } from "./definition.ts";

/** Node ids: the first, and how many. */
const nodeRange = z.tuple([nodeId, count]);

export const ATTACHMENT_REQUESTS = {
  /** Needs a right on the volume that it names; its channel stays open and carries the feed. */
  attach: defineRequest({
    right: "none",
    request: z.object({
      volume: z.string().min(1).max(LIMITS.nameBytes),
      instance,
      /** Epoch and seq that the client's replica stands at, to resume its feed; absent: none. */
      epoch: z.string().max(64).optional(),
      seq: count.optional(),
      /** Folders followed before, on resume; "all" for the whole volume. */
      follows: z.union([z.literal("all"), counts(LIMITS.followedFolders, NODE_LIMIT - 1)]).optional(),
      wantsNodes: z.boolean(),
      /** Round trip of the line, as the client has measured it; left out where that is short. */
      roundTripMs: count.pipe(z.int().max(TIMING.roundTripMsMax)).optional(),
    }),
    result: z.object({
      epoch: z.string().max(64),
      seq: count,
      root: state,
      nodes: nodeRange.nullable(),
      /** The feed goes on where the client stood; else everything is to be listed again. */
      isResumed: z.boolean(),
      isReadOnly: z.boolean(),
      termMs: count,
    }),
    sample: () => ({ volume: "docs", instance: "0".repeat(32), wantsNodes: true }),
  }),
  detach: defineRequest({
    right: "read",
    request: z.object(attached),
    result: z.void(),
    sample: () => ({}),
  }),
  /** Gives ids for what a client makes. */
  newNodes: defineRequest({
    right: "write",
    request: z.object({ ...attached, count: count.pipe(z.int().min(1).max(LIMITS.nodesAtOnce)).optional() }),
    result: nodeRange,
    sample: () => ({}),
  }),
};
