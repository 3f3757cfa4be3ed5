// Memory of the agent: it is there after a kill, adds up to what drives counted, and no failure of it reaches a drive.
import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { RunnelError, SimulatedClock } from "@runnel/shared";
import { type CountedMount, History, WRITE_EVERY_MS } from "../../src/agent/view/history.ts";
import { openDatabase } from "../../src/agent/replica/database.ts";
import { HISTORY_FORMAT } from "../../src/agent/view/history-format.ts";
import { HistoryStore, openHistoryStore } from "../../src/agent/view/history-store.ts";
import { type FolderCounts, noCounts } from "../../src/agent/view/meter.ts";
import type { Happening } from "../../src/agent/view/mount-watch.ts";
import { makeFolder } from "../control/processes.ts";

const DOCS = { url: "ws://h/docs", mountpoint: "/mnt/docs" };

class CountingMount implements CountedMount {
  readonly settings = DOCS;
  sent = 0;

  takeCounts(): FolderCounts[] {
    const counts = { ...noCounts(), sent: this.sent };
    this.sent = 0;
    return counts.sent === 0 ? [] : [{ folder: "a", counts }];
  }
}

let opened: History[] = [];

afterEach(async () => {
  for (const history of opened) await history.close();
  opened = [];
});

interface Rig {
  clock: SimulatedClock;
  history: History;
  mounts: CountingMount[];
  failures: RunnelError[];
  path: string;
}

function rig(path = join(makeFolder(), "history.sqlite"), clock = new SimulatedClock()): Rig {
  const mounts = [new CountingMount()];
  const failures: RunnelError[] = [];
  const history = new History({
    clock,
    mounts: () => mounts,
    open: async () => openHistoryStore(path),
    failed: (error) => void failures.push(error),
  });
  opened.push(history);
  return { clock, history, mounts, failures, path };
}

function saved(path: string): Happening {
  return { kind: "saved", path, files: 1, bytes: 10, detail: "" };
}

describe("[F192] the history", () => {
  test("has what was written before a kill, and is read by the next agent", async () => {
    const { clock, history, mounts, path, failures } = rig();
    await history.open();
    for (let index = 0; index < 100; index++) {
      mounts[0]!.sent += 5;
      history.happened(DOCS, saved(`Photos/${index}`));
      await clock.advance(WRITE_EVERY_MS / 10);
    }
    await clock.advance(WRITE_EVERY_MS);
    mounts[0]!.sent += 7;
    history.happened(DOCS, saved("late"));
    // Killed: nobody closes it. Another process opens the same file.
    const next = rig(path);
    expect((await next.history.ledger()).total({ sinceMs: 0 }).sent).toBe(500);
    const entries = await next.history.activity(10);
    expect(entries).toMatchObject([{ ...DOCS, kind: "saved", folder: "Photos", count: 100, bytes: 1000 }]);
    expect([...failures, ...next.failures]).toEqual([]);
  });

  test("has all after a clean end, and the last counts of a drive that has ended", async () => {
    const { history, mounts, path } = rig();
    await history.open();
    const [mount] = mounts.splice(0);
    mount!.sent = 9;
    history.ended(mount!);
    history.happened(DOCS, { kind: "unmounted", path: "", files: 0, bytes: 0, detail: "" });
    await history.close();
    const next = rig(path);
    expect((await next.history.ledger()).total({ sinceMs: 0 }).sent).toBe(9);
    expect(await next.history.activity(10)).toMatchObject([{ kind: "unmounted" }]);
  });

  test("keeps names as they are, whatever is in them", async () => {
    const { history, path } = rig();
    await history.open();
    const name = "a\nb\u0000c\u001b[31m\uf7ff\ud800x";
    history.happened(DOCS, saved(`${name}/${name}`));
    const before = await history.activity(1);
    await history.close();
    expect((await rig(path).history.activity(1))[0]?.folder.slice(0, 8)).toBe(before[0]?.folder.slice(0, 8));
  });

  test.each([
    [1, { colleague: 0, stick: 0, oldFolder: 0 }],
    [2, { colleague: 8, stick: 9, oldFolder: 10 }],
  ])("[F190] is read from the sample of format %i", async (format, elsewhere) => {
    const path = join(makeFolder(), "history.sqlite");
    copyFileSync(join(import.meta.dirname, `samples/format-${format}/history.sqlite`), path);
    const { history } = rig(path);
    const before = { read: 2 ** 50, written: 2, sent: 3, received: 4, oldVersion: 5, otherFile: 6, compression: -7 };
    const counts = { ...before, ...elsewhere };
    expect([...(await history.ledger()).pages(0, 10)].flat()).toEqual([
      { ...DOCS, hour: 472_222, folder: "Photos", counts },
    ]);
    expect(await history.activity(10)).toMatchObject([
      { ...DOCS, id: 4, turn: 9, kind: "saved", folder: "Photos", name: "ä.jpg", count: 87, bytes: 2 ** 40 },
    ]);
  });

  test("is begun anew where it is damaged, and that is told", async () => {
    const { history, path, mounts, clock } = rig();
    await history.open();
    mounts[0]!.sent = 5;
    await clock.advance(WRITE_EVERY_MS);
    await history.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x55, 4096, 4200));
    const next = rig(path);
    next.mounts[0]!.sent = 3;
    expect((await next.history.ledger()).total({ sinceMs: 0 }).sent).toBe(3);
    expect(next.failures).toMatchObject([{ kind: "Corrupt" }]);
  });
});

describe("a history that cannot be kept", () => {
  test("does not hold up drives: it is told once, the log goes on in memory, the ledger says why there is none", async () => {
    const { clock, mounts, failures, ...made } = rig(join(makeFolder(), "no", "such", "folder", "history.sqlite"));
    const { history } = made;
    await history.open();
    for (let index = 0; index < 10; index++) {
      mounts[0]!.sent = 5;
      history.happened(DOCS, saved(`Photos/${index}`));
      await clock.advance(WRITE_EVERY_MS);
    }
    expect(failures).toHaveLength(1);
    expect(await history.activity(1)).toMatchObject([{ count: 10 }]);
    await expect(history.ledger()).rejects.toBeInstanceOf(RunnelError);
    expect(mounts[0]!.sent).toBe(0);
  });

  test("for want of space goes on in memory, and is put back where there is some", async () => {
    const path = join(makeFolder(), "history.sqlite");
    const clock = new SimulatedClock();
    const failures: RunnelError[] = [];
    const mount = new CountingMount();
    const open = async (): Promise<HistoryStore> => {
      const db = openDatabase(path, HISTORY_FORMAT);
      db.prepare("PRAGMA max_page_count = 12").get();
      return new HistoryStore(db);
    };
    const failed = (error: RunnelError): void => void failures.push(error);
    const history = new History({ clock, mounts: () => [mount], open, failed });
    opened.push(history);
    await history.open();
    for (let index = 0; index < 300; index++) {
      mount.sent += 5;
      history.happened(DOCS, { ...saved(""), kind: "problem", detail: `${index} ${"x".repeat(400)}` });
      await clock.advance(WRITE_EVERY_MS);
    }
    expect((await history.ledger()).total({ sinceMs: 0 }).sent).toBe(1500);
    await history.close();
    const next = rig(path, clock);
    expect((await next.history.ledger()).total({ sinceMs: 0 }).sent).toBe(1500);
    expect(await next.history.activity(1000)).toHaveLength((await history.activity(1000)).length);
    expect(failures).toEqual([]);
  });

  test("of a newer Runnel is left alone", async () => {
    const { history, path } = rig();
    await history.open();
    await history.close();
    const { default: Database } = await import("better-sqlite3");
    const db = new Database(path);
    db.pragma("user_version = 99");
    db.close();
    const next = rig(path);
    await next.history.open();
    expect(next.failures).toMatchObject([{ kind: "Version" }]);
    expect(existsSync(path)).toBe(true);
  });

  test("that breaks while it is written to stops there", async () => {
    const { clock, history, mounts, path, failures } = rig();
    await history.open();
    mounts[0]!.sent = 5;
    await clock.advance(WRITE_EVERY_MS);
    for (const suffix of ["", "-wal"]) truncateSync(path + suffix, 100);
    for (let index = 0; index < 5; index++) {
      mounts[0]!.sent = 5;
      history.happened(DOCS, saved(`folder ${index}/a`));
      await clock.advance(WRITE_EVERY_MS);
    }
    expect(failures.length).toBeLessThanOrEqual(1);
    expect(await history.activity(10)).toHaveLength(5);
  });

  test("of a drive that fails to count costs the others nothing", async () => {
    const { clock, history, mounts, failures } = rig();
    await history.open();
    const broken = new CountingMount();
    broken.takeCounts = () => {
      throw new RunnelError("Interrupted", "use the replica", "It has been closed.");
    };
    mounts.unshift(broken);
    mounts[1]!.sent = 5;
    await clock.advance(WRITE_EVERY_MS);
    expect((await history.ledger()).total({ sinceMs: 0 }).sent).toBe(5);
    expect(failures.length).toBeGreaterThan(0);
  });
});

test("nothing runs while there is no drive, and nothing new", async () => {
  const { clock, history, mounts } = rig();
  mounts.splice(0);
  await history.open();
  await clock.advance(WRITE_EVERY_MS);
  expect(clock.pendingTimers).toBe(0);
});
