// Chunks of colleagues, as a source: the server says who has what, and which chunks this drive is to take from the
// server itself, because nobody has them yet (W195). The others are asked of whoever has them, or waited for while the
// server sends them to somebody. Each run is digested here, so that it is known who brought it: a colleague who lies,
// stalls or cannot be reached is passed over for a while, by name.
import {
  type ChunkSpan,
  type Clock,
  type Dialer,
  type Executor,
  LIMITS,
  RecentMap,
  RunnelError,
  type SeenColleague,
  TIMING,
  type Timer,
  checkResult,
  chunkOffsets,
  commonSpans,
  countOf,
  firstOf,
  isRunnelError,
  longestOf,
  sleep,
  sliceRecipe,
  spansFrom,
  untilAborted,
  withoutSpans,
  wrongIn,
} from "@runnel/shared";
import type { ChunkRun, ChunkSource, WantedContent } from "../transfer/sources/chunk-source.ts";
import { WORTH_BYTES } from "../transfer/sources/sources.ts";
import type { Session } from "../wire/session.ts";
import { type CameRun, ColleagueLine } from "./line.ts";
import type { NearbyAddress } from "./nearby/nearby.ts";
import { textOf } from "./offer.ts";
import { RunQueue } from "./run-queue.ts";

/** Asked of one colleague at a time. */
const ASKED_BYTES = 2 * 1024 * 1024;
/** Colleagues that are asked at once. */
const ASKED_MAX = 4;
const TICKETS_MAX = 256;
/** A colleague who brings nothing for so long is given up. */
const STALL_MS = 3_000;
/** Waiting for colleagues who are being sent something ends after so long without any of it. */
const WAIT_IN_ALL_MS = 10_000;
/** Wait of the server for news: whoever waits here hears as often that it is on its way. */
const WAIT_MS = 800;
/** Pause between questions that are answered without anything new. */
const AGAIN_MS = 50;
/** Hints count for so long: whoever wants what they name need not ask the server again, which is a round trip. */
const HINTS_MS = 2_000;
/** A colleague who failed is passed over for so long; one who lied until the drive is gone. */
const AWAY_MS = 30_000;

export interface ColleagueSourceDeps {
  clock: Clock;
  executor: Executor;
  software: string;
  session: Pick<Session, "inBackground">;
  dialerFor(fingerprint: string): Dialer;
  /** Tells where the device of this key is by mDNS, once it does. */
  nearby?(fingerprint: string, signal: AbortSignal): Promise<readonly NearbyAddress[]>;
  /** While it says no the server is to bring all. */
  isOpen(): boolean;
  log(message: string, error?: unknown): void;
  /** A person is told of whoever lies. */
  problem(sentence: string): void;
}

/** Colleague that has some of what is wanted. */
interface Hint extends SeenColleague {
  has: ChunkSpan[];
}

interface Located {
  ticket: Uint8Array | undefined;
  hints: Hint[];
  /** Chunks that the server is to be asked for. */
  yours: ChunkSpan[];
}

export class ColleagueSource implements ChunkSource {
  readonly kind = "colleague";
  readonly name = "colleagues";
  /** Nothing wrong gets out of here. */
  readonly mayRot = false;
  /** Whoever stalls is given up by then, and others are asked. */
  readonly lateMs = 2 * STALL_MS;
  readonly #deps: ColleagueSourceDeps;
  readonly #tickets = new RecentMap<string, { ticket: Uint8Array; untilMs: number }>(TICKETS_MAX);
  /** Colleagues by the numbers that the server says on this connection. */
  readonly #colleagues = new RecentMap<number, SeenColleague>(LIMITS.connections);
  /** The last answers of the server that had hints, by version. */
  readonly #lately = new RecentMap<string, { located: Located; untilMs: number }>(TICKETS_MAX);
  readonly #lines = new Map<string, Promise<ColleagueLine>>();
  /** Colleagues that are passed over, and until when. */
  readonly #away = new Map<string, number>();
  /** Bytes that each has brought, by name. */
  readonly broughtBytes = new Map<string, number>();

  constructor(deps: ColleagueSourceDeps) {
    this.#deps = deps;
  }

  async locate(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): Promise<ChunkSpan[]> {
    const wanted = spansFrom(spans);
    if (content.sizeBytes < WORTH_BYTES) return [];
    const known = this.#knownOf(content)?.hints.flatMap(({ has }) => has) ?? [];
    if (withoutSpans(wanted, spansFrom(known)).length === 0) return wanted;
    const { yours } = await this.#ask(content, wanted, 0, signal);
    return withoutSpans(wanted, yours);
  }

  async *get(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
    const queue = new RunQueue();
    const over = new AbortController();
    const ending = AbortSignal.any([signal, over.signal]);
    new Round(this.#deps.clock, content, spansFrom(spans), ending, {
      ask: (left, waitMs) => this.#ask(content, left, waitMs, ending),
      known: () => this.#knownOf(content),
      forget: () => void this.#lately.delete(keyOf(content)),
      bring: (hint, ticket, wanted) => this.#bring(content, hint, ticket, wanted, queue, ending),
      say: (run) => queue.put(run),
    })
      .run()
      .then(
        () => queue.end(),
        (why: unknown) => queue.end({ why }),
      );
    try {
      yield* queue;
    } finally {
      over.abort();
      queue.end();
    }
  }

  wrong(): void {
    // Whoever brought it was passed over here: this is said of nothing that came of `get`.
  }

  /** The server's numbers mean nothing any more. */
  disconnected(): void {
    this.#colleagues.clear();
    this.#tickets.clear();
    this.#lately.clear();
  }

  close(): void {
    for (const line of this.#lines.values()) void line.then((open) => open.close()).catch(() => undefined);
    this.#lines.clear();
  }

  /** Returns what the server said a moment ago, without those that are passed over since. */
  #knownOf(content: WantedContent): Located | undefined {
    const { located, untilMs = 0 } = this.#lately.get(keyOf(content)) ?? {};
    if (located === undefined || untilMs <= this.#deps.clock.bootMs() || !this.#deps.isOpen()) return undefined;
    return { ...located, hints: located.hints.filter(({ key }) => !this.#away.has(textOf(key))) };
  }

  async #ask(
    content: WantedContent,
    wanted: readonly ChunkSpan[],
    waitMs: number,
    signal: AbortSignal,
  ): Promise<Located> {
    const { session, clock, isOpen } = this.#deps;
    signal.throwIfAborted();
    if (!isOpen()) return { ticket: undefined, hints: [], yours: [...wanted] };
    const nowMs = clock.bootMs();
    for (const [key, untilMs] of this.#away) if (untilMs <= nowMs) this.#away.delete(key);
    const without = [...this.#away.keys()]
      .slice(-LIMITS.hints)
      .map((key) => new Uint8Array(Buffer.from(key, "base64url")));
    const { version } = content;
    const key = keyOf(content);
    const known = this.#tickets.get(key);
    const ticket = known !== undefined && known.untilMs > nowMs ? known.ticket : undefined;
    const asked = longestOf(wanted, LIMITS.chunkSpans);
    const answer = session.inBackground("locate", {
      version: [version.node, version.seq],
      wanted: asked.map(({ from, count }) => [from, count]),
      without,
      hasTicket: ticket !== undefined,
      waitMs,
    });
    const located = checkResult("locate", await untilAborted(answer, signal));
    for (const colleague of located.colleagues) this.#colleagues.set(colleague.member, colleague);
    if (located.ticket !== undefined)
      this.#tickets.set(key, { ticket: located.ticket, untilMs: nowMs + TIMING.ticketMs / 2 });
    const hints = located.hints.flatMap(([member, has]): Hint[] => {
      const colleague = this.#colleagues.get(member);
      const isAway = colleague === undefined || this.#away.has(textOf(colleague.key));
      return isAway ? [] : [{ ...colleague, has: spansFrom(has) }];
    });
    const answered = { ticket: located.ticket ?? ticket, hints, yours: spansFrom(located.yours) };
    if (hints.length > 0) this.#lately.set(key, { located: answered, untilMs: nowMs + HINTS_MS });
    return answered;
  }

  /** Asks a colleague for chunks. Resolves to those that came, whatever befell the others. */
  async #bring(
    content: WantedContent,
    hint: Hint,
    ticket: Uint8Array,
    wanted: readonly ChunkSpan[],
    queue: RunQueue,
    signal: AbortSignal,
  ): Promise<ChunkSpan[]> {
    const key = textOf(hint.key);
    const came: ChunkSpan[] = [];
    using stall = new Stall(this.#deps.clock);
    const ending = AbortSignal.any([signal, stall.signal]);
    try {
      const line = await this.#lineTo(hint, ending);
      for await (const run of line.getChunks(ticket, wanted, ending)) {
        await this.mustBeRight(content, run, hint);
        came.push({ from: run.from, count: run.count });
        this.broughtBytes.set(hint.name, (this.broughtBytes.get(hint.name) ?? 0) + run.bytes.length);
        await queue.put(run);
        stall.moved();
      }
      // It does not have any more what it was said to have: another one is asked, or the server.
      if (came.length === 0) this.#passOver(key, AWAY_MS);
    } catch (error) {
      if (signal.aborted) return came;
      const isLie = isRunnelError(error, "Corrupt", "Invalid", "TooLarge");
      this.#passOver(key, isLie ? Infinity : AWAY_MS);
      const colleague = `The colleague "${hint.name}"`;
      if (isLie) this.#deps.problem(`${colleague} sent what it was not asked for: it is not asked any more.`);
      else {
        const what = stall.signal.aborted ? "stalls" : "does not answer";
        this.#deps.log(`${colleague} ${what}: others are asked.`, error);
      }
    }
    return came;
  }

  /** @throws Corrupt when these are not the bytes of the version that the server has. */
  async mustBeRight({ recipe }: WantedContent, { from, count, bytes }: CameRun, { name }: Hint): Promise<void> {
    if ((await wrongIn(bytes, sliceRecipe(recipe, from, from + count), this.#deps.executor)).length === 0) return;
    throw new RunnelError("Corrupt", "getChunks", `The colleague "${name}" sent other bytes than the server has.`);
  }

  #passOver(key: string, forMs: number): void {
    this.#away.set(key, this.#deps.clock.bootMs() + forMs);
  }

  async #lineTo(hint: Hint, signal: AbortSignal): Promise<ColleagueLine> {
    const key = textOf(hint.key);
    const known = this.#lines.get(key);
    const open = await known?.catch(() => undefined);
    if (open?.isOpen === true) return open;
    const { clock, executor, software, dialerFor, nearby } = this.#deps;
    const closed = (): void => void (this.#lines.get(key) === dialing && this.#lines.delete(key));
    const dialing = ColleagueLine.dial(
      {
        clock,
        executor,
        software,
        dialer: dialerFor(key),
        colleague: hint,
        closed,
        ...(nearby === undefined ? {} : { nearby: (ending: AbortSignal) => nearby(key, ending) }),
      },
      signal,
    );
    this.#lines.set(key, dialing);
    dialing.catch(closed);
    return dialing;
  }
}

function keyOf({ version }: Pick<WantedContent, "version">): string {
  return `${version.node}:${version.seq}`;
}

const NOTHING = new Uint8Array(0);
const ON_ITS_WAY: ChunkRun = { from: 0, count: 0, bytes: NOTHING };

interface RoundDeps {
  say(run: ChunkRun): Promise<void>;
  ask(left: readonly ChunkSpan[], waitMs: number): Promise<Located>;
  /** Returns the server's word of a moment ago. */
  known(): Located | undefined;
  /** Hints were wrong: the server is asked anew. */
  forget(): void;
  bring(hint: Hint, ticket: Uint8Array, wanted: readonly ChunkSpan[]): Promise<ChunkSpan[]>;
}

/** Carries out one `get`: asks the server who has what, and them for it, until all has come or nobody has more. */
class Round {
  readonly #clock: Clock;
  readonly #content: WantedContent;
  readonly #signal: AbortSignal;
  readonly #deps: RoundDeps;
  readonly #busy = new Map<string, Promise<void>>();
  #left: ChunkSpan[];
  #asked: ChunkSpan[] = [];
  #movedMs: number;

  constructor(clock: Clock, content: WantedContent, wanted: ChunkSpan[], signal: AbortSignal, deps: RoundDeps) {
    this.#clock = clock;
    this.#content = content;
    this.#signal = signal;
    this.#deps = deps;
    this.#left = wanted;
    this.#movedMs = clock.bootMs();
  }

  async run(): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted();
      const free = withoutSpans(this.#left, this.#asked);
      if (free.length > 0 && this.#busy.size < ASKED_MAX) {
        const known = this.#deps.known();
        if (known !== undefined && this.#begin(known, free) > 0) continue;
        // All of it is to come of whoever is asked now for other chunks: the server need not say it again.
        if (known !== undefined && this.#busy.size > 0 && hasAll(known, free)) {
          await Promise.race(this.#busy.values());
          continue;
        }
        const located = await this.#deps.ask(free, this.#busy.size === 0 ? WAIT_MS : 0);
        await this.#giveUp(commonSpans(free, located.yours));
        const begun = this.#begin(located, free);
        if (begun > 0) continue;
      }
      if (this.#left.length === 0 && this.#busy.size === 0) return;
      if (this.#busy.size === 0) {
        if (this.#clock.bootMs() - this.#movedMs > WAIT_IN_ALL_MS) return;
        await this.#deps.say(ON_ITS_WAY);
        await sleep(this.#clock, AGAIN_MS);
        continue;
      }
      await Promise.race(this.#busy.values());
    }
  }

  /** The server is to be asked for these. */
  async #giveUp(spans: readonly ChunkSpan[]): Promise<void> {
    this.#left = withoutSpans(this.#left, spans);
    for (const span of spans) await this.#deps.say({ ...span, bytes: NOTHING, isGivenUp: true });
  }

  /** @returns how many colleagues were asked for something. */
  #begin({ hints, ticket }: Located, free: readonly ChunkSpan[]): number {
    if (ticket === undefined) return 0;
    let begun = 0;
    let open = [...free];
    // Each asks in an order of its own, so that not all ask the same one.
    const rotation = Math.floor(Math.random() * hints.length);
    for (const [index] of hints.entries()) {
      const hint = hints[(index + rotation) % hints.length];
      if (hint === undefined || this.#busy.size >= ASKED_MAX) break;
      const key = textOf(hint.key);
      if (this.#busy.has(key)) continue;
      const wanted = this.#portionOf(commonSpans(open, spansFrom(hint.has)));
      if (wanted.length === 0) continue;
      open = withoutSpans(open, wanted);
      this.#asked = spansFrom([...this.#asked, ...wanted]);
      this.#busy.set(key, this.#bring(key, hint, ticket, wanted));
      begun++;
    }
    return begun;
  }

  async #bring(key: string, hint: Hint, ticket: Uint8Array, wanted: readonly ChunkSpan[]): Promise<void> {
    const came = await this.#deps.bring(hint, ticket, wanted);
    this.#busy.delete(key);
    this.#asked = withoutSpans(this.#asked, wanted);
    this.#left = withoutSpans(this.#left, spansFrom(came));
    if (countOf(came) < countOf(wanted)) {
      this.#deps.forget();
      // Another one is asked now, which takes its time.
      await this.#deps.say(ON_ITS_WAY);
    }
    if (countOf(came) > 0) this.#movedMs = this.#clock.bootMs();
  }

  /** The first of these chunks, up to what is asked of one at a time. */
  #portionOf(spans: readonly ChunkSpan[]): ChunkSpan[] {
    const offsets = chunkOffsets(this.#content.recipe);
    let bytes = 0;
    let chunks = 0;
    for (const { from, count } of spans.slice(0, LIMITS.chunkSpans)) {
      for (let chunk = from; chunk < from + count; chunk++) {
        bytes += (offsets[chunk + 1] ?? 0) - (offsets[chunk] ?? 0);
        if (bytes > ASKED_BYTES && chunks > 0) return firstOf(spans, chunks);
        chunks++;
      }
    }
    return firstOf(spans, chunks);
  }
}

function hasAll({ hints }: Located, spans: readonly ChunkSpan[]): boolean {
  return withoutSpans(spans, spansFrom(hints.flatMap(({ has }) => has))).length === 0;
}

/** Aborts when nothing has moved for a while. */
class Stall {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.moved();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  moved(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(STALL_MS, () =>
      this.#controller.abort(new RunnelError("Unreachable", "getChunks", "The colleague brings nothing.")),
    );
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }
}
