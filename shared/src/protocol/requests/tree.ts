// Requests that read the tree: what a folder holds, and the facts of single nodes.
import { z } from "zod";
import { LIMITS } from "../../limits.ts";
import { NODE_LIMIT, ROOT_NODE } from "../../model/node.ts";
import { listedName, name, nodeId, state, xattrName, xattrValue } from "../fields.ts";
import { count, counts } from "../numbers.ts";
import { attached, defineRequest } from "./definition.ts";

/**
 * Items of a find: [folder, as of seq, isLast, [[name, state]…]] for one folder's next entries; with a predicate: [path
 * of folder, …].
 */
export const FIND_ITEM = z.tuple([
  nodeId,
  count,
  z.boolean(),
  z.array(z.tuple([listedName, state])).max(4096),
  z
    .string()
    .max(LIMITS.symlinkBytes * 16)
    .optional(),
]);
export type FindItem = z.output<typeof FIND_ITEM>;

/** Message with a single find item, or several in a list. */
export const FIND_ITEMS = z.union([FIND_ITEM.transform((item) => [item]), z.array(FIND_ITEM).max(4096)]);

export const TREE_REQUESTS = {
  find: defineRequest({
    right: "read",
    request: z.object({
      ...attached,
      folder: nodeId,
      /** Below it, too. */
      isDeep: z.boolean(),
      predicate: z.unknown().optional(),
      /** Register for the feed of every folder listed, before it is read. */
      follow: z.boolean(),
    }),
    result: z.void(),
    sample: ({ folder }) => ({ folder, isDeep: true, follow: true }),
  }),
  stat: defineRequest({
    right: "read",
    request: z.object({
      ...attached,
      nodes: counts(LIMITS.statNodes, NODE_LIMIT - 1),
      names: z.array(z.tuple([nodeId, name])).max(LIMITS.statNodes),
    }),
    result: z.object({ asOf: count, nodes: z.array(state.nullable()), names: z.array(state.nullable()) }),
    isAnsweredWhole: true,
    sample: ({ file, folder }) => ({
      nodes: [file.node, folder],
      names: [ROOT_NODE, folder].map((each): [number, string] => [each, "file"]),
    }),
  }),
  xattrs: defineRequest({
    right: "read",
    request: z.object({ ...attached, node: nodeId }),
    result: z.object({ seq: count, xattrs: z.array(z.tuple([xattrName, xattrValue])).max(LIMITS.xattrValueBytes) }),
    isAnsweredWhole: true,
    sample: ({ file }) => ({ node: file.node }),
  }),
};
