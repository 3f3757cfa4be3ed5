// Watching real trees that change fast: whoever looks at what is told ends with the truth, or is told to scan.
import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { DiskRoot, DiskStat, WatchEvent } from "@runnel/shared";
import { generator } from "@runnel/shared/vectors/content.ts";
import { realDisk } from "../index.ts";

/**
 * A consumer's knowledge of a path. Of a folder only what its own events tell: its times follow from the names in it.
 */
interface State {
  handle: string;
  stat: Partial<DiskStat>;
}
type Known = Map<string, State>;

async function lookAt(root: DiskRoot, path: string): Promise<State | undefined> {
  try {
    const handle = Buffer.from(await root.handle(path)).toString("hex");
    const stat = await root.stat(path);
    return { handle, stat: stat.type === "folder" ? { type: stat.type, mode: stat.mode } : stat };
  } catch {
    return undefined;
  }
}

function forget(known: Known, path: string): void {
  known.delete(path);
  for (const other of known.keys()) if (other.startsWith(`${path}/`)) known.delete(other);
}

/** Takes in one event as a consumer should: another folder at a path has nothing of the one before it. */
async function takeIn(root: DiskRoot, known: Known, path: string): Promise<void> {
  const found = await lookAt(root, path);
  if (found === undefined || found.handle !== known.get(path)?.handle) forget(known, path);
  if (found) known.set(path, found);
}

async function scan(root: DiskRoot, path = ""): Promise<Known> {
  const known: Known = new Map();
  const paths: string[] = [];
  await root.list(path, (entries) => {
    paths.push(...entries.map(({ name }) => (path === "" ? `${name}` : `${path}/${name}`)));
  });
  for (const found of paths) {
    await takeIn(root, known, found);
    if (known.get(found)?.stat.type === "folder") {
      for (const [inner, state] of await scan(root, found)) known.set(inner, state);
    }
  }
  return known;
}

const MARKER = "the end";
const SEEDS = process.env["RUNNEL_LONG"] ? 200 : 6;

/** Watches, and hands each batch to `take` in order; `untilMarker` waits for the marker to be told, or found. */
async function follow(root: DiskRoot, take: (event: WatchEvent) => Promise<void>, isFound = (): boolean => false) {
  const marker = Promise.withResolvers<void>();
  let taking = Promise.resolve();
  const watch = await root.watch((events) => {
    const before = taking;
    taking = (async () => {
      await before;
      for (const event of events) await take(event);
      if (isFound() || events.some((event) => event.path === MARKER)) marker.resolve();
    })();
    taking.catch(marker.reject);
  });
  return { close: () => watch.close(), untilMarker: () => marker.promise };
}

/** Does a random operation on a small tree, so that names collide often. Failures are part of it. */
function disturb(folder: string, next: () => number): void {
  const name = (): string => String.fromCharCode(97 + (next() % 4));
  const path = (): string => join(folder, ...Array.from({ length: 1 + (next() % 4) }, name));
  const from = path();
  try {
    const choice = next() % 10;
    if (choice < 4) mkdirSync(from);
    else if (choice < 6) writeFileSync(join(from, `file-${next() % 3}`), "x".repeat(next()));
    else if (choice < 9) renameSync(from, path());
    else rmSync(from, { recursive: true });
  } catch {
    // Whatever was not there, or was in the way.
  }
}

describe("watching a tree that changes fast", () => {
  let folder: string;
  let root: DiskRoot;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "runnel-watch-"));
    root = await realDisk().openRoot(folder);
  });
  afterEach(async () => {
    await root.close();
    await rm(folder, { recursive: true });
  });

  for (let seed = 1; seed <= SEEDS; seed++) {
    test(`whoever looks at what is told knows the whole tree (seed ${seed})`, async () => {
      const random = generator(seed);
      const next = (): number => random.next().value;
      for (let i = 0; i < 100; i++) disturb(folder, next);
      const known = await scan(root);
      const takeInAgain = async (): Promise<void> => {
        known.clear();
        for (const [path, state] of await scan(root)) known.set(path, state);
      };
      // More may happen than the kernel queues, while the watcher gets no processor.
      const watch = await follow(
        root,
        ({ path, kind }) => (kind === "overflow" ? takeInAgain() : takeIn(root, known, path)),
        () => known.has(MARKER),
      );
      for (let i = 0; i < 3000; i++) {
        disturb(folder, next);
        if (next() < 3) await new Promise((resolve) => setImmediate(resolve));
      }
      writeFileSync(join(folder, MARKER), "");
      await watch.untilMarker();
      await watch.close();
      known.delete("");
      expect(Object.fromEntries([...known].sort())).toEqual(Object.fromEntries([...(await scan(root))].sort()));
    });
  }

  const onLinux = process.platform === "linux" ? test : test.skip;
  onLinux("tells overflow when a folder cannot be looked at for want of descriptors", async () => {
    const limit = (soft: string): unknown => execFileSync("prlimit", [`--pid=${process.pid}`, `--nofile=${soft}:`]);
    const soft = execFileSync("prlimit", [`--pid=${process.pid}`, "--nofile", "-o", "SOFT", "--noheadings"], {
      encoding: "utf8",
    }).trim();
    const overflow = Promise.withResolvers<void>();
    const watch = await root.watch((events) => {
      if (events.some(({ kind }) => kind === "overflow")) overflow.resolve();
    });
    const taken: number[] = [];
    // Little more than is open: what is taken and closed again is room to raise it by.
    const highest = Math.max(...readdirSync("/proc/self/fd").map(Number));
    limit(String(highest + 64));
    try {
      for (;;) taken.push(openSync("/dev/null", "r"));
    } catch (error) {
      expect(error).toMatchObject({ code: "EMFILE" });
    }
    try {
      mkdirSync(join(folder, "new"));
      mkdirSync(join(folder, "new", "below"));
      await overflow.promise;
    } finally {
      for (const each of taken) closeSync(each);
      limit(soft);
      await watch.close();
    }
  });

  test("tells overflow when events were lost, and goes on after it", async () => {
    const watched = join(folder, "watched");
    mkdirSync(watched);
    for (const name of ["a", "b"]) writeFileSync(join(watched, name), "");
    // Deep down, since finding a folder again costs the watcher more the deeper it is.
    const deep = "d/".repeat(500);
    mkdirSync(join(folder, "large", deep), { recursive: true });
    for (let i = 0; i < 3000; i++) mkdirSync(join(folder, "large", deep, `${i}`));
    const watchedRoot = await realDisk().openRoot(watched);
    const told = new Set<string>();
    const heard = { overflows: 0 };
    let wake: (() => void) | undefined;
    const watch = await watchedRoot.watch((events) => {
      for (const { path, kind } of events) {
        told.add(path);
        if (kind === "overflow") heard.overflows++;
      }
      wake?.();
    });
    const until = async (condition: () => boolean): Promise<void> => {
      while (!condition()) await new Promise<void>((resolve) => (wake = resolve));
    };
    // A folder with many others arrives; while the watcher looks at them all, more happens than the kernel queues
    // (16,384). On a machine where the watcher keeps up, again.
    for (let round = 0; heard.overflows === 0; round++) {
      renameSync(join(folder, "large"), join(watched, "large"));
      for (let i = 0; i < 40_000; i++) chmodSync(join(watched, i % 2 === 0 ? "a" : "b"), 0o600 + (i % 4));
      writeFileSync(join(watched, `round ${round}`), "");
      await until(() => heard.overflows > 0 || told.has(`round ${round}`));
      if (heard.overflows === 0) renameSync(join(watched, "large"), join(folder, "large"));
    }
    const before = heard.overflows;
    writeFileSync(join(watched, "large", deep, "77", "new"), "");
    // StandInReply by name, or lost again and told so.
    await until(() => told.has(`large/${deep}77/new`) || heard.overflows > before);
    await watch.close();
    await watchedRoot.close();
    expect(heard.overflows).toBeGreaterThan(0);
  });
});
