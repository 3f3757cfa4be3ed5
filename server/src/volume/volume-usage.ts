// Counts the files of a volume and their bytes: in the background, when somebody asks and the last count is old, and
// page by page, so that the index answers others between.
import { type Clock, ROOT_NODE, isRunnelError } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

export interface Usage {
  files: number;
  folders: number;
  /** Sum of the files' lengths. */
  bytes: number;
  /** Age of the count in milliseconds. */
  ageMs: number;
}

const PAGE_ENTRIES = 500;
/** A count counts for so long at least, and for so many times the time that it took. */
const FRESH_MS = 5_000;
const REST_TIMES = 20;

export interface VolumeUsageDeps {
  meta: Pick<MetaStore, "list">;
  clock: Clock;
  /** Returns the seq of the last change. */
  seq(): number;
}

export class VolumeUsage {
  readonly #deps: VolumeUsageDeps;
  #last: { counted: Omit<Usage, "ageMs">; seq: number; atMs: number; tookMs: number } | undefined;
  #counting: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: VolumeUsageDeps) {
    this.#deps = deps;
  }

  /** Returns the last count, and sees to a new one; undefined before the first has ended. Waits for nothing. */
  look(): Usage | undefined {
    const nowMs = this.#deps.clock.bootMs();
    const last = this.#last;
    const isOld =
      last === undefined ||
      (last.seq !== this.#deps.seq() && nowMs - last.atMs > Math.max(FRESH_MS, REST_TIMES * last.tookMs));
    if (isOld && !this.#isClosed) this.#counting ??= this.#count(nowMs).finally(() => (this.#counting = undefined));
    return last && { ...last.counted, ageMs: Math.max(0, nowMs - last.atMs) };
  }

  /** Resolves when no count is under way. */
  async whenCounted(): Promise<void> {
    await this.#counting;
  }

  close(): void {
    this.#isClosed = true;
  }

  async #count(sinceMs: number): Promise<void> {
    const seq = this.#deps.seq();
    const counted = { files: 0, folders: 0, bytes: 0 };
    /** Files with several names are counted once. */
    const linked = new Set<number>();
    const folders = [ROOT_NODE];
    try {
      for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
        for (let after = ""; ;) {
          const page = await this.#deps.meta.list(folder, after, PAGE_ENTRIES);
          if (this.#isClosed) return;
          for (const { state } of page) {
            if (state.type === "folder") {
              counted.folders++;
              folders.push(state.node);
            } else if (state.nlink === 1 || !linked.has(state.node)) {
              if (state.nlink > 1) linked.add(state.node);
              counted.files++;
              counted.bytes += state.sizeBytes;
            }
          }
          const last = page.at(-1);
          if (last === undefined || page.length < PAGE_ENTRIES) break;
          after = last.name;
        }
      }
    } catch (error) {
      // The volume is being closed, or its index does not answer: the count of before stands.
      if (!isRunnelError(error)) throw error;
      return;
    }
    const atMs = this.#deps.clock.bootMs();
    this.#last = { counted, seq, atMs, tookMs: atMs - sinceMs };
  }
}
