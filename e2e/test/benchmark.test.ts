import { expect, test } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { coreAddon } from "@runnel/native/engines";
import { type Row, formatTable, measurePairs, median } from "../bench/benchmark.ts";
import { type WanRow, formatRows } from "../bench/wan/wan.ts";
import { mustRun, run } from "../src/harness/index.ts";

const MAIN = fileURLToPath(new URL("../bench/main.ts", import.meta.url));
const SLOW_MS = 180_000;
const inLongRun = process.env["RUNNEL_LONG"] === "1" ? test : test.skip;

test("the median is the middle, or between the two in the middle", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(() => median([])).toThrow("median of nothing");
});

test("pairs are measured round by round, the order within a pair alternating", async () => {
  const order: string[] = [];
  const pair = (what: string, value: number) => ({
    what,
    unit: "MB/s",
    reference: "disk",
    measure: async () => (order.push(what), value),
    measureReference: async () => (order.push(`${what} reference`), 10),
  });
  const rows = await measurePairs([pair("a", 5), pair("b", 20)], { rounds: 2, say: () => {} });
  expect(order).toEqual(["a", "a reference", "b", "b reference", "a reference", "a", "b reference", "b"]);
  expect(rows).toEqual([
    { what: "a", value: 5, unit: "MB/s", reference: "disk", referenceValue: 10, ratio: 0.5 },
    { what: "b", value: 20, unit: "MB/s", reference: "disk", referenceValue: 10, ratio: 2 },
  ]);
});

test("the table aligns and shows three digits", () => {
  const row: Row = {
    what: "write",
    value: 1234567,
    unit: "B/s",
    reference: "disk",
    referenceValue: 12.345,
    ratio: 0.98765,
  };
  expect(formatTable("local", [row])).toBe(
    [
      "local      value  unit  reference  value  ratio",
      "-----  ---------  ----  ---------  -----  -----",
      "write  1,234,567  B/s   disk        12.3  0.988",
    ].join("\n"),
  );
});

test("work over a line is a table with the systems side by side; what failed has no figures", () => {
  const row = { line: "cable", size: "small", what: "edit", system: "drive", seconds: 0.123, upBytes: 400 };
  const rows: WanRow[] = [
    { ...row, downBytes: 12_345_678, turnarounds: 1 },
    { ...row, system: "rsync", downBytes: 1, turnarounds: 1, failed: "It took too long." },
  ];
  expect(formatRows(rows)).toBe(
    [
      "| cable | drive: s | KB up | KB down | trips | rsync: s | KB up | KB down | trips |",
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
      "| edit | 0.12 | 0.4 | 12,346 | 1 | failed |  |  |  |",
    ].join("\n"),
  );
});

inLongRun(
  "the work over a line is done on a drive, and each row has figures",
  async () => {
    const args = [MAIN, "wan", "--only", "lan", "--only", "drive", "--size", "tiny", "--json"];
    const { stdout } = await mustRun(process.execPath, args, { deadlineMs: SLOW_MS });
    const { benchmarks } = JSON.parse(stdout) as { benchmarks: { name: string; rows: WanRow[] }[] };
    const rows = benchmarks[0]?.rows ?? [];
    expect(rows.map(({ failed }) => failed).filter((why) => why !== undefined)).toEqual([]);
    expect(rows).toHaveLength(12);
    // The save costs bytes, and far fewer than the file has.
    const edit = rows.find(({ what }) => what === "document edit");
    expect(edit?.upBytes).toBeGreaterThan(100);
    expect(edit?.upBytes).toBeLessThan(10_000);
  },
  SLOW_MS,
);

test(
  "every engine of this processor has figures, and so have an edit and ingest",
  async () => {
    const args = [MAIN, "native", "--size", "tiny", "--rounds", "1", "--json"];
    const { stdout } = await mustRun(process.execPath, args, { deadlineMs: SLOW_MS });
    const { benchmarks } = JSON.parse(stdout) as { benchmarks: Record<string, Record<string, unknown>>[] };
    const { chunk, hash, pipeline, codec, rechunk, ingest } = benchmarks[0] ?? {};
    const figures = { gbPerSecond: expect.any(Number), ratio: expect.any(Number) };
    const onBoth = { ...figures, tree: figures };
    expect(chunk).toEqual(Object.fromEntries(["plain", ...coreAddon().chunkEngines].map((name) => [name, onBoth])));
    expect(hash).toEqual(Object.fromEntries(["fastest", ...coreAddon().digestEngines].map((name) => [name, onBoth])));
    expect(pipeline).toMatchObject({ ...onBoth, plain: { ...onBoth, ratio: 1 } });
    expect(codec).toHaveProperty("zstd1.tree.gbPerSecond");
    expect(rechunk).toMatchObject({ fileBytes: 2 * 1024 * 1024, cpuMs: expect.any(Number) });
    expect(rechunk?.bytesRead).toBeGreaterThan(1000);
    expect(rechunk?.bytesRead).toBeLessThan(300_000);
    const late = { seconds: expect.any(Number), delayP99Ms: expect.any(Number) };
    expect(ingest).toMatchObject({ bytes: 4 * 1024 * 1024, ...late, small: { count: 20, ...late } });
  },
  SLOW_MS,
);

test("a part or a size that there is not is refused with the list of those that there are", async () => {
  for (const args of [
    ["wan", "--only", "moon"],
    ["wan", "--size", "huge"],
  ]) {
    const { code, stderr } = await run(process.execPath, [MAIN, ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain("--only lan|30ms|100ms|cable|drive|async|rsync|sshfs");
  }
});
