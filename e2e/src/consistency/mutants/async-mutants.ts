// Faults put into the product on purpose, each one that a rule of mode async is there to prevent: programs are answered
// before the server only while nobody else is served, and what is told is sent in its order. What is replaced is as in
// mutants.ts.
import { OwnChanges, WriteBack } from "@runnel/app/internals";
import { MemoryTables, SqliteTables, WriteLease } from "@runnel/server/internals";
import type { Mutant } from "./mutant.ts";
import { replace } from "./replace.ts";

export const ASYNC_MUTANTS: readonly Mutant[] = [
  {
    name: "others served while a client has the write lease",
    settings: { isAsync: true },
    apply: () => replace(WriteLease.prototype, "isHeldByOther", () => () => false),
  },
  {
    name: "a write lease given back before all is sent",
    settings: { isAsync: true },
    apply: () => replace(WriteBack.prototype, "recalled", () => async () => undefined),
  },
  {
    name: "a write lease forgotten at a restart",
    settings: { isAsync: true, faults: ["serverPowerCut"], delayMs: 150 },
    apply: () => {
      for (const tables of [MemoryTables, SqliteTables]) replace(tables.prototype, "writeLease", () => () => "");
    },
  },
  {
    name: "a content dropped with which its file got a name",
    settings: { isAsync: true, isSavedAnew: true, faults: ["cut"], faultsLongerMs: 20_000 },
    apply: () => replace(OwnChanges.prototype, "namedWith", () => () => []),
  },
];
