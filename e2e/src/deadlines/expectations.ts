// A table of what a call's return means while the server cannot be reached: by the kind of the operation and by what
// the client knows of the server. Columns: the client holds a lease and does not know yet; it holds none and asks; it
// knows that the server is silent or gone.
import { TIMING } from "@runnel/shared";

export type Knows = "leased" | "asks" | "offline";

/** Amount that reaches the server: nothing, some of it, or all as soon as the agent's event loop goes on. */
export type Link = "none" | "some" | "stalled";

export interface Expected {
  withinMs: number;
  /** Names of errno, "" for success. */
  errors: readonly string[];
}

/** A loaded machine with two cores, on top of what is promised. */
const MARGIN_MS = 2_000;
const SILENCE_MS = TIMING.silenceMs;
const REQUEST_TIMEOUT_MS = TIMING.requestTimeoutMs;
/** A call that reads is given up after this, also while bytes come that are not its own. */
const LISTING_MS = 5_000;
/** A slow line says that what may be executed goes on. */
const SLOW_MS = 15_000;
/** More, where a long listing fills a narrow line: its round trips take a second or so, and silences follow them. */
const FULL_LINE_MS = 5_000;
/** Duration of the stall in stall-on-signal.mjs. */
const STALL_MS = 5_000;

type Row = Record<Knows, readonly [withinMs: number, errors: readonly string[]]>;

const DONE = [""];
const REFUSED = ["EROFS"];
const FAILED = ["EIO"];

/** Rows by what the client knows and holds. */
const KINDS: Record<string, Row> = {
  // Answered by the drive itself.
  native: { leased: [0, DONE], asks: [0, DONE], offline: [0, DONE] },
  // Answered by the agent, which asks nobody.
  own: { leased: [0, DONE], asks: [0, DONE], offline: [0, DONE] },
  // lookup, stat, readdir, and opening what is held.
  metadata: { leased: [0, DONE], asks: [SILENCE_MS, DONE], offline: [0, DONE] },
  // Figures as of when the server was last heard.
  space: { leased: [SILENCE_MS, DONE], asks: [SILENCE_MS, DONE], offline: [0, DONE] },
  // Opening for reading what is not held: it fails here or when it is read.
  absent: { leased: [SILENCE_MS, ["", "EIO"]], asks: [SILENCE_MS, ["", "EIO"]], offline: [0, FAILED] },
  edit: { leased: [0, ["", "EROFS"]], asks: [SILENCE_MS, ["", "EROFS"]], offline: [0, REFUSED] },
  fetch: { leased: [REQUEST_TIMEOUT_MS, FAILED], asks: [REQUEST_TIMEOUT_MS, FAILED], offline: [0, FAILED] },
  // Answered before the server has heard of it.
  create: { leased: [0, ["", "EROFS"]], asks: [SILENCE_MS, ["", "EROFS"]], offline: [0, REFUSED] },
  change: {
    leased: [REQUEST_TIMEOUT_MS, ["EIO", "EROFS"]],
    asks: [SILENCE_MS + REQUEST_TIMEOUT_MS, ["EIO", "EROFS"]],
    offline: [0, REFUSED],
  },
  // The bytes stay here as unsent.
  commit: {
    leased: [REQUEST_TIMEOUT_MS, FAILED],
    asks: [REQUEST_TIMEOUT_MS, FAILED],
    offline: [REQUEST_TIMEOUT_MS, FAILED],
  },
};

/** Under a lease. */
const NEEDS_NO_AGENT = ["native", "metadata", "edit"];

/**
 * A system call is up to this many requests, each of which may wait for an answer: the folder's attributes, the name,
 * the operation itself.
 */
const REQUESTS_MAX = 3;

/** @throws when there is no such kind. */
export function expected(kind: string, knows: Knows, link: Link, isCold: boolean): Expected {
  const row = KINDS[kind];
  if (row === undefined) throw new Error(`No expectation for operations of the kind ${kind}.`);
  // A lease is of no use for what is unknown.
  const [withinMs, errors] = row[isCold && knows === "leased" ? "asks" : knows];
  // Unknown entries are asked for, under a lease too, before anything else.
  const unknown = isCold ? ["EIO"] : [];
  const askedMs = isCold && knows !== "offline" ? LISTING_MS : 0;
  if (link === "none") return { withinMs: withinMs + askedMs + MARGIN_MS, errors: [...errors, ...unknown] };
  if (link === "stalled") {
    if (!isCold && NEEDS_NO_AGENT.includes(kind)) return { withinMs: MARGIN_MS, errors: DONE };
    // A call that reads may be given up just before the agent goes on; one that changes waits for the other client,
    // which stands still as well.
    const coldMs = isCold ? FULL_LINE_MS : 0;
    return { withinMs: STALL_MS + REQUEST_TIMEOUT_MS / 2 + coldMs + MARGIN_MS, errors: ["", "EIO"] };
  }
  // Some answers come: each request may take its time.
  const isLongWait = withinMs >= REQUEST_TIMEOUT_MS;
  const moreMs = isLongWait ? SLOW_MS : (REQUESTS_MAX - 1) * SILENCE_MS;
  const slowMs = withinMs + askedMs === 0 ? 0 : withinMs + askedMs + moreMs;
  return { withinMs: slowMs + MARGIN_MS, errors: [...new Set([...errors, "", ...unknown])] };
}

export const KIND_NAMES: readonly string[] = Object.keys(KINDS);
/** Nothing takes longer, whatever its kind. */
export const LONGEST_MS = REQUEST_TIMEOUT_MS + LISTING_MS + SLOW_MS + MARGIN_MS;
