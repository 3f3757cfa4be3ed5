// A commit that cannot be put in the folder, for however long: the log does not grow with what others save meanwhile.
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Log } from "@runnel/shared";
import { ROOT_NODE, RunnelError } from "@runnel/shared";
import { decodeRecord } from "../../src/commit-log/record.ts";
import { locked } from "../content/folder/test-volume.ts";
import { DATA, VolumeRig, bytesOf } from "../volume/volume-rig.ts";

const SEGMENT_BYTES = 4096;
/** Four segments, what is written until the next look, and the current one. */
const SEGMENTS_MAX = 12;
const rigs: VolumeRig[] = [];

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function segments(rig: VolumeRig): Promise<number[]> {
  const numbers: number[] = [];
  const data = await rig.disk.openRoot(DATA);
  await data.list("log", (entries) => {
    for (const { name = "" } of entries) if (name.endsWith(".log")) numbers.push(Number.parseInt(name, 10));
  });
  await data.close();
  return numbers.toSorted((one, other) => one - other);
}

const SHUT = locked(["shut/", "above/shut/", "moved/shut/"]);

/** Some changes of each kind wait in a folder. */
async function waiting(): Promise<VolumeRig> {
  const rig = await VolumeRig.open(5, { logSegmentBytes: SEGMENT_BYTES });
  rigs.push(rig);
  const shut = await rig.folder(ROOT_NODE, "shut");
  const above = await rig.folder(ROOT_NODE, "above");
  const deep = await rig.folder(above, "shut");
  await rig.folder(ROOT_NODE, "docs");
  const fixed = await rig.file(shut, "fixed", "old");
  const edited = await rig.file(shut, "edited", bytesOf(4, 50_000));
  await rig.file(shut, "gone", "gone");
  await rig.settle();
  rig.disk.fault = SHUT;
  await rig.write(fixed, Buffer.from("new"));
  await rig.prepend(edited, Buffer.from("before it "));
  await rig.file(shut, "made", "made");
  await rig.file(deep, "deeper", "deeper");
  await rig.remove("shut/gone");
  await rig.clock.advance(5_000);
  return rig;
}

/** Others save so much that the log has many segments more. */
async function saveOthers(rig: VolumeRig, prefix: string): Promise<void> {
  const docs = await rig.nodeAt("docs");
  for (let index = 0; index < 60; index++) {
    await rig.file(docs, `${prefix} ${index}`, bytesOf(index, 1_500));
    await rig.clock.advance(3_000);
  }
}

describe("[F211] the log, while a commit waits that cannot be put in the folder", () => {
  test("is cut all the same; the commit is read, waits also after restarts, and is put there once that is possible", async () => {
    const rig = await waiting();
    const [first = 0] = await segments(rig);
    for (const prefix of ["one", "two"]) {
      await saveOthers(rig, prefix);
      const kept = await segments(rig);
      expect(kept[0]).toBeGreaterThan(first);
      expect(kept.length).toBeLessThanOrEqual(SEGMENTS_MAX);
      expect((await rig.tree()).get("shut/made")).toBe("file made");
      expect(rig.volume.content.status().stuck).toMatchObject({ kind: "Denied" });
    }
    const before = await rig.tree();
    for (const how of ["kill", "cutPower"] as const) {
      await rig[how]();
      rig.disk.fault = SHUT;
      await rig.open();
      await rig.clock.advance(10_000);
      expect(await rig.tree()).toEqual(before);
      await saveOthers(rig, how);
      for (const [path, content] of await rig.tree()) before.set(path, content);
      expect((await segments(rig)).length).toBeLessThanOrEqual(SEGMENTS_MAX);
    }
    expect((await rig.files()).get("shut/fixed")).toBe("file old");
    rig.disk.fault = undefined;
    await rig.settle();
    expect(await rig.files()).toEqual(before);
    expect(await rig.tree()).toEqual(before);
    await saveOthers(rig, "last");
    expect((await segments(rig)).length).toBeLessThanOrEqual(3);
  });

  test.each(["kill", "cutPower"] as const)(
    "has what salvage needs of it, also below a folder that was moved since, when the meta store is lost: %s",
    async (how) => {
      const rig = await waiting();
      await rig.rename("above", "moved");
      await saveOthers(rig, "one");
      await saveOthers(rig, "two");
      expect((await segments(rig)).length).toBeLessThanOrEqual(SEGMENTS_MAX);
      const before = await rig.tree();
      await rig[how]();
      rig.loseMeta();
      await rig.open();
      await rig.settle();
      expect(await rig.files()).toEqual(before);
      expect(rig.volume.salvaged).toMatchObject({ missing: [], conflictCopies: [] });
    },
  );

  test("may be stopped at any record while the commits are copied", async () => {
    const rig = await waiting();
    const before = await rig.tree();
    for (let records = 0; records < 8; records++) {
      const { log } = rig.volume as unknown as { log: Log };
      let left = records;
      for (const name of ["write", "append"] as const) {
        const inner = log[name].bind(log);
        log[name] = async (payloads) => {
          const isCopy = payloads.some((payload) => ["again", "rest"].includes(decodeRecord(payload).record.kind));
          if (isCopy && left-- <= 0) throw new RunnelError("Io", "write to log", "The server stops.");
          return inner(payloads);
        };
      }
      await saveOthers(rig, String(records));
      expect(rig.warnings.splice(0)).toContain("Old parts of the commit log could not be removed.");
      await rig[records % 2 === 0 ? "kill" : "cutPower"]();
      rig.disk.fault = SHUT;
      await rig.open();
      await rig.clock.advance(10_000);
      const now = await rig.tree();
      for (const [path, content] of before) expect([path, now.get(path)]).toEqual([path, content]);
    }
    await saveOthers(rig, "last");
    expect((await segments(rig)).length).toBeLessThanOrEqual(SEGMENTS_MAX);
    rig.disk.fault = undefined;
    await rig.settle();
    expect(await rig.files()).toEqual(await rig.tree());
  });
});
