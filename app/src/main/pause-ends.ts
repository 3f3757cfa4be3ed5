// Ends of a pause that a person may choose without typing a time, in the menu of the icon and in the window.

export const PAUSE_ENDS = ["hour", "tomorrow", "resume"] as const;
export type PauseEnd = (typeof PAUSE_ENDS)[number];

const HOUR_MS = 3_600_000;
/** Hour at which a person begins to work, in local time. */
const MORNING_HOUR = 8;

/** Returns the wall clock's time, ms, at which it ends; null: when a person resumes it. */
export function endOfPause(end: PauseEnd, nowMs: number): number | null {
  if (end === "resume") return null;
  if (end === "hour") return nowMs + HOUR_MS;
  const morning = new Date(nowMs);
  morning.setDate(morning.getDate() + 1);
  return morning.setHours(MORNING_HOUR, 0, 0, 0);
}
