// An open file of the simulated disk.
import { RunnelError } from "../../../errors.ts";
import type { DiskFile, DiskIdentity, DiskStat, FileLease, FileLock, SetStat } from "../../disk.ts";
import { type Content, PAGE_BYTES } from "./content.ts";
import type { Inode } from "./inode.ts";
import type { SimulatedStorage } from "./storage.ts";

export class SimulatedFile implements DiskFile {
  readonly fd = -1;
  readonly #disk: SimulatedStorage;
  readonly #life: number;
  readonly #inode: Inode;
  readonly #content: Content;
  /** The name it was opened by, for watches. */
  readonly #place: { folder: Inode; name: string };
  readonly #path: string;
  readonly #isWritable: boolean;
  #isClosed = false;
  #running = 0;
  #finished: (() => void) | undefined;
  #hasWritten = false;

  constructor(
    disk: SimulatedStorage,
    inode: Inode,
    content: Content,
    opening: { folder: Inode; name: string; path: string; isWritable: boolean },
  ) {
    this.#disk = disk;
    this.#life = disk.life;
    this.#inode = inode;
    this.#content = content;
    this.#place = opening;
    this.#path = opening.path;
    this.#isWritable = opening.isWritable;
    inode.openings += 1;
    if (opening.isWritable) inode.writers += 1;
  }

  async read(offset: number, length: number, into?: Uint8Array): Promise<Uint8Array> {
    await this.#turn("read");
    const bytes = this.#content.read(offset, length);
    if (into === undefined) return bytes;
    into.set(bytes);
    return into.subarray(0, bytes.length);
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    const copy = bytes.slice();
    await this.#turn("write", true);
    this.#put(offset, copy);
  }

  async copyFrom(source: DiskFile, sourceOffset: number, offset: number, length: number): Promise<number> {
    const bytes = await source.read(sourceOffset, length);
    await this.#turn("copyFrom", true);
    this.#put(offset, bytes);
    return bytes.length;
  }

  async truncate(length: number): Promise<void> {
    await this.#turn("truncate", true);
    const before = this.#content.pageCount;
    this.#content.truncate(length);
    this.#disk.takePages(this.#content.pageCount - before);
    this.#changed();
  }

  async stat(): Promise<DiskStat> {
    await this.#turn("stat");
    return this.#inode.stat();
  }

  async setStat(change: SetStat): Promise<void> {
    await this.#turn("setStat");
    this.#inode.setAttributes(change, this.#disk.nowNs());
    this.#report("changed");
  }

  async sync(dataOnly = false): Promise<void> {
    this.#assertOpen("sync");
    // It covers what was written before it was called; what is written meanwhile waits for the next.
    const frozen = this.#content.freeze();
    try {
      await this.#turn("sync");
    } catch (error) {
      if (this.#life === this.#disk.life) this.#content.lose(frozen, this.#disk.random);
      throw error;
    }
    this.#content.commit(frozen);
    if (!dataOnly) this.#inode.syncAttributes();
  }

  async handle(): Promise<Uint8Array> {
    await this.#turn("handle");
    return this.#inode.handle();
  }

  async identify(): Promise<DiskIdentity> {
    await this.#turn("identify");
    return { stat: this.#inode.stat(), handle: this.#inode.handle() };
  }

  async takeLease(wanted: () => void): Promise<FileLease> {
    await this.#turn("takeLease");
    if (!this.#disk.hasLeases) return "refused";
    const { leases } = this.#inode;
    if (this.#inode.writers > 0 || leases.isWanted) return "writer";
    leases.take(this, wanted);
    return "taken";
  }

  /** There is one process: its locks are not told apart from those of the one that was killed. */
  async takeLock(): Promise<FileLock> {
    await this.#turn("takeLock");
    return "refused";
  }

  async close(): Promise<void> {
    this.#assertOpen("close");
    this.#isClosed = true;
    this.#inode.leases.drop(this);
    if (this.#isWritable) this.#inode.writers -= 1;
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#finished = resolve;
      });
    }
    await this.#disk.turn("close", this.#path, this.#life);
    this.#inode.openings -= 1;
    if (this.#hasWritten) this.#report("changed");
    this.#disk.release(this.#inode);
  }

  /** Writes what there is room for, as the system does, before it says that there is none. */
  #put(offset: number, bytes: Uint8Array): void {
    let length = bytes.length;
    const missing = this.#content.missingPages(offset, length);
    const granted = this.#disk.takePages(missing);
    if (granted < missing) {
      while (this.#content.missingPages(offset, length) > granted) length = cutAtPage(offset, length);
      this.#disk.takePages(this.#content.missingPages(offset, length) - granted);
    }
    this.#content.write(offset, bytes.subarray(0, length));
    if (length > 0) this.#changed();
    if (length < bytes.length) throw this.#full("write");
  }

  #changed(): void {
    this.#hasWritten = true;
    this.#inode.touch(this.#disk.nowNs());
    this.#report("writing");
  }

  #report(kind: "changed" | "writing"): void {
    const { folder, name } = this.#place;
    if (folder.entries?.get(name) === this.#inode) this.#disk.report(folder, name, kind);
  }

  #full(operation: string): RunnelError {
    return new RunnelError("NoSpace", operation, "the simulated disk is full");
  }

  #assertOpen(operation: string, writes = false): void {
    if (this.#isClosed) throw new RunnelError("Io", operation, "the file is closed");
    if (writes && !this.#isWritable) throw new RunnelError("Io", operation, "the file was opened for reading");
  }

  async #turn(operation: string, writes = false): Promise<void> {
    this.#assertOpen(operation, writes);
    this.#running += 1;
    try {
      await this.#disk.turn(operation, this.#path, this.#life);
    } finally {
      this.#running -= 1;
      // The last operation under way finishes in the same step as its turn ends.
      if (this.#running === 0) this.#finished?.();
    }
  }
}

/** The range without its last page. */
function cutAtPage(offset: number, length: number): number {
  return Math.max(0, Math.floor((offset + length - 1) / PAGE_BYTES) * PAGE_BYTES - offset);
}
