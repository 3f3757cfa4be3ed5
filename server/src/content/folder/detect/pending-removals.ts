// Absences: names that were recorded and are not there. Told a moment later, since a name that vanished may turn up elsewhere in the next batch of
// events, and is then a rename; and never while the folder itself may be the one that is gone.
import type { Clock } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import { eachOf } from "../../../host/each-of.ts";
import type { Looker } from "./prober.ts";
import type { Seen } from "./observation.ts";
import type { Teller } from "./external-changes.ts";

/** Added to a batch's own delay it leaves room within the 2 s in which a change has to show. */
const HOLD_MS = 800;
/** Past this the oldest are told at once. */
const HELD_MAX = 100_000;
const TOLD_AT_ONCE = 1000;
const LOOKS_AT_ONCE = 16;

interface Held {
  folder: number;
  name: string;
  node: number;
  dueMs: number;
}

export interface AbsencesContext {
  rows: DiskRows;
  looker: Looker;
  teller: Teller;
  clock: Clock;
  affected(path: string): void;
  /** @throws Unavailable when the folder is not the one that was served. */
  checkRoot(): Promise<void>;
}

export class Absences {
  readonly #context: AbsencesContext;
  readonly #held = new Map<string, Held>();
  /** Found absent by a whole scan, which has to end first. */
  readonly #ofScan = new Map<string, Held>();

  constructor(context: AbsencesContext) {
    this.#context = context;
  }

  hold(absent: readonly Seen[], isWholeScan = false): void {
    const dueMs = this.#context.clock.bootMs() + HOLD_MS;
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

  /** In the lane. Tells those that are due and still absent. */
  async tellDue(): Promise<void> {
    const nowMs = this.#context.clock.bootMs();
    const isOver = this.#held.size > HELD_MAX;
    await this.#tell(
      this.#held,
      [...this.#held].filter(([, held]) => isOver || held.dueMs <= nowMs),
    );
  }

  /** In the lane. Tells what the whole scan that just ended found absent, some at a time; true when there is more. */
  async tellScanned(): Promise<boolean> {
    await this.#tell(this.#ofScan, [...this.#ofScan.entries().take(TOLD_AT_ONCE)]);
    return this.#ofScan.size > 0;
  }

  async #tell(held: Map<string, Held>, due: [string, Held][]): Promise<void> {
    if (due.length === 0) return;
    await this.#context.checkRoot();
    for (let at = 0; at < due.length; at += TOLD_AT_ONCE) {
      const group = due.slice(at, at + TOLD_AT_ONCE);
      const absent: DiskRow[] = [];
      await eachOf(group, LOOKS_AT_ONCE, async ([, one]) => {
        const row = await this.#stillAbsent(one);
        if (row !== undefined) absent.push(row);
      });
      await this.#context.teller.tellRemoved(absent);
      for (const [key] of group) held.delete(key);
    }
  }

  async #stillAbsent({ folder, name, node }: Held): Promise<DiskRow | undefined> {
    const { rows, looker } = this.#context;
    const path = await rows.pathOfName(folder, name);
    const row = await rows.get(folder, name);
    if (path === undefined || row?.node !== node) return undefined;
    const seen = await looker.see(folder, name, path);
    if (seen === undefined) return undefined;
    if (seen.found === undefined) return row;
    // Back, or its folder had moved: what it is now is for a look to find.
    this.#context.affected(path);
    return undefined;
  }
}
