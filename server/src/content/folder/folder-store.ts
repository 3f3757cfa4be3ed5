// The folder engine of ContentStore: the live tree is a plain folder that other programs may read and write. Wings:
// apply (commits → folder), detect (folder → volume), versions (reading, old files), staging (uploads, free space),
// salvage (after the loss of the index), disk (what they all share: rows, names, identities). This file only puts them
// together.
import type { Clock, Disk, DiskRoot, DiskSpace, Executor, Notice, Timer, VersionId } from "@runnel/shared";
import type { MetaStore } from "../../meta/meta-store.ts";
import type {
  AcceptedCommit,
  ContentCallbacks,
  ContentStatus,
  ContentStore,
  OpenVersion,
  StagedFile,
} from "../content-store.ts";
import type { Ownership } from "./disk/attributes.ts";
import { OWNED_BY_ROOT } from "./disk/attributes.ts";
import { FileSource } from "./versions/file-source.ts";
import { BaseHolds } from "./versions/base-holds.ts";
import { Applier } from "./apply/applier.ts";
import { BusyNames } from "./disk/busy-names.ts";
import { FolderReconciler } from "./detect/folder-reconciler.ts";
import { DiskRows, ROOT_ROW } from "./disk/disk-rows.ts";
import { repairFolder } from "./apply/repair-folder.ts";
import { SerialQueue } from "../../host/serial-queue.ts";
import { ExcludedNames } from "./disk/excluded-names.ts";
import { LateWriters } from "./apply/late-writers.ts";
import { LiveTree } from "./apply/live-tree.ts";
import { makeStoreFolders } from "./disk/marker.ts";
import { isSameHandle } from "./disk/same-file.ts";
import { NO_NAME_LIMITS, checkHeld, findNameLimits } from "./disk/name-limits.ts";
import { Notices } from "./disk/notices.ts";
import { OwnPlacings } from "./versions/own-placings.ts";
import { PendingContents, contentOf, sourcesOf } from "./versions/pending-contents.ts";
import { RootGuard } from "./disk/root-guard.ts";
import type { FilledTemp } from "./staging/filled-temp.ts";
import { Reservations } from "./staging/reservations.ts";
import { baseName } from "./disk/store-layout.ts";
import { StagedFiles } from "./staging/staged-files.ts";
import { ShownRecords } from "./disk/shown-records.ts";
import type { TrashSettings } from "./versions/trash.ts";
import { Trash } from "./versions/trash.ts";
import { Versions } from "./versions/versions.ts";

const CUT_TRASH_MS = 60_000;

/** Compares handles, where the file system has them. */
function isOther(recorded: Uint8Array, handle: Uint8Array): boolean {
  return handle.length > 0 && !isSameHandle(recorded, handle);
}

export interface FolderSettings {
  /** The volume's id, in its marker. The same through a rebuild of the metadata. */
  volume: string;
  /** That it is served by. */
  name?: string;
  /**
   * The volume is known to have been served: a folder without a marker is then unavailable, even with a new meta store.
   */
  wasServed?: boolean;
  trash?: TrashSettings;
  /** Default: of a server that is root, and keeps no owners; refusals are met either way. */
  ownership?: Ownership;
}

export interface FolderOptions {
  /** The one that has the root, to look at the root's path. */
  disk: Disk;
  root: DiskRoot;
  meta: MetaStore;
  clock: Clock;
  callbacks: ContentCallbacks;
  settings: FolderSettings;
  /** Digests what commits copy from older versions; without it the stat tuples alone vouch for them. */
  executor?: Executor;
}

/** The root stays the caller's to close, after the store. */
export function openFolderStore(options: FolderOptions): ContentStore {
  return new FolderStore(options);
}

class FolderStore implements ContentStore {
  readonly #options: FolderOptions;
  readonly #rows: DiskRows;
  /** Changes of the served folder and comparisons pass through it: a comparison never sees half of a commit. */
  readonly #serialQueue = new SerialQueue();
  readonly #busy = new BusyNames();
  readonly #pending = new PendingContents();
  readonly #placings: OwnPlacings;
  readonly #excluded = new ExcludedNames();
  readonly #holds: BaseHolds;
  readonly #notices: Notices;
  readonly #shown: ShownRecords;
  readonly #versions: Versions;
  readonly #staged: StagedFiles;
  readonly #reservations: Reservations;
  #rootGuard: RootGuard | undefined;
  #trash: Trash | undefined;
  #lateWriters: LateWriters | undefined;
  #tree: LiveTree | undefined;
  #applier: Applier | undefined;
  #reconciler: FolderReconciler | undefined;
  #stillNeeded: { seqs: Set<number>; temps: Set<string> } = { seqs: new Set(), temps: new Set() };
  #timer: Timer | undefined;
  #nameLimits = NO_NAME_LIMITS;
  #isClosed = false;

  constructor(options: FolderOptions) {
    this.#options = options;
    const { root, meta, callbacks, clock, executor } = options;
    this.#rows = new DiskRows(meta);
    this.#shown = new ShownRecords(root);
    this.#notices = new Notices({
      root,
      rows: this.#rows,
      meta,
      kept: callbacks.keptNotices ?? meta,
      clock,
      noticed: callbacks.noticed,
      isTreeKnown: () => this.#reconciler?.isScanning === false,
      isThere: async () =>
        this.checkRoot().then(
          () => true,
          () => false,
        ),
    });
    this.#staged = new StagedFiles(root, () => this.checkRoot());
    this.#reservations = new Reservations(root, clock, (missing) => this.#cutTrash(missing));
    this.#placings = new OwnPlacings(clock);
    this.#holds = new BaseHolds({ root, isCopied: (version) => this.#pending.isCopied(version) });
    this.#versions = new Versions({
      root,
      meta,
      rows: this.#rows,
      pending: this.#pending,
      placings: this.#placings,
      holds: this.#holds,
      callbacks,
      executor,
      wallNs: () => clock.wallNs(),
      steady: async () => this.#applier?.steady(),
      suspect: (path) => this.#reconciler?.probeLater({ paths: [path], folders: [], moves: [] }),
      lose: async (version) => {
        await meta.setPlace(version, { at: "lost" });
        this.#notices.addLost(version, "");
      },
      reportMismatch: (version) => this.#reportMismatch(version),
      unavailable: () => this.#rootGuard?.reason,
      isSuperseded: (version) => this.#applier?.superseded.has(version) === true,
      hasPending: () => (this.#applier?.pendingCommits ?? 0) > 0,
    });
  }

  async start(commits: AcceptedCommit[], handles: ReadonlyMap<number, Uint8Array>): Promise<void> {
    const { root, meta } = this.#options;
    const facts = { ...(await meta.facts()), passedSeq: (await meta.passed()).seq };
    const recorded = await meta.diskRow(ROOT_ROW.folder, ROOT_ROW.name);
    // A copy of the folder has none of the files that were recorded: what was begun is begun anew [F112].
    const isCopy = recorded !== undefined && isOther(recorded.handle, await root.handle(""));
    this.#compose(facts, recorded !== undefined, isCopy ? new Map() : handles);
    await this.checkRoot();
    for (const commit of commits) {
      if (!isCopy) this.#stillNeeded.seqs.add(commit.seq);
      const content = contentOf(commit);
      if (content === undefined) continue;
      this.#stillNeeded.temps.add(content.temp);
      for (const { version } of sourcesOf(content)) this.#stillNeeded.temps.add(baseName(version));
    }
    await this.#begin();
    await this.#findHolds(commits);
    for (const commit of commits) this.#applier?.accept(commit, !isCopy);
    this.#applier?.go();
    this.#rootGuard?.watch();
  }

  /** Finds what an earlier process had copied for commits that are not in the folder yet. */
  async #findHolds(commits: readonly AcceptedCommit[]): Promise<void> {
    for (const commit of commits) {
      const content = contentOf(commit);
      for (const { version } of content === undefined ? [] : sourcesOf(content)) await this.#holds.find(version);
    }
  }

  #compose(
    facts: { epoch: string; seq: number; appliedSeq: number; passedSeq: number },
    wasServed: boolean,
    handles: ReadonlyMap<number, Uint8Array>,
  ): void {
    const { disk, root, meta, clock, callbacks, settings, executor } = this.#options;
    const rows = this.#rows;
    const rootGuard = new RootGuard({
      disk,
      root,
      rows,
      clock,
      volume: settings.volume,
      name: settings.name ?? "NAME",
      wasServed: wasServed || settings.wasServed === true,
      gone: (reason) => callbacks.unavailable(reason),
    });
    const trash = new Trash({
      root,
      meta,
      clock,
      epoch: facts.epoch,
      settings: settings.trash ?? {},
      isNeeded: (version) => this.#versions.isOpen(version) || this.#pending.isCopied(version),
      fileAdded: (version, name, stat) => this.#lateWriters?.watch(version, name, stat),
    });
    const tree = new LiveTree({
      root,
      rows,
      trash,
      shown: this.#shown,
      meta,
      clock,
      ownership: settings.ownership ?? OWNED_BY_ROOT,
      conflict: (path, conflictCopy) => this.#notices.addConflict(path, conflictCopy),
      lost: (version, path) => this.#notices.addLost(version, path),
      destroyed: (path, seq) => this.#notices.addDestroyed(path, seq),
      incomplete: (path, conflictCopy, missing) => this.#notices.addIncomplete(path, conflictCopy, missing),
      tempOf: (handle) => this.#applier?.tempOf(handle),
      intentHandle: (seq) => this.#applier?.intentHandle(seq),
      holdPlaced: (version, temp) => this.#holdPlaced(version, temp),
      laterNames: (node) => this.#applier?.laterNames(node) ?? [],
      placed: (version, stat) => {
        // Without an executor nothing is verified.
        if (executor !== undefined) this.#placings.note(version, stat);
      },
    });
    this.#rootGuard = rootGuard;
    this.#lateWriters = new LateWriters({
      root,
      rows,
      meta,
      clock,
      serialQueue: this.#serialQueue,
      trash,
      tree,
      probeLater: (probes) => this.#reconciler?.probeLater(probes),
    });
    this.#tree = tree;
    this.#trash = trash;
    this.#applier = new Applier(
      {
        tree,
        rows,
        pending: this.#pending,
        versions: this.#versions,
        holds: this.#holds,
        serialQueue: this.#serialQueue,
        busy: this.#busy,
        clock,
        meta,
        callbacks,
        executor,
        unavailable: () => rootGuard.reason,
        reclaim: (bytes, lacking) => this.#reclaim(bytes, lacking),
        probeLater: (probes) => this.#reconciler?.probeLater(probes),
        recovered: () => void this.#reconciler?.repairRows(),
        checkRoot: () => rootGuard.check(),
        checkLater: () => rootGuard.checkLater(),
      },
      facts,
      handles,
    );
  }

  /** The row gets a tuple that no file has, so that the next probe verifies what lies there. */
  async #reportMismatch(version: VersionId): Promise<void> {
    const { meta } = this.#options;
    await this.#serialQueue.run(async () => {
      for (const row of await this.#rows.ofNode(version.node)) {
        if (row.version !== version.seq) continue;
        this.#rows.put({ ...row, stat: { ...row.stat, ctimeNs: -1n } });
        const path = await this.#rows.pathOfName(row.folder, row.name);
        if (path !== undefined) this.#reconciler?.probeLater({ paths: [path], folders: [], moves: [] });
      }
      if (this.#rows.hasChanges) await this.#rows.store((await meta.facts()).appliedSeq);
    });
  }

  /** A version that commits to come copy from is held before other programs see its file. */
  async #holdPlaced(version: VersionId, temp: FilledTemp): Promise<void> {
    const { open, path } = temp;
    if (open === undefined || !this.#holds.isNeeded(version)) return;
    const { root } = this.#options;
    const { stat } = open;
    // A file that is open for writing, by us too, gets no lease.
    await open.file.close();
    open.file = await root.open(path, "read");
    const { sizeBytes } = stat;
    const all = [{ offset: 0, length: sizeBytes }];
    await this.#holds.keep(
      version,
      sizeBytes,
      all,
      () => FileSource.open(root, path, stat),
      async (target, offset, length) => (await target.copyFrom(open.file, offset, offset, length)) === length,
    );
    const hold = this.#holds.get(version);
    if (hold !== undefined) hold.isOwn = true;
  }

  async checkRoot(): Promise<void> {
    await this.#rootGuard?.check();
  }

  /** @throws Unavailable in place of what `work` does in a folder that is gone. */
  async #inFolder<T>(work: Promise<T>): Promise<T> {
    return this.#rootGuard === undefined ? work : this.#rootGuard.during(work);
  }

  /** The folder is there: cleans the store, then watches and scans. */
  async #begin(): Promise<void> {
    const { root, clock, callbacks, meta, executor } = this.#options;
    await makeStoreFolders(root);
    callbacks.resumable(await this.#staged.clean(this.#stillNeeded.seqs, this.#stillNeeded.temps));
    this.#nameLimits = await findNameLimits(root);
    await this.#trash?.start();
    await this.#shown.start();
    await this.#lateWriters?.start();
    const { dev } = await root.stat("");
    this.#reconciler = new FolderReconciler(
      {
        root,
        rows: this.#rows,
        shown: this.#shown,
        serialQueue: this.#serialQueue,
        busy: this.#busy,
        clock,
        callbacks,
        meta,
        executor,
        excluded: this.#excluded,
        checkRoot: () => this.checkRoot(),
        noteExternal: async (seq) => this.#applier?.noteExternal(seq),
        hasPending: () => (this.#applier?.pendingCommits ?? 0) > 0,
        lost: (version, path) => this.#notices.addLost(version, path),
        repairRows: (folder) => this.#repairRows(folder),
      },
      dev,
    );
    await this.#reconciler.start();
    this.#cutTrashLater();
  }

  async #repairRows(folder: number): Promise<void> {
    const { meta } = this.#options;
    if (this.#tree === undefined) return;
    const isRepaired = await repairFolder(
      this.#tree,
      folder,
      (name) => this.#busy.isPending(folder, name),
      async () => (await meta.facts()).seq > (this.#applier?.lastSeq ?? 0),
    );
    if (!isRepaired) void this.#reconciler?.repairRows();
    if (this.#rows.hasChanges) await this.#rows.store((await meta.facts()).appliedSeq);
  }

  async scan(): Promise<void> {
    await this.#reconciler?.scan();
  }

  async open(version: VersionId): Promise<OpenVersion> {
    return this.#versions.open(version);
  }

  async stage(): Promise<StagedFile> {
    return this.#staged.make();
  }

  async reserve(bytes: number): Promise<() => void> {
    return this.#inFolder(this.#reservations.take(bytes));
  }

  accept(commit: AcceptedCommit): void {
    this.#applier?.accept(commit);
  }

  async whenApplied(seq: number): Promise<void> {
    await this.#applier?.whenApplied(seq);
  }

  async space(): Promise<DiskSpace> {
    return this.#inFolder(this.#options.root.space());
  }

  async #cutTrash(missing: () => Promise<number>): Promise<void> {
    await this.#serialQueue.run(async () => this.#trash?.cut(await missing()));
  }

  /**
   * It may be another disk that is full, on which no old version lies. Where a quota is used up, the room on the disk
   * says nothing.
   */
  async #reclaim(bytes: number, lacking: "NoSpace" | "Quota"): Promise<void> {
    if (lacking === "Quota") return this.#cutTrash(async () => bytes);
    const missing = async (): Promise<number> => bytes - (await this.#options.root.space()).availableBytes;
    if ((await missing()) > 0) await this.#cutTrash(missing);
  }

  #cutTrashLater(): void {
    if (this.#isClosed) return;
    this.#timer = this.#options.clock.after(CUT_TRASH_MS, () => {
      // A failure is met again next time.
      Promise.allSettled([this.#cutTrash(async () => 0), this.#sweepShown()]).then(
        () => this.#cutTrashLater(),
        () => this.#cutTrashLater(),
      );
    });
  }

  /** Files of records are known once all has been seen, and nothing is on its way. */
  async #sweepShown(): Promise<void> {
    const isAllKnown = (): boolean => {
      const { pendingCommits, isScanning, excluded } = this.status();
      return !this.#isClosed && pendingCommits === 0 && !isScanning && excluded.count === 0;
    };
    if (!isAllKnown() || !this.#shown.isSweepDue()) return;
    await this.#shown.sweep(
      async (handle) => !isAllKnown() || (await this.#rows.byHandle(handle)) !== undefined,
      (work) => this.#serialQueue.run(work),
    );
  }

  checkName(name: string): void {
    checkHeld(name, this.#nameLimits);
  }

  checkFree(folder: number, name: string): Promise<void> | undefined {
    if (!this.#excluded.mayBeAt(folder, name)) return undefined;
    return this.#checkTaken(folder, name);
  }

  /** A name that the tree has is answered as any other one. */
  async #checkTaken(folder: number, name: string): Promise<void> {
    const { meta, root } = this.#options;
    if ((await meta.lookup(folder, name)) === undefined)
      await this.#excluded.mustNotBeAt(folder, name, root, this.#rows);
  }

  checkExcluded(folder: number): Promise<void> | undefined {
    if (!this.#excluded.mayBeIn(folder)) return undefined;
    return this.#excluded.mustNotBeIn(folder, this.#options.root, this.#rows);
  }

  status(): ContentStatus {
    return {
      pendingCommits: this.#applier?.pendingCommits ?? 0,
      stuck: this.#applier?.stuck,
      isScanning: this.#reconciler?.isScanning ?? false,
      scan: this.#reconciler?.progress,
      excluded: this.#excluded.status(),
    };
  }

  notices(): Promise<Notice[]> {
    return this.#notices.list();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#rootGuard?.close();
    await this.#applier?.close();
    await this.#lateWriters?.close();
    await this.#reconciler?.close();
    await this.#serialQueue.idle();
    await this.#holds.close();
    await this.#notices.close();
  }
}
