// LateWriters: files that commits took out of the tree while a program on the server had them open for writing. What it
// writes to one afterwards would be in nobody's sight: such a file is put back into the tree, next to the name it had.
import type { Clock, DiskRoot, DiskStat, Timer, VersionId } from "@runnel/shared";
import { RecentMap, ROOT_NODE, isRunnelError } from "@runnel/shared";
import type { MetaStore } from "../../../meta/meta-store.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { SerialQueue } from "../../../host/serial-queue.ts";
import type { LiveTree } from "./live-tree.ts";
import type { Probes } from "../disk/found.ts";
import { isSameContent } from "../disk/same-file.ts";
import { TRASH_FOLDER, joinPath, splitPath } from "../disk/store-layout.ts";
import type { Trash } from "../versions/trash.ts";

/** A program that had opened the file by its name has taken its right to write by then. */
const FIRST_MS = 250;
const WAIT_MS_MAX = 30_000;
/** Watch time where the system does not say who writes. */
const WATCHED_MS = 60_000;
/** More than are opened for writing at once; the oldest are given up. */
const FILES_MAX = 65_536;
/** Probed when the server starts: a crash may have come before they were. */
const NEWEST = 256;

export interface LateWritersDeps {
  root: DiskRoot;
  rows: DiskRows;
  meta: MetaStore;
  clock: Clock;
  serialQueue: SerialQueue;
  trash: Trash;
  tree: LiveTree;
  probeLater(probes: Probes): void;
}

interface Watched {
  version: VersionId;
  /** Name in the trash. */
  name: string;
  stat: DiskStat;
  sinceMs: number;
  waitMs: number;
  nextMs: number;
}

export class LateWriters {
  readonly #deps: LateWritersDeps;
  /** Watched files by name in the trash. */
  readonly #watched = new RecentMap<string, Watched>(FILES_MAX);
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: LateWritersDeps) {
    this.#deps = deps;
  }

  /** Looks at what came to the trash last. */
  async start(): Promise<void> {
    for (const { name, version } of this.#deps.trash.newest(NEWEST)) {
      const place = (await this.#deps.meta.version(version))?.place;
      if (place?.at === "trash" && place.file === name) this.watch(version, name, place.stat);
    }
  }

  /** A file came to the trash, with this tuple. */
  watch(version: VersionId, name: string, stat: DiskStat): void {
    const nowMs = this.#deps.clock.bootMs();
    this.#watched.set(name, { version, name, stat, sinceMs: nowMs, waitMs: FIRST_MS, nextMs: nowMs + FIRST_MS });
    this.#wait();
  }

  #wait(): void {
    if (this.#timer !== undefined || this.#isClosed || this.#watched.size === 0) return;
    this.#timer = this.#deps.clock.after(FIRST_MS, () => {
      this.#running = this.#probe().finally(() => {
        this.#timer = undefined;
        this.#wait();
      });
    });
  }

  async #probe(): Promise<void> {
    const nowMs = this.#deps.clock.bootMs();
    for (const watched of this.#watched.values()) {
      if (watched.nextMs > nowMs || this.#isClosed) continue;
      watched.waitMs = Math.min(2 * watched.waitMs, WAIT_MS_MAX);
      watched.nextMs = nowMs + watched.waitMs;
      try {
        if (await this.#isOver(watched, nowMs)) this.#watched.delete(watched.name);
      } catch {
        // Probed again.
      }
    }
  }

  /** Tells whether nobody writes to it any more, or it is in the tree again. */
  async #isOver(watched: Watched, nowMs: number): Promise<boolean> {
    const { root } = this.#deps;
    const path = joinPath(TRASH_FOLDER, watched.name);
    try {
      const { lease, stat } = await root.lookForWriter(path);
      if (isSameContent(stat, watched.stat))
        return lease === "taken" || (lease === "refused" && nowMs - watched.sinceMs >= WATCHED_MS);
      await this.#putBack(watched, path);
      return true;
    } catch (error) {
      if (isRunnelError(error, "NotFound")) return true;
      throw error;
    }
  }

  async #putBack({ version, name }: Watched, path: string): Promise<void> {
    const { serialQueue, trash, tree, rows, meta, probeLater } = this.#deps;
    await serialQueue.run(async () => {
      const was = splitPath(await trash.pathOf(name));
      await tree.keepConflictCopy(path, await this.#folderAt(was.folder), was.name, true);
      await trash.forget(name);
      if ((await meta.version(version))?.place.at === "trash") rows.setPlace(version, { at: "lost" });
      await tree.finish([]);
      await rows.store((await meta.facts()).appliedSeq);
      probeLater(tree.takeProbes());
    });
  }

  /** The folder that is at the path now; the root when none is. */
  async #folderAt(path: string): Promise<number> {
    let folder = ROOT_NODE;
    for (const name of path === "" ? [] : path.split("/")) {
      const row = await this.#deps.rows.get(folder, name);
      if (row?.stat.type !== "folder") return ROOT_NODE;
      folder = row.node;
    }
    return folder;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }
}
