// The server's audit log: who was let in or refused, who changed rights, volumes and settings, and each act of an
// administrator. It is appended to and never changed. An act is in it, on stable storage, before it is answered [F183];
// what others can cause as often as they like costs no sync and is counted [F185]. A disk that cannot be written stops
// nothing: entries wait, and how many were lost is recorded once it can be written again [F186].
import type { Clock, DiskRoot, ErrorKind, Timer } from "@runnel/shared";
import { fromSystemError, isRunnelError, RecentMap } from "@runnel/shared";
import { type Actor, type NewEntry, SERVER, type Step, cleaned, lineOf } from "./audit-entry.ts";
import type { AuditFilter, AuditPage } from "./audit-filter.ts";
import {
  AUDIT_FOLDERS,
  AUDIT_LIMITS,
  type AuditFolder,
  type AuditLimits,
  READ_PLACES_MAX,
  RETRY_MS,
  SYNC_MS,
  WAITING_ACTS_MAX,
  WAITING_NOTES_MAX,
} from "./audit-limits.ts";
import { EntryFiles, type Line, nowMs } from "./entry-files.ts";
import { readPage } from "./read-page.ts";
import { RepeatedEntries } from "./repeated-entries.ts";

/** Folder within the server's own. */
export const AUDIT_FOLDER = "audit";
const BATCH_MAX = 500;

/** An entry that is to be written. */
interface Waiting {
  entry: Required<NewEntry>;
  folder: AuditFolder;
  ms: number;
  step: Step | undefined;
  isDurable: boolean;
  /** Told its number once it is written, and on stable storage if it is to be; undefined when that failed. */
  written(n: number | undefined): void;
}

/** An act before it is known what comes of it. */
export type Act = Omit<NewEntry, "result">;

export class AuditLog {
  /**
   * False when the process before ended without saying so: what it recorded last may be missing. Undefined when there
   * was none, or that is not known.
   */
  readonly isWholeBefore: boolean | undefined;
  readonly #clock: Clock;
  readonly #warn: (message: string, error?: unknown) => void;
  readonly #root: DiskRoot;
  readonly #limits: AuditLimits;
  readonly #folders: Readonly<Record<AuditFolder, EntryFiles>>;
  readonly #repeated: RepeatedEntries;
  /** Places to which somebody has read, or followed, the log. */
  readonly #readTo = new RecentMap<string, true>(READ_PLACES_MAX);
  #nextN: number;
  /** All entries up to this number are written, or never will be: what is shown begins here. */
  #shownN: number;
  #waiting: Waiting[] = [];
  /** A turn of writing is to come, which takes all that waits by then. */
  #isDue = false;
  /** Entries that found no place. */
  #dropped: { count: number; fromMs: number } | undefined;
  #isFailing = false;
  /** Why the disk could not be written last. */
  #failure: ErrorKind = "NoSpace";
  #retry: Timer | undefined;
  #syncTimer: Timer | undefined;
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(
    { root, clock, warn, limits = AUDIT_LIMITS }: AuditLogDeps,
    folders: Readonly<Record<AuditFolder, EntryFiles>>,
    lastN: number,
    isWholeBefore: boolean | undefined,
  ) {
    this.isWholeBefore = isWholeBefore;
    this.#root = root;
    this.#limits = limits;
    this.#clock = clock;
    this.#warn = warn;
    this.#folders = folders;
    this.#nextN = lastN + 1;
    this.#shownN = lastN;
    this.#repeated = new RepeatedEntries(clock, (entry) => {
      const folder = entry.who.kind === "unauthenticated" ? "unauthenticated" : "devices";
      void this.#enqueue(entry, folder, false);
    });
  }

  /** `root`: the server's own folder; the caller closes it. @throws RunnelError Version for a log of a newer Runnel. */
  static async open(deps: AuditLogDeps): Promise<AuditLog> {
    const { root, clock, limits = AUDIT_LIMITS } = deps;
    const opened = await Promise.all(
      AUDIT_FOLDERS.map(async (name) => {
        const folder = `${AUDIT_FOLDER}/${name}`;
        return EntryFiles.open({ root, clock, folder, limits, bytesMax: limits.folderBytes[name] });
      }),
    );
    const [acts, devices, unauthenticated] = opened.map(({ files }) => files) as [EntryFiles, EntryFiles, EntryFiles];
    const lastN = Math.max(...opened.map(({ found }) => found.lastN));
    const lastAct = opened[0]?.found.lastAct;
    const isWholeBefore = lastAct === undefined ? undefined : lastAct === "serverStop";
    const log = new AuditLog(deps, { acts, devices, unauthenticated }, lastN, isWholeBefore);
    const damaged = opened.reduce((sum, { found }) => sum + found.damaged, 0);
    const detail = "Lines of the audit log that cannot be read.";
    if (damaged > 0) await log.record({ who: SERVER, act: "lost", result: "Corrupt", count: damaged, detail });
    for (const { found } of opened)
      for (const { entry } of found.begun)
        await log.#outcome(entry.n, {
          ...entry,
          result: "unknown",
          detail: "The server ended before this was answered.",
        });
    return log;
  }

  /** Records an act that was done. It is on stable storage when this resolves, or cannot be now. */
  async record(entry: NewEntry): Promise<void> {
    await this.#enqueue(entry, "acts", true);
  }

  /** Records what others can cause as often as they like: at some time, and repetitions as their count. */
  note(entry: NewEntry): void {
    if (!this.#isClosed) this.#repeated.note(entry);
  }

  /**
   * Does an act of an administrator: that it was begun is on stable storage before, and what came of it before this
   * resolves or throws as `work` does. `outcome` says what is known only then.
   */
  async perform<T>(act: Act, work: () => Promise<T>, outcome: (result: T) => Partial<Act> = () => ({})): Promise<T> {
    const of = await this.#enqueue({ ...act, result: "unknown" }, "acts", true, { is: "begun" });
    let result: T;
    try {
      result = await work();
    } catch (error) {
      const { kind, message } = fromSystemError(error, "administer");
      await this.#outcome(of, { ...act, result: kind, detail: message });
      throw error;
    }
    await this.#outcome(of, { ...act, ...outcome(result), result: "done" });
    return result;
  }

  /** Looks at something for somebody, and notes that, or why nothing was shown. */
  async observe<T>(act: Act, look: () => Promise<T>): Promise<T> {
    try {
      const seen = await look();
      this.note({ ...act, result: "done" });
      return seen;
    } catch (error) {
      this.note({ ...act, result: fromSystemError(error, "administer").kind });
      throw error;
    }
  }

  /** Reads a page for somebody, and notes that, but where it goes on from one that was read before. */
  async read(who: Actor, filter: AuditFilter): Promise<AuditPage> {
    const place = (n: number): string => JSON.stringify([who.kind, who.name, who.address, n]);
    const { after, above } = filter;
    const isGoingOn = [after, above].some((n) => n !== undefined && this.#readTo.has(place(n)));
    if (!isGoingOn) this.note({ who, act: "audit", result: "done" });
    const page = await this.page(filter);
    for (const n of [page.after, page.entries[0]?.n, above])
      if (typeof n === "number") this.#readTo.set(place(n), true);
    return page;
  }

  /** Reads a page, the newest first. */
  page(filter: AuditFilter): Promise<AuditPage> {
    const files = AUDIT_FOLDERS.map((name) => this.#folders[name].list());
    return readPage(this.#root, files, this.#shownN, filter, this.#limits.pageBytes);
  }

  /** Everything recorded is on stable storage when it resolves, unless the disk cannot be written. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#repeated.flush();
    this.#isClosed = true;
    this.#retry?.cancel();
    this.#syncTimer?.cancel();
    this.#isFailing = false;
    await this.#serially(() => this.#writeAll());
    await this.#serially(() => this.#syncAll());
    const missing = this.#waiting.length + (this.#dropped?.count ?? 0);
    if (missing > 0) this.#warn(`${missing} entries of the audit log were lost: its disk cannot be written.`);
    for (const files of Object.values(this.#folders)) await files.close();
  }

  async #outcome(of: number | undefined, entry: NewEntry): Promise<void> {
    await this.#enqueue(entry, "acts", true, of === undefined ? undefined : { is: "outcome", of });
  }

  #enqueue(entry: NewEntry, folder: AuditFolder, isDurable: boolean, step?: Step): Promise<number | undefined> {
    const ms = nowMs(this.#clock);
    const isBeyond = this.#waiting.length >= (isDurable ? WAITING_ACTS_MAX : WAITING_NOTES_MAX);
    if (isBeyond || this.#isClosed) {
      if (step?.is !== "begun") this.#drop(ms);
      return Promise.resolve(undefined);
    }
    return new Promise((written) => {
      this.#waiting.push({ entry: cleaned(entry), folder, ms, step, isDurable, written });
      // An act tries a disk that failed at once: whoever waits for it is told.
      if (isDurable || !this.#isFailing) this.#writeSoon();
    });
  }

  #drop(ms: number): void {
    this.#dropped ??= { count: 0, fromMs: ms };
    this.#dropped.count++;
  }

  #writeSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    void this.#serially(() => this.#writeAll());
  }

  /** Runs one piece of work after another: numbers stand in the order of their lines. */
  #serially(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work).catch((error: unknown) => this.#warn("The audit log failed.", error));
    return this.#work;
  }

  async #writeAll(): Promise<void> {
    this.#isDue = false;
    while (this.#waiting.length > 0 || this.#dropped !== undefined) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      const lost = this.#lostEntry();
      const failed: Waiting[] = [];
      let failure: unknown;
      for (const folder of AUDIT_FOLDERS) {
        const all = [...(folder === "acts" ? lost : []), ...batch].filter((waiting) => waiting.folder === folder);
        if (all.length === 0) continue;
        try {
          await this.#write(folder, all);
        } catch (error) {
          if (!isRunnelError(error)) this.#warn("The audit log failed.", error);
          failure = error;
          failed.push(...all);
        }
      }
      this.#shownN = this.#nextN - 1;
      if (failure === undefined) this.#succeeded(lost.length > 0);
      else {
        this.#failed([...batch.filter((each) => failed.includes(each)), ...this.#waiting], failure);
        return;
      }
    }
  }

  async #write(folder: AuditFolder, waiting: readonly Waiting[]): Promise<void> {
    const files = this.#folders[folder];
    const lines = waiting.map(({ entry, ms, step }) => this.#line(entry, ms, step));
    await files.append(lines);
    if (waiting.some(({ isDurable }) => isDurable)) await files.sync(lines);
    else this.#syncLater();
    for (const [index, { written }] of waiting.entries()) written(lines[index]?.n);
  }

  #line(entry: Required<NewEntry>, ms: number, step: Step | undefined): Line {
    const n = this.#nextN++;
    const text = lineOf(n, ms, entry, step);
    if (step?.is === "begun") return { n, ms, text, begins: true };
    return step?.is === "outcome" ? { n, ms, text, ends: step.of } : { n, ms, text };
  }

  /** Returns the entry that says how many found no place; none when there were none. */
  #lostEntry(): Waiting[] {
    if (this.#dropped === undefined) return [];
    const { count, fromMs } = this.#dropped;
    const detail = `Entries since ${new Date(fromMs).toISOString()} that could not be written.`;
    const entry = cleaned({ who: SERVER, act: "lost", result: this.#failure, count, detail });
    const ms = nowMs(this.#clock);
    return [{ entry, folder: "acts", ms, step: undefined, isDurable: true, written: () => this.#recovered(count) }];
  }

  #recovered(count: number): void {
    if (this.#dropped === undefined) return;
    this.#dropped.count -= count;
    if (this.#dropped.count <= 0) this.#dropped = undefined;
  }

  #succeeded(hadLost: boolean): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#warn(`The audit log is written again.${hadLost ? " It says how many entries were lost." : ""}`);
  }

  /** Keeps what was not written for the next try; whoever waits for an act goes on. */
  #failed(unwritten: readonly Waiting[], error: unknown): void {
    const { kind } = fromSystemError(error, "audit");
    if (!this.#isFailing)
      this.#warn(`The audit log cannot be written (${kind}). The server goes on; the log will say what it lacks.`);
    this.#isFailing = true;
    this.#failure = kind;
    for (const { written } of unwritten) written(undefined);
    // That an act was begun is of use only before it is done.
    const again = unwritten.filter(({ step }) => step?.is !== "begun");
    this.#waiting = again.map((each) => ({ ...each, written: () => undefined }));
    this.#retry?.cancel();
    if (this.#isClosed) return;
    this.#retry = this.#clock.after(RETRY_MS, () => this.#writeSoon());
  }

  #syncLater(): void {
    if (this.#isClosed) return;
    this.#syncTimer ??= this.#clock.after(SYNC_MS, () => {
      this.#syncTimer = undefined;
      void this.#serially(() => this.#syncAll());
    });
  }

  async #syncAll(): Promise<void> {
    for (const files of Object.values(this.#folders)) {
      try {
        await files.sync();
      } catch (error) {
        this.#warn("Entries of the audit log may not have come to the disk.", error);
      }
    }
  }
}

export interface AuditLogDeps {
  root: DiskRoot;
  clock: Clock;
  warn(message: string, error?: unknown): void;
  /** Bounds that a test sets. */
  limits?: AuditLimits;
}
