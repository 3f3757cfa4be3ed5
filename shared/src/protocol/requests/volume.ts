// Requests about a volume as a whole.
import { z } from "zod";
import { count } from "../numbers.ts";
import { attached, defineRequest } from "./definition.ts";
import { VOLUME_STATUS } from "./status-items.ts";

export const VOLUME_REQUESTS = {
  /** Brings notices and excluded names as items, and ends with how the volume stands with its plain files. */
  status: defineRequest({
    right: "read",
    request: z.object(attached),
    result: VOLUME_STATUS,
    isAnsweredWhole: true,
    isOfNoTree: true,
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
    isOfNoTree: true,
    sample: () => ({}),
  }),
  /** A person has seen to a conflict between clients: it is listed no more. */
  settle: defineRequest({
    right: "write",
    request: z.object({ ...attached, seq: count }),
    result: z.void(),
    isOfNoTree: true,
    sample: () => ({ seq: 0 }),
  }),
  /** Is answered when the plain files show all changes up to the seq. */
  whenApplied: defineRequest({
    right: "read",
    request: z.object({ ...attached, seq: count }),
    result: z.void(),
    isOfNoTree: true,
    sample: () => ({ seq: 0 }),
  }),
};
