// Requests that change names and attributes: each is one operation of the client's journal, executed once.
import { z } from "zod";
import { LIMITS } from "../../limits.ts";
import { ROOT_NODE } from "../../model/node.ts";
import { name, newAttributes, nodeId, nodeOrResult, packType, settable } from "../fields.ts";
import { count } from "../numbers.ts";
import { defineRequest, numbered } from "./definition.ts";

/** Result of every operation, of `write` too. */
export const operationResult = z.object({ node: nodeId, seq: count, version: count, conflict: z.boolean() });

/** The file whose name is taken away, as its program saw it (W186). */
const expected = z.object({ node: nodeId, version: count, own: z.array(count).max(LIMITS.operationsAfter) });

const attributes = { type: packType("file"), mode: 0o644, uid: 0, gid: 0, mtimeNs: 0n, rdev: 0, target: "" };

export const CHANGE_REQUESTS = {
  make: defineRequest({
    right: "write",
    request: z.object({
      ...numbered,
      folder: nodeOrResult,
      name,
      node: nodeId,
      attributes: newAttributes,
      /** The file is a conflict copy of what has that path (W185). */
      copyOf: z.string().max(LIMITS.copyOf).optional(),
    }),
    result: operationResult,
    sample: ({ newNode }) => ({ folder: ROOT_NODE, name: "made", node: newNode, attributes }),
  }),
  link: defineRequest({
    right: "write",
    request: z.object({ ...numbered, node: nodeOrResult, folder: nodeOrResult, name }),
    result: operationResult,
    sample: ({ file }) => ({ node: file.node, folder: ROOT_NODE, name: "linked" }),
  }),
  rename: defineRequest({
    right: "write",
    request: z.object({
      ...numbered,
      folder: nodeOrResult,
      name,
      node: nodeOrResult,
      toFolder: nodeOrResult,
      toName: name,
      how: z.enum(["replace", "keep", "exchange"]),
      expects: expected.optional(),
    }),
    result: operationResult,
    sample: ({ file }) => ({
      folder: ROOT_NODE,
      name: "file",
      node: file.node,
      toFolder: ROOT_NODE,
      toName: "renamed",
      how: "keep" as const,
    }),
  }),
  remove: defineRequest({
    right: "write",
    request: z.object({
      ...numbered,
      folder: nodeOrResult,
      name,
      node: nodeOrResult,
      isFolder: z.boolean(),
      expects: expected.optional(),
    }),
    result: operationResult,
    sample: ({ folder }) => ({ folder: ROOT_NODE, name: "folder", node: folder, isFolder: true }),
  }),
  /** Removes a folder with all below it, unless something of it changed after `asOf`. */
  removeAll: defineRequest({
    right: "write",
    request: z.object({
      ...numbered,
      folder: nodeOrResult,
      name,
      node: nodeOrResult,
      asOf: count,
      /** Removes only as much of what is below as one operation may; the folder itself once that is all. */
      isPartial: z.boolean().optional(),
    }),
    result: operationResult,
    sample: ({ folder }) => ({ folder: ROOT_NODE, name: "folder", node: folder, asOf: 1_000 }),
  }),
  setAttr: defineRequest({
    right: "write",
    request: z.object({ ...numbered, node: nodeOrResult, change: settable }),
    result: operationResult,
    sample: ({ file }) => ({ node: file.node, change: { mode: 0o600 } }),
  }),
};
