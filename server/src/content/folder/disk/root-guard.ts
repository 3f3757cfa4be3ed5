// RootGuard: whether the folder at the root is the volume's, and lies at its path. Once it is not, nothing is read from
// it, nothing is put into it, and nothing is reported as removed [F21]; the store is over then, and whoever opened it
// opens another one when the right folder is back.
import type { Clock, Disk, DiskRoot, DiskStat, ErrorKind } from "@runnel/shared";
import { RunnelError, isRunnelError, withOpened } from "@runnel/shared";
import type { DiskRows } from "./disk-rows.ts";
import { ROOT_ROW } from "./disk-rows.ts";
import { FOLDER_FORMAT, createMarker, markerFault, rootFault, unreadable } from "./marker.ts";

/** A disk that has failed for so long is gone. */
const FAILING_MS = 900;

export interface RootGuardDeps {
  disk: Disk;
  root: DiskRoot;
  rows: DiskRows;
  clock: Clock;
  volume: string;
  /** That it is served by. */
  name: string;
  /** It was served before, so its marker is expected. */
  wasServed: boolean;
  /** Reported once, while it is watched. */
  gone(reason: string): void;
}

export class RootGuard {
  readonly #deps: RootGuardDeps;
  #reason: string | undefined;
  /** Since when the disk has failed, if it does. */
  #failedMs: number | undefined;
  #isWatching = false;

  constructor(deps: RootGuardDeps) {
    this.#deps = deps;
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  /** From now on its absence is reported. */
  watch(): void {
    this.#isWatching = true;
  }

  /**
   * @throws Unavailable when the folder is not the volume's, was not once, or cannot be probed now; Version, when only
   * a newer server can serve it.
   */
  async check(): Promise<void> {
    const found = this.#reason === undefined ? await this.#find() : undefined;
    if (this.#reason === undefined && found?.isSure === true) {
      this.#reason = found.reason;
      if (this.#isWatching) this.#deps.gone(found.reason);
    }
    const reason = this.#reason ?? found?.reason;
    if (reason !== undefined) throw new RunnelError("Unavailable", "check folder", reason);
  }

  /** Checks without an answer. */
  checkLater(): void {
    this.check().catch(() => undefined);
  }

  /**
   * Blames the folder, when it is not the volume's any more, for what failed in it. @throws Unavailable, else what
   * `work` does.
   */
  async during<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      await this.check();
      throw error;
    }
  }

  async #find(): Promise<RootFault | undefined> {
    try {
      const reason = await this.#fault();
      this.#failedMs = undefined;
      return reason === undefined ? undefined : { reason, isSure: true };
    } catch (error) {
      if (isRunnelError(error, "Version") || !isRunnelError(error)) throw error;
      return { reason: unreadable(error), isSure: this.#isSure(error.kind) };
    }
  }

  /** A disk that fails may do so once; and a lack of room or descriptors says nothing of the folder. */
  #isSure(kind: ErrorKind): boolean {
    if (GONE_KINDS.includes(kind)) return true;
    if (kind !== "Io") return false;
    const nowMs = this.#deps.clock.bootMs();
    this.#failedMs ??= nowMs;
    return nowMs - this.#failedMs >= FAILING_MS;
  }

  async #fault(): Promise<string | undefined> {
    const { disk, root, rows, volume, name, wasServed } = this.#deps;
    const stat = await root.stat("");
    const atPath = await statAt(disk, root.path);
    // Held open, its number is not given to another folder.
    if (atPath.ino !== stat.ino || atPath.dev !== stat.dev) return MOVED;
    const recorded = await rows.get(ROOT_ROW.folder, ROOT_ROW.name);
    const fault = rootFault(recorded, stat, await root.handle(""), name);
    if (fault !== undefined) return fault;
    const marker = await markerFault(root, volume, wasServed || this.#isWatching, name);
    if (marker !== "none yet") return marker;
    await createMarker(root, { format: FOLDER_FORMAT, volume });
    return undefined;
  }

  close(): void {
    this.#isWatching = false;
  }
}

interface RootFault {
  reason: string;
  isSure: boolean;
}

const GONE_KINDS: readonly ErrorKind[] = ["NotFound", "NotFolder", "Denied", "ReadOnly", "Unavailable", "Corrupt"];
const MOVED = "The folder was moved, or another one is in its place.";

/** Stat of the folder that lies there now. */
async function statAt(disk: Disk, path: string): Promise<DiskStat> {
  return withOpened(await disk.openRoot(path), (root) => root.stat(""));
}
