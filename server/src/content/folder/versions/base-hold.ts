// BaseHold: a version's bytes that commits copy, kept as they were whatever other programs do to the file that holds
// it. A lease on the file costs nothing and makes whoever wants to write wait; where it is refused, and once somebody
// waits, the ranges that are wanted are copied into temp/.
import type { DiskFile, DiskRoot, DiskStat, Executor } from "@runnel/shared";
import { RunnelError, isRunnelError, withFile } from "@runnel/shared";
import type { ByteRange } from "../../content-store.ts";
import { joinRanges, rangesWithout } from "../disk/byte-ranges.ts";
import type { FileSource } from "./file-source.ts";
import { SerialQueue } from "../../../host/serial-queue.ts";
import { STORE_FILE_MODE } from "../disk/store-layout.ts";
import { removeIfThere } from "../disk/found.ts";

/** Copies a range into a file that has nothing there. False when the bytes are not what was recorded. */
export type CopyRange = (target: DiskFile, offset: number, length: number) => Promise<boolean>;

export class BaseHold {
  readonly #root: DiskRoot;
  /** Path of its copy. */
  readonly #path: string;
  readonly #sizeBytes: number;
  /** The held file while the lease stands: nobody writes to it. */
  #leased: DiskFile | undefined;
  /** Stat of that file as the lease was taken. */
  #stat: DiskStat | undefined;
  #hasCopy = false;
  #copied: ByteRange[] = [];
  #wanted: ByteRange[] = [];
  #isWhole = true;
  /** It was made before any other program could see the file. */
  isOwn = false;
  /** Nothing is read from the file while the lease ends. */
  readonly #serialQueue = new SerialQueue();

  private constructor(root: DiskRoot, path: string, sizeBytes: number) {
    this.#root = root;
    this.#path = path;
    this.#sizeBytes = sizeBytes;
  }

  /** With a lease on the file that holds the version, if there is one. */
  static async open(
    root: DiskRoot,
    path: string,
    sizeBytes: number,
    openFile: () => Promise<FileSource | undefined>,
  ): Promise<BaseHold> {
    const hold = new BaseHold(root, path, sizeBytes);
    await hold.#serialQueue.run(async () => hold.#takeLease(await openFile()));
    return hold;
  }

  async #takeLease(source: FileSource | undefined): Promise<void> {
    if (source === undefined) return;
    // Bytes that could not be copied then are looked for when they are needed.
    const lease = await source.file.takeLease(() => void this.#giveWay().catch(() => undefined));
    // Somebody may have written to it before the lease stood.
    if (lease !== "taken" || !(await source.isUnchanged())) return source.close();
    this.#leased = source.file;
    this.#stat = source.stat;
  }

  /** Finds what an earlier process copied, if anything: what is not there reads as zeros, which their digests tell. */
  static async find(root: DiskRoot, path: string): Promise<BaseHold | undefined> {
    try {
      const { sizeBytes } = await root.stat(path);
      const hold = new BaseHold(root, path, sizeBytes);
      hold.#hasCopy = true;
      hold.#copied = [{ offset: 0, length: sizeBytes }];
      hold.#isWhole = false;
      return hold;
    } catch (error) {
      if (isRunnelError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** All that it was asked to keep is there, as it was then. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** It has a file open. */
  get isLeased(): boolean {
    return this.#leased !== undefined;
  }

  /** The recorded digests hold: nobody had seen the file, or its tuple said so when the lease was taken. */
  isSettled(isSettledStat: (stat: DiskStat) => boolean): boolean {
    return this.#isWhole && (this.isOwn || (this.#stat !== undefined && isSettledStat(this.#stat)));
  }

  /** Keeps these ranges too; `copy` brings what no lease protects. False when it could not. */
  keep(ranges: readonly ByteRange[], copy: CopyRange): Promise<boolean> {
    return this.#serialQueue.run(async () => {
      this.#wanted = joinRanges([...this.#wanted, ...ranges]);
      return this.#leased !== undefined || this.#copyRanges(ranges, copy);
    });
  }

  /** Somebody waits for the end of the lease: what is wanted is copied first. */
  #giveWay(): Promise<void> {
    return this.#serialQueue.run(async () => {
      const leased = this.#leased;
      if (leased === undefined) return;
      this.#isWhole = false;
      try {
        this.#isWhole = await this.#copyRanges(this.#wanted, async (target, offset, length) => {
          return (await target.copyFrom(leased, offset, offset, length)) === length;
        });
      } finally {
        this.#leased = undefined;
        await leased.close();
      }
    });
  }

  async #copyRanges(ranges: readonly ByteRange[], copy: CopyRange): Promise<boolean> {
    const missing = rangesWithout(ranges, this.#copied);
    if (missing.length === 0) return true;
    return this.#withCopy("create", async (target) => {
      if (!this.#hasCopy) await target.truncate(this.#sizeBytes);
      this.#hasCopy = true;
      for (const range of missing) {
        if (!(await copy(target, range.offset, range.length))) return false;
        this.#copied = joinRanges([...this.#copied, range]);
      }
      return true;
    });
  }

  /** Open only as long as it is used: there may be many. */
  #withCopy<T>(mode: "read" | "create", use: (copy: DiskFile) => Promise<T>): Promise<T> {
    return withFile(this.#root, this.#path, mode, use, STORE_FILE_MODE);
  }

  /** Undefined when not all of the ranges are there. */
  async #with<T>(ranges: readonly ByteRange[], use: (file: DiskFile) => Promise<T>): Promise<T | undefined> {
    if (this.#leased !== undefined) return use(this.#leased);
    if (rangesWithout(ranges, this.#copied).length > 0) return undefined;
    return this.#withCopy("read", use);
  }

  /** @returns undefined when it does not have the range. */
  read(offset: number, length: number): Promise<Uint8Array | undefined> {
    return this.#serialQueue.run(async () => {
      const bytes = await this.#with([{ offset, length }], (file) => file.read(offset, length));
      return bytes?.length === length ? bytes : undefined;
    });
  }

  /** Copies a range into a file, within the system. False when it does not have it. */
  copyTo(target: DiskFile, offset: number, at: number, length: number): Promise<boolean> {
    return this.#serialQueue.run(async () => {
      const copied = await this.#with([{ offset, length }], (file) => target.copyFrom(file, offset, at, length));
      return copied === length;
    });
  }

  /** @throws Stale when it does not have the ranges. */
  digest(ranges: readonly ByteRange[], executor: Executor): Promise<Uint8Array> {
    return this.#serialQueue.run(async () => {
      const digests = await this.#with(ranges, (file) => executor.digestFile(file, ranges));
      if (digests === undefined) throw new RunnelError("Stale", "read version", "A range is not held.");
      return digests;
    });
  }

  /** The copy stays, for the next process. */
  close(): Promise<void> {
    return this.#serialQueue.run(async () => {
      await this.#leased?.close();
      this.#leased = undefined;
      this.#copied = [];
    });
  }

  async remove(): Promise<void> {
    await this.close();
    if (this.#hasCopy) await removeIfThere(this.#root, this.#path);
  }
}
