// The request that brings a new content, as a stream of items (LBFS's four operations on one channel).
import { z } from "zod";
import { LIMITS } from "../../limits.ts";
import { EMPTY_OID } from "../../model/recipe.ts";
import { attributeChange, bytes, nodeOrResult, versionId } from "../fields.ts";
import { count, countOrResult, counts } from "../numbers.ts";
import { operationResult } from "./change.ts";
import { defineRequest, numbered } from "./definition.ts";

/**
 * Encoding of a run of a write; a tuple is a delta against these chunks of a version: [version, first chunk, chunks]
 * (W28).
 */
const runEncoding = z.union([z.enum(["raw", "zstd"]), z.tuple([versionId, count, count])]);
export type RunEncoding = z.output<typeof runEncoding>;
/** Encoding as it is sent: the version as [node, seq]. */
export type SentRunEncoding = z.input<typeof runEncoding>;

/**
 * Items of a write, client to server. Ranges of chunks of a version's recipe ("c", CONDWRITE by place) · descriptors
 * with the place that holds them ("h"; null: by digest alone) · a run of new data ("d": encoding, raw and encoded
 * length, bytes on the bulk stream, or inside when short) · new data for an item that the server needs ("r": its index
 * first) · the end ("e", COMMITTMP: OID of the whole).
 */
export const WRITE_ITEM = z.union([
  z.tuple([z.literal("c"), versionId, count, count]),
  z.tuple([z.literal("h"), bytes, versionId.nullable(), count]),
  z.tuple([z.literal("d"), runEncoding, count, z.union([count, bytes])]),
  z.tuple([z.literal("r"), count, z.enum(["raw", "zstd"]), count, z.union([count, bytes])]),
  z.tuple([z.literal("e"), bytes]),
]);
export type WriteItem = z.output<typeof WRITE_ITEM>;

/** After so many items of a write, or so many bytes in them, a server says how many it has accepted (W35). */
export const ACCEPTED_STEP = 4096;
export const ACCEPTED_BYTES = 256 * 1024;

/**
 * Items of a write, server to client: ["need", [item…]] · ["from", item] (resume: items before it are here) ·
 * ["accepted", items] (all since its beginning).
 */
export const WRITE_REPLY = z.union([
  z.tuple([z.literal("need"), counts(LIMITS.neededItems)]),
  z.tuple([z.literal("from"), count]),
  z.tuple([z.literal("accepted"), count]),
]);

export const WRITE_REQUEST = {
  write: defineRequest({
    right: "write",
    request: z.object({
      ...numbered,
      node: nodeOrResult,
      base: countOrResult,
      sizeBytes: count.pipe(z.number().max(LIMITS.fileBytes)),
      attributes: attributeChange,
      /** Preset that its runs are cut with (CHUNK_PRESETS). 3 and 4 belong to the feature `fixed-chunks` [W211]. */
      preset: z.literal([0, 1, 2, 3, 4]).optional(),
      /** A repetition: the server says first from which item on it needs them. */
      isResumed: z.boolean(),
      /** The first items of the stream; each is checked when it is taken. Not with isResumed. */
      items: z.array(z.unknown()).max(LIMITS.channelItems).optional(),
    }),
    result: operationResult,
    bulkFrom: "client",
    sample: ({ file }) => ({
      node: file.node,
      base: file.seq,
      sizeBytes: 0,
      attributes: {},
      isResumed: false,
      items: [["e", EMPTY_OID]],
    }),
  }),
};
