// Formats of sizes, rates, times and counts for people, in the language of the page. Sizes are binary, written as the
// system's own windows write them.

const KiB = 1024;
const UNITS = ["bytes", "KB", "MB", "GB", "TB", "PB"] as const;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Language of numbers and times; the words of a page are in one, too. */
export const LANGUAGE = "en";

const whole = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(LANGUAGE, { maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat(LANGUAGE, { style: "percent", maximumFractionDigits: 0 });
const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto" });
const absolute = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "medium" });
const clockTime = new Intl.DateTimeFormat(LANGUAGE, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(LANGUAGE, { day: "numeric", month: "short" });

/** Writes a size in bytes with three digits: 0 bytes, 1.2 KB, 48 MB. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [Math.max(0, bytes), 0];
  // A value that would be rounded to 1,000 is of the next unit.
  while (value >= (unit === 0 ? KiB : 999.5) && unit < UNITS.length - 1) [value, unit] = [value / KiB, unit + 1];
  return `${unit === 0 ? whole.format(value) : fine.format(value)} ${unit === 0 && value === 1 ? "byte" : UNITS[unit]}`;
}

/** Writes a rate in bytes a second. */
export function formatRate(bytesPerSecond: number): string {
  return `${formatBytes(bytesPerSecond)}/s`;
}

export function formatCount(count: number): string {
  return whole.format(count);
}

/** Writes a share from 0 to 1; only all of it is 100 %. */
export function formatPercent(share: number): string {
  return percent.format(share < 1 ? Math.min(share, 0.99) : share);
}

/**
 * Writes how long something still takes, rounded as a person would: seconds below two minutes, then minutes, then
 * hours.
 */
export function formatDuration(ms: number): string {
  const [value, unit] =
    ms < 2 * MINUTE_MS
      ? [ms / SECOND_MS, "second"]
      : ms < 2 * HOUR_MS
        ? [ms / MINUTE_MS, "minute"]
        : [ms / HOUR_MS, "hour"];
  const rounded = Math.max(1, Math.ceil(value));
  return new Intl.NumberFormat(LANGUAGE, { style: "unit", unit, unitDisplay: "long" }).format(rounded);
}

/** Writes a moment relative to now: "3 minutes ago", "yesterday". */
export function formatAgo(atMs: number, nowMs: number): string {
  const sinceMs = nowMs - atMs;
  const size = Math.abs(sinceMs);
  if (size < 45 * SECOND_MS) return relative.format(0, "second");
  if (size < 45 * MINUTE_MS) return relative.format(-Math.round(sinceMs / MINUTE_MS), "minute");
  if (size < 22 * HOUR_MS) return relative.format(-Math.round(sinceMs / HOUR_MS), "hour");
  if (size < 14 * DAY_MS) return relative.format(-Math.round(sinceMs / DAY_MS), "day");
  return day.format(atMs);
}

/** Writes a moment in full. */
export function formatMoment(atMs: number): string {
  return absolute.format(atMs);
}

export function formatClockTime(atMs: number): string {
  return clockTime.format(atMs);
}

export function formatDay(atMs: number): string {
  return day.format(atMs);
}
