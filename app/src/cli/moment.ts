// Moments as a person types them.
import { RunnelError } from "@runnel/shared/base";

/** Returns the wall clock's time, ms, of a day or of a time of day; undefined for anything else. */
export function parseDate(typed: string): number | undefined {
  const [, day, time = "T00:00"] = /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d)?Z?)?$/.exec(typed) ?? [];
  const ms = day === undefined ? NaN : Date.parse(`${day}${time.replace(" ", "T")}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * Returns the wall clock's time, ms, of "8:00", the next one in local time, or of "2026-12-24T18:00". @throws
 * RunnelError Invalid.
 */
export function parseMoment(typed: string, nowMs: number): number {
  const [, hours, minutes] = /^(\d{1,2}):(\d\d)$/.exec(typed) ?? [];
  if (Number(hours) < HOURS && Number(minutes) < MINUTES) {
    const at = new Date(nowMs);
    at.setHours(Number(hours), Number(minutes), 0, 0);
    if (at.getTime() <= nowMs) at.setDate(at.getDate() + 1);
    return at.getTime();
  }
  const ms = parseDate(typed);
  if (ms !== undefined) return ms;
  throw new RunnelError("Invalid", "read the command", `"${typed}" is no time. Write 8:00 or 2026-12-24T18:00.`);
}

const HOURS = 24;
const MINUTES = 60;
