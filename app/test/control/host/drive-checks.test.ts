// Checks of a computer by `runnel doctor`: whether it can show drives, on each system, in a made-up file system.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { darwinSystem } from "../../../src/agent/control/host/darwin/system.ts";
import { linuxSystem } from "../../../src/agent/control/host/linux/system.ts";
import { windowsSystem } from "../../../src/agent/control/host/windows/system.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "runnel-doctor-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function make(path: string): string {
  const whole = join(root, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, "");
  return whole;
}

test("Linux without FUSE is told of the device, then of what to install", async () => {
  const environment = { PATH: `:${join(root, "none")}:${join(root, "bin")}` };
  const look = () => linuxSystem.checkDrives(environment, root);
  expect(await look()).toMatchObject({ isFine: false, sentence: expect.stringMatching(/^\/dev\/fuse is not there/) });
  make("dev/fuse");
  expect(await look()).toMatchObject({ isFine: false, next: "Install it: apt-get install fuse3" });
  const helper = make("bin/fusermount3");
  expect(await look()).toMatchObject({ isFine: false, next: "Install it: apt-get install fuse3" });
  chmodSync(helper, 0o755);
  expect(await look()).toMatchObject({ isFine: true, next: null });
});

test("macOS without macFUSE is told of --nfs, which needs none, and where to have it from", async () => {
  make("Library/Filesystems/another.fs/Contents/Info.plist");
  expect(await darwinSystem.checkDrives({}, root)).toEqual({
    about: "Drives",
    isFine: false,
    sentence: "macFUSE, which shows drives, is not installed.",
    next: "Map drives with --nfs, which needs none, or install it from https://macfuse.io.",
  });
  make("Library/Filesystems/macfuse.fs/Contents/Info.plist");
  expect(await darwinSystem.checkDrives({}, root)).toMatchObject({ isFine: true, next: null });
});

test("Windows without WinFsp is told where to have it from", async () => {
  const environment = { "ProgramFiles(x86)": join(root, "programs") };
  expect(await windowsSystem.checkDrives(environment, root)).toMatchObject({
    isFine: false,
    next: expect.stringContaining("https://github.com/winfsp/winfsp"),
  });
  make("programs/WinFsp/bin/winfsp-x64.dll");
  expect(await windowsSystem.checkDrives(environment, root)).toMatchObject({ isFine: true, next: null });
});
