// Files that a disk has open at once: bounded, in turn, and where the system has no descriptor left, again.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type DiskFile, type DiskRoot, RunnelError, SimulatedClock, settle } from "@runnel/shared";
import { DescriptorGate, descriptorLimit, realDisk } from "../index.ts";

const MOST = 3;

let clock: SimulatedClock;
let gate: DescriptorGate;
let folder: string;
let root: DiskRoot;

beforeEach(async () => {
  clock = new SimulatedClock();
  gate = new DescriptorGate(clock, MOST);
  folder = await mkdtemp(join(tmpdir(), "runnel-gate-"));
  root = await realDisk(gate).openRoot(folder);
});

afterEach(async () => {
  await root.close();
  await rm(folder, { recursive: true });
});

test("an opening beyond the bound waits until another file is closed", async () => {
  const files = await Promise.all(["a", "b", "c"].map((name) => root.open(name, "create")));
  const opened: DiskFile[] = [];
  const fourth = root.open("d", "create").then((file) => opened.push(file));
  await settle();
  expect(opened).toHaveLength(0);
  await files[0]?.close();
  await fourth;
  for (const file of [...files.slice(1), ...opened]) await file.close();
  expect(clock.pendingTimers).toBe(0);
});

test("an opening waits no longer than a second: who waits may have a file open that the others wait for", async () => {
  const files = await Promise.all(["a", "b", "c"].map((name) => root.open(name, "create")));
  const fourth = root.open("d", "create");
  await clock.advance(1000);
  for (const file of [...files, await fourth]) await file.close();
});

test("an opening that failed takes no place", async () => {
  for (let tries = 0; tries < 2 * MOST; tries++)
    await expect(root.open("missing", "read")).rejects.toMatchObject({ kind: "NotFound" });
  for (const file of await Promise.all(["a", "b", "c"].map((name) => root.open(name, "create")))) await file.close();
});

test("where the process has no descriptor left it is tried again, and again, but not for ever", async () => {
  const exhausted = new RunnelError("Io", "open", "too many", {
    cause: Object.assign(new Error("too many"), { code: "EMFILE" }),
  });
  let left = 5;
  const opening = gate.enter(async () => {
    if (left-- > 0) throw exhausted;
    return "opened";
  });
  await clock.advance(1000);
  expect(await opening).toBe("opened");
  const failing = gate.enter(async () => Promise.reject(exhausted));
  const failed = expect(failing).rejects.toBe(exhausted);
  await clock.advance(60_000);
  await failed;
});

test("knows how many files a process may have open", () => {
  expect(descriptorLimit()).toBeGreaterThan(100);
});
