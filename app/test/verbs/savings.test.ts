// The words of `runnel savings`.
import { expect, test } from "@jest/globals";
import { noCounts } from "../../src/agent/view/meter.ts";
import { savingsOf } from "../../src/agent/view/savings.ts";
import { describeSavings } from "../../src/verbs/savings.ts";

const MiB = 1024 * 1024;
const SUMS = { ...noCounts(), read: 60, written: 40, sent: 3, received: 2, oldVersion: 50, compression: 5 };
const counts = { ...SUMS, read: 60 * MiB, written: 40 * MiB, sent: 3 * MiB, received: 2 * MiB, oldVersion: 50 * MiB };
const total = savingsOf({ ...counts, compression: 5 * MiB });

test("says what today and all time saved, and where it came from", () => {
  expect(describeSavings({ today: savingsOf({ ...SUMS, read: 0, written: 0 }), total, rows: [] }, undefined)).toEqual([
    "Today: programs worked with 0 B; 5 B crossed the wire. Saved: 0 %",
    "In all: programs worked with 100 MiB; 5 MiB crossed the wire. Saved: 95 %",
    "  from old versions of the same file  50 MiB",
    "  by compression                       5 MiB",
    "  read or written here again          40 MiB",
  ]);
});

test("says what came from others than the server", () => {
  const others = savingsOf({ ...counts, oldVersion: 0, colleague: 20 * MiB, stick: 10 * MiB, oldFolder: 30 * MiB });
  expect(describeSavings({ today: others, total: others, rows: [] }, undefined).slice(2)).toEqual([
    "  by compression                 5 B",
    "  from colleagues             20 MiB",
    "  from sticks                 10 MiB",
    "  from old folders            30 MiB",
    "  read or written here again  35 MiB",
  ]);
});

test("has a row for each folder, and one for a drive as a whole", () => {
  const row = { fromMs: null, url: "ws://h/docs", mountpoint: "/mnt/docs", savings: total };
  const rows = [
    { ...row, folder: "Photos" },
    { ...row, folder: "" },
  ];
  expect(describeSavings({ today: total, total, rows }, "folder").slice(-3)).toEqual([
    "folder                  worked with  crossed  saved",
    "/mnt/docs/Photos            100 MiB    5 MiB   95 %",
    "/mnt/docs (as a whole)      100 MiB    5 MiB   95 %",
  ]);
});
