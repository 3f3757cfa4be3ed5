// Bounds of the local page: what it may ask for, and how long what it was given holds.

export const PAGE_LIMITS = {
  /** A ticket holds so long, and is good once. */
  ticketMs: 60_000,
  /** Tickets of one kind that are not used yet; with one more the oldest is void. */
  tickets: 16,
  /** Page sessions; with one more the one that was without a page for the longest ends. */
  sessions: 16,
  /** Pages that are open at once. */
  pages: 32,
  /** After the last page is gone, a page session ends and the agent listens no more. */
  idleMs: 10 * 60_000,
  /** A connection of a page that has not named its page session by then is closed. */
  sessionMs: 5_000,
  /** A request whose head, or whose whole, has not come by then is refused. */
  headMs: 5_000,
  requestMs: 10_000,
  /** Connections that no page session owns. With one more, one of them is dropped by chance. */
  connections: 64,
  /** Bytes of a request's body, and of a text of a page. */
  bodyBytes: 64 * 1024,
  /** Requests of one page that are not yet answered. */
  requests: 64,
  /** Wrong tokens at once; each is forgotten after graceMs. */
  wrongTokens: 100,
  graceMs: 100,
  /** A listener that ends waits so long for its last answers to go out. */
  finishMs: 2000,
} as const;
