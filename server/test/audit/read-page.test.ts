// Pages of the log: filters agree with what was recorded, and what is read for a page has a bound.
import { afterEach, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { AuditAct, AuditResult, NewEntry } from "../../src/audit/audit-entry.ts";
import { type AuditFilter, FAILED } from "../../src/audit/audit-filter.ts";
import { lineOf } from "../../src/audit/audit-entry.ts";
import { ADMIN, AuditRig, LAPTOP, right, unauthenticated } from "./audit-rig.ts";

let rig: AuditRig;

afterEach(() => rig.log.close());

const WHO = [ADMIN, LAPTOP, { ...LAPTOP, id: "89abcdef", name: 'a "laptop"\n' }, unauthenticated("192.0.2.9")];
const ACTS: readonly AuditAct[] = ["login", "right", "join"];
const RESULTS: readonly AuditResult[] = ["done", "Denied", "Busy"];

const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const recorded = fc.array(
  fc.record({ who: oneOf(WHO), act: oneOf(ACTS), result: oneOf(RESULTS), jumpMs: fc.integer({ min: -50, max: 100 }) }),
  { maxLength: 60 },
);
const filters = fc.record(
  {
    who: oneOf(["root", "laptop", "Ada", 'a "laptop"\n', "192.0.2.9", "192.0.2.7", "device", "nobody"]),
    whoPart: oneOf(["LAP", "aDa", "ROOT", 'A "l', 'p"\n', "192.0.2", "89ABCDEF", "name", "nobody"]),
    act: oneOf(ACTS),
    result: oneOf([...RESULTS, FAILED] as const),
    fromMs: fc.integer({ min: -100, max: 2_000 }),
    toMs: fc.integer({ min: -100, max: 2_000 }),
    above: fc.integer({ min: 0, max: 60 }),
    after: fc.integer({ min: 1, max: 70 }),
    limit: fc.integer({ min: 1, max: 20 }),
  },
  { requiredKeys: [] },
);

test("give just what matches, page by page, the newest first", async () => {
  await fc.assert(
    fc.asyncProperty(recorded, filters, async (entries, filter) => {
      rig = await AuditRig.open({ fileBytes: 700 });
      const startMs = Number(rig.clock.wallNs() / 1_000_000n);
      let nowMs = startMs;
      const all = [];
      for (const { jumpMs, ...entry } of entries) {
        rig.clock.jumpWall(jumpMs);
        nowMs += jumpMs;
        all.push({ ...entry, n: all.length + 1, atMs: nowMs });
        // Fills all folders, which have numbers in common.
        if (entry.act === "right") await rig.log.record(entry);
        else {
          rig.log.note({ ...entry, object: String(all.length) });
          await rig.clock.advance(0);
        }
      }
      const { fromMs, toMs } = filter;
      const asked: AuditFilter = {
        ...filter,
        ...(fromMs === undefined ? {} : { fromMs: startMs + fromMs }),
        ...(toMs === undefined ? {} : { toMs: startMs + toMs }),
      };
      const kept = (await rig.entries()).map(({ n }) => n);
      const expected = all
        .filter(({ n, atMs, who, act, result }) => {
          const isNamed = filter.who === undefined || Object.values(who).includes(filter.who);
          const part = filter.whoPart?.toLowerCase() ?? "";
          const isPart = [who.id, who.name, who.person, who.address].some((text) => text.toLowerCase().includes(part));
          const isResult =
            filter.result === undefined || (filter.result === FAILED ? result !== "done" : result === filter.result);
          const isThen = atMs >= (asked.fromMs ?? -Infinity) && atMs < (asked.toMs ?? Infinity);
          const isPlace = n > (filter.above ?? 0) && n < (filter.after ?? Infinity);
          return kept.includes(n) && isNamed && isPart && isResult && isThen && isPlace && act === (filter.act ?? act);
        })
        .map(({ n }) => n)
        .toReversed();
      const { after, ...rest } = asked;
      const first = await rig.log.page(asked);
      const more =
        first.after === null
          ? []
          : (await rig.entries({ ...rest, toMs: rest.toMs ?? Infinity })).filter(({ n }) => n < (first.after ?? 0));
      expect([...first.entries, ...more].map(({ n }) => n)).toEqual(expected);
      expect(first.entries.length).toBeLessThanOrEqual(filter.limit ?? 500);
      expect(after).toBe(filter.after);
      await rig.log.close();
    }),
    { numRuns: 40 },
  );
});

/** Lays down a log as if it had been recorded: faster than that by far. */
async function layDown(count: number, entryOf: (n: number) => Required<NewEntry>, perFile: number): Promise<void> {
  await rig.log.record(right("first"));
  await rig.log.close();
  for (let first = 2; first <= count; first += perFile) {
    let text = `{"format":1,"before":{"fromMs":${first - perFile},"toMs":${first}}}\n`;
    for (let n = first; n < Math.min(first + perFile, count + 1); n++) text += lineOf(n, n, entryOf(n));
    await rig.write(`audit/acts/${String(first).padStart(12, "0")}.jsonl`, text);
  }
  await rig.start();
}

const entry = (n: number): Required<NewEntry> => ({
  who: { ...LAPTOP, address: `192.0.2.${n % 250}` },
  act: n % 1000 === 0 ? "revoke" : "login",
  object: "docs",
  result: "done",
  count: 1,
  detail: "",
});

test("read little of a long log for a page, wherever it begins, and pass over files of other times", async () => {
  rig = await AuditRig.open();
  await layDown(20_000, entry, 2_000);
  const read = async (filter: AuditFilter): Promise<[found: number, reads: number]> => {
    const before = rig.disk.operations;
    const page = await rig.log.page(filter);
    return [page.entries.length, rig.disk.operations - before];
  };
  expect(await read({ limit: 100 })).toEqual([100, 3]);
  const [, inTheMiddle] = await read({ limit: 100, after: 10_000 });
  expect(inTheMiddle).toBeLessThan(20);
  expect((await rig.log.page({ limit: 2, after: 10_000 })).entries.map(({ n }) => n)).toEqual([9_999, 9_998]);
  const [old, reads] = await read({ fromMs: 5_000, toMs: 5_100 });
  expect(old).toBe(100);
  // The newest file grows, and is always read.
  expect(reads).toBeLessThan(40);
  expect((await rig.entries({ act: "revoke" })).map(({ n }) => n)).toEqual(
    Array.from({ length: 20 }, (_, index) => 20_000 - index * 1000),
  );
});

test("that match nothing end at a bound, and go on from there", async () => {
  rig = await AuditRig.open({ pageBytes: 1_000_000 });
  const detail = "x".repeat(500);
  await layDown(5_000, (n) => ({ ...entry(n), detail, act: n === 5 ? "revoke" : "login" }), 1_000);
  const page = await rig.log.page({ act: "revoke" });
  expect(page.entries).toEqual([]);
  expect(page.after).toBeGreaterThan(1);
  expect((5_000 - (page.after ?? 0)) * 500).toBeLessThan(1_200_000);
  expect((await rig.entries({ act: "revoke" })).map(({ n }) => n)).toEqual([5]);
});
