// Knows who has which chunks of a version, who is sent some, and who waits for news. So each client is told to take
// another part from the server, and the rest from the others (C2Cfs §4).
import {
  type ChunkSpan,
  type Clock,
  LIMITS,
  commonSpans,
  firstOf,
  joinSpans,
  spansFrom,
  type Timer,
  withoutSpans,
} from "@runnel/shared";
import { type Member, keyOf } from "./member.ts";

/** A claim is over when nothing of it was sent for so long, or it was sent and not announced. */
const CLAIM_MS = 6_000;
/** A client that has asked within so long is taken to read on. */
const ACTIVE_MS = 3_000;
/**
 * Bytes that a client is to take from the server at a time while others read the same: what all take at once comes in
 * a second or so, since the others wait for it. A client gets more before it has all of what it took.
 */
const ALL_SLICES_BYTES = 2 * 1024 * 1024;
const SLICE_BYTES_MIN = 128 * 1024;
const SLICE_BYTES_MAX = 1024 * 1024;
/** News of one moment are told together. */
const NEWS_MS = 20;
/** Clients that are named for a chunk. */
const NAMED_MAX = 2;

interface Claim {
  spans: ChunkSpan[];
  untilMs: number;
}

/** Parts of what a client wants, by where it is to take them from. */
export interface Divided {
  holders: { member: Member; has: ChunkSpan[] }[];
  yours: ChunkSpan[];
  /** All else: it is on its way to somebody. */
  isComing: boolean;
}

export class VersionShare {
  readonly #clock: Clock;
  readonly #key: string;
  readonly #holders = new Set<Member>();
  /** Chunks that a client is being sent, or was told to ask for. */
  readonly #claims = new Map<Member, Claim>();
  readonly #askedMs = new Map<Member, number>();
  readonly #waiting = new Set<() => void>();
  #news: Timer | undefined;

  constructor(clock: Clock, version: Parameters<typeof keyOf>[0]) {
    this.#clock = clock;
    this.#key = keyOf(version);
  }

  get isIdle(): boolean {
    const now = this.#clock.bootMs();
    for (const [member, { untilMs }] of this.#claims) if (untilMs <= now) this.#claims.delete(member);
    for (const [member, atMs] of this.#askedMs) if (atMs + ACTIVE_MS <= now) this.#askedMs.delete(member);
    return this.#holders.size + this.#claims.size + this.#askedMs.size + this.#waiting.size === 0;
  }

  /** A client has said anew what it has. */
  announced(member: Member): void {
    const has = member.has(this.#key);
    if (has.length === 0) this.#holders.delete(member);
    else this.#holders.add(member);
    const claim = this.#claims.get(member);
    if (claim !== undefined) claim.spans = withoutSpans(claim.spans, has);
    if (claim?.spans.length === 0) this.#claims.delete(member);
    this.#tell();
  }

  /** Some chunks are being sent to a client, or were just now. */
  sending(member: Member, spans: readonly ChunkSpan[]): void {
    const claimed = this.#claims.get(member)?.spans ?? [];
    const more = withoutSpans(spans, member.has(this.#key));
    this.#claims.set(member, { spans: joinSpans(claimed, more), untilMs: this.#clock.bootMs() + CLAIM_MS });
  }

  /** These do not come to it after all. */
  notSent(member: Member, spans: readonly ChunkSpan[]): void {
    const claim = this.#claims.get(member);
    if (claim === undefined || spans.length === 0) return;
    claim.spans = withoutSpans(claim.spans, spans);
    this.#tell();
  }

  left(member: Member): void {
    this.#holders.delete(member);
    this.#claims.delete(member);
    this.#askedMs.delete(member);
    this.#tell();
  }

  /** Divides what a client wants. `others`: whom it may meet, and who listens. `lengthOf`: of a chunk, in bytes. */
  divide(
    member: Member,
    wanted: readonly ChunkSpan[],
    others: ReadonlySet<Member>,
    lengthOf: (chunk: number) => number,
  ): Divided {
    const nowMs = this.#clock.bootMs();
    this.#askedMs.set(member, nowMs);
    const holders = [...this.#holders]
      .filter((other) => others.has(other))
      .map((other) => ({ member: other, has: commonSpans(wanted, other.has(this.#key)) }))
      .filter(({ has }) => has.length > 0);
    const left = withoutSpans(wanted, spansFrom(holders.flatMap(({ has }) => has)));
    const own = this.#claimOf(member, nowMs);
    const mine = commonSpans(left, own);
    let coming: ChunkSpan[] = [];
    for (const other of others)
      if (other !== member) coming = joinSpans(coming, commonSpans(left, this.#claimOf(other, nowMs)));
    coming = withoutSpans(coming, mine);
    const free = withoutSpans(withoutSpans(left, mine), coming);
    const active = this.#activeOf(member, others, nowMs);
    const more = active === 0 ? free : sliceOf(free, own, active + 1, lengthOf);
    const yours = joinSpans(mine, more);
    if (yours.length > 0) this.sending(member, yours);
    return { holders: someOf(holders), yours, isComing: withoutSpans(left, yours).length > 0 };
  }

  /** Resolves when somebody has more than before, or somebody has left, or after so long. */
  async news(waitMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(waitMs, resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    this.#waiting.add(resolve);
    try {
      await promise;
    } finally {
      timer.cancel();
      this.#waiting.delete(resolve);
    }
  }

  #claimOf(member: Member, nowMs: number): ChunkSpan[] {
    const claim = this.#claims.get(member);
    return claim === undefined || claim.untilMs <= nowMs ? [] : claim.spans;
  }

  /** Counts others who read the same. */
  #activeOf(member: Member, others: ReadonlySet<Member>, nowMs: number): number {
    let active = 0;
    for (const other of others)
      if (other !== member && (this.#askedMs.get(other) ?? -Infinity) + ACTIVE_MS > nowMs) active++;
    return active;
  }

  #tell(): void {
    if (this.#waiting.size === 0 || this.#news !== undefined) return;
    this.#news = this.#clock.after(NEWS_MS, () => {
      this.#news = undefined;
      for (const tell of this.#waiting) tell();
    });
  }
}

/** Chooses whom to name of each chunk: some who have it, at random, so that not all ask the same one. */
function someOf(holders: Divided["holders"]): Divided["holders"] {
  const some: Divided["holders"] = [];
  const named: ChunkSpan[][] = Array.from({ length: NAMED_MAX }, () => []);
  const rotation = Math.floor(Math.random() * holders.length);
  for (const { member, has } of [...holders.slice(rotation), ...holders.slice(0, rotation)]) {
    let left: readonly ChunkSpan[] = has;
    let chosen: ChunkSpan[] = [];
    for (const [turn, before] of named.entries()) {
      const mine = withoutSpans(left, before);
      named[turn] = joinSpans(before, mine);
      chosen = joinSpans(chosen, mine);
      left = commonSpans(left, before);
    }
    if (chosen.length > 0) some.push({ member, has: chosen });
    if (some.length >= LIMITS.hints) break;
  }
  return some;
}

/** The next chunks for a client, one of so many, that has claimed some: none while it has a slice to take. */
function sliceOf(
  free: readonly ChunkSpan[],
  own: readonly ChunkSpan[],
  readers: number,
  lengthOf: (chunk: number) => number,
): ChunkSpan[] {
  const sliceBytes = Math.max(SLICE_BYTES_MIN, Math.min(SLICE_BYTES_MAX, ALL_SLICES_BYTES / readers));
  const chunksWithin = (spans: readonly ChunkSpan[]): { chunks: number; bytes: number } => {
    let [chunks, bytes] = [0, 0];
    for (const { from, count } of spans) {
      for (let chunk = from; chunk < from + count && bytes < sliceBytes; chunk++) {
        bytes += lengthOf(chunk);
        chunks++;
      }
      if (bytes >= sliceBytes) break;
    }
    return { chunks, bytes };
  };
  return chunksWithin(own).bytes >= sliceBytes ? [] : firstOf(free, chunksWithin(free).chunks);
}
