// Walks a supply's folder and cuts what has changed in it, a little at a time, so that programs do not notice. Links
// are not followed and other file systems not entered, which the root sees to: a drive of Runnel below is one of those.
// What cannot be read is passed over and counted.
import { RunnelError, isRunnelError } from "../errors.ts";
import type { Clock } from "../host/clock.ts";
import type { DiskFile, DiskRoot, DiskStat } from "../host/disk.ts";
import type { Executor } from "../host/executor.ts";
import { pause } from "../host/pause.ts";
import { presetFor } from "../model/chunk-presets.ts";
import { sliceRecipe } from "../model/recipe.ts";
import { packedChunks } from "./pack-index.ts";
import { CARRY_FOLDER, PACKS_FOLDER } from "./stick-names.ts";
import type { SupplyIndex } from "./supply-index.ts";
import { SUPPLY_LIMITS } from "./supply-limits.ts";

/** Work that a pause follows, of the same length: half of one processor at the most. */
const WORK_MS = 20;
const PAUSE_MS_MAX = 1_000;
/** A served folder's own: what the server holds in it comes and goes. */
const EXCLUDED = new Set([".runnel-store"]);

export interface ScanDeps {
  root: DiskRoot;
  index: SupplyIndex;
  executor: Executor;
  clock: Clock;
  signal: AbortSignal;
  /** A file that did not have what the index says: cut anew, whatever its times are. */
  isDoubtful(file: number): boolean;
  /** Paths that are not looked at, with what lies below. */
  leavesOut?(path: string): boolean;
  /** The folder in it that is looked through; all of it unless it is said. */
  within?: string;
  /** Called as it goes on. */
  progress(scanned: Scanned): void;
}

export interface Scanned {
  /** Files that were come to. */
  files: number;
  bytes: number;
  /** Files and folders that could not be read, or are too many. */
  passedOver: number;
  /** The index holds as much as it may. */
  isFull: boolean;
}

/**
 * Brings the index up to the folder; what is gone is forgotten in the end. @throws Interrupted, Unavailable where the
 * folder seems not to be there: nothing is forgotten then.
 */
export async function scanFolder(deps: ScanDeps): Promise<Scanned> {
  return new FolderScan(deps).run();
}

export function stampOf({ sizeBytes, mtimeNs, ctimeNs }: DiskStat): string {
  return `${sizeBytes}:${mtimeNs}:${ctimeNs}`;
}

class FolderScan {
  readonly #deps: ScanDeps;
  readonly #scan: number;
  readonly #scanned: Scanned = { files: 0, bytes: 0, passedOver: 0, isFull: false };
  /** Folders that are still to be looked through. */
  readonly #folders: string[];
  #entries = 0;
  #worksSinceMs: number;

  constructor(deps: ScanDeps) {
    this.#deps = deps;
    this.#folders = [deps.within ?? ""];
    this.#scan = deps.index.lastScan + 1;
    this.#worksSinceMs = deps.clock.bootMs();
  }

  async run(): Promise<Scanned> {
    const { index, root, within = "" } = this.#deps;
    const { dev } = await root.stat("");
    for (let folder = this.#folders.pop(); folder !== undefined; folder = this.#folders.pop()) {
      await this.#look(folder, dev, folder === within);
      this.#deps.progress(this.#scanned);
    }
    // A folder without anything where there was something is a place that nothing is mounted at now.
    if (this.#entries === 0 && index.totals.files > 0)
      throw new RunnelError("Unavailable", "scan", `${root.path} is empty now.`);
    for (let gone = index.unseen(this.#scan); gone.length > 0; gone = index.unseen(this.#scan)) {
      for (const file of gone) index.forget(file);
      await this.#rest();
    }
    return this.#scanned;
  }

  async #look(folder: string, dev: number, isFirst: boolean): Promise<void> {
    const { leavesOut = () => false } = this.#deps;
    try {
      await this.#deps.root.list(folder, async (entries) => {
        for (const { name, stat } of entries) {
          this.#entries++;
          const path = name === undefined ? undefined : folder === "" ? name : `${folder}/${name}`;
          if (path === undefined || path.length > SUPPLY_LIMITS.pathCharacters) this.#scanned.passedOver++;
          else if (stat.dev !== dev || EXCLUDED.has(name ?? "") || leavesOut(path)) continue;
          else if (stat.type === "file") await this.#file(path, stat);
          else if (stat.type !== "folder") continue;
          else if (this.#folders.length < SUPPLY_LIMITS.foldersToSee) this.#folders.push(path);
          else this.#scanned.passedOver++;
        }
        await this.#rest();
      });
    } catch (error) {
      // Nothing is known of what lies below.
      if (isFirst) throw error;
      this.#passOver(error);
    }
  }

  async #file(path: string, stat: DiskStat): Promise<void> {
    const { index, isDoubtful } = this.#deps;
    // Only packs of a stick have chunks.
    if (path.startsWith(`${CARRY_FOLDER}/`) && !isPack(path)) return;
    this.#scanned.files++;
    this.#scanned.bytes += stat.sizeBytes;
    if (stat.sizeBytes === 0) return;
    const known = index.fileAt(path);
    const isKnown = known !== undefined && known.isWhole === 1 && known.stamp === stampOf(stat);
    if (isKnown && !isDoubtful(known.id)) index.seen(known.id, this.#scan);
    else if (index.isFull || this.#scanned.files > SUPPLY_LIMITS.files) {
      this.#scanned.isFull = true;
      this.#scanned.passedOver++;
    } else await this.#cut(path);
    await this.#rest();
  }

  async #cut(path: string): Promise<void> {
    const { executor, index, root } = this.#deps;
    let begun: number | undefined;
    try {
      const file = await root.open(path, "read");
      try {
        const stat = await file.stat();
        const { sizeBytes } = stat;
        begun = index.begin({ path, sizeBytes, stamp: stampOf(stat) }, this.#scan);
        if (isPack(path)) index.putPlaces(begun, await packedChunks(root, path, sizeBytes, executor));
        else await this.#cutWindows(file, begun, sizeBytes);
        index.isWhole(begun);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (begun !== undefined) index.forget(begun);
      this.#passOver(error);
    }
  }

  async #cutWindows(file: DiskFile, id: number, sizeBytes: number): Promise<void> {
    const { executor, index } = this.#deps;
    const preset = presetFor(sizeBytes);
    for (let offset = 0; offset < sizeBytes;) {
      const length = Math.min(sizeBytes - offset, SUPPLY_LIMITS.windowBytes);
      const cut = await executor.chunkFile(file, offset, length, preset);
      const isLast = offset + length === sizeBytes;
      // The last chunk was ended by the window: it begins the next one.
      const count = isLast ? cut.lengths.length : cut.lengths.length - 1;
      index.put(id, sliceRecipe(cut, 0, count), offset);
      offset += isLast ? length : length - (cut.lengths[count] ?? 0);
      await this.#rest();
    }
  }

  /** @throws what is no matter of one file. */
  #passOver(error: unknown): void {
    if (!isRunnelError(error) || isRunnelError(error, "Interrupted")) throw error;
    this.#scanned.passedOver++;
  }

  /** Lets others work. @throws Interrupted at the end. */
  async #rest(): Promise<void> {
    const { clock, signal } = this.#deps;
    const workedMs = clock.bootMs() - this.#worksSinceMs;
    if (workedMs >= WORK_MS) {
      await pause(clock, Math.min(workedMs, PAUSE_MS_MAX), signal);
      this.#worksSinceMs = clock.bootMs();
    }
    if (signal.aborted) throw new RunnelError("Interrupted", "scan", "The scan of a supply has been ended.");
  }
}

export function isPack(path: string): boolean {
  return path.startsWith(`${CARRY_FOLDER}/${PACKS_FOLDER}/`) && path.endsWith(".pack");
}
