// Durations as a person types them.
import { RunnelError } from "@runnel/shared/base";

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 24 * 3_600_000 };
const DAYS_MAX = 366;

/** The longest time that may be typed. */
export const DURATION_MS_MAX = DAYS_MAX * UNITS_MS.d;

/** Milliseconds of "30m", "24h" or "7d". @throws RunnelError Invalid. */
export function parseDuration(typed: string): number {
  const [, digits, unit = ""] = /^(\d{1,7})([mhd])$/.exec(typed) ?? [];
  const ms = Number(digits) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (ms > 0 && ms <= DURATION_MS_MAX) return ms;
  const sentence = `"${typed}" is no time. Write a number and m, h or d, at most 366d: 7d.`;
  throw new RunnelError("Invalid", "read the command", sentence);
}
