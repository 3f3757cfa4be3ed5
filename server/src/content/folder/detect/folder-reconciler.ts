// Comparing: keeps the volume in step with what other programs do to the served folder. Watches, looks at what events name, scans when events may
// have been lost, and tells the volume. All looks pass through the lane, so they never see half of a commit.
import type { Clock, DiskRoot, Timer, Watch } from "@runnel/shared";
import { fromSystemError } from "@runnel/shared";
import type { ContentCallbacks, ContentStatus, Stuck } from "../../content-store.ts";
import { Absences } from "./pending-removals.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { Lane } from "../disk/serial-queue.ts";
import type { LeftOut } from "../disk/excluded-names.ts";
import { lookAtPaths } from "./probe-paths.ts";
import type { Seen } from "./observation.ts";
import { Looker } from "./prober.ts";
import type { Looks } from "../disk/found.ts";
import { MovedFolders } from "./moved-folders.ts";
import { Scanner } from "./scanner.ts";
import type { TellerContext } from "./change-batch.ts";
import { Teller } from "./external-changes.ts";
import { Gatherer } from "./event-gatherer.ts";
import type { Due } from "./event-gatherer.ts";

/** A scan that failed is begun again, later each time. */
const RESCAN_MS_MIN = 1000;
const RESCAN_MS_MAX = 30_000;
/** What a pending commit stood in the way of is looked at again when it is up, at the latest then. */
const OVERTAKEN_MS = 1000;

export interface ComparingContext extends Omit<
  TellerContext,
  "overtaken" | "again" | "affected" | "unsettled" | "folderMoved"
> {
  root: DiskRoot;
  rows: DiskRows;
  lane: Lane;
  clock: Clock;
  excluded: LeftOut;
  callbacks: Pick<ContentCallbacks, "externalChanges" | "uncertain" | "scanned">;
  checkRoot(): Promise<void>;
  heal(folder: number): Promise<void>;
}

export class Comparing {
  readonly #context: ComparingContext;
  readonly #teller: Teller;
  readonly #absences: Absences;
  readonly #scanner: Scanner;
  readonly #looker: Looker;
  readonly #gatherer: Gatherer;
  readonly #moved: MovedFolders;
  #watch: Watch | undefined;
  #scan: Promise<void> | undefined;
  #isScanWanted = false;
  #isHealing = false;
  /** Why the scan cannot end. */
  #stuck: Stuck | undefined;
  #rescanMs = RESCAN_MS_MIN;
  /** The whole tree, once since the start. */
  #hasScanned = false;
  #timer: Timer | undefined;
  #isClosed = false;

  /** `dev`: of the root. */
  constructor(context: ComparingContext, dev: number) {
    this.#context = context;
    const { root, rows, excluded, clock } = context;
    this.#moved = new MovedFolders(clock);
    this.#gatherer = new Gatherer(
      clock,
      (due) => this.#look(due),
      () => void this.scan(),
      () => this.#absences.nextDueMs(),
    );
    this.#teller = new Teller({
      ...context,
      again: (path, delayMs) => this.#gatherer.again([path], delayMs),
      overtaken: (path) => this.#gatherer.again([path], OVERTAKEN_MS),
      affected: (path) => this.#gatherer.again([path], 0),
      folderMoved: (from, to) => this.#folderMoved(from, to),
      unsettled: (path) => this.#gatherer.unsettled(path),
    });
    const defer = (path: string): void => this.#gatherer.again([path], OVERTAKEN_MS);
    this.#looker = new Looker({ root, rows, excluded, busy: context.busy, defer, dev });
    const affected = (path: string): void => this.#gatherer.again([path], 0);
    this.#absences = new Absences({ ...context, looker: this.#looker, teller: this.#teller, affected });
    this.#scanner = new Scanner({
      ...context,
      looker: this.#looker,
      teller: this.#teller,
      absences: this.#absences,
      isClosed: () => this.#isClosed,
    });
  }

  get isScanning(): boolean {
    return this.#scan !== undefined;
  }

  /** What is not told yet of what other programs did more than 2 s ago. */
  get progress(): ContentStatus["look"] {
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
    this.#watch = await this.#context.root.watch((events) => this.#gatherer.add(events));
    void this.heal();
  }

  /** A whole scan that mends rows which the tree contradicts. */
  async heal(): Promise<void> {
    this.#isHealing = true;
    await this.scan();
  }

  /** A whole scan, beginning now or as soon as the one that runs has ended. Resolves when it has passed. */
  scan(): Promise<void> {
    this.#isScanWanted = true;
    // There is a new reason: what failed may be over.
    this.#endPause();
    this.#context.callbacks.uncertain();
    this.#scan ??= this.#scanUntilDone().finally(() => {
      this.#scan = undefined;
    });
    return this.#scan;
  }

  async #scanUntilDone(): Promise<void> {
    while (this.#isScanWanted && !this.#isClosed) {
      this.#isScanWanted = false;
      const heals = this.#isHealing;
      this.#isHealing = false;
      try {
        await this.#scanner.scanAll(heals);
        this.#stuck = undefined;
        this.#rescanMs = RESCAN_MS_MIN;
      } catch (error) {
        this.#isHealing ||= heals;
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
    this.#context.callbacks.scanned();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = resolve;
      this.#timer = this.#context.clock.after(this.#rescanMs, resolve);
      this.#rescanMs = Math.min(2 * this.#rescanMs, RESCAN_MS_MAX);
    });
  }

  #endPause: () => void = () => undefined;

  #folderMoved(from: string, to: string): void {
    this.#moved.add(from, to);
    // The scan that is under way may have missed it in both places.
    if (this.isScanning) this.#isScanWanted = true;
  }

  /** To be looked at now; bringing up has met something there. */
  lookAt({ paths, folders, moves }: Looks): void {
    for (const { from, to } of moves) this.#folderMoved(from, to);
    if (paths.length > 0) this.#gatherer.again(paths, 0);
    // A failure is met again by the next scan.
    if (folders.length > 0)
      this.#scanner.scanFolders(folders).then(
        () => this.#gatherer.rearm(),
        () => void this.scan(),
      );
  }

  async #look({ paths, named, written }: Due): Promise<void> {
    const { lane, rows } = this.#context;
    const folders: number[] = [];
    await lane.run(async () => {
      if (this.#isClosed) return;
      const { seen, isRootNamed, deeper } = await lookAtPaths(rows, this.#looker, paths, written);
      if (isRootNamed) await this.#teller.tellRoot();
      if (seen.length > 0) {
        if (seen.some(({ found }) => found === undefined)) await this.#context.checkRoot();
        const told = await this.#teller.tell(seen);
        this.#absences.hold(told.absent);
        for (const folder of told.folders) folders.push(folder);
      }
      await this.#absences.tellDue();
      for (const one of seen)
        if (one.found?.stat.type === "folder") await this.#lookDeeper(one, deeper.get(one.path) ?? []);
    });
    await this.#scanner.scanFolders(folders);
    this.#gatherer.ledTo(this.#moved.nowOf(named));
  }

  /** Paths below a name that was not known: at once when it is now, else when what stood in its way is up. */
  async #lookDeeper({ folder, name }: Seen, paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    const row = await this.#context.rows.get(folder, name);
    this.#gatherer.again(paths, row?.stat.type === "folder" ? 0 : OVERTAKEN_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#gatherer.close();
    this.#timer?.cancel();
    this.#endPause();
    await this.#watch?.close();
    await this.#scan;
    await this.#context.lane.idle();
  }
}
