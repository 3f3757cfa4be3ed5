// The rest of a time as a person says it: never more exact than it is known.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export function formatLeft(leftMs: number): string {
  if (leftMs < 10_000) return "a few seconds";
  if (leftMs < 50_000) return `about ${Math.round(leftMs / 10_000) * 10} seconds`;
  if (leftMs < 50 * MINUTE_MS) return about(Math.max(1, Math.round(leftMs / MINUTE_MS)), "minute");
  return about(Math.max(1, Math.round(leftMs / HOUR_MS)), "hour");
}

function about(count: number, unit: string): string {
  return `about ${count} ${count === 1 ? unit : `${unit}s`}`;
}
