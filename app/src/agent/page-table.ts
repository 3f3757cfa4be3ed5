// The part of the agent's verbs that a page in the browser may call.
import type { CallSchemas, CallTable } from "@runnel/shared";
import type { z } from "zod";

/** Verbs that a page may call, and what it may ask of each (verb.ts). */
export function pageTable(verbs: Readonly<Record<string, CallSchemas & { pageAsks?: z.ZodType }>>): CallTable {
  return Object.fromEntries(
    Object.entries(verbs).flatMap(([verb, schemas]) =>
      schemas.pageAsks === undefined ? [] : [[verb, { ...schemas, asks: schemas.pageAsks }]],
    ),
  );
}
