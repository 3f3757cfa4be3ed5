// The savings ledger: sums that stay right whatever becomes coarser, in whatever order hours come.
import { describe, expect, test } from "@jest/globals";
import { openDatabase } from "../../src/agent/replica/database.ts";
import { HISTORY_FORMAT } from "../../src/agent/view/history-format.ts";
import { Ledger, LEDGER_BOUNDS, type LedgerBounds } from "../../src/agent/view/ledger.ts";
import { noCounts } from "../../src/agent/view/meter.ts";
import { HOUR_MS } from "../../src/agent/view/savings.ts";

const DOCS = { url: "ws://h/docs", mountpoint: "/mnt/docs" };
const BEGIN_MS = 1_700_000_000_000;

function open(bounds: Partial<LedgerBounds> = {}): Ledger {
  return new Ledger(openDatabase(":memory:", HISTORY_FORMAT, "boot"), { ...LEDGER_BOUNDS, ...bounds });
}

function sent(folder: string, bytes: number): Parameters<Ledger["add"]>[2] {
  return [{ folder, counts: { ...noCounts(), sent: bytes, written: 2 * bytes } }];
}

function rowsOf(ledger: Ledger): number {
  return [...ledger.pages(0, 100)].flat().length;
}

describe("[F190] the ledger", () => {
  test("adds up by hour, drive and folder", () => {
    const ledger = open();
    const other = { url: "ws://h/other", mountpoint: "/mnt/other" };
    ledger.add(DOCS, BEGIN_MS, sent("Photos", 10));
    ledger.add(DOCS, BEGIN_MS + 1000, sent("Photos", 5));
    ledger.add(DOCS, BEGIN_MS + HOUR_MS, sent("", 1));
    ledger.add(other, BEGIN_MS, sent("x\ny", 100));
    expect(ledger.total({ sinceMs: 0 }).sent).toBe(116);
    expect(ledger.total({ sinceMs: 0, mountpoint: "/mnt/docs" }).sent).toBe(16);
    expect(ledger.total({ sinceMs: BEGIN_MS + HOUR_MS }).sent).toBe(1);
    expect(ledger.byHour({ sinceMs: 0 }).map(({ hour, counts }) => [hour * HOUR_MS, counts.sent])).toEqual([
      [1_699_999_200_000, 115],
      [1_700_002_800_000, 1],
    ]);
    expect(ledger.byFolder({ sinceMs: 0 }, 2)).toMatchObject([
      { ...other, folder: "x\ny", counts: { sent: 100, written: 200 } },
      { ...DOCS, folder: "Photos", counts: { sent: 15 } },
    ]);
    expect(ledger.byDrive({ sinceMs: 0 }, 5).map(({ counts }) => counts.sent)).toEqual([100, 16]);
    expect([...ledger.pages(0, 1)].flat().map(({ folder, counts }) => [folder, counts.sent])).toEqual([
      ["Photos", 15],
      ["x\ny", 100],
      ["", 1],
    ]);
    expect(ledger.total({ sinceMs: BEGIN_MS + 10 * HOUR_MS })).toEqual(noCounts());
  });

  test("adds to an hour that has been before, when the clock is set back, also before 1970", () => {
    const ledger = open();
    for (const wallMs of [BEGIN_MS, BEGIN_MS + 400 * 24 * HOUR_MS, BEGIN_MS, -5])
      ledger.add(DOCS, wallMs, sent("a", 1));
    expect(ledger.byHour({ sinceMs: 0 }).map(({ counts }) => counts.sent)).toEqual([1, 2, 1]);
  });
});

describe("[F191] the ledger stays small", () => {
  test("by days, then months, in place of the oldest hours; the sums stay", () => {
    const ledger = open({ rowsMax: 200 });
    for (let hour = 0; hour < 24 * 400; hour++) ledger.add(DOCS, BEGIN_MS + hour * HOUR_MS, sent(`${hour % 3}`, 1));
    expect(rowsOf(ledger)).toBeLessThanOrEqual(200);
    expect(ledger.total({ sinceMs: 0 }).sent).toBe(24 * 400);
    expect(ledger.byHour({ sinceMs: BEGIN_MS + 24 * 399 * HOUR_MS })).toHaveLength(24);
  });

  test("by few folders an hour", () => {
    const ledger = open({ foldersMax: 8 });
    for (let index = 0; index < 1000; index++) ledger.add(DOCS, BEGIN_MS, sent(`folder ${index}`, 1));
    expect(rowsOf(ledger)).toBeLessThanOrEqual(9);
    expect(ledger.total({ sinceMs: 0 }).sent).toBe(1000);
  });

  test("by few drives: those that were not used for longest are told apart no more", () => {
    const ledger = open({ drivesMax: 8 });
    for (let index = 0; index < 50; index++) {
      ledger.add({ ...DOCS, mountpoint: `/mnt/${index}` }, BEGIN_MS, sent("a", 1));
      ledger.add(DOCS, BEGIN_MS, sent("a", 1));
    }
    expect(ledger.total({ sinceMs: 0 }).sent).toBe(100);
    const drives = ledger.byDrive({ sinceMs: 0 }, 100);
    expect(drives.length).toBeLessThanOrEqual(9);
    expect(drives.map(({ mountpoint }) => mountpoint)).toEqual(expect.arrayContaining(["", "/mnt/49"]));
  });
});
