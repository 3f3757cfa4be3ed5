// A number of a message.
import { z } from "zod";

/** A non-negative integer below 2^53, whichever width CBOR gave it. */
export const count = z
  .union([z.number(), z.bigint()])
  .transform(Number)
  .pipe(z.int().min(0).max(Number.MAX_SAFE_INTEGER));

/** The same, or -n with n above 0: what comes of operation n (W63). */
export const countOrResult = z
  .union([z.number(), z.bigint()])
  .transform(Number)
  .pipe(z.int().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER));
