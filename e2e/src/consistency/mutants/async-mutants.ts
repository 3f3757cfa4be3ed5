// Faults put into the product on purpose, each one that a rule of mode async is there to prevent: programs are answered
// before the server only while nobody else is served, and what is told is sent in its order. What is replaced is as in
// mutants.ts.
import { HeldElsewhere, OwnChanges, WriteBack } from "@runnel/app/internals";
import { Ancestors, MemoryTables, SqliteTables, WriteLeases } from "@runnel/server/internals";
import type { Mutant } from "./mutant.ts";
import { replace } from "./replace.ts";

export const ASYNC_MUTANTS: readonly Mutant[] = [
  {
    name: "others served while a client has the write lease",
    settings: { isAsync: true, isApart: false },
    apply: () => {
      replace(WriteLeases.prototype, "isHeldByOther", () => () => false);
      replace(WriteLeases.prototype, "shared", () => async () => undefined);
    },
  },
  {
    name: "a write lease given back before all is sent",
    // A change on its way comes before the lease does: others see what was before only while the commit takes long.
    settings: {
      isAsync: true,
      isApart: false,
      powers: [],
      delayMs: 500,
      faults: ["serverDiskSlow"],
      faultsLongerMs: 30_000,
    },
    apply: () => replace(WriteBack.prototype, "recalled", () => async () => undefined),
  },
  {
    name: "a write lease forgotten at a restart",
    settings: { isAsync: true, isApart: false, faults: ["serverPowerCut"], delayMs: 150 },
    apply: () => {
      for (const tables of [MemoryTables, SqliteTables]) replace(tables.prototype, "writeLease", () => () => "");
    },
  },
  {
    name: "a write lease on a folder in nobody's way",
    settings: { isAsync: true, isApart: true, delayMs: 500 },
    apply: () => replace(Ancestors.prototype, "of", () => async () => new Set()),
  },
  {
    name: "what others have write leases on taken for current",
    settings: { isAsync: true, isApart: true },
    apply: () => replace(HeldElsewhere.prototype, "touched", () => () => []),
  },
  {
    name: "a content dropped with which its file got a name",
    settings: { isAsync: true, isApart: false, isSavedAnew: true, faults: ["cut"], faultsLongerMs: 20_000 },
    apply: () => replace(OwnChanges.prototype, "namedWith", () => () => []),
  },
];
