// Notices outlive the volume's index: what people were to be told is in a log beside it.
import { afterEach, expect, test } from "@jest/globals";
import { type Notice, ROOT_NODE } from "@runnel/shared";
import { HISTORY_FOLDER } from "../../src/volume/notice-history.ts";
import { DATA, VolumeRig } from "./volume-rig.ts";

const rigs: VolumeRig[] = [];

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function opened(): Promise<VolumeRig> {
  const rig = await VolumeRig.open(7);
  rigs.push(rig);
  return rig;
}

/** Saves the file as a client that had not seen the version before. */
async function conflict(rig: VolumeRig, name: string): Promise<number> {
  const node = await rig.file(ROOT_NODE, name, "first");
  const result = await rig.write(node, Buffer.from("second"));
  await rig.run(rig.volume.conflicts.note(node, { ...result, conflict: true }, "Ann"));
  return result.seq;
}

async function conflicts(rig: VolumeRig): Promise<string[]> {
  const notices: Notice[] = await rig.run(rig.volume.content.notices());
  return notices.filter(({ kind }) => kind === "clientConflict").map((notice) => ("path" in notice ? notice.path : ""));
}

async function segments(rig: VolumeRig): Promise<{ name: string; sizeBytes: number }[]> {
  const found: { name: string; sizeBytes: number }[] = [];
  await (
    await rig.disk.openRoot(`${DATA}/${HISTORY_FOLDER}`)
  ).list("", (entries) => {
    for (const { name = "", stat } of entries) found.push({ name, sizeBytes: stat.sizeBytes });
  });
  return found;
}

test.each(["killed", "without power", "closed"])(
  "[F212] conflicts outlive the loss of the index of a server that was %s, and one that was settled stays so",
  async (how) => {
    const rig = await opened();
    await conflict(rig, "kept");
    await rig.run(rig.volume.conflicts.settle(await conflict(rig, "settled")));
    await conflict(rig, "kept too");
    if (how === "killed") await rig.kill();
    else if (how === "closed") await rig.close();
    else await rig.cutPower();
    rig.loseMeta();
    await rig.open();
    expect(await conflicts(rig)).toEqual(["kept", "kept too"]);
    await rig.settle();
    expect(await conflicts(rig)).toEqual(["kept", "kept too"]);
  },
);

test("a copy that a client made is looked for once the folder has been read, and its conflict is over when it goes", async () => {
  const rig = await opened();
  const node = await rig.file(ROOT_NODE, "a", "first");
  const copy = await rig.file(ROOT_NODE, "a (conflict)", "second");
  const { seq } = await rig.write(copy, Buffer.from("third"));
  const result = { node: copy, seq, version: seq, conflict: true };
  await rig.run(rig.volume.conflicts.note(node, result, "Ann"));
  await rig.settle();
  await rig.kill();
  rig.loseMeta();
  await rig.open();
  expect(await conflicts(rig)).toEqual(["a"]);
  await rig.settle();
  expect(await conflicts(rig)).toEqual(["a"]);
  await rig.remove("a (conflict)");
  expect(await conflicts(rig)).toEqual([]);
});

test("a damaged history is begun anew with what the index has", async () => {
  const rig = await opened();
  await conflict(rig, "kept");
  await rig.close();
  const [segment] = await segments(rig);
  const file = await (await rig.disk.openRoot(`${DATA}/${HISTORY_FOLDER}`)).open(segment?.name ?? "", "write");
  await file.write(Math.floor((segment?.sizeBytes ?? 0) / 2), Buffer.from("damage"));
  await file.sync();
  await file.close();
  await rig.open();
  expect(rig.warnings.join()).toContain("is damaged and is begun anew");
  expect(await conflicts(rig)).toEqual(["kept"]);
  await rig.kill();
  rig.loseMeta();
  await rig.open();
  expect(await conflicts(rig)).toEqual(["kept"]);
});

test("a volume without notices has no history, and one of many that came and went does not grow", async () => {
  const rig = await opened();
  await expect(segments(rig)).rejects.toThrow("history");
  await conflict(rig, "kept");
  const [small] = await segments(rig);
  for (let seq = 1_000_001; seq <= 1_006_000; seq++) {
    const result = { node: ROOT_NODE, seq, version: seq, conflict: true };
    await rig.run(rig.volume.conflicts.note(ROOT_NODE, result, "Ann"));
    await rig.run(rig.volume.conflicts.settle(seq));
  }
  const bytes = (await segments(rig)).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  expect(bytes / (small?.sizeBytes ?? 1)).toBeLessThan(5_000);
  await rig.kill();
  rig.loseMeta();
  await rig.open();
  expect(await conflicts(rig)).toEqual(["kept"]);
});
