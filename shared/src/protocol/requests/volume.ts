// Requests about a volume as a whole.
import { z } from "zod";
import { LIMITS } from "../../limits.ts";
import { ROOT_NODE } from "../../model/node.ts";
import { nodeId } from "../fields.ts";
import { count } from "../numbers.ts";
import { attached, defineRequest } from "./definition.ts";
import { VOLUME_STATUS } from "./status-items.ts";

/** User of a file or folder, as others who have the volume may know it (W189). */
export const OPENER = z.object({
  name: z.string(),
  /** It is whoever asks. */
  isOwn: z.boolean(),
  isConnected: z.boolean(),
  /** Time at which it attached; 0 when that is not known. */
  sinceMs: count,
  /** It had the file open lately. */
  hasRead: z.boolean(),
});
export type SeenOpener = z.output<typeof OPENER>;

export const VOLUME_REQUESTS = {
  /** Brings notices and excluded names as items, and ends with how the volume stands with its plain files. */
  status: defineRequest({
    right: "read",
    request: z.object(attached),
    result: VOLUME_STATUS,
    isAnsweredWhole: true,
    sample: () => ({}),
  }),
  space: defineRequest({
    right: "read",
    request: z.object(attached),
    result: z.object({
      totalBytes: count,
      freeBytes: count,
      availableBytes: count,
      totalFiles: count,
      freeFiles: count,
    }),
    isAnsweredWhole: true,
    sample: () => ({}),
  }),
  /** A person has seen to a conflict between clients: it is listed no more. */
  settle: defineRequest({
    right: "write",
    request: z.object({ ...attached, seq: count }),
    result: z.void(),
    sample: () => ({ seq: 0 }),
  }),
  /** Is answered when the plain files show all changes up to the seq. */
  whenApplied: defineRequest({
    right: "read",
    request: z.object({ ...attached, seq: count }),
    result: z.void(),
    sample: () => ({ seq: 0 }),
  }),
  /** Says who has a file or folder open. `folder` holds it; the root holds itself. */
  openers: defineRequest({
    right: "read",
    request: z.object({ ...attached, node: nodeId, folder: nodeId }),
    result: z.object({ openers: z.array(OPENER).max(LIMITS.openers), total: count }),
    isAnsweredWhole: true,
    sample: ({ file }) => ({ node: file.node, folder: ROOT_NODE }),
  }),
};
