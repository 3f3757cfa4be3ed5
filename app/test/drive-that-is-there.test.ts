import { expect, test } from "@jest/globals";
import { withDriveThatIsThere } from "../src/agent/drive-that-is-there.ts";
import type { MountSettings } from "../src/agent/mount.ts";

const SETTINGS: MountSettings = {
  url: "ws://localhost:1/docs",
  mountpoint: "/mnt/docs",
  cacheFolder: "/cache",
  cacheBytes: 0,
  stateFolder: "/state",
  mapOwner: false,
  isAsync: false,
};

test.each<[string, Partial<MountSettings>, boolean, boolean, boolean | undefined]>([
  ["macOS from a package", {}, true, false, true],
  ["macOS from a package, again", { usesNfs: false, usesFsKit: false }, true, false, true],
  ["macOS with macFUSE", {}, true, true, undefined],
  ["macOS with macFUSE, as is asked", { usesNfs: true }, true, true, true],
  ["macOS from a package, where FSKit is asked for", { usesFsKit: true }, true, false, undefined],
  ["macOS, for what no system shows", { isUnmounted: true }, true, false, undefined],
  ["a system that maps no NFS", {}, false, false, undefined],
])("a drive on %s is over NFS where it has to be", (_, asked, mapsNfs, hasKernelDrive, usesNfs) => {
  const settings = { ...SETTINGS, ...asked };
  const before = { ...settings };
  expect(withDriveThatIsThere(settings, { mapsNfs, hasKernelDrive }).usesNfs).toBe(usesNfs);
  expect(settings).toEqual(before);
});
