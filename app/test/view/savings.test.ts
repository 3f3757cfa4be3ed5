// Sums of what was saved, and the rows of a spreadsheet.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { COUNTED, type Counts, noCounts } from "../../src/agent/view/meter.ts";
import { csvOf, savingsOf, wireBytes, workedBytes } from "../../src/agent/view/savings.ts";

describe("savings", () => {
  test("say where the rest came from", () => {
    const counts = {
      ...noCounts(),
      read: 600,
      written: 400,
      sent: 30,
      received: 20,
      oldVersion: 500,
      otherFile: 100,
      compression: 50,
      colleague: 40,
    };
    expect(savingsOf(counts)).toEqual({
      readBytes: 600,
      writtenBytes: 400,
      sentBytes: 30,
      receivedBytes: 20,
      saved: { oldVersion: 500, otherFile: 100, compression: 50, colleague: 40, stick: 0, oldFolder: 0, cache: 260 },
      savedPercent: 95,
    });
  });

  test("are none where more crossed than was worked with", () => {
    expect(savingsOf({ ...noCounts(), read: 10, received: 20, oldVersion: 5 })).toMatchObject({
      saved: { oldVersion: 0, otherFile: 0, compression: 0, cache: 0 },
      savedPercent: -100,
    });
    expect(savingsOf(noCounts()).savedPercent).toBe(0);
  });

  test("never tell more than was saved, and the origins add up to it", () => {
    const counts = fc.record(
      Object.fromEntries(COUNTED.map((counted) => [counted, fc.integer({ min: -1000, max: 1000 })])),
    ) as fc.Arbitrary<Counts>;
    fc.assert(
      fc.property(counts, (each) => {
        const savings = savingsOf(each);
        const told = Object.values(savings.saved).reduce((sum, bytes) => sum + bytes, 0);
        expect(told).toBe(Math.max(0, workedBytes(savings) - wireBytes(savings)));
        expect(Math.min(...Object.values(savings.saved))).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

test("a spreadsheet has a row an hour, and no name leads out of its cell or becomes a formula", () => {
  const row = (folder: string): Parameters<typeof csvOf>[0][number] => ({
    hour: 472_222,
    url: "ws://h/docs",
    mountpoint: "/mnt/a,b",
    folder,
    counts: { ...noCounts(), read: 7 },
  });
  const csv = csvOf([row("Photos"), row('a"\nb'), row("=1+1"), row("\tx")], true);
  expect(csv.split("\r\n")).toEqual([
    "hour,server,drive,folder,read,written,sent,received,old version,other file,compression,colleague,stick,old folder",
    '2023-11-14 22:00,ws://h/docs,"/mnt/a,b",Photos,7,0,0,0,0,0,0,0,0,0',
    '2023-11-14 22:00,ws://h/docs,"/mnt/a,b","a""\nb",7,0,0,0,0,0,0,0,0,0',
    '2023-11-14 22:00,ws://h/docs,"/mnt/a,b",\'=1+1,7,0,0,0,0,0,0,0,0,0',
    '2023-11-14 22:00,ws://h/docs,"/mnt/a,b",\'\tx,7,0,0,0,0,0,0,0,0,0',
    "",
  ]);
});
