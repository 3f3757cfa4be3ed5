// Numbers of a message.
import { z } from "zod";
import type { NumberSpan } from "../model/number-span.ts";

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

/**
 * A list of at most `lengthMax` of the former, none above `max`. Looked at in one go: a schema for each of 200,000
 * takes a tenth of a second.
 */
export function counts(lengthMax: number, max: number = Number.MAX_SAFE_INTEGER): z.ZodType<number[]> {
  return z.custom<unknown[]>(Array.isArray, "not a list").transform((list, context) => {
    if (list.length > lengthMax) return faulty(context, `more than ${lengthMax} numbers`);
    const numbers = list.some((value) => typeof value === "bigint")
      ? list.map((value) => (typeof value === "bigint" ? Number(value) : value))
      : list;
    const isFit = (value: unknown): value is number =>
      Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max;
    return numbers.every(isFit) ? numbers : faulty(context, "not a whole number that fits");
  });
}

/** A list of at most `lengthMax` spans of numbers; one that ends before it begins has none. */
export function spans(lengthMax: number): z.ZodType<NumberSpan[]> {
  return z.array(z.tuple([count, count])).max(lengthMax);
}

function faulty(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}
