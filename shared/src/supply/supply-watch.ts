// A supply at work: a folder that is looked through again and again, in the background.
import { isRunnelError } from "../errors.ts";
import type { Clock, Timer } from "../host/clock.ts";
import type { Scanned } from "./scan-folder.ts";
import type { SupplyFolder } from "./supply-folder.ts";
import type { SupplyIndex } from "./supply-index.ts";

/** Time after which a folder is looked through again; sooner where files were not as the index says, or it is away. */
const AGAIN_MS = 600_000;
const DOUBTFUL_MS = 30_000;
const AWAY_MS = 15_000;

/** State of a supply, for a person. */
export interface SupplyState {
  path: string;
  /** scanning: its files are being looked through; away: it cannot be read now, as a stick that was pulled out. */
  state: "scanning" | "ready" | "away";
  /** Files that chunks can be taken of, and their bytes. */
  files: number;
  bytes: number;
  /** Files that the scan which is under way, or the last, has come to. */
  seenFiles: number;
  /** Files and folders that could not be read, or were too many. */
  passedOver: number;
  /** A sentence, or null. */
  problem: string | null;
}

export interface SupplyWatchDeps {
  index: SupplyIndex;
  clock: Clock;
  /** Paths in the folder, and what lies below, that are not looked at: the agent's own. */
  leavesOut(path: string): boolean;
  /** Resolves to what ends a turn: a single supply is looked through at a time. */
  turn(): Promise<() => void>;
  log(message: string, error: unknown): void;
}

export class SupplyWatch<Folder extends SupplyFolder = SupplyFolder> implements AsyncDisposable {
  readonly folder: Folder;
  readonly #deps: SupplyWatchDeps;
  readonly #ending = new AbortController();
  #scanned: Scanned = { files: 0, bytes: 0, passedOver: 0, isFull: false };
  #problem: string | undefined;
  #running: Promise<void> | undefined;
  #again: Timer | undefined;

  /** Takes over the index, which it closes. */
  constructor(folder: Folder, deps: SupplyWatchDeps) {
    this.folder = folder;
    this.#deps = deps;
  }

  get path(): string {
    return this.folder.path;
  }

  get status(): SupplyState {
    const state = this.#running !== undefined ? "scanning" : this.folder.isAway ? "away" : "ready";
    const { files: seenFiles, passedOver, isFull } = this.#scanned;
    const full = isFull ? "It has more than a supply may have: some of its files are not used." : undefined;
    return {
      path: this.path,
      state,
      ...this.#deps.index.totals,
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
      const delayMs = this.folder.isAway ? AWAY_MS : this.folder.hasDoubts ? DOUBTFUL_MS : AGAIN_MS;
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
    this.#deps.index.close();
  }

  async #scan(): Promise<void> {
    const endTurn = await this.#deps.turn();
    try {
      const progress = (scanned: Scanned): void => void (this.#scanned = { ...scanned });
      this.#scanned = await this.folder.scan(this.#ending.signal, progress, (path) => this.#deps.leavesOut(path));
      this.#problem = undefined;
    } catch (error) {
      if (this.#ending.signal.aborted) return;
      const damaged = "Its index is damaged on this computer's disk. End the agent: it is then made anew.";
      if (isRunnelError(error, "Corrupt")) this.#problem = damaged;
      else if (this.folder.isAway) this.#problem = "It is not there now, and is used again when it is.";
      else this.#problem = error instanceof Error ? error.message : String(error);
      this.#deps.log("A supply could not be looked through.", error);
    } finally {
      endTurn();
    }
  }
}
