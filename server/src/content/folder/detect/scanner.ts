// Scanning: comparing whole folders with their rows, some at a time. A scan never holds more of the tree than the folders still to be listed and
// one batch of differences, and between two batches other work goes on. The first serve of a folder is a scan against no rows.
import { ROOT_NODE } from "@runnel/shared";
import type { MetaStore } from "../../../meta/meta-store.ts";
import type { Absences } from "./pending-removals.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { Lane } from "../disk/serial-queue.ts";
import type { LeftOut } from "../disk/excluded-names.ts";
import type { Looker } from "./prober.ts";
import type { Seen } from "./observation.ts";
import type { Teller } from "./external-changes.ts";

/** Differences taken together; folders listed together when they are all as recorded. */
const BATCH_SEEN = 1000;
const BATCH_FOLDERS = 64;

export interface ScannerContext {
  lane: Lane;
  rows: DiskRows;
  meta: Pick<MetaStore, "countDiskRows">;
  looker: Looker;
  teller: Teller;
  absences: Absences;
  excluded: LeftOut;
  /** @throws Unavailable when the folder is not the one that was served. */
  checkRoot(): Promise<void>;
  isClosed(): boolean;
  /** Makes rows and tree agree about a folder's names. */
  heal(folder: number): Promise<void>;
}

export class Scanner {
  readonly #context: ScannerContext;
  #heals = false;
  /** The path of the folder that was begun with last. */
  at = "";
  /** Names seen by the scan of the whole tree, and how many there were when it began. */
  readonly progress = { done: 0, total: 0 };

  constructor(context: ScannerContext) {
    this.#context = context;
  }

  /** The whole tree. Absences are told at its end, when what moved has been found elsewhere. `heals`: rows that the tree contradicts are mended. */
  async scanAll(heals: boolean): Promise<void> {
    const { lane, teller, absences, excluded } = this.#context;
    excluded.clear();
    absences.beginScan();
    this.at = "";
    this.progress.done = 0;
    this.progress.total = await this.#context.meta.countDiskRows();
    let isFirst = false;
    await lane.run(async () => {
      await this.#context.checkRoot();
      isFirst = (await this.#context.rows.ofFolder(ROOT_NODE)).length === 0;
      await teller.tellRoot();
    });
    this.#heals = heals;
    await this.#descend([ROOT_NODE], true, isFirst);
    while (!this.#context.isClosed() && (await lane.run(() => absences.tellScanned())));
  }

  /** Folders that are new or may have changed, and the new ones in them. */
  async scanFolders(folders: readonly number[]): Promise<void> {
    if (folders.length > 0) await this.#descend([...folders], false, false);
  }

  async #descend(stack: number[], isWhole: boolean, isFirst: boolean): Promise<void> {
    while (stack.length > 0 && !this.#context.isClosed()) {
      await this.#context.lane.run(() => this.#step(stack, isWhole, isFirst));
    }
  }

  async #step(stack: number[], isWhole: boolean, isFirst: boolean): Promise<void> {
    const { looker, teller, absences } = this.#context;
    const seen: Seen[] = [];
    for (let count = 0; count < BATCH_FOLDERS && seen.length < BATCH_SEEN; count++) {
      const folder = stack.pop();
      if (folder === undefined) break;
      if (isWhole) this.at = (await this.#context.rows.pathOf(folder)) ?? "";
      if (isWhole && this.#heals) await this.#context.heal(folder);
      const listed = await looker.list(folder);
      if (listed === undefined) continue;
      if (isWhole) this.progress.done += listed.names;
      // Not spread: a folder may have more names than a call has arguments.
      for (const one of listed.seen) seen.push(one);
      if (isWhole) for (const below of listed.folders) stack.push(below);
    }
    const told = await teller.tell(seen, isFirst);
    absences.hold(told.absent, isWhole);
    for (const folder of told.folders) stack.push(folder);
  }
}
