// Faults put into the product on purpose, each one that a rule of the feed and the leases is there to prevent: a
// simulation that does not notice one of them proves nothing about that rule. What they replace are methods of the
// product's own classes, in this process only: that of a simulation, or one that was started for it.
import {
  FeedApplier,
  Lease,
  Lifecycle,
  Listings,
  MountedVolume,
  Names,
  OwnTime,
  type Replica,
} from "@runnel/app/internals";
import { Attachment, Feed, Holder, MemoryTables, SqliteTables } from "@runnel/server/internals";
import type { Drive } from "@runnel/native/drive";
import type { Change, Clock, NodeState } from "@runnel/shared";
import { RunnelError, sleep } from "@runnel/shared";
import { Process } from "../../simulation/machine.ts";
import { ASYNC_MUTANTS } from "./async-mutants.ts";
import { COLLEAGUE_MUTANTS } from "./colleague-mutants.ts";
import { CONTENT_MUTANTS } from "./content-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { replace } from "./replace.ts";

const LATE_MS = 400;
const never = (): boolean => false;

interface FlushDeps {
  deps: { drive: Pick<Drive, "commitDirty"> };
}

interface ListingParts {
  deps: { replica: Replica; session: { deps: { clock: Clock } } };
}

interface NamesDeps {
  deps: { tree: { lookup(folder: number, name: string): Promise<NodeState | undefined> } };
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "an acknowledgement before the entry table changes",
    apply: () =>
      replace<{ deps: { clock: Clock } }, [readonly Change[], readonly number[]]>(
        Lifecycle.prototype,
        "changes",
        (original) =>
          function (changes, comingSeqs) {
            this.deps.clock.after(LATE_MS, () => void original.call(this, changes, comingSeqs));
          },
      ),
  },
  {
    name: "a lease counted from the receipt",
    settings: { termMs: 2_000, delayMs: 700, faults: ["blackHole"] },
    apply: () =>
      replace<{ deps: { clock: Clock }; termMs: number }, [number]>(
        Lease.prototype,
        "set",
        (original) =>
          function (untilMs) {
            original.call(this, untilMs === 0 ? 0 : this.deps.clock.bootMs() + this.termMs);
          },
      ),
  },
  {
    name: "a feed item lost on the way back",
    apply: () =>
      replace<Attachment, [readonly Change[]]>(
        Attachment.prototype,
        "missed",
        (original) =>
          function (changes) {
            original.call(this, changes.slice(1));
          },
      ),
  },
  {
    name: "a lease kept over a suspend",
    // No change of anybody else is done before the sleeper's lease has run out.
    settings: { powers: [], termMs: 4_000, faults: ["sleep"], faultsLongerMs: 5_000 },
    apply: () =>
      replace<Process, []>(
        Process.prototype,
        "bootMs",
        (original) =>
          function () {
            return (original.call(this) as number) - this.machine.sleptMs;
          },
      ),
  },
  {
    name: "one acknowledgement is enough",
    settings: { clients: 3 },
    apply: () =>
      replace<{ waits: { missing: Map<unknown, unknown> }[]; settle(): void }, unknown[]>(
        Feed.prototype,
        "acknowledge",
        (original) =>
          function (...args) {
            original.call(this, ...args);
            for (const { missing } of this.waits) missing.clear();
            this.settle();
          },
      ),
  },
  {
    name: "leases forgotten at a restart",
    settings: { termMs: 20_000, faults: ["serverPowerCut", "blackHole"] },
    apply: () => {
      for (const tables of [MemoryTables, SqliteTables]) replace(tables.prototype, "attached", () => () => []);
    },
  },
  {
    name: "a listing read before an item is stored after it",
    apply: () =>
      replace<ListingParts, [number, boolean]>(
        Listings.prototype,
        "take",
        (original) =>
          async function (folder, isDeep) {
            const { replica, session } = this.deps;
            const parts: Parameters<Replica["putListing"]>[] = [];
            const putListing: Replica["putListing"] = (...part) => void parts.push(part);
            await original.call({ deps: { ...this.deps, replica: { ...replica, putListing } } }, folder, isDeep);
            await sleep(session.deps.clock, LATE_MS);
            const seq = (replica.facts()?.seq ?? 0) + 1;
            for (const [listed, , entries, isLast] of parts) replica.putListing(listed, seq, entries, isLast);
          },
      ),
  },
  {
    name: "a renewal while an acknowledgement is overdue",
    settings: { termMs: 4_000, onlyFault: "noAcks" },
    apply: () => {
      replace<Holder, []>(Holder.prototype, "isToBlame", () => never);
      replace<{ clock: Clock; termMs: number; heard(holder: Holder): void }, [Holder]>(
        Feed.prototype,
        "renew",
        () =>
          function (holder) {
            this.heard(holder);
            holder.leaseUntilMs = this.clock.bootMs() + this.termMs;
            return true;
          },
      );
    },
  },
  {
    name: "a kernel that is not told of a change",
    settings: { powers: ["quiet"] },
    apply: () =>
      replace<{ deps: { drive: Pick<Drive, "putEntries" | "putNode"> } }, [readonly Change[]]>(
        FeedApplier.prototype,
        "apply",
        (original) =>
          function (changes) {
            const { drive } = this.deps;
            const silent: typeof drive = {
              putEntries: (bindings) => drive.putEntries(bindings, false),
              putNode: (entry) => drive.putNode(entry, false),
            };
            original.call({ deps: { ...this.deps, drive: silent } }, changes);
          },
      ),
  },
  {
    name: "a flush that waits without letting anything come",
    settings: { powers: ["verbs"] },
    apply: () =>
      replace<FlushDeps, [boolean]>(
        MountedVolume.prototype,
        "flush",
        (original) =>
          async function (up) {
            let isHandedOver = false;
            void this.deps.drive.commitDirty().then(() => (isHandedOver = true));
            // oxlint-disable-next-line no-unmodified-loop-condition -- by what never comes
            while (!isHandedOver) await Promise.resolve();
            return original.call(this, up);
          },
      ),
  },
  {
    name: "a flush that forgets files that are open",
    settings: { powers: ["verbs"] },
    apply: () =>
      replace<FlushDeps, [boolean]>(
        MountedVolume.prototype,
        "flush",
        (original) =>
          async function (up) {
            const drive = { ...this.deps.drive, commitDirty: async () => undefined };
            return original.call(Object.create(this, { deps: { value: { ...this.deps, drive } } }) as FlushDeps, up);
          },
      ),
  },
  {
    name: "a new file known by its name only",
    settings: { powers: ["quiet"] },
    apply: () =>
      replace<{ deps: { drive: Drive } }, [unknown]>(
        Names.prototype,
        "create",
        (original) =>
          async function (request) {
            const drive = new Proxy(this.deps.drive, {
              get: (target, key) => (key === "putNode" ? () => undefined : Reflect.get(target, key).bind(target)),
            });
            return original.call(Object.create(this, { deps: { value: { ...this.deps, drive } } }), request);
          },
      ),
  },
  {
    name: "what a name is bound to is found out once",
    settings: { powers: ["quiet"] },
    apply: () =>
      replace<NamesDeps, [{ folder: number; name: string }, (state: NodeState) => Promise<void>]>(
        Names.prototype,
        "ofNow",
        () =>
          async function ({ folder, name }, change) {
            const state = await this.deps.tree.lookup(folder, name);
            if (state === undefined) throw new RunnelError("NotFound", "mutant", "There is none.");
            await change(state);
            return state;
          },
      ),
  },
  {
    name: "an agent's own delay taken for its server's silence",
    settings: { onlyFault: "slowAgent" },
    apply: () => replace(OwnTime.prototype, "watch", () => () => () => undefined),
  },
  {
    name: "a retry executed twice",
    apply: () => {
      for (const tables of [MemoryTables, SqliteTables]) replace(tables.prototype, "result", () => () => undefined);
    },
  },
  ...CONTENT_MUTANTS,
  ...ASYNC_MUTANTS,
  ...COLLEAGUE_MUTANTS,
];
