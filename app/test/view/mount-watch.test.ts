// A drive that is watched: what its transfers count as, by folder, and what a person is told.
import { describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { noCounts, type Totals } from "../../src/agent/view/meter.ts";
import { type Happening, MountWatch } from "../../src/agent/view/mount-watch.ts";

function rig(): { watch: MountWatch; clock: SimulatedClock; totals: Totals; happened: Happening[] } {
  const clock = new SimulatedClock();
  const totals = { read: 0, written: 0, sent: 0, received: 0 };
  const happened: Happening[] = [];
  const watch = new MountWatch({
    clock,
    waitingFor: () => new Map(),
    isOnline: () => true,
    pathOf: (node) => `Photos/${node}.jpg`,
    totals: () => ({ ...totals }),
    happened: (happening) => void happened.push(happening),
  });
  return { watch, clock, totals, happened };
}

describe("an upload", () => {
  test("of an edit counts what was written and what the old version and compression spared", () => {
    const { watch, totals, happened } = rig();
    Object.assign(totals, { written: 1000, sent: 80 });
    {
      using transfer = watch.transfers.begin({ direction: "up", file: "docs/a", totalBytes: 1000, workedBytes: 1000 });
      transfer.restarted();
      transfer.moved(200, 60, false);
      transfer.reused(700, true);
      transfer.reused(100, false);
      transfer.succeeded();
    }
    expect(watch.takeCounts()).toEqual([
      {
        folder: "docs",
        counts: { ...noCounts(), written: 1000, sent: 60, oldVersion: 700, otherFile: 100, compression: 140 },
      },
      { folder: "", counts: { ...noCounts(), sent: 20 } },
    ]);
    expect(happened).toEqual([{ kind: "saved", path: "docs/a", files: 1, bytes: 1000, detail: "" }]);
  });

  test("of a few bytes in a large file spares nothing that was not written", () => {
    const { watch, totals } = rig();
    Object.assign(totals, { written: 10, sent: 90 });
    {
      using transfer = watch.transfers.begin({ direction: "up", file: "docs/a", totalBytes: 1e9, workedBytes: 10 });
      transfer.moved(8192, 90, true);
      transfer.reused(1e9 - 8192, true);
      transfer.succeeded();
    }
    const [docs] = watch.takeCounts();
    expect(docs?.counts).toMatchObject({ written: 10, sent: 90, oldVersion: 10, compression: 0 });
  });

  test("that fails counts what crossed the wire, and is not told as saved", () => {
    const { watch, totals, happened } = rig();
    totals.sent = 100;
    {
      using transfer = watch.transfers.begin({ direction: "up", file: "docs/a", totalBytes: 1000, workedBytes: 1000 });
      transfer.moved(200, 100, false);
    }
    expect(watch.takeCounts()).toEqual([{ folder: "docs", counts: { ...noCounts(), sent: 100 } }]);
    expect(happened).toEqual([]);
  });

  test("that takes long is counted while it goes on, once", () => {
    const { watch, totals } = rig();
    const transfer = watch.transfers.begin({ direction: "up", file: "docs/a", totalBytes: 1000, workedBytes: 1000 });
    const sums = [100, 300, 600].map((sent) => {
      transfer.moved(sent - totals.sent, sent - totals.sent, false);
      totals.sent = sent;
      return watch.takeCounts().map(({ folder, counts }) => [folder, counts.sent]);
    });
    transfer.succeeded();
    transfer[Symbol.dispose]();
    expect(sums).toEqual([[["docs", 100]], [["docs", 200]], [["docs", 300]]]);
    expect(watch.takeCounts()).toMatchObject([
      { folder: "docs", counts: { sent: 0, written: 1000 } },
      { folder: "", counts: { written: -1000 } },
    ]);
  });
});

describe("a download", () => {
  test("counts for the folder of its file what was read, and is told once it has ended", async () => {
    const { watch, clock, totals, happened } = rig();
    Object.assign(totals, { read: 500, received: 150 });
    const subject = { direction: "down" as const, file: 7, totalBytes: 500, isRead: true };
    {
      using fetch = watch.transfers.fetch(1, subject, () => 500);
      fetch.transfer.moved(300, 100, false);
      fetch.transfer.reused(200, true);
    }
    await clock.advance(10_000);
    expect(watch.takeCounts()).toEqual([
      { folder: "Photos", counts: { ...noCounts(), read: 500, received: 100, oldVersion: 200, compression: 200 } },
      { folder: "", counts: { ...noCounts(), received: 50 } },
    ]);
    expect(happened).toEqual([{ kind: "fetched", path: "Photos/7.jpg", files: 1, bytes: 500, detail: "" }]);
  });

  test("is counted while it goes on", () => {
    const { watch, totals } = rig();
    const subject = { direction: "down" as const, file: 7, totalBytes: 500, isRead: true };
    using fetch = watch.transfers.fetch(1, subject, () => 500);
    fetch.transfer.moved(300, 100, false);
    Object.assign(totals, { read: 300, received: 100 });
    const counts = { ...noCounts(), read: 300, received: 100, compression: 200 };
    expect(watch.takeCounts()).toEqual([{ folder: "Photos", counts }]);
    expect(watch.takeCounts()).toEqual([]);
  });

  test("ahead of any program counts by where it came from, and as read by nobody", () => {
    const { watch, totals } = rig();
    using fetch = watch.transfers.fetch(1, { direction: "down", file: 7, totalBytes: 500, isRead: false }, () => 500);
    fetch.transfer.came("stick", 250);
    fetch.transfer.came("colleague", 150);
    fetch.transfer.moved(100, 60, false);
    totals.received = 60;
    const counts = { ...noCounts(), received: 60, stick: 250, colleague: 150, compression: 40 };
    expect(watch.takeCounts()).toEqual([{ folder: "Photos", counts }]);
  });

  test("that brings nothing is not told", async () => {
    const { watch, clock, happened } = rig();
    watch.transfers.fetch(1, { direction: "down", file: 7, totalBytes: 5 }, () => 5)[Symbol.dispose]();
    await clock.advance(10_000);
    expect(happened).toEqual([]);
    expect(watch.takeCounts()).toEqual([]);
  });
});

test("a drive that ends in the middle of a transfer has counted what crossed the wire", () => {
  const { watch, totals } = rig();
  const transfer = watch.transfers.begin({ direction: "up", file: "docs/a", totalBytes: 1000 });
  transfer.moved(200, 100, false);
  totals.sent = 110;
  watch.transfers.close();
  expect(watch.takeCounts().map(({ folder, counts }) => [folder, counts.sent])).toEqual([
    ["docs", 100],
    ["", 10],
  ]);
});
