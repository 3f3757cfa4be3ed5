// Forms of path: text only, so that each is tested on every system.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { PathForm } from "../../../src/agent/control/paths/path-form.ts";
import { darwinPaths } from "../../../src/agent/control/paths/darwin-paths.ts";
import { posixPaths } from "../../../src/agent/control/paths/posix-paths.ts";
import { windowsPaths } from "../../../src/agent/control/paths/windows-paths.ts";

describe.each<[string, PathForm, string, string]>([
  ["Linux", posixPaths, "/users/ada/Docs", "/users/ada/Docs/"],
  ["macOS", darwinPaths, "/Users/ada/Docs", "/Users/ada/Docs/"],
  ["Windows", windowsPaths, "R:", "R:\\"],
  ["Windows, in a share", windowsPaths, "\\\\runnel\\docs", "\\\\Runnel\\Docs\\"],
])("a path of %s", (_, paths, mountpoint, drive) => {
  test("is spelled once: spelled again it is the same, and absolute", () => {
    for (const path of [mountpoint, drive, `${drive}a/b`, `${drive}a/../b//.`]) {
      const spelled = paths.spell(path);
      expect(paths.spell(spelled)).toBe(spelled);
      expect(paths.isAbsolute(spelled)).toBe(true);
    }
    expect(paths.spell(`${drive}a/..`)).toBe(mountpoint);
  });

  test("is split and joined again", () => {
    const { root, names } = paths.split(`${drive}a/b`);
    expect(names.slice(-2)).toEqual(["a", "b"]);
    expect(paths.files.join(root, ...names)).toBe(paths.spell(`${drive}a/b`));
  });

  test.each(["", "a", "a/b c.txt", "ä/漢字"])("on a drive leads to %j in the volume, and back", (inside) => {
    expect(paths.inVolume(mountpoint, paths.spell(paths.onDrive(mountpoint, inside)))).toBe(inside);
  });
});

test("paths of a Mac are one where they differ in letters that its volumes take for each other, others of no system", () => {
  const composed = "/Users/Ada/Caf\u00c9";
  for (const path of [composed.normalize("NFD"), "/users/ada/caf\u00e9", "/USERS/ADA/CAFE\u0301"])
    expect(darwinPaths.fold(path)).toBe(darwinPaths.fold(composed));
  expect(darwinPaths.fold("/Users/Ada/Cafe")).not.toBe(darwinPaths.fold(composed));
  for (const { fold } of [posixPaths, windowsPaths]) expect(fold(composed)).toBe(composed);
});

describe("a path of Windows", () => {
  test.each([
    ["r:", "R:"],
    ["r:/", "R:"],
    ["c:\\x/y\\", "C:\\x\\y"],
    ["\\\\?\\c:\\x", "C:\\x"],
    ["\\\\.\\c:\\x", "C:\\x"],
    ["\\\\?\\r:", "R:"],
    ["//host/share/x", "\\\\host\\share\\x"],
    ["\\\\Runnel\\DOCS\\Read Me", "\\\\runnel\\docs\\Read Me"],
    ["\\\\RUNNEL\\Ärger\\\\", "\\\\runnel\\ärger"],
    ["\\\\runnel\\docs\\..\\..\\a", "\\\\runnel\\docs\\a"],
    ["\\\\?\\UNC\\Runnel\\docs\\a", "\\\\runnel\\docs\\a"],
    ["//?/unc/runnel/docs", "\\\\runnel\\docs"],
    ["\\\\Runnel", "\\\\runnel"],
    ["//runnel/", "\\\\runnel"],
    ["\\\\runnel-R\\docs\\a", "R:\\a"],
    ["\\\\Runnel-r\\docs", "R:"],
    ["\\\\runnel-rs\\docs", "\\\\runnel-rs\\docs"],
    ["//./pipe/x", "\\\\.\\pipe\\x"],
    // Names a device both times that it is spelled.
    ["\\\\.\\UNC\\.\\unc\\runnel-r", "\\\\.\\UNC\\.\\unc\\runnel-r"],
    ["\\\\?\\Volume{1}\\..\\x", "\\\\?\\Volume{1}\\..\\x"],
  ])("typed as %s is spelled %s", (typed, spelled) => {
    expect(windowsPaths.spell(typed)).toBe(spelled);
  });

  test.each(["x", "x\\y", "\\x", "R:x", "", "\\\\"])("is not absolute as %j", (typed) => {
    expect(windowsPaths.isAbsolute(typed)).toBe(false);
  });

  test.each([
    ["R:\\a", "R:"],
    ["\\\\runnel\\docs", "\\\\runnel\\docs"],
    ["\\\\runnel\\docs\\a\\b", "\\\\runnel\\docs"],
    ["\\\\runnel", undefined],
    ["\\\\.\\pipe\\x", undefined],
  ])("%s is at or in the place %s", (path, drive) => {
    expect(windowsPaths.driveOf(path)).toBe(drive);
  });

  test("is spelled so that it is the same again, and is split at its drive, whatever is typed", () => {
    const part = fc.string({ unit: fc.constantFrom(..."\\/.?:ab R\u0130\u03a3", "unc", "runnel-r"), maxLength: 12 });
    const typed = fc.tuple(fc.constantFrom("\\\\", "//", "r:\\", "\\\\?\\", "\\\\.\\UNC\\"), part);
    fc.assert(
      fc.property(typed, ([start, rest]) => {
        fc.pre(windowsPaths.isAbsolute(start + rest));
        const path = windowsPaths.spell(start + rest);
        expect(windowsPaths.spell(path)).toBe(path);
        expect(windowsPaths.isAbsolute(path) || windowsPaths.whyNoPath(path) !== undefined).toBe(true);
        const drive = windowsPaths.driveOf(path);
        if (drive === undefined) return;
        expect(windowsPaths.driveOf(drive)).toBe(drive);
        expect(path.startsWith(drive)).toBe(true);
        const inside = windowsPaths.inVolume(drive, path);
        expect(windowsPaths.inVolume(drive, windowsPaths.spell(windowsPaths.onDrive(drive, inside)))).toBe(inside);
      }),
      { numRuns: 2000 },
    );
  });

  test("shows names that Windows cannot write by stand-ins, and finds the names again", () => {
    const shown = windowsPaths.onDrive("R:", "a:b/c?/end. /dot.");
    expect(shown).toBe("R:\\a\uf03ab\\c\uf03f\\end.\uf020\\dot\uf02e");
    expect(windowsPaths.inVolume("R:", shown)).toBe("a:b/c?/end. /dot.");
    // A stand-in of what can be written is a character of the name.
    expect(windowsPaths.inVolume("R:", "R:\\a\uf041\uf02eb")).toBe("a\uf041\uf02eb");
  });
});
