// Schemas that several verbs share.
import { z } from "zod";
import type { MountStatistics } from "../agent/mount.ts";

export const text = z.string().max(8192);
export const count = z.number();

/** A drive: its volume and where it is mounted. */
export const Place = z.object({ url: text, mountpoint: text });

export const Unsent = z.object({
  path: z.string(),
  sizeBytes: count,
  sinceMs: count,
  reason: z.string().nullable(),
  isStuck: z.boolean(),
});

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

export const MeasuredMounts = z.object({ mounts: z.array(Place.extend({ statistics: Statistics })) });
