// Words for a person about a pause.
import type { Pause } from "../mount-status.ts";

const DAY_MS = 24 * 3_600_000;

/** Returns "until 14:00", "until tomorrow 8:00", "until 3 December 8:00" or "until you resume it", in local time. */
export function untilWords({ untilMs }: Pick<Pause, "untilMs">, nowMs: number): string {
  if (untilMs === null) return "until you resume it";
  const [day, today, tomorrow] = [untilMs, nowMs, nowMs + DAY_MS].map((ms) => format(ms, DAY));
  const time = format(untilMs, TIME);
  if (day === today) return `until ${time}`;
  return `until ${day === tomorrow ? "tomorrow" : day} ${time}`;
}

const DAY: Intl.DateTimeFormatOptions = { day: "numeric", month: "long" };
const TIME: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit", hourCycle: "h23" };

function format(ms: number, how: Intl.DateTimeFormatOptions): string {
  return new Date(ms).toLocaleString("en-GB", how);
}
