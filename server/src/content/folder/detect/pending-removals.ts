// Removals: names that were recorded and are not there. Reported a moment later, since a name that vanished may turn up
// elsewhere in the next batch of events, and is then a rename; and never while the folder itself may be the one that is
// gone.
import type { Clock } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import { eachOf } from "../../../host/each-of.ts";
import type { Prober } from "./prober.ts";
import type { Observation } from "./observation.ts";
import type { ExternalChanges } from "./external-changes.ts";

/** Added to a batch's own delay it leaves room within the 2 s in which a change has to show. */
const HOLD_MS = 800;
/** Past this the oldest are reported at once. */
const HELD_MAX = 100_000;
const REPORTED_AT_ONCE = 1000;
const PROBES_AT_ONCE = 16;

interface Held {
  folder: number;
  name: string;
  node: number;
  dueMs: number;
}

export interface PendingRemovalsDeps {
  rows: DiskRows;
  prober: Prober;
  externalChanges: ExternalChanges;
  clock: Clock;
  affected(path: string): void;
  /** @throws Unavailable when the folder is not the one that was served. */
  checkRoot(): Promise<void>;
}

export class PendingRemovals {
  readonly #deps: PendingRemovalsDeps;
  readonly #held = new Map<string, Held>();
  /** Found absent by a whole scan, which has to end first. */
  readonly #ofScan = new Map<string, Held>();

  constructor(deps: PendingRemovalsDeps) {
    this.#deps = deps;
  }

  hold(absent: readonly Observation[], isWholeScan = false): void {
    const dueMs = this.#deps.clock.bootMs() + HOLD_MS;
    const held = isWholeScan ? this.#ofScan : this.#held;
    for (const { folder, name, row } of absent) {
      const key = `${folder}/${name}`;
      if (row === undefined || held.get(key)?.node === row.node) continue;
      // Set anew: the order of the map is that of the times.
      held.delete(key);
      held.set(key, { folder, name, node: row.node, dueMs });
    }
  }

  /** A whole scan begins: what an unfinished one found is found again. */
  beginScan(): void {
    this.#ofScan.clear();
  }

  /** When the first is due, on the boot clock. */
  nextDueMs(): number | undefined {
    const first = this.#held.values().next();
    return first.done === true ? undefined : this.#held.size > HELD_MAX ? 0 : first.value.dueMs;
  }

  /** Runs in the serial queue. Reports those that are due and still absent. */
  async reportDue(): Promise<void> {
    const nowMs = this.#deps.clock.bootMs();
    const isOver = this.#held.size > HELD_MAX;
    await this.#report(
      this.#held,
      [...this.#held].filter(([, held]) => isOver || held.dueMs <= nowMs),
    );
  }

  /**
   * Runs in the serial queue. Reports what the whole scan that just ended found absent, some at a time; true when there
   * is more.
   */
  async reportScanned(): Promise<boolean> {
    await this.#report(this.#ofScan, [...this.#ofScan.entries().take(REPORTED_AT_ONCE)]);
    return this.#ofScan.size > 0;
  }

  async #report(held: Map<string, Held>, due: [string, Held][]): Promise<void> {
    if (due.length === 0) return;
    await this.#deps.checkRoot();
    for (let at = 0; at < due.length; at += REPORTED_AT_ONCE) {
      const group = due.slice(at, at + REPORTED_AT_ONCE);
      const absent: DiskRow[] = [];
      await eachOf(group, PROBES_AT_ONCE, async ([, one]) => {
        const row = await this.#stillAbsent(one);
        if (row !== undefined) absent.push(row);
      });
      await this.#deps.externalChanges.reportRemoved(absent);
      for (const [key] of group) held.delete(key);
    }
  }

  async #stillAbsent({ folder, name, node }: Held): Promise<DiskRow | undefined> {
    const { rows, prober } = this.#deps;
    const path = await rows.pathOfName(folder, name);
    const row = await rows.get(folder, name);
    if (path === undefined || row?.node !== node) return undefined;
    const observed = await prober.observe({ folder, name, path });
    if (observed === undefined) return undefined;
    if (observed.found === undefined) return row;
    // Back, or its folder had moved: what it is now is for a probe to find.
    this.#deps.affected(path);
    return undefined;
  }
}
