// Subscribes to the small changes of files, which the server then sends with the feed (W65): of files that programs had
// open or used in the last term, and that are here whole. Pushed content is in the cache when a program opens the file
// again: it need not be asked for.
import type { Change, Clock, Difference, Timer, VersionId } from "@runnel/shared";
import { LIMITS, TIMING, isRunnelError } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Session } from "../wire/session.ts";
import type { Downloads } from "./download.ts";

/**
 * Delay before files are subscribed to: whoever reads a tree uses many once, which go together, and of many only the
 * last.
 */
const SUBSCRIBE_AFTER_MS = 1_000;
const SUBSCRIBED_AT_ONCE = 64;
/**
 * Wait for an announced content, which comes right behind: a program gets an error after as long a time, and what waits
 * here has to be asked for before that.
 */
const ANNOUNCED_MS = TIMING.requestTimeoutMs / 2;

interface Subscription {
  version: number;
  /** Version that the server knows of; 0: none. */
  known: number;
  /** The server was told of it, by this connection or one before. */
  wasSaid: boolean;
  /** Made here and not opened since: a program that makes many files need not hear of each. */
  isOwn: boolean;
  usedMs: number;
}

export interface PushSubscriptionsDeps {
  cache: Cache;
  downloads: Downloads;
  session: Pick<Session, "subscribe">;
  clock: Clock;
  isOpen(node: number): boolean;
  log(message: string, error: unknown): void;
}

export class PushSubscriptions {
  readonly #deps: PushSubscriptionsDeps;
  /** Subscriptions by node; what was used last comes last. */
  readonly #files = new Map<number, Subscription>();
  /** Contents that the server has announced, each with the end of the wait for it. */
  readonly #incoming = new Map<string, PromiseWithResolvers<void> & { deadline: Timer }>();
  #timer: { timer: Timer; dueMs: number } | undefined;
  #isClosed = false;

  constructor(deps: PushSubscriptionsDeps) {
    this.#deps = deps;
  }

  opened(node: number, version: number): void {
    this.#put(node, version, this.#files.get(node)?.known ?? 0, false);
  }

  closed(node: number, version: number): void {
    const file = this.#files.get(node);
    this.#put(node, version, file?.known ?? 0, file?.isOwn ?? false);
  }

  /** A save from here made the version: the server knows that it is here. */
  made({ node, seq }: VersionId): void {
    const file = this.#files.get(node);
    this.#put(node, seq, (file?.known ?? 0) > 0 ? seq : 0, file?.wasSaid !== true);
  }

  #put(node: number, version: number, known: number, isOwn: boolean): void {
    if (version === 0) return;
    const wasSaid = this.#files.get(node)?.wasSaid ?? false;
    this.#files.delete(node);
    this.#files.set(node, { version, known, wasSaid, isOwn, usedMs: this.#deps.clock.bootMs() });
    const [oldest] = this.#files.keys();
    if (this.#files.size > LIMITS.wantedFiles && oldest !== undefined) this.#files.delete(oldest);
    if (known !== version) this.#arm(SUBSCRIBE_AFTER_MS);
  }

  /** Feed items came; the contents of those with these seqs come next. */
  announced(changes: readonly Change[], seqs: readonly number[]): void {
    for (const { seq, nodes } of changes) {
      if (!seqs.includes(seq)) continue;
      for (const { node, version } of nodes) if (version === seq) this.#awaitContent(keyOf({ node, seq }));
    }
  }

  #awaitContent(key: string): void {
    this.#settle(key);
    const deadline = this.#deps.clock.after(ANNOUNCED_MS, () => this.#settle(key));
    this.#incoming.set(key, { ...Promise.withResolvers<void>(), deadline });
  }

  /** Takes pushed content; null: an announced one that does not come. */
  received(version: VersionId, difference: Difference | null): void {
    const storing = difference === null ? Promise.resolve() : this.#take(version, difference);
    storing
      .catch((error: unknown) => {
        // Whoever opens the file asks for it.
        if (!isRunnelError(error, "Gone")) this.#deps.log("A change that came with the feed could not be kept.", error);
      })
      .finally(() => this.#settle(keyOf(version)));
  }

  async #take(version: VersionId, difference: Difference): Promise<void> {
    const { node, seq } = version;
    const file = this.#files.get(node);
    if (file !== undefined) this.#files.set(node, { ...file, known: 0 });
    await this.#deps.downloads.takeDifference(version, difference);
    const now = this.#files.get(node);
    if (now !== undefined && now.version <= seq) this.#files.set(node, { ...now, version: seq, known: seq });
  }

  /**
   * Resolves when a content that is coming with the feed has come or will not, or has not for so long that it is better
   * asked for; at once for all others.
   */
  async arrived(version: VersionId): Promise<void> {
    await this.#incoming.get(keyOf(version))?.promise;
  }

  connected(): void {
    if (this.#files.size > 0) this.#arm(SUBSCRIBE_AFTER_MS);
  }

  /** Forgets what the server knew, as the server has. */
  disconnected(): void {
    for (const key of this.#incoming.keys()) this.#settle(key);
    for (const [node, file] of this.#files) this.#files.set(node, { ...file, known: 0 });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.timer.cancel();
    for (const key of this.#incoming.keys()) this.#settle(key);
  }

  #settle(key: string): void {
    const incoming = this.#incoming.get(key);
    incoming?.deadline.cancel();
    incoming?.resolve();
    this.#incoming.delete(key);
  }

  #arm(delayMs: number): void {
    if (this.#isClosed) return;
    const dueMs = this.#deps.clock.bootMs() + delayMs;
    if (this.#timer !== undefined && this.#timer.dueMs <= dueMs) return;
    this.#timer?.timer.cancel();
    const timer = this.#deps.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#subscribe();
      if (this.#files.size > 0) this.#arm(TIMING.leaseTermMs);
    });
    this.#timer = { timer, dueMs };
  }

  #subscribe(): void {
    const { clock, session, isOpen } = this.#deps;
    const unusedMs = clock.bootMs() - TIMING.leaseTermMs;
    const changed: [number, number][] = [];
    for (const [node, file] of this.#files) {
      if (file.usedMs > unusedMs || isOpen(node)) continue;
      this.#files.delete(node);
      if (file.known > 0) changed.push([node, 0]);
    }
    for (const [node, file] of this.#lastUsed()) {
      changed.push([node, file.version]);
      this.#files.set(node, { ...file, known: file.version, wasSaid: true });
    }
    if (changed.length > 0 && !session.subscribe(changed)) this.disconnected();
  }

  /**
   * Files used last that the server does not know of, in the order of their use. No more are looked up in the cache
   * than are subscribed to: it takes its time.
   */
  #lastUsed(): [number, Subscription][] {
    const found: [number, Subscription][] = [];
    for (const [node, file] of [...this.#files].toReversed()) {
      if (found.length === SUBSCRIBED_AT_ONCE) break;
      if (file.known === file.version || file.isOwn || !this.#isWhole({ node, seq: file.version })) continue;
      found.push([node, file]);
    }
    return found.toReversed();
  }

  #isWhole(version: VersionId): boolean {
    const { cache } = this.#deps;
    const content = cache.find(version);
    if (content?.recipe === undefined) return false;
    return cache.absent(content, { offset: 0, length: content.sizeBytes }).length === 0;
  }
}

function keyOf({ node, seq }: VersionId): string {
  return `${node}:${seq}`;
}
