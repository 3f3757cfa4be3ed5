// Open files of a protocol that knows no open: a file is opened by the first READ or WRITE of it, and closed after a
// second without either. What was written is committed when the client asks for that (COMMIT), before its name changes,
// after a second without a WRITE, and when the drive ends: a client's close is not heard of.
//
// A handle is a pointer of the drive's: it is released once, and never used after that. So uses are counted in the same
// turn in which a file is found, and whoever has waited looks again whether it has been released.
import { constants } from "node:fs";
import type { Clock, Timer } from "@runnel/shared/model";
import { NfsError } from "../status.ts";
import type { NodeCalls } from "../node-calls.ts";
import { STATUS, type Status } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";

/** Time without a WRITE after which a file is committed, and without a READ as well, after which it is closed. */
const QUIET_MS = 1000;
/** The most files that are open at once; each has descriptors. */
const OPEN_MAX = 256;
/** Failures of commits that nobody waited for, until the client asks. */
const FAILURES_MAX = 1024;

type Log = (message: string, error?: unknown) => void;

interface At {
  id: number;
  node: number;
}

interface OpenFile extends Readonly<At> {
  readonly canWrite: boolean;
  readonly who: Credentials;
  readonly handle: object;
  /** Calls that use it now. */
  uses: number;
  lastUseMs: number;
  lastWriteMs: number;
  timer: Timer | undefined;
  /** Written since its last commit began. */
  isDirty: boolean;
  isReleased: boolean;
}

interface Opening {
  file: Promise<OpenFile>;
  /** Calls that wait for it, each of which will use it. */
  waiting: number;
}

export class OpenFiles {
  readonly #calls: NodeCalls;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #quietMs: number;
  /** Files by the drive's id; where two are open, the one that can write. */
  readonly #files = new Map<number, OpenFile>();
  readonly #opening = new Map<string, Opening>();
  readonly #failures = new Map<number, Status>();

  constructor(calls: NodeCalls, clock: Clock, log: Log, quietMs = QUIET_MS) {
    this.#calls = calls;
    this.#clock = clock;
    this.#log = log;
    this.#quietMs = quietMs;
  }

  /** Uses a file, opened where it is not yet. @throws NfsError */
  async use<T>(who: Credentials, at: At, wantsWrite: boolean, what: (handle: object) => Promise<T>): Promise<T> {
    const file = await this.#open(who, at, wantsWrite);
    try {
      const result = await what(file.handle);
      if (wantsWrite) {
        file.isDirty = true;
        file.lastWriteMs = this.#clock.bootMs();
      }
      return result;
    } finally {
      this.#used(file);
    }
  }

  /** Takes over what a CREATE has opened. */
  adopt(who: Credentials, { handle, ...at }: At & { handle: object }): void {
    const file = this.#newFile(who, at, handle, true);
    file.uses = 1;
    this.#keep(file);
    this.#used(file);
  }

  /**
   * Commits what was written to a node so far, and lets go of it: its client has closed it, as a rule, and what others
   * save is to be seen.
   * @throws NfsError of this commit, or of one before that nobody waited for
   */
  async commit(node: number): Promise<void> {
    const failed = this.#failures.get(node);
    this.#failures.delete(node);
    for (const file of this.#of(node)) {
      if (!file.canWrite) continue;
      // A clean one, too: a commit of it may be under way.
      await this.#commit(file);
      if (file.uses === 0 && !file.isDirty) await this.#release(file);
    }
    if (failed !== undefined) throw new NfsError(failed);
  }

  /** Commits what was written to a node, or cut of it, and keeps it open. @throws NfsError */
  async sync(node: number): Promise<void> {
    for (const file of this.#of(node)) if (file.canWrite) await this.#commit(file);
  }

  /** Lets go of a node that has lost its name. */
  async close(node: number): Promise<void> {
    for (const file of this.#of(node)) if (file.uses === 0) await this.#release(file);
  }

  /** Commits and closes all, but for what is used. A failure is logged, and the agent keeps what was written. */
  async settle(): Promise<void> {
    await Promise.allSettled([...this.#files.values()].map((file) => this.#end(file)));
  }

  /** Waits for nothing any more: the drive releases what is open. */
  stop(): void {
    for (const file of this.#files.values()) file.timer?.cancel();
  }

  #of(node: number): OpenFile[] {
    return [...this.#files.values()].filter((file) => file.node === node);
  }

  /** Resolves with a file of which this use is counted. */
  #open(who: Credentials, at: At, wantsWrite: boolean): Promise<OpenFile> {
    const open = this.#files.get(at.id);
    if (open !== undefined && (open.canWrite || !wantsWrite)) {
      open.uses += 1;
      return Promise.resolve(open);
    }
    const key = `${at.id} ${wantsWrite}`;
    const under = this.#opening.get(key);
    if (under !== undefined) {
      under.waiting += 1;
      return under.file;
    }
    const opening: Opening = {
      waiting: 1,
      file: this.#openAnew(who, at, wantsWrite).then(
        (file) => {
          this.#opening.delete(key);
          file.uses = opening.waiting;
          this.#keep(file);
          return file;
        },
        (error: unknown) => {
          this.#opening.delete(key);
          throw error;
        },
      ),
    };
    this.#opening.set(key, opening);
    return opening.file;
  }

  async #openAnew(who: Credentials, at: At, canWrite: boolean): Promise<OpenFile> {
    await this.#closeOldest();
    const flags = canWrite ? constants.O_RDWR : constants.O_RDONLY;
    const { handle } = await this.#calls.call(who, "open", { id: at.id, flags });
    if (handle === undefined) throw new NfsError(STATUS.IO);
    return this.#newFile(who, at, handle, canWrite);
  }

  #newFile(who: Credentials, { id, node }: At, handle: object, canWrite: boolean): OpenFile {
    const nowMs = this.#clock.bootMs();
    const unused = {
      uses: 0,
      lastUseMs: nowMs,
      lastWriteMs: nowMs,
      timer: undefined,
      isDirty: false,
      isReleased: false,
    };
    return { id, node, who, handle, canWrite, ...unused };
  }

  #keep(file: OpenFile): void {
    const former = this.#files.get(file.id);
    if (former?.canWrite === true && !file.canWrite) return;
    this.#files.set(file.id, file);
    if (former === undefined) return;
    // The one in its place has the same content, and commits it; whoever uses the former lets it go.
    file.isDirty ||= former.isDirty;
    former.isDirty = false;
    if (former.uses === 0) this.#soon(this.#release(former));
  }

  #used(file: OpenFile): void {
    file.uses -= 1;
    file.lastUseMs = this.#clock.bootMs();
    if (this.#files.get(file.id) === file) this.#await(file, this.#quietMs);
    else if (file.uses === 0) this.#soon(this.#end(file));
  }

  #await(file: OpenFile, delayMs: number): void {
    file.timer ??= this.#clock.after(delayMs, () => {
      file.timer = undefined;
      const nowMs = this.#clock.bootMs();
      const quietSinceMs = file.isDirty ? file.lastWriteMs : file.uses > 0 ? nowMs : file.lastUseMs;
      const leftMs = quietSinceMs + this.#quietMs - nowMs;
      if (leftMs > 0) this.#await(file, Math.max(1, leftMs));
      else this.#soon(this.#end(file));
    });
  }

  /** Logs a failure, for want of somebody who waits: the drive may have ended. */
  #soon(work: Promise<void>): void {
    work.catch((error: unknown) => this.#log("a file of the NFS drive could not be closed", error));
  }

  /** Commits and closes a file; one that is used again meanwhile stays. */
  async #end(file: OpenFile): Promise<void> {
    if (file.isDirty) {
      try {
        await this.#commit(file);
      } catch (error) {
        this.#noteFailure(file.node, error);
        file.isDirty = false;
      }
    }
    const isKept = this.#files.get(file.id) === file;
    if (file.uses === 0 && !file.isDirty) await this.#release(file);
    else if (isKept) this.#await(file, this.#quietMs);
  }

  /** The agent keeps what could not be sent, and says so; the client hears of it when it asks next. */
  #noteFailure(node: number, error: unknown): void {
    this.#log("a file that was written over NFS could not be saved");
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size < FAILURES_MAX) break;
      this.#failures.delete(oldest);
    }
    this.#failures.set(node, error instanceof NfsError ? error.status : STATUS.IO);
  }

  async #commit(file: OpenFile): Promise<void> {
    if (file.isReleased) return;
    file.isDirty = false;
    file.uses += 1;
    try {
      await this.#calls.call(file.who, "fsync", { id: file.id, handle: file.handle });
    } catch (error) {
      file.isDirty = true;
      throw error;
    } finally {
      file.uses -= 1;
    }
  }

  async #release(file: OpenFile): Promise<void> {
    if (file.isReleased) return;
    file.isReleased = true;
    file.timer?.cancel();
    if (this.#files.get(file.id) === file) this.#files.delete(file.id);
    await this.#calls.call(file.who, "release", { handle: file.handle });
  }

  /** @throws NfsError JUKEBOX when all are in use */
  async #closeOldest(): Promise<void> {
    while (this.#files.size + this.#opening.size >= OPEN_MAX) {
      let oldest: OpenFile | undefined;
      for (const file of this.#files.values())
        if (file.uses === 0 && (oldest === undefined || file.lastUseMs < oldest.lastUseMs)) oldest = file;
      if (oldest === undefined) throw new NfsError(STATUS.JUKEBOX);
      await this.#end(oldest);
    }
  }
}
