// A volume knows its contents by their interface alone: it opens over the memory engine, and no folder is served.
import { expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { memoryEngine } from "../../src/content/memory/memory-store.ts";
import { VolumeRig, bytesOf } from "./volume-rig.ts";

test("opens over the memory engine: it commits, copies from older versions and reads, and touches no folder", async () => {
  const rig = await VolumeRig.open(1, { openEngine: async () => memoryEngine() });
  try {
    const node = await rig.make(ROOT_NODE, "a");
    const first = await rig.write(node, bytesOf(1, 100_000));
    const second = await rig.prepend(node, bytesOf(2, 10));
    await rig.settle();
    expect(await rig.read(node, first.version)).toEqual(bytesOf(1, 100_000));
    expect((await rig.read(node, second.version)).length).toBe(100_010);
    expect(rig.volume.content.status().pendingCommits).toBe(0);
    const names: (string | undefined)[] = [];
    await rig.other.list("", (entries) => void names.push(...entries.map(({ name }) => name)));
    expect(names).toEqual([]);
  } finally {
    await rig.close();
  }
});
