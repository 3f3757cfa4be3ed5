// The schema of a drive's status, with what its server says of its folder.
import { LOOKS } from "@runnel/shared";
import { z } from "zod";
import type { MountStatus, ServerStatus } from "../agent/mount.ts";
import { count, text } from "./schemas.ts";

const Stuck = z.object({ path: z.string(), kind: z.string(), sentence: z.string() });

const Server: z.ZodType<ServerStatus> = z.object({
  seq: count,
  pending: count,
  stuck: Stuck.nullable(),
  scan: z.object({ why: z.enum(LOOKS), done: count, total: count, stuck: Stuck.nullable() }).nullable(),
  conflicts: z.array(z.object({ path: z.string(), conflictCopy: z.string(), atMs: count })),
  incomplete: z.array(
    z.object({
      path: z.string(),
      conflictCopy: z.string(),
      missing: z.array(z.object({ offset: count, length: count })),
      missingBytes: count,
      atMs: count,
    }),
  ),
  lost: z.array(z.object({ path: z.string(), versions: count, atMs: count })),
  destroyed: z.array(z.object({ path: z.string(), seq: count, atMs: count })),
  missing: z.array(z.object({ path: z.string(), seq: count, atMs: count })),
  salvaged: z.array(z.object({ changes: count, atMs: count })),
  excluded: z.object({ count, paths: z.array(z.string()) }),
});

export const MountStatusSchema: z.ZodType<MountStatus> = z.object({
  url: text,
  volume: text,
  mountpoint: text,
  state: z.enum(["listing", "connected", "offline"]),
  hasLease: z.boolean(),
  isReadOnly: z.boolean(),
  sentence: z.string(),
  epoch: z.string(),
  seq: count,
  unsentFiles: count,
  unsentBytes: count,
  waiting: z.array(z.object({ operation: z.string(), for: z.array(z.string()), untilMs: count })),
  conflicts: z.array(z.object({ path: z.string(), conflictCopy: z.string() })),
  problems: z.array(z.string()),
  cacheBytes: count,
  pid: z.int(),
  server: Server.nullable(),
});
