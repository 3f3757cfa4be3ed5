// A table of calls: by its verb, the schemas of what is asked, of the parts that come before the result, and of the
// result.
import type { z } from "zod";

export interface CallSchemas {
  asks: z.ZodType;
  part?: z.ZodType;
  gives: z.ZodType;
}

export type CallTable = Readonly<Record<string, CallSchemas>>;

export type CallRequest<C extends CallSchemas> = z.output<C["asks"]>;
export type CallResult<C extends CallSchemas> = z.output<C["gives"]>;
export type CallPart<C extends CallSchemas> = C extends { part: z.ZodType } ? z.output<C["part"]> : never;

/** A request that is being answered. */
export interface Call<Part = unknown> {
  /** Sends a part; resolves when there is room for more, or when nobody waits for it. */
  part(value: Part): Promise<void>;
  /** Aborted when the asker cancels or goes. */
  readonly signal: AbortSignal;
}
