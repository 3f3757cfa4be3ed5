// Scanning: comparing whole folders with their rows, some at a time. A scan never holds more of the tree than the
// folders still to be listed and one batch of differences, and between two batches other work goes on. The first serve
// of a folder is a scan against no rows.
import { ROOT_NODE } from "@runnel/shared";
import type { MetaStore } from "../../../meta/meta-store.ts";
import type { PendingRemovals } from "./pending-removals.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { SerialQueue } from "../../../host/serial-queue.ts";
import type { ExcludedNames } from "../disk/excluded-names.ts";
import type { Prober } from "./prober.ts";
import type { Observation } from "./observation.ts";
import type { ExternalChanges } from "./external-changes.ts";

/** Differences taken together; folders listed together when they are all as recorded. */
const OBSERVATIONS_PER_BATCH = 1000;
const BATCH_FOLDERS = 64;

export interface ScannerDeps {
  serialQueue: SerialQueue;
  rows: DiskRows;
  meta: Pick<MetaStore, "countDiskRows">;
  prober: Prober;
  externalChanges: ExternalChanges;
  pendingRemovals: PendingRemovals;
  excluded: ExcludedNames;
  /** @throws Unavailable when the folder is not the one that was served. */
  checkRoot(): Promise<void>;
  isClosed(): boolean;
  /** Makes rows and tree agree about a folder's names. */
  repairRows(folder: number): Promise<void>;
}

export class Scanner {
  readonly #deps: ScannerDeps;
  #repairs = false;
  /** The path of the folder that was begun with last. */
  at = "";
  /** Names seen by the scan of the whole tree, and how many there were when it began. */
  readonly progress = { done: 0, total: 0 };

  constructor(deps: ScannerDeps) {
    this.#deps = deps;
  }

  /**
   * The whole tree. Removals are reported at its end, when what moved has been found elsewhere. `repairs`: rows that
   * the tree contradicts are mended.
   */
  async scanAll(repairs: boolean): Promise<void> {
    const { serialQueue, externalChanges, pendingRemovals, excluded } = this.#deps;
    excluded.clear();
    pendingRemovals.beginScan();
    this.at = "";
    this.progress.done = 0;
    this.progress.total = await this.#deps.meta.countDiskRows();
    let isFirst = false;
    await serialQueue.run(async () => {
      await this.#deps.checkRoot();
      isFirst = (await this.#deps.rows.ofFolder(ROOT_NODE)).length === 0;
      await externalChanges.reportRoot();
    });
    this.#repairs = repairs;
    await this.#descend([ROOT_NODE], true, isFirst);
    while (!this.#deps.isClosed() && (await serialQueue.run(() => pendingRemovals.reportScanned())));
  }

  /** Folders that are new or may have changed, and the new ones in them. */
  async scanFolders(folders: readonly number[]): Promise<void> {
    if (folders.length > 0) await this.#descend([...folders], false, false);
  }

  async #descend(stack: number[], isWhole: boolean, isFirst: boolean): Promise<void> {
    while (stack.length > 0 && !this.#deps.isClosed()) {
      await this.#deps.serialQueue.run(() => this.#step(stack, isWhole, isFirst));
    }
  }

  async #step(stack: number[], isWhole: boolean, isFirst: boolean): Promise<void> {
    const { prober, externalChanges, pendingRemovals } = this.#deps;
    const observed: Observation[] = [];
    for (let count = 0; count < BATCH_FOLDERS && observed.length < OBSERVATIONS_PER_BATCH; count++) {
      const folder = stack.pop();
      if (folder === undefined) break;
      if (isWhole) this.at = (await this.#deps.rows.pathOf(folder)) ?? "";
      if (isWhole && this.#repairs) await this.#deps.repairRows(folder);
      const listed = await prober.list(folder);
      if (listed === undefined) continue;
      if (isWhole) this.progress.done += listed.names;
      // Spread is avoided: a folder may have more names than a call has arguments.
      for (const one of listed.observed) observed.push(one);
      if (isWhole) for (const below of listed.folders) stack.push(below);
    }
    const reported = await externalChanges.report(observed, isFirst);
    pendingRemovals.hold(reported.absent, isWhole);
    for (const folder of reported.folders) stack.push(folder);
  }
}
