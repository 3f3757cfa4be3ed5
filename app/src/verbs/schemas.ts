// Schemas that several verbs share.
import { z } from "zod";
import { MountStatistics, UnsentFile } from "../agent/mount-status.ts";
import { type Head, HEAD_ACTS, VIEW_STATES } from "../agent/view/head.ts";

export const text = z.string().max(8192);
export const count = z.number();

/** A field that no page may send. */
export const notFromPage = z.undefined().optional();

/** A drive: its volume and where it is mounted. */
export const Place = z.object({ url: text, mountpoint: text });

export const Unsent = UnsentFile.omit({ id: true });

export const HeadSchema: z.ZodType<Head> = z.object({
  state: z.enum(VIEW_STATES),
  sentence: z.string(),
  next: z.string().nullable(),
  act: z.enum(HEAD_ACTS).nullable(),
});

export const MeasuredMounts = z.object({ mounts: z.array(Place.extend({ statistics: MountStatistics })) });
