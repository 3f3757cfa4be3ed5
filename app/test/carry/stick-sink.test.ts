// A stick as a place for chunks: the contract, and what holds once it has failed.
import { expect, test } from "@jest/globals";
import { SimulatedClock, SimulatedDisk } from "@runnel/shared";
import { MemorySupplyIndex } from "@runnel/shared/supply";
import { Stick } from "../../src/agent/carry/stick.ts";
import { StickSink } from "../../src/agent/carry/stick-sink.ts";
import { NEVER, executor } from "../supply/supply-rig.ts";
import { runOf, wholeContent } from "../transfer/sources/chunk-source-contract.ts";
import { sinkContract } from "../transfer/sources/chunk-sink-contract.ts";
import { StickRig } from "./stick-rig.ts";

sinkContract("A stick", async () => {
  const rig = await StickRig.make();
  const stick = await Stick.open(rig.stick, rig.deps, NEVER, true);
  const sink = stick.sink([]);
  let last = stick;
  const reopen = async () => {
    await stick[Symbol.asyncDispose]();
    last = await Stick.open(rig.stick, rig.deps, NEVER, false);
    return last.source;
  };
  const close = async (): Promise<void> => {
    if (last === stick) await sink.close();
    await last[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  };
  return { sink, reopen, close };
});

test.each(["truncate", "sync", "close", "open", "write", "rename", "syncFolder"])(
  "[F222] once a pack is lost to a failing %s, nothing more is said to be on the stick",
  async (operation) => {
    const disk = new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
    const root = await disk.openRoot("/stick", { permissions: 0o755 });
    for (const folder of ["runnel-carry", "runnel-carry/packs"]) await root.makeFolder(folder);
    const content = await wholeContent(1);
    const sink = new StickSink({ root, index: new MemorySupplyIndex(), executor, isHeld: () => false });
    await sink.put(content, runOf(content, { from: 0, count: 2 }));
    disk.fault = (which) => (which === operation ? "Io" : undefined);
    const named = { kind: "Unavailable", message: expect.stringContaining("/stick") };
    await expect(sink.flush()).rejects.toMatchObject(named);
    disk.fault = undefined;
    await expect(sink.flush()).rejects.toMatchObject(named);
    await expect(sink.put(content, runOf(content, { from: 2, count: 1 }))).rejects.toMatchObject(named);
    await sink.close();
  },
);
