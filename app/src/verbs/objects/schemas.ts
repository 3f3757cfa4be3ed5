// Forms of what programs ask about objects: the command line, and the client for programs (app/src/client/).
import { CHUNK_KINDS } from "@runnel/shared/base";
import { z } from "zod";
import { DURATION_MS_MAX } from "../../cli/duration.ts";
import { count, text } from "../schemas.ts";

const size = z.int().nonnegative();
/** Permission bits of what is written. */
const mode = z.int().min(0).max(0o777);

export const putSchemas = {
  /** `file`: of this computer or in a drive; `to`: a path in a drive, or the address of a volume. */
  asks: z.object({
    file: text,
    to: text.optional(),
    lifeMs: z.int().positive().max(DURATION_MS_MAX).optional(),
    /** Says where it is cut: where its bytes say so, or each time after the same number of them. */
    chunks: z.enum(CHUNK_KINDS).optional(),
  }),
  /** Bytes that have been read to be sent, of all. */
  part: z.object({ done: count, all: count }),
  gives: z.object({
    uri: text,
    oid: z.string(),
    size,
    /** Address of the volume. */
    volume: text,
    /** Time until which it lives at least. */
    untilMs: count,
    /** It was there: nothing of it was sent. */
    wasThere: z.boolean(),
  }),
};

export const getSchemas = {
  /**
   * Without a `file` the bytes stay in the agent's cache, for the asker to read: parts say where. The answer comes when
   * the asker cancels the request then.
   */
  asks: z.object({ uri: text, file: text.optional(), mode: mode.optional(), isInOrder: z.boolean().optional() }),
  /** A range that is here and right: bytes of the file at `path`, at their offset. */
  part: z.object({ path: text, offset: size, length: size, all: size, isLast: z.boolean() }),
  gives: z.object({ oid: z.string(), size, volume: text }),
};

export const copySchemas = {
  /** Paths of this computer, in a drive, or wss://HOST:PORT/VOLUME/PATH. */
  asks: z.object({ from: text, to: text, isRecursive: z.boolean().optional() }),
  part: z.object({ files: count, bytes: count, path: z.string() }),
  gives: z.object({ files: count, folders: count, bytes: count, skipped: z.array(z.string()) }),
};
