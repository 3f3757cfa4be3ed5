// Schemas that several verbs share.
import { z } from "zod";
import { MountStatistics } from "../agent/mount-status.ts";

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

export const MeasuredMounts = z.object({ mounts: z.array(Place.extend({ statistics: MountStatistics })) });
