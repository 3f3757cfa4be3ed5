// BaseHolds: the holds on versions that commits copy from, from before such a commit is answered until it is in the
// folder.
import type { DiskRoot, VersionId } from "@runnel/shared";
import type { ByteRange } from "../../content-store.ts";
import type { CopyRange } from "./base-hold.ts";
import { BaseHold } from "./base-hold.ts";
import type { FileSource } from "./file-source.ts";
import { basePath, versionKey } from "../disk/store-layout.ts";

/** Each is an open file; what is beyond is copied. */
const LEASES_MAX = 256;

export interface BaseHoldsDeps {
  root: DiskRoot;
  /** A pending content copies from the version. */
  isCopied(version: VersionId): boolean;
}

export class BaseHolds {
  readonly #deps: BaseHoldsDeps;
  readonly #holds = new Map<string, { version: VersionId; hold: BaseHold }>();
  /** Holds whose copy is being removed. */
  readonly #ending = new Map<string, Promise<void>>();
  /** Versions whose bytes somebody was promised, with how often. */
  readonly #promised = new Map<string, number>();

  constructor(deps: BaseHoldsDeps) {
    this.#deps = deps;
  }

  get(version: VersionId): BaseHold | undefined {
    return this.#holds.get(versionKey(version))?.hold;
  }

  /** Promises that its bytes stay, wherever they are put, until `release`. */
  promise(version: VersionId): void {
    const key = versionKey(version);
    this.#promised.set(key, (this.#promised.get(key) ?? 0) + 1);
  }

  async release(version: VersionId): Promise<void> {
    const key = versionKey(version);
    const count = (this.#promised.get(key) ?? 1) - 1;
    if (count > 0) this.#promised.set(key, count);
    else this.#promised.delete(key);
    await this.evict(version);
  }

  isNeeded(version: VersionId): boolean {
    return this.#promised.has(versionKey(version)) || this.#deps.isCopied(version);
  }

  /**
   * Keeps ranges of a version. `openFile` opens the file that holds it, if that is as it was recorded; `copy` brings
   * ranges of it where there is no lease. False when they cannot be kept. @throws what `copy` does.
   */
  async keep(
    version: VersionId,
    sizeBytes: number,
    ranges: readonly ByteRange[],
    openFile: () => Promise<FileSource | undefined>,
    copy: CopyRange,
  ): Promise<boolean> {
    const key = versionKey(version);
    let hold = this.get(version);
    if (hold === undefined) {
      await this.#ending.get(key);
      const file = this.#mayLease ? openFile : async () => undefined;
      const made = await BaseHold.open(this.#deps.root, basePath(version), sizeBytes, file);
      hold = this.get(version) ?? made;
      // Somebody else was faster.
      if (hold !== made) await made.close();
      else this.#holds.set(key, { version, hold });
    }
    return hold.keep(ranges, copy);
  }

  /** Takes up what an earlier process copied of a version. */
  async find(version: VersionId): Promise<void> {
    if (this.get(version) !== undefined) return;
    const hold = await BaseHold.find(this.#deps.root, basePath(version));
    if (hold !== undefined) this.#holds.set(versionKey(version), { version, hold });
  }

  /** Ends the hold, if there is one that nobody needs any more. */
  async evict(version: VersionId): Promise<void> {
    const key = versionKey(version);
    const held = this.#holds.get(key);
    if (held === undefined || this.isNeeded(version)) return;
    this.#holds.delete(key);
    // A copy that stays is cleaned up at the next start.
    const removed = held.hold.remove().catch(() => undefined);
    const ending = removed.finally(() => this.#ending.delete(key));
    this.#ending.set(key, ending);
    await ending;
  }

  get #mayLease(): boolean {
    let leased = 0;
    for (const { hold } of this.#holds.values()) if (hold.isLeased) leased++;
    return leased < LEASES_MAX;
  }

  async close(): Promise<void> {
    for (const { hold } of this.#holds.values()) await hold.close().catch(() => undefined);
    this.#holds.clear();
  }
}
