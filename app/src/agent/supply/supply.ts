// A supply at work: a folder that is looked through again and again, in the background.
import { type Clock, type Executor, type DiskRoot, type Timer, isRunnelError } from "@runnel/shared";
import { FolderSource } from "./folder-source.ts";
import type { Scanned } from "./scan-folder.ts";
import { SupplyIndex } from "./supply-index.ts";
import type { SupplyStatus } from "./supply-status.ts";

/** Time after which a folder is looked through again; sooner where files were not as the index says, or it is away. */
const AGAIN_MS = 600_000;
const DOUBTFUL_MS = 30_000;
const AWAY_MS = 15_000;

export interface SupplyDeps {
  path: string;
  indexPath: string;
  executor: Executor;
  clock: Clock;
  openRoot(path: string): Promise<DiskRoot>;
  /** Paths in the folder, and what lies below, that are not looked at: the agent's own. */
  leavesOut(path: string): boolean;
  /** Resolves to what ends a turn: a single supply is looked through at a time. */
  turn(): Promise<() => void>;
  log(message: string, error: unknown): void;
}

export class Supply implements AsyncDisposable {
  readonly source: FolderSource;
  readonly #deps: SupplyDeps;
  readonly #index: SupplyIndex;
  readonly #ending = new AbortController();
  #scanned: Scanned = { files: 0, bytes: 0, passedOver: 0, isFull: false };
  #problem: string | undefined;
  #running: Promise<void> | undefined;
  #again: Timer | undefined;

  /** @throws as openDatabase. */
  constructor(deps: SupplyDeps) {
    this.#deps = deps;
    this.#index = SupplyIndex.open(deps.indexPath);
    this.source = new FolderSource({ ...deps, kind: "folder", index: this.#index });
  }

  get path(): string {
    return this.#deps.path;
  }

  get status(): SupplyStatus {
    const state = this.#running !== undefined ? "scanning" : this.source.isAway ? "away" : "ready";
    const { files: seenFiles, passedOver, isFull } = this.#scanned;
    const full = isFull ? "It has more than a supply may have: some of its files are not used." : undefined;
    return {
      path: this.path,
      state,
      ...this.#index.totals,
      seenFiles,
      passedOver,
      problem: this.#problem ?? full ?? null,
    };
  }

  /** Looks through the folder now. */
  wake(): void {
    this.#again?.cancel();
    this.#again = undefined;
    if (this.#ending.signal.aborted) return;
    this.#running ??= this.#scan().finally(() => {
      this.#running = undefined;
      if (this.#ending.signal.aborted) return;
      const delayMs = this.source.isAway ? AWAY_MS : this.source.hasDoubts ? DOUBTFUL_MS : AGAIN_MS;
      this.#again = this.#deps.clock.after(delayMs, () => this.wake());
    });
  }

  /** Resolves when the scan under way is over. */
  async scanned(): Promise<void> {
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    this.#again?.cancel();
    await this.#running;
    this.#index.close();
  }

  async #scan(): Promise<void> {
    const endTurn = await this.#deps.turn();
    try {
      const progress = (scanned: Scanned): void => void (this.#scanned = { ...scanned });
      this.#scanned = await this.source.scan(this.#ending.signal, progress, (path) => this.#deps.leavesOut(path));
      this.#problem = undefined;
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      const damaged = "Its index is damaged on this computer's disk. End the agent: it is then made anew.";
      if (isRunnelError(error, "Corrupt")) this.#problem = damaged;
      else if (this.source.isAway) this.#problem = "It is not there now, and is used again when it is.";
      else this.#problem = error instanceof Error ? error.message : String(error);
      this.#deps.log("A supply could not be looked through.", error);
    } finally {
      endTurn();
    }
  }
}
