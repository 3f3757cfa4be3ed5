// Brings what pins lack, in the background of all that programs wait for: small files in streams, larger ones one after
// another. What cannot be brought now is tried again later.
import { type Clock, LIMITS, type NodeState, type Timer, isRunnelError, nextTurn } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Replica } from "../replica/replica.ts";
import type { Downloads } from "../transfer/download.ts";
import type { ReadAhead } from "../transfer/read-ahead.ts";
import type { Session } from "../wire/session.ts";
import type { KeptTree } from "./kept-tree.ts";

/** Small files that come in one stream. */
const FILES_AT_ONCE = 256;
const BYTES_AT_ONCE = 4 * 1024 * 1024;
/** Time after which what failed is tried again, as after a full disk. */
const AGAIN_MS = 60_000;

export interface PinFillerDeps {
  replica: Replica;
  cache: Cache;
  downloads: Pick<Downloads, "keep">;
  readAhead: Pick<ReadAhead, "bring">;
  session: Pick<Session, "isResponsive">;
  clock: Clock;
  pauses: Passages;
  isHere(state: NodeState): boolean;
  /** Pins at work, in the order in which they are filled. */
  trees(): readonly KeptTree[];
  /** Nothing is brought while pins need more than the cache may take. */
  isTooLarge(): boolean;
  log(message: string, error: unknown): void;
}

export class PinFiller {
  readonly #deps: PinFillerDeps;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #again: Timer | undefined;

  constructor(deps: PinFillerDeps) {
    this.#deps = deps;
  }

  /** Goes on where there is something to do. */
  wake(): void {
    if (this.#running !== undefined || this.#next() === undefined) return;
    this.#running = this.#fill()
      .catch((error: unknown) => this.#deps.log("Pinned files could not be brought.", error))
      .finally(() => {
        this.#running = undefined;
        this.wake();
      });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#again?.cancel();
    await this.#running;
  }

  #next(): KeptTree | undefined {
    const { session, trees, isTooLarge } = this.#deps;
    if (this.#ending.signal.aborted || !session.isResponsive || isTooLarge()) return undefined;
    return trees().find((tree) => tree.hasWork);
  }

  async #fill(): Promise<void> {
    for (let tree = this.#next(); tree !== undefined; tree = this.#next()) {
      if (!tree.look()) await this.#bringSome(tree);
      await new Promise<void>(nextTurn);
    }
  }

  /** Brings a stream of small files, or a larger file. */
  async #bringSome(tree: KeptTree): Promise<void> {
    const { replica, isHere, readAhead, pauses } = this.#deps;
    const small: NodeState[] = [];
    let large: NodeState | undefined;
    let bytes = 0;
    for (const node of tree.toBring()) {
      const state = replica.node(node);
      if (state === undefined || state.nlink === 0 || isHere(state)) tree.drop(node);
      else if (pauses.isPaused([node])) tree.failed.set(node, "");
      else if (state.sizeBytes > LIMITS.smallFileBytes) large ??= state;
      else {
        small.push(state);
        bytes += state.sizeBytes;
      }
      if (small.length === FILES_AT_ONCE || bytes >= BYTES_AT_ONCE) break;
    }
    if (small.length > 0) await readAhead.bring(small);
    for (const state of small.length > 0 ? small : large === undefined ? [] : [large]) {
      const now = replica.node(state.node);
      if (now === undefined) tree.drop(state.node);
      else if (isHere(now)) tree.see(now);
      else if (this.#next() === undefined) return;
      else await this.#bring(tree, now);
    }
  }

  async #bring(tree: KeptTree, state: NodeState): Promise<void> {
    const { cache, downloads, log, replica, pauses } = this.#deps;
    const { node, version, sizeBytes } = state;
    try {
      using hold = await cache.create({ node, seq: version }, sizeBytes);
      await downloads.keep(hold.content, this.#ending.signal);
      // Another version may be the newest by now.
      tree.see(replica.node(node) ?? { ...state, nlink: 0 });
    } catch (error) {
      if (pauses.isPaused([node])) tree.failed.set(node, "");
      if (this.#ending.signal.aborted || isRunnelError(error, "Unreachable", "Interrupted")) return;
      const sentence = error instanceof Error ? error.message : String(error);
      log(`${replica.pathOf(node) ?? "A pinned file"} could not be brought.`, error);
      tree.failed.set(node, sentence);
      this.#again ??= this.#deps.clock.after(AGAIN_MS, () => this.tryAgain());
    }
  }

  /** Brings as well what could not be brought before. */
  tryAgain(): void {
    this.#again?.cancel();
    this.#again = undefined;
    for (const { failed } of this.#deps.trees()) failed.clear();
    this.wake();
  }
}
