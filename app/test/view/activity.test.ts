// The activity log: what is one entry, what order they are in, and that they are few whatever happens.
import { describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { ActivityLog } from "../../src/agent/view/activity.ts";
import { describeActivity } from "../../src/agent/view/describe-activity.ts";
import type { Happening } from "../../src/agent/view/mount-watch.ts";

const DOCS = { url: "ws://h/docs", mountpoint: "/mnt/docs" };
const MINUTE_MS = 60_000;

function saved(path: string, bytes = 10): Happening {
  return { kind: "saved", path, files: 1, bytes, detail: "" };
}

function sentences(log: ActivityLog): string[] {
  return log.list(1000).map(describeActivity);
}

describe("the activity log", () => {
  test("joins what is alike and near in time", async () => {
    const clock = new SimulatedClock();
    const log = new ActivityLog(clock);
    for (let index = 0; index < 87; index++) log.add(DOCS, saved(`Photos/${index}.jpg`));
    log.add(DOCS, saved("report.docx"));
    log.add(DOCS, { kind: "offline", path: "", files: 0, bytes: 0, detail: "The server is gone." });
    log.add(DOCS, { kind: "offline", path: "", files: 0, bytes: 0, detail: "The line broke." });
    expect(sentences(log)).toEqual([
      "Offline, 2 times. The line broke.",
      "Saved report.docx.",
      "Saved 87 files in Photos.",
    ]);
    expect(log.list(1000)[2]).toMatchObject({ count: 87, bytes: 870, name: "86.jpg", folder: "Photos", ...DOCS });
    await clock.advance(6 * MINUTE_MS);
    log.add(DOCS, saved("Photos/new.jpg"));
    expect(sentences(log)[0]).toBe("Saved Photos/new.jpg.");
  });

  test("counts a file that is saved again and again once", () => {
    const log = new ActivityLog(new SimulatedClock());
    for (let count = 0; count < 20; count++) log.add(DOCS, saved("docs/report.docx"));
    expect(sentences(log)).toEqual(["Saved docs/report.docx."]);
    expect(log.list(1)[0]?.bytes).toBe(200);
  });

  test("has an entry for each conflict and each problem", () => {
    const log = new ActivityLog(new SimulatedClock());
    for (const path of ["a", "b"]) log.add(DOCS, { kind: "conflict", path, files: 1, bytes: 0, detail: "" });
    for (const detail of ["The disk is full.", "It is damaged.", "The disk is full."])
      log.add(DOCS, { kind: "problem", path: "", files: 0, bytes: 0, detail });
    expect(sentences(log)).toEqual([
      "The disk is full.",
      "It is damaged.",
      "Changed in two places: b. Both are kept.",
      "Changed in two places: a. Both are kept.",
    ]);
  });

  test("goes on page by page, the last change first", () => {
    const log = new ActivityLog(new SimulatedClock());
    for (let index = 0; index < 10; index++) log.add(DOCS, saved(`folder ${index}/a`));
    const first = log.list(4);
    const next = log.list(4, first.at(-1)?.turn);
    expect([...first, ...next].map(({ folder }) => folder)).toEqual([9, 8, 7, 6, 5, 4, 3, 2].map((n) => `folder ${n}`));
  });

  test("is not mixed up by a clock that is set back", async () => {
    const clock = new SimulatedClock();
    const log = new ActivityLog(clock);
    log.add(DOCS, saved("a/1"));
    log.add(DOCS, saved("b/1"));
    clock.jumpWall(-1_000_000_000);
    log.add(DOCS, saved("a/2"));
    expect(log.list(5).map(({ folder, fromMs, toMs, count }) => [folder, fromMs <= toMs, count])).toEqual([
      ["a", true, 2],
      ["b", true, 1],
    ]);
  });

  test("of 100,000 files saved in a minute has few entries, wherever they lie, and costs less than 20 µs a file", async () => {
    const clock = new SimulatedClock();
    const log = new ActivityLog(clock);
    const began = process.cpuUsage();
    for (let index = 0; index < 100_000; index++) log.add(DOCS, saved(`top ${index % 100}/folder ${index}/${index}`));
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
    const entries = log.list(100_000);
    expect(entries.length).toBeLessThan(100);
    expect(entries.reduce((sum, { count }) => sum + count, 0)).toBe(100_000);
  });

  test("is bounded in entries and in characters, and says what it has dropped", async () => {
    const clock = new SimulatedClock();
    const log = new ActivityLog(clock, { entriesMax: 50, charactersMax: 20_000 });
    const kept = new Map<number, string>();
    for (let index = 0; index < 1000; index++) {
      const detail = `${index} ${"x".repeat(10_000)}`;
      log.add(DOCS, { kind: "problem", path: "", files: 0, bytes: 0, detail });
      log.add(DOCS, saved(`${"folder/".repeat(600)}${index}`));
      await clock.advance(10 * MINUTE_MS);
      const changes = log.takeChanges();
      for (const id of changes?.dropped ?? []) kept.delete(id);
      for (const entry of changes?.put ?? []) kept.set(entry.id, entry.detail);
    }
    const entries = log.list(1000);
    expect(entries.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(entries).length).toBeLessThan(20_000 + 50 * 300);
    expect([...kept.keys()].toSorted((a, b) => b - a)).toEqual(entries.map(({ id }) => id).toSorted((a, b) => b - a));
  });

  test("goes on after what a former process kept", () => {
    const clock = new SimulatedClock();
    const log = new ActivityLog(clock);
    log.add(DOCS, saved("a/1"));
    const next = new ActivityLog(clock);
    next.load(log.takeChanges()?.put ?? []);
    expect(next.takeChanges()).toBeUndefined();
    next.add(DOCS, saved("a/2"));
    expect(next.list(5).map(({ id, turn, count }) => ({ id, turn, count }))).toEqual([
      { id: 2, turn: 2, count: 1 },
      { id: 1, turn: 1, count: 1 },
    ]);
  });
});
