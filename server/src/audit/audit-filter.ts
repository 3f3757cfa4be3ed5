// Filters of who reads the audit log, and the page that is answered.
import { z } from "zod";
import { AUDIT_ACTS, AUDIT_RESULTS, type AuditEntry, auditEntry } from "./audit-entry.ts";
import { PAGE_ENTRIES_MAX } from "./audit-limits.ts";

/** Every result but done. */
export const FAILED = "failed";

export const auditFilter = z.object({
  /** Times of the wall clock: from this millisecond on, and before that one. */
  fromMs: z.number().optional(),
  toMs: z.number().optional(),
  /** A device's id or name, a person, a user, an address, or a kind of actor: the whole of it. */
  who: z.string().max(300).optional(),
  /** A part of a device's id or name, of a person, a user or an address, in small letters or large ones. */
  whoPart: z.string().min(1).max(300).optional(),
  act: z.enum(AUDIT_ACTS).optional(),
  result: z.enum([FAILED, ...AUDIT_RESULTS]).optional(),
  /** Only entries with smaller numbers: what the page before ended with. */
  after: z.int().min(1).optional(),
  /** Only entries with greater numbers. */
  above: z.int().min(0).optional(),
  limit: z.int().min(1).max(PAGE_ENTRIES_MAX).optional(),
});
export type AuditFilter = z.input<typeof auditFilter>;

/**
 * A page, the newest entry first. `after` asks for the next one; `null` when there is none. A page can have fewer
 * entries than were asked for, or none, and be followed by another: so much is read for one only.
 */
export const auditPage = z.object({ entries: z.array(auditEntry), after: z.number().nullable() });
export type AuditPage = z.output<typeof auditPage>;

export function matches(entry: AuditEntry, { fromMs = -Infinity, toMs = Infinity, ...rest }: AuditFilter): boolean {
  const { who, whoPart, act, result } = rest;
  if (entry.atMs < fromMs || entry.atMs >= toMs) return false;
  if (act !== undefined && entry.act !== act) return false;
  if (who !== undefined && !Object.values(entry.who).includes(who)) return false;
  if (whoPart !== undefined && !hasPart(entry, whoPart.toLowerCase())) return false;
  return result === undefined || (result === FAILED ? entry.result !== "done" : entry.result === result);
}

function hasPart({ who: { id, name, person, address } }: AuditEntry, part: string): boolean {
  return [id, name, person, address].some((text) => text.toLowerCase().includes(part));
}

/** Text that a line in small letters must have to be an entry that matches; undefined: any may be one. */
export function smallNeedleOf({ whoPart }: AuditFilter): string | undefined {
  return whoPart === undefined ? undefined : JSON.stringify(whoPart).slice(1, -1).toLowerCase();
}

/** Texts that a line must have to be an entry that matches: most others need not be parsed. */
export function needlesOf({ who, act, result }: AuditFilter): string[] {
  return [
    ...(act === undefined ? [] : [`"act":"${act}"`]),
    ...(who === undefined ? [] : [JSON.stringify(who)]),
    ...(result === undefined || result === FAILED ? [] : [`"result":"${result}"`]),
  ];
}
