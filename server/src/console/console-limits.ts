// Bounds of the console: how long a sign-in holds, and how much strangers may take.

const MINUTE_MS = 60_000;

export const CONSOLE_LIMITS = {
  /** A session ends when nobody used it for so long. */
  idleMs: 30 * MINUTE_MS,
  /** It ends at the latest after so long. */
  lastsMs: 12 * 60 * MINUTE_MS,
  /** Sessions of a person; with one more the one that was used longest ago ends. */
  sessionsOfPerson: 16,
  /** All sessions; with one more the one that was used longest ago ends. */
  sessions: 1000,
  /** Pages that are open at once, of a session and of all. */
  pagesOfSession: 8,
  pages: 1000,
  /** Requests of pages that are not answered yet. With one more, one of them is dropped by chance. */
  requests: 32,
  /** A request that is not answered by then, or whose answer is not taken, is dropped. */
  answerMs: 5 * MINUTE_MS,
  /** Characters of a new password; a longer one than the most is refused without a look. */
  passwordMin: 10,
  passwordMax: 1024,
} as const;
