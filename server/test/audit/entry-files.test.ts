// Files of a folder of the log: names and headers, how many and how old they get, and what a start makes of them.
import { afterEach, expect, test } from "@jest/globals";
import { AuditRig, right } from "./audit-rig.ts";

const DAY_MS = 24 * 3_600_000;

let rig: AuditRig;

afterEach(() => rig.log.close());

test("[F180] a file is named by its first number and says the times of the one before; all are this user's only", async () => {
  rig = await AuditRig.open({ fileBytes: 380 });
  const fromMs = Number(rig.clock.wallNs() / 1_000_000n);
  for (let count = 0; count < 5; count++) {
    await rig.log.record(right(String(count)));
    await rig.clock.advance(1_000);
  }
  expect(await rig.files("acts")).toEqual(["000000000001.jsonl", "000000000004.jsonl"]);
  const [first, second] = await Promise.all(
    ["1", "4"].map(async (n) => (await rig.text(`audit/acts/00000000000${n}.jsonl`)).split("\n")),
  );
  expect(first?.[0]).toBe('{"format":1,"before":null}');
  expect(first?.[1]).toBe(
    `{"n":1,"ms":${fromMs},"who":"admin","name":"root","act":"right","object":"0","result":"done"}`,
  );
  expect(JSON.parse(second?.[0] ?? "")).toEqual({ format: 1, before: { fromMs, toMs: fromMs + 2_000 } });
  expect((await rig.root.stat("audit/acts/000000000001.jsonl")).mode & 0o7777).toBe(0o600);
  expect((await rig.root.stat("audit/acts")).mode & 0o7777).toBe(0o700);
});

test("[F184] the oldest file goes when all are too long, and its entries with it", async () => {
  rig = await AuditRig.open({ fileBytes: 1_000, folderBytes: { acts: 5_000, devices: 5_000, unauthenticated: 5_000 } });
  for (let count = 0; count < 200; count++) await rig.log.record(right(String(count)));
  const objects = await rig.objects();
  expect(objects).toEqual(Array.from({ length: objects.length }, (_, index) => String(199 - index)));
  expect(objects.length).toBeGreaterThan(30);
  expect((await rig.allText()).length).toBeLessThanOrEqual(5_000 + 1_000);
  await rig.restart();
  expect(await rig.objects()).toEqual(objects);
});

test("[F184] a file ends after a week, and goes a year later", async () => {
  rig = await AuditRig.open();
  for (let day = 0; day < 400; day++) {
    await rig.log.record(right(String(day)));
    rig.clock.jumpWall(DAY_MS);
  }
  const days = (await rig.objects()).map(Number);
  expect(days[0]).toBe(399);
  expect(399 - (days.at(-1) ?? 0)).toBeGreaterThanOrEqual(365);
  expect(399 - (days.at(-1) ?? 0)).toBeLessThan(366 + 16);
});

test.each([50 * 366 * DAY_MS, -50 * 366 * DAY_MS])(
  "[F184] a clock that is wrong for once (by %d ms) takes nothing away",
  async (wrongMs) => {
    rig = await AuditRig.open();
    for (let week = 0; week < 5; week++) {
      await rig.log.record(right(String(week)));
      rig.clock.jumpWall(8 * DAY_MS);
    }
    rig.clock.jumpWall(wrongMs);
    await rig.log.record(right("wrong"));
    rig.clock.jumpWall(-wrongMs);
    await rig.log.record(right("mended"));
    await rig.restart();
    expect(await rig.objects()).toEqual(["mended", "wrong", "4", "3", "2", "1", "0"]);
  },
);

test("[F180] files of a newer format are refused by name and left as they are", async () => {
  rig = await AuditRig.open();
  await rig.log.record(right("a"));
  await rig.log.close();
  const path = "audit/acts/000000000001.jsonl";
  const newer = (await rig.text(path)).replace('"format":1', '"format":2');
  await rig.write(path, newer);
  await expect(rig.start()).rejects.toMatchObject({ kind: "Version", detail: { need: 2 } });
  expect(await rig.text(path)).toBe(newer);
});

test.each(["", '{"format":1', '{"format":1,"before":null}\n'])(
  "[F182] a file that was begun and never used (%j) delays nobody",
  async (left) => {
    rig = await AuditRig.open();
    await rig.log.record(right("a"));
    await rig.log.close();
    await rig.write("audit/acts/000000000002.jsonl", left);
    await rig.write("audit/acts/notes.txt", "somebody's");
    await rig.start();
    await rig.log.record(right("b"));
    expect(await rig.objects()).toEqual(["b", "a"]);
    expect(await rig.files("acts")).toContain("notes.txt");
  },
);
