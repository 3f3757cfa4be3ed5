import { describe, expect, test } from "@jest/globals";
import { posix, win32 } from "node:path";
import { commonFolder, pathBelow } from "../../src/agent/cache/path-below.ts";

describe("the path below a folder", () => {
  test.each([
    [posix, "/a", "/a/b/c", "b/c"],
    [posix, "/", "/a", "a"],
    [posix, "/a", "/ab", undefined],
    [posix, "/a", "/a", undefined],
    [posix, "/a/b", "/a", undefined],
    [posix, "/a", "/a/..b", "..b"],
    [posix, "/a", "/a/x\\y", "x\\y"],
    [win32, "C:\\a", "c:\\A\\b\\c", "b/c"],
    [win32, "C:\\a", "C:\\a/b/c", "b/c"],
    [win32, "C:\\", "C:\\a", "a"],
    [win32, "C:\\a", "D:\\a\\b", undefined],
  ])("is found by text: %#", (files, folder, path, below) => {
    expect(pathBelow(folder, path, files)).toBe(below);
  });
});

describe("the folder of two", () => {
  test.each([
    [posix, "/a/b/c", "/a/d", "/a"],
    [posix, "/a", "/a/d", "/a"],
    [posix, "/a/d", "/a", "/a"],
    [posix, "/a", "/a", "/a"],
    [posix, "/a", "/b", "/"],
    [win32, "C:\\a\\b", "C:\\c", "C:\\"],
    [win32, "C:\\a\\b", "C:\\a\\c", "C:\\a"],
    [win32, "C:\\a", "D:\\a", undefined],
  ])("is the deepest one: %#", (files, one, other, folder) => {
    expect(commonFolder(one, other, files)).toBe(folder);
  });
});
