// Checks of a computer by `runnel doctor`, and the end of a log.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { logTail } from "../../../src/agent/control/host/log-tail.ts";
import { checkDrives, checkRoom } from "../../../src/agent/control/host/machine-checks.ts";

const folder = mkdtempSync(join(tmpdir(), "runnel-doctor-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a system without what maps drives is told what to install", async () => {
  expect(await checkDrives("linux", { PATH: folder })).toMatchObject({
    isFine: false,
    next: "Install it: apt-get install fuse3",
  });
  writeFileSync(join(folder, "fusermount3"), "", { mode: 0o755 });
  expect(await checkDrives("linux", { PATH: folder })).toMatchObject({ isFine: true, next: null });
});

test("Windows without WinFsp is told where to have it from", async () => {
  const environment = { "ProgramFiles(x86)": folder };
  expect(await checkDrives("win32", environment)).toMatchObject({
    isFine: false,
    next: expect.stringContaining("https://github.com/winfsp/winfsp"),
  });
  mkdirSync(join(folder, "WinFsp", "bin"), { recursive: true });
  writeFileSync(join(folder, "WinFsp", "bin", "winfsp-x64.dll"), "");
  expect(await checkDrives("win32", environment)).toMatchObject({ isFine: true, next: null });
});

test("the room of a disk is told; a folder that is gone is what to look at", async () => {
  expect(await checkRoom(folder, "the cache")).toMatchObject({
    about: "Disk with the cache",
    sentence: expect.stringContaining(`are free at ${folder}.`),
  });
  expect(await checkRoom(join(folder, "none"), "the cache")).toMatchObject({ isFine: false });
});

test("the end of a log has whole lines, however long the log is", async () => {
  const path = join(folder, "agent.log");
  expect(await logTail(path, 3)).toEqual([]);
  const lines = Array.from({ length: 20_000 }, (_, at) => `{"line":${at},"msg":"something happened"}`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  expect(await logTail(path, 3)).toEqual(lines.slice(-3));
  const all = await logTail(path, 100_000);
  expect(all).toEqual(lines.slice(-all.length));
});
