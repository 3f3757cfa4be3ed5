// Status of a volume as its server reports it (rule W45): how it stands with the folder, and the notices.
import { z } from "zod";
import { ERROR_KINDS } from "../../errors.ts";
import type { ErrorKind } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";
import type { Notice } from "../../model/notice.ts";
import { count } from "../numbers.ts";

/** Why the volume's server is not sure yet of what lies in the folder; one that is not known is "missed". */
export const SCAN_REASONS = ["start", "missed", "behind"] as const;
export type ScanReason = (typeof SCAN_REASONS)[number];

const errorKind = z.string().transform((kind): ErrorKind => ERROR_KINDS.find((known) => known === kind) ?? "Io");
const stuck = z.object({ path: z.string(), kind: errorKind, sentence: z.string() });

const scan = z.object({
  why: z.string().transform((why): ScanReason => SCAN_REASONS.find((known) => known === why) ?? "missed"),
  done: count,
  total: count,
  /** Why it does not come to an end, and in which folder; begun again. */
  stuck: stuck.optional(),
});

/** The end of a status. What is left out is not so. */
export const VOLUME_STATUS = z.object({
  /** Sequence number of the volume when this was so: changes up to it were said on the feed before. */
  seq: count,
  /** Commits that are not in the plain files yet. */
  pending: count,
  /**
   * Why the first that cannot be brought up waits, at its path, and with it what depends on it; all where the whole
   * folder is in the way.
   */
  stuck: stuck.optional(),
  /**
   * Progress of a scan, while the status may not show yet what programs on the server do: so many names were visited,
   * of so many or more.
   */
  scan: scan.optional(),
  /** Names in the folder that cannot be offered. */
  excluded: count,
});
export type VolumeStatus = z.output<typeof VOLUME_STATUS>;

const at = { atMs: count };
const ENTRIES = {
  conflict: z.object({ kind: z.literal("conflict"), path: z.string(), conflictCopy: z.string(), ...at }),
  clientConflict: z.object({
    kind: z.literal("clientConflict"),
    path: z.string(),
    seq: count,
    conflictCopy: z.string().optional(),
    by: z.string(),
    ...at,
  }),
  incomplete: z.object({
    kind: z.literal("incomplete"),
    path: z.string(),
    conflictCopy: z.string(),
    missing: z.array(z.object({ offset: count, length: count })),
    missingBytes: count,
    ...at,
  }),
  lost: z.object({ kind: z.literal("lost"), path: z.string(), node: count, seq: count, versions: count, ...at }),
  destroyed: z.object({ kind: z.literal("destroyed"), path: z.string(), seq: count, ...at }),
  missing: z.object({ kind: z.literal("missing"), path: z.string(), seq: count, ...at }),
  salvaged: z.object({ kind: z.literal("salvaged"), changes: count, ...at }),
  excluded: z.object({ kind: z.literal("excluded"), path: z.string() }),
} as const;

/** A notice, or an excluded name. */
export type StatusEntry = Notice | { kind: "excluded"; path: string };

const entry: z.ZodType<StatusEntry> = z.discriminatedUnion("kind", Object.values(ENTRIES) as never);
const unknownEntry = z.object({ kind: z.string().refine((kind) => !(kind in ENTRIES)) }).transform(() => undefined);

/** An item of a status. What is of a kind that is not known is passed over. */
export const STATUS_ITEM = z
  .array(z.union([entry, unknownEntry]))
  .max(LIMITS.statusEntriesPerItem)
  .transform((all) => all.filter((one) => one !== undefined));
