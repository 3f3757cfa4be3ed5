// FolderReconciler: keeps the volume in step with what other programs do to the served folder. Watches, probes what
// events name, scans when events may have been lost, and tells the volume. All probes pass through the serial queue, so
// they never see half of a commit.
import type { Clock, DiskRoot, Timer, Watch } from "@runnel/shared";
import { fromSystemError } from "@runnel/shared";
import type { ContentCallbacks, ContentStatus, Stuck } from "../../content-store.ts";
import { PendingRemovals } from "./pending-removals.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { SerialQueue } from "../../../host/serial-queue.ts";
import type { ExcludedNames } from "../disk/excluded-names.ts";
import { probePaths } from "./probe-paths.ts";
import type { Observation } from "./observation.ts";
import { Prober } from "./prober.ts";
import type { Probes } from "../disk/found.ts";
import { MovedFolders } from "./moved-folders.ts";
import { Scanner } from "./scanner.ts";
import type { ExternalChangesDeps } from "./change-batch.ts";
import { ExternalChanges } from "./external-changes.ts";
import { Gatherer } from "./event-gatherer.ts";
import type { Due } from "./event-gatherer.ts";

/** A scan that failed is begun again, later each time. */
const RESCAN_MS_MIN = 1000;
const RESCAN_MS_MAX = 30_000;
/** Delay after which a path is probed again that a pending commit stood in the way of. */
const BLOCKED_PROBE_MS = 1000;

export interface FolderReconcilerDeps extends Omit<
  ExternalChangesDeps,
  "superseded" | "again" | "affected" | "unsettled" | "folderMoved"
> {
  root: DiskRoot;
  rows: DiskRows;
  serialQueue: SerialQueue;
  clock: Clock;
  excluded: ExcludedNames;
  callbacks: Pick<ContentCallbacks, "externalChanges" | "uncertain" | "scanned">;
  checkRoot(): Promise<void>;
  repairRows(folder: number): Promise<void>;
}

export class FolderReconciler {
  readonly #deps: FolderReconcilerDeps;
  readonly #externalChanges: ExternalChanges;
  readonly #pendingRemovals: PendingRemovals;
  readonly #scanner: Scanner;
  readonly #prober: Prober;
  readonly #gatherer: Gatherer;
  readonly #moved: MovedFolders;
  #watch: Watch | undefined;
  #scan: Promise<void> | undefined;
  #isScanWanted = false;
  #isRepairing = false;
  /** Why the scan cannot end. */
  #stuck: Stuck | undefined;
  #rescanMs = RESCAN_MS_MIN;
  /** The whole tree, once since the start. */
  #hasScanned = false;
  #timer: Timer | undefined;
  #isClosed = false;

  /** `dev`: of the root. */
  constructor(deps: FolderReconcilerDeps, dev: number) {
    this.#deps = deps;
    const { root, rows, excluded, clock } = deps;
    this.#moved = new MovedFolders(clock);
    this.#gatherer = new Gatherer(
      clock,
      (due) => this.#probe(due),
      () => void this.scan(),
      () => this.#pendingRemovals.nextDueMs(),
    );
    this.#externalChanges = new ExternalChanges({
      ...deps,
      again: (path, delayMs) => this.#gatherer.again([path], delayMs),
      superseded: (path) => this.#gatherer.again([path], BLOCKED_PROBE_MS),
      affected: (path) => this.#gatherer.again([path], 0),
      folderMoved: (from, to) => this.#folderMoved(from, to),
      unsettled: (path) => this.#gatherer.unsettled(path),
    });
    const defer = (path: string): void => this.#gatherer.again([path], BLOCKED_PROBE_MS);
    this.#prober = new Prober({ root, rows, excluded, busy: deps.busy, defer, dev });
    const affected = (path: string): void => this.#gatherer.again([path], 0);
    this.#pendingRemovals = new PendingRemovals({
      ...deps,
      prober: this.#prober,
      externalChanges: this.#externalChanges,
      affected,
    });
    this.#scanner = new Scanner({
      ...deps,
      prober: this.#prober,
      externalChanges: this.#externalChanges,
      pendingRemovals: this.#pendingRemovals,
      isClosed: () => this.#isClosed,
    });
  }

  get isScanning(): boolean {
    return this.#scan !== undefined;
  }

  /** Progress of changes of other programs, older than 2 s, that are not reported yet. */
  get progress(): ContentStatus["scan"] {
    if (this.isScanning) {
      const { done, total } = this.#scanner.progress;
      const stuck = this.#stuck === undefined ? {} : { stuck: this.#stuck };
      return { why: this.#hasScanned ? "missed" : "start", done, total: Math.max(done, total), ...stuck };
    }
    const { late } = this.#gatherer;
    return late > 0 ? { why: "behind", done: 0, total: late } : undefined;
  }

  /** Begins to watch; resolves before the first scan ends. */
  async start(): Promise<void> {
    this.#watch = await this.#deps.root.watch((events) => this.#gatherer.add(events));
    void this.repairRows();
  }

  /** A whole scan that mends rows which the tree contradicts. */
  async repairRows(): Promise<void> {
    this.#isRepairing = true;
    await this.scan();
  }

  /** A whole scan, beginning now or as soon as the one that runs has ended. Resolves when it has passed. */
  scan(): Promise<void> {
    this.#isScanWanted = true;
    // There is a new reason: what failed may be over.
    this.#endPause();
    this.#deps.callbacks.uncertain();
    this.#scan ??= this.#scanUntilDone().finally(() => {
      this.#scan = undefined;
    });
    return this.#scan;
  }

  async #scanUntilDone(): Promise<void> {
    while (this.#isScanWanted && !this.#isClosed) {
      this.#isScanWanted = false;
      const repairs = this.#isRepairing;
      this.#isRepairing = false;
      try {
        await this.#scanner.scanAll(repairs);
        this.#stuck = undefined;
        this.#rescanMs = RESCAN_MS_MIN;
      } catch (error) {
        this.#isRepairing ||= repairs;
        // The folder or the log failed for now: begun again, until then leases stay withdrawn.
        this.#isScanWanted = true;
        const { kind, message } = fromSystemError(error, "look through the folder");
        // A folder that is away is said to be, and comes back with a scan.
        this.#stuck = kind === "Unavailable" ? undefined : { path: this.#scanner.at, kind, sentence: message };
        await this.#pause();
      }
    }
    if (this.#isClosed) return;
    this.#hasScanned = true;
    this.#deps.callbacks.scanned();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = resolve;
      this.#timer = this.#deps.clock.after(this.#rescanMs, resolve);
      this.#rescanMs = Math.min(2 * this.#rescanMs, RESCAN_MS_MAX);
    });
  }

  #endPause: () => void = () => undefined;

  #folderMoved(from: string, to: string): void {
    this.#moved.add(from, to);
    // The scan that is under way may have missed it in both places.
    if (this.isScanning) this.#isScanWanted = true;
  }

  /** Has these probed now: applying has met something there. */
  probeLater({ paths, folders, moves }: Probes): void {
    for (const { from, to } of moves) this.#folderMoved(from, to);
    if (paths.length > 0) this.#gatherer.again(paths, 0);
    // A failure is met again by the next scan.
    if (folders.length > 0)
      this.#scanner.scanFolders(folders).then(
        () => this.#gatherer.rearm(),
        () => void this.scan(),
      );
  }

  async #probe({ paths, named, written }: Due): Promise<void> {
    const { serialQueue, rows } = this.#deps;
    const folders: number[] = [];
    await serialQueue.run(async () => {
      if (this.#isClosed) return;
      const { observed, isRootNamed, deeper } = await probePaths(rows, this.#prober, paths, written);
      if (isRootNamed) await this.#externalChanges.reportRoot();
      if (observed.length > 0) {
        if (observed.some(({ found }) => found === undefined)) await this.#deps.checkRoot();
        const reported = await this.#externalChanges.report(observed);
        this.#pendingRemovals.hold(reported.absent);
        for (const folder of reported.folders) folders.push(folder);
      }
      await this.#pendingRemovals.reportDue();
      for (const one of observed)
        if (one.found?.stat.type === "folder") await this.#probeBelow(one, deeper.get(one.path) ?? []);
    });
    await this.#scanner.scanFolders(folders);
    this.#gatherer.ledTo(this.#moved.nowOf(named));
  }

  /** Paths below a name that was not known: at once when it is now, else when what stood in its way is applied. */
  async #probeBelow({ folder, name }: Observation, paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    const row = await this.#deps.rows.get(folder, name);
    this.#gatherer.again(paths, row?.stat.type === "folder" ? 0 : BLOCKED_PROBE_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#gatherer.close();
    this.#timer?.cancel();
    this.#endPause();
    await this.#watch?.close();
    await this.#scan;
    await this.#deps.serialQueue.idle();
  }
}
