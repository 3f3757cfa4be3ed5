// The lock that lets one server at a time serve a folder, on a real disk: what counts is that somebody holds it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { realDisk } from "@runnel/native";
import type { DiskRoot } from "@runnel/shared";
import { ServingLock } from "../../src/volume/serving-lock.ts";

let folder: string;
let root: DiskRoot;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "runnel-serving-"));
  root = await realDisk().openRoot(folder);
});

afterEach(async () => {
  await root.close();
  rmSync(folder, { recursive: true });
});

const take = (): Promise<ServingLock> => ServingLock.take(realDisk(), root, "serving", "The folder");
const check = (): Promise<void> => ServingLock.check(realDisk(), root, "serving", "The folder");

/** A note like that of a process that had this number elsewhere, in another container or before a restart. */
function writeNote(pid: number): void {
  writeFileSync(join(folder, "serving"), JSON.stringify({ pid, started: "1", boot: "another" }));
}

const onLinux = process.platform === "linux" ? test : test.skip;

const NUMBERS = [
  ["this process's number", process.pid],
  ["another number", 4_000_000],
] as const;

onLinux.each(NUMBERS)("a held note counts whatever is known of its process (%s)", async (_, pid) => {
  const lock = await take();
  writeNote(pid);
  const busy = { kind: "Busy", message: `The folder is served already, by process ${pid}: stop that one first.` };
  await expect(take()).rejects.toMatchObject(busy);
  await expect(check()).rejects.toMatchObject(busy);
  await lock.release();
  await check();
  await (await take()).release();
});

onLinux("a note that somebody is just about to write counts", async () => {
  const file = await root.open("serving", "create");
  expect(await file.takeLock()).toBe("taken");
  await expect(take()).rejects.toMatchObject({ kind: "Busy", message: /by another process/ });
  await file.close();
  await (await take()).release();
});

test.each(NUMBERS)("a note that was left behind does not count (%s)", async (_, pid) => {
  writeNote(pid);
  await check();
  await (await take()).release();
});

test("what this process serves it may take again, as after a folder that has gone and come", async () => {
  const lock = await take();
  await check();
  const again = await take();
  await lock.release();
  await again.release();
});
