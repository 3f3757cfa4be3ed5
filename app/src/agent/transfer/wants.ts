// Which files the server sends small changes of with the feed (W65): those that programs had open or used in the last term, and that are here whole. What
// comes so is in the cache when a program opens the file again: it need not be asked for.
import type { Change, Clock, Difference, Timer, VersionId } from "@runnel/shared";
import { LIMITS, TIMING, isRunnelError } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Session } from "../wire/session.ts";
import type { Downloads } from "./download.ts";

/** Whoever reads a tree uses many files once: they are said together, and of many only the last. */
const SAY_AFTER_MS = 1_000;
const SAID_AT_ONCE = 64;

interface Wanted {
  version: number;
  /** The version that the server has been told of; 0: none. */
  said: number;
  /** Made here and not opened since: a program that makes many files need not hear of each. */
  isOwn: boolean;
  usedMs: number;
}

export interface WantsParts {
  cache: Cache;
  downloads: Downloads;
  session: Pick<Session, "want">;
  clock: Clock;
  isOpen(node: number): boolean;
  log(message: string, error: unknown): void;
}

export class Wants {
  private readonly parts: WantsParts;
  /** By node; what was used last comes last. */
  private readonly files = new Map<number, Wanted>();
  /** Contents that the server has said are coming. */
  private readonly coming = new Map<string, PromiseWithResolvers<void>>();
  private timer: { timer: Timer; dueMs: number } | undefined;
  private isClosed = false;

  constructor(parts: WantsParts) {
    this.parts = parts;
  }

  opened(node: number, version: number): void {
    this.put(node, version, this.files.get(node)?.said ?? 0, false);
  }

  closed(node: number, version: number): void {
    const file = this.files.get(node);
    this.put(node, version, file?.said ?? 0, file?.isOwn ?? false);
  }

  /** A save from here made the version: the server knows that it is here. */
  made({ node, seq }: VersionId): void {
    const isKnown = (this.files.get(node)?.said ?? 0) > 0;
    this.put(node, seq, isKnown ? seq : 0, !isKnown);
  }

  private put(node: number, version: number, said: number, isOwn: boolean): void {
    if (version === 0) return;
    this.files.delete(node);
    this.files.set(node, { version, said, isOwn, usedMs: this.parts.clock.bootMs() });
    const [oldest] = this.files.keys();
    if (this.files.size > LIMITS.wantedFiles && oldest !== undefined) this.files.delete(oldest);
    if (said !== version) this.arm(SAY_AFTER_MS);
  }

  /** Feed items came; the contents of those with these seqs come next. */
  announced(changes: readonly Change[], seqs: readonly number[]): void {
    for (const { seq, nodes } of changes) {
      if (!seqs.includes(seq)) continue;
      for (const { node, version } of nodes)
        if (version === seq) this.coming.set(keyOf({ node, seq }), Promise.withResolvers<void>());
    }
  }

  /** One of them has come, or will not. */
  came(version: VersionId, difference: Difference | null): void {
    const taken = difference === null ? Promise.resolve() : this.take(version, difference);
    taken
      .catch((error: unknown) => {
        // Whoever opens the file asks for it.
        if (!isRunnelError(error, "Gone")) this.parts.log("A change that came with the feed could not be kept.", error);
      })
      .finally(() => this.settle(keyOf(version)));
  }

  private async take(version: VersionId, difference: Difference): Promise<void> {
    const { node, seq } = version;
    const file = this.files.get(node);
    if (file !== undefined) this.files.set(node, { ...file, said: 0 });
    await this.parts.downloads.takeDifference(version, difference);
    const now = this.files.get(node);
    if (now !== undefined && now.version <= seq) this.files.set(node, { ...now, version: seq, said: seq });
  }

  /** Resolves when a content that is coming with the feed has come or will not; at once for all others. */
  async arrived(version: VersionId): Promise<void> {
    await this.coming.get(keyOf(version))?.promise;
  }

  connected(): void {
    if (this.files.size > 0) this.arm(SAY_AFTER_MS);
  }

  /** The server has forgotten what it was told. */
  disconnected(): void {
    for (const key of this.coming.keys()) this.settle(key);
    for (const [node, file] of this.files) this.files.set(node, { ...file, said: 0 });
  }

  close(): void {
    this.isClosed = true;
    this.timer?.timer.cancel();
    for (const key of this.coming.keys()) this.settle(key);
  }

  private settle(key: string): void {
    this.coming.get(key)?.resolve();
    this.coming.delete(key);
  }

  private arm(delayMs: number): void {
    if (this.isClosed) return;
    const dueMs = this.parts.clock.bootMs() + delayMs;
    if (this.timer !== undefined && this.timer.dueMs <= dueMs) return;
    this.timer?.timer.cancel();
    const timer = this.parts.clock.after(delayMs, () => {
      this.timer = undefined;
      this.say();
      if (this.files.size > 0) this.arm(TIMING.leaseTermMs);
    });
    this.timer = { timer, dueMs };
  }

  private say(): void {
    const { clock, session, isOpen } = this.parts;
    const unusedMs = clock.bootMs() - TIMING.leaseTermMs;
    const said: [number, number][] = [];
    for (const [node, file] of this.files) {
      if (file.usedMs > unusedMs || isOpen(node)) continue;
      this.files.delete(node);
      if (file.said > 0) said.push([node, 0]);
    }
    for (const [node, file] of this.lastToSay()) {
      said.push([node, file.version]);
      this.files.set(node, { ...file, said: file.version });
    }
    if (said.length > 0 && !session.want(said)) this.disconnected();
  }

  /** Those used last, in the order of their use. No more are looked up in the cache than are said: it takes its time. */
  private lastToSay(): [number, Wanted][] {
    const found: [number, Wanted][] = [];
    for (const [node, file] of [...this.files].toReversed()) {
      if (found.length === SAID_AT_ONCE) break;
      if (file.said === file.version || file.isOwn || !this.isWhole({ node, seq: file.version })) continue;
      found.push([node, file]);
    }
    return found.toReversed();
  }

  private isWhole(version: VersionId): boolean {
    const { cache } = this.parts;
    const content = cache.find(version);
    if (content?.recipe === undefined) return false;
    return cache.absent(content, { offset: 0, length: content.sizeBytes }).length === 0;
  }
}

function keyOf({ node, seq }: VersionId): string {
  return `${node}:${seq}`;
}
