// Tells the server where this drive's colleagues reach it, and what it has: all at each attachment, then what has come,
// gathered for a moment.
import {
  COLLEAGUES_FEATURE,
  type ChunkSpan,
  type Clock,
  LIMITS,
  type Timer,
  checkResult,
  isRunnelError,
  longestOf,
} from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import { WORTH_BYTES } from "../transfer/sources/sources.ts";
import type { Session } from "../wire/session.ts";

const GATHER_MS = 100;

export interface Place {
  /** Fingerprint of this device's key. */
  key: Uint8Array;
  /** 0: nobody can reach it. */
  port: number;
  addresses: readonly string[];
  reach: "network" | "everyone";
}

export interface AnnouncerDeps {
  cache: Cache;
  clock: Clock;
  session: Pick<Session, "inBackground" | "isConnected" | "features">;
  spansOf(content: CachedContent): ChunkSpan[];
  /** The server has heard of it. */
  answered(ticketKey: Uint8Array, nowMs: number): void;
  /** There are colleagues who can be reached, or none. */
  areThere(areThere: boolean): void;
  log(message: string, error?: unknown): void;
}

export class Announcer {
  readonly #deps: AnnouncerDeps;
  readonly #dirty = new Set<number>();
  #timer: Timer | undefined;
  /** The server knows the place on this connection. */
  #isKnown = false;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps;
  }

  get isKnown(): boolean {
    return this.#isKnown && this.#deps.session.isConnected;
  }

  get canAnnounce(): boolean {
    const { session } = this.#deps;
    return session.isConnected && session.features.includes(COLLEAGUES_FEATURE);
  }

  /** Says where this drive is, and all that it has. */
  async announce(place: Place): Promise<void> {
    if (!this.canAnnounce) return;
    await this.#say(place.port === 0 ? [] : this.#lately(), place);
  }

  /** Says soon, of all that it has, what others may have. */
  again(): void {
    for (const { id } of this.#lately()) this.stored(id);
  }

  #lately(): CachedContent[] {
    return this.#deps.cache.lately(LIMITS.announcedAtOnce, WORTH_BYTES - 1);
  }

  /** Some of a content has come. */
  stored(id: number): void {
    if (!this.#isKnown) return;
    this.#dirty.add(id);
    this.#timer ??= this.#deps.clock.after(GATHER_MS, () => {
      this.#timer = undefined;
      const ids = [...this.#dirty].slice(0, LIMITS.announcedAtOnce);
      for (const one of ids) this.#dirty.delete(one);
      this.#last = this.#last.then(() => this.#tell(ids));
    });
  }

  disconnected(): void {
    this.#isKnown = false;
    this.#dirty.clear();
  }

  close(): void {
    this.disconnected();
    this.#timer?.cancel();
  }

  async #tell(ids: readonly number[]): Promise<void> {
    if (!this.isKnown) return;
    const { cache } = this.#deps;
    try {
      await this.#say(ids.flatMap((id) => cache.byId(id) ?? []));
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      this.#deps.log("The server was not told what is here for colleagues.", error);
    }
  }

  async #say(contents: readonly CachedContent[], place?: Place): Promise<void> {
    const { session, spansOf, answered, areThere } = this.#deps;
    const has = contents
      .filter(
        ({ recipe, version, sizeBytes }) => recipe !== undefined && version.node !== 0 && sizeBytes >= WORTH_BYTES,
      )
      .map((content) => [
        [content.version.node, content.version.seq],
        longestOf(spansOf(content), LIMITS.chunkSpans).map(({ from, count }) => [from, count]),
      ]);
    if (has.length === 0 && place === undefined) return;
    const said = await session.inBackground("announce", { has, ...(place === undefined ? {} : { place }) });
    const { ticketKey, nowMs, others } = checkResult("announce", said);
    answered(ticketKey, nowMs);
    if (place === undefined) return;
    this.#isKnown = place.port !== 0;
    areThere(this.#isKnown && others > 0);
  }
}
