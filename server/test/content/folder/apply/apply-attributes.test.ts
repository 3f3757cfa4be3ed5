// Attributes that are set again after an interruption, of a file that another program has written to meanwhile.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { startedVolume } from "../test-volume.ts";
import { VolumeRig } from "../../../volume/volume-rig.ts";

let rig: VolumeRig;

beforeEach(async () => {
  rig = await VolumeRig.open(1);
});

afterEach(() => rig.close());

test.each(["once", "twice"])(
  "[F28] a time that is set %s hides nothing that was written while the server was away",
  async (often) => {
    const node = await rig.file(ROOT_NODE, "file", "first");
    await rig.settle();
    const before = (await rig.volume.meta.node(node))?.version;
    rig.disk.fault = (operation) => (operation === "setStat" ? "Io" : undefined);
    for (const mtimeNs of often === "once" ? [5_000_000_000n] : [5_000_000_000n, 6_000_000_000n])
      await rig.commit({ op: "setAttr", node, change: { mtimeNs } });
    await rig.clock.advance(1_000);
    await rig.kill();
    const file = await rig.other.open("file", "write");
    await file.write(0, Buffer.from("SERVE"));
    await file.close();
    await rig.open();
    await rig.settle();
    expect((await rig.volume.meta.node(node))?.version).not.toBe(before);
    expect([...(await rig.tree()).values()]).toEqual(["file SERVE"]);
    expect(await rig.files()).toEqual(await rig.tree());
  },
);

test("attributes of files and folders that are recorded as applied are not what a power cut takes", async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const volume = await startedVolume({}, seed);
    const folder = await volume.make(ROOT_NODE, "folder", { type: "folder", mode: 0o755 });
    const file = await volume.file(folder, "file", "text");
    await volume.settle();
    for (const node of [file, folder]) await volume.commit({ op: "setAttr", node, change: { mode: 0o700 } });
    await volume.settle();
    await volume.meta.checkpoint();
    volume.cutPower();
    await volume.restart();
    await volume.settle();
    for (const [node, path] of [
      [folder, "folder"],
      [file, "folder/file"],
    ] as const)
      expect([(await volume.meta.node(node))?.mode, (await volume.other.stat(path)).mode]).toEqual([0o700, 0o700]);
    await volume.store.close();
  }
});
