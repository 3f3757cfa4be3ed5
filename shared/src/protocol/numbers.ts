// A number of a message.
import { z } from "zod";

/** A non-negative integer below 2^53, whichever width CBOR gave it. */
export const count = z
  .union([z.number(), z.bigint()])
  .transform(Number)
  .pipe(z.int().min(0).max(Number.MAX_SAFE_INTEGER));
