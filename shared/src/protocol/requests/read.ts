// Requests that bring contents.
import { z } from "zod";
import { LIMITS } from "../../limits.ts";
import { bytes, packVersion, versionId } from "../fields.ts";
import { count } from "../numbers.ts";
import { attached, defineRequest } from "./definition.ts";

/** The same for a fetch, against a held version: [its index, first chunk, chunks] (W32). */
const fetchEncoding = z.union([z.enum(["raw", "zstd"]), z.tuple([count, count, count])]);
export type FetchEncoding = z.output<typeof fetchEncoding>;

const recipeParts = z.array(z.union([bytes, z.tuple([count, count, count])]));

/**
 * Items of a fetch, server to client: first ["v", size, recipe parts or null], then ["p", more parts] until the recipe
 * has that size; then ["d", first chunk, chunks, encoding, raw length, encoded length] or, without a recipe, ["s",
 * offset, descriptors, encoding, raw length, encoded length] and ["raw", offset, encoding, raw length, encoded length],
 * each with its bytes on the bulk stream. Recipe parts: [held index, from, count] or descriptors.
 */
export const FETCH_ITEM = z.union([
  z.tuple([z.literal("v"), count, recipeParts.nullable()]),
  z.tuple([z.literal("p"), recipeParts]),
  z.tuple([z.literal("d"), count, count, fetchEncoding, count, count]),
  z.tuple([z.literal("s"), count, bytes, fetchEncoding, count, count]),
  z.tuple([z.literal("raw"), count, z.enum(["raw", "zstd"]), count, count]),
]);
export type FetchItem = z.output<typeof FETCH_ITEM>;

/**
 * Items of a findGet: ["g", [[index in the request, recipe] …], encoding, raw length, encoded length], the contents one
 * after another on the bulk stream.
 */
export const FIND_GET_ITEM = z.tuple([
  z.literal("g"),
  z.array(z.tuple([count, bytes])).max(LIMITS.findGetVersions),
  z.enum(["raw", "zstd"]),
  count.pipe(z.number().max(LIMITS.runBytes)),
  count,
]);
export type FindGetItem = z.output<typeof FIND_GET_ITEM>;

export const READ_REQUESTS = {
  getHash: defineRequest({
    right: "read",
    request: z.object({ ...attached, version: versionId, from: count, count, oid: z.boolean().optional() }),
    result: z.object({ sizeBytes: count, recipe: bytes.nullable(), chunks: count, oid: bytes.nullable().optional() }),
    isAnsweredWhole: true,
    sample: ({ file }) => ({ version: packVersion(file), from: 0, count: 10 }),
  }),
  fetch: defineRequest({
    right: "read",
    request: z.object({
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
      /** Number of bytes of the range that are waited for; the rest comes when nothing else does (W142). */
      asked: count.optional(),
    }),
    result: z.void(),
    bulkFrom: "server",
    sample: ({ file }) => ({ version: packVersion(file), held: [], hasRecipe: false, offset: 0, length: 10 }),
  }),
  findGet: defineRequest({
    right: "read",
    request: z.object({
      ...attached,
      versions: z.array(versionId).max(LIMITS.findGetVersions),
      /** The items have no bytes: the client looks for the chunks elsewhere first. A feature of its own. */
      recipesOnly: z.boolean().optional(),
    }),
    result: z.void(),
    bulkFrom: "server",
    sample: ({ file }) => ({ versions: [packVersion(file)] }),
  }),
};
