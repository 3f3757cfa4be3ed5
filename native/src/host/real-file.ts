// An open file of the real disk.
import type { DiskFile, DiskIdentity, DiskStat, FileLease, FileLock, SetStat } from "@runnel/shared";
import { coreAddon } from "./core-addon.ts";
import { checkRoom, checkSize, statChangeArguments } from "./disk-arguments.ts";
import { LeasedFiles } from "./leased-files.ts";
import { HeldDescriptor } from "./held-descriptor.ts";
import { readIdentity, readStat } from "./stat-record.ts";

// The numbers of the enumerations in file/file.h.
export const LEASES: readonly FileLease[] = ["taken", "writer", "refused"];
const LOCKS: readonly FileLock[] = ["taken", "held", "refused"];
const LEASED = new LeasedFiles();

export class RealFile implements DiskFile {
  readonly #held: HeldDescriptor;
  readonly #core = coreAddon();

  readonly #closed: () => void;

  /** `closed` is called once it is. */
  constructor(fd: number, closed: () => void = () => {}) {
    this.#held = new HeldDescriptor(fd);
    this.#closed = closed;
  }

  get fd(): number {
    return this.#held.fd;
  }

  /** Runs a call of the addon with the descriptor, which stays open until the call has ended. */
  use<T>(operation: string, call: (fd: number) => Promise<T>): Promise<T> {
    return this.#held.use(operation, call);
  }

  async read(offset: number, length: number, into?: Uint8Array): Promise<Uint8Array> {
    checkSize(offset, "offset");
    checkSize(length, "length");
    if (into !== undefined) {
      checkRoom(into, length);
      return into.subarray(0, await this.use("read", (fd) => this.#core.read(fd, offset, into)));
    }
    const { buffer } = Buffer.allocUnsafeSlow(length);
    const count = await this.use("read", (fd) => this.#core.read(fd, offset, new Uint8Array(buffer)));
    // A short answer must not hold all the memory that was asked for.
    return count >= length / 2 ? new Uint8Array(buffer, 0, count) : new Uint8Array(buffer.slice(0, count));
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    checkSize(offset, "offset");
    await this.use("write", (fd) => this.#core.write(fd, offset, bytes));
  }

  async copyFrom(source: DiskFile, sourceOffset: number, offset: number, length: number): Promise<number> {
    if (!(source instanceof RealFile)) throw new TypeError("copyFrom needs a file of the same disk");
    checkSize(sourceOffset, "sourceOffset");
    checkSize(offset, "offset");
    checkSize(length, "length");
    return source.use("copy", (from) =>
      this.use("copy", (to) => this.#core.copy(from, sourceOffset, to, offset, length)),
    );
  }

  async truncate(length: number): Promise<void> {
    checkSize(length, "length");
    await this.use("truncate", (fd) => this.#core.truncate(fd, length));
  }

  async stat(): Promise<DiskStat> {
    return readStat(await this.use("stat", (fd) => this.#core.statFile(fd)));
  }

  async setStat(change: SetStat): Promise<void> {
    await this.use("set attributes", (fd) => this.#core.setStatFile(fd, ...statChangeArguments(change)));
  }

  async sync(dataOnly = false): Promise<void> {
    await this.use("sync", (fd) => this.#core.sync(fd, dataOnly));
  }

  async identify(): Promise<DiskIdentity> {
    return readIdentity(await this.use("identify", (fd) => this.#core.identifyFile(fd)));
  }

  async handle(): Promise<Uint8Array> {
    return new Uint8Array(await this.use("take handle", (fd) => this.#core.handleFile(fd)));
  }

  async takeLease(wanted: () => void): Promise<FileLease> {
    const lease = LEASES[await this.use("take lease", (fd) => this.#core.takeLease(fd))] ?? "refused";
    if (lease === "taken") LEASED.add(this, () => this.#core.leaseStands(this.fd), wanted);
    return lease;
  }

  async takeLock(): Promise<FileLock> {
    return LOCKS[await this.use("take lock", (fd) => this.#core.takeLock(fd))] ?? "refused";
  }

  async close(): Promise<void> {
    LEASED.delete(this);
    await this.#held.close();
    this.#closed();
  }
}
