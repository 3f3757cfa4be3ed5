// Files that this server has just put in place, with bytes that it had verified: the rule of the 2 s is for what
// another program may have written last. A later write shows in such a tuple at once (`wouldShow`). One that sets the
// old mtime again within a tick of the file system's clock is missed here, and found when the copy of the bytes is
// digested: it is applied like what is changed while it waits for that.
import { type Clock, type DiskStat, NS_PER_MS, type VersionId } from "@runnel/shared";
import { SETTLE_MS, isSameTuple, wouldShow } from "../disk/same-file.ts";
import { versionKey } from "../disk/store-layout.ts";

export class OwnPlacings {
  readonly #clock: Pick<Clock, "wallNs">;
  /** Tuples by version, of the last 2 s, oldest first. */
  readonly #tuples = new Map<string, DiskStat>();

  constructor(clock: Pick<Clock, "wallNs">) {
    this.#clock = clock;
  }

  /** The tuple that a version's file has since this server has put it in place. */
  note(version: VersionId, stat: DiskStat): void {
    const nowNs = this.#clock.wallNs();
    for (const [old, { ctimeNs }] of this.#tuples) {
      if (nowNs - ctimeNs < BigInt(SETTLE_MS) * NS_PER_MS) break;
      this.#tuples.delete(old);
    }
    const key = versionKey(version);
    this.#tuples.delete(key);
    this.#tuples.set(key, stat);
  }

  /** It has the bytes that it was put in place with. */
  isAsPlaced(version: VersionId, stat: DiskStat): boolean {
    const placed = this.#tuples.get(versionKey(version));
    return placed !== undefined && isSameTuple(placed, stat) && wouldShow(stat, this.#clock.wallNs());
  }
}
