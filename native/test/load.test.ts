// Loads that of several addons which fits, and says why when none does.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { addonPath, addonPlaces, hasAddon, loadAddon } from "../src/load.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runnel-load-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const target = `${process.platform}-${process.arch}`;

/** Puts a file at one of an addon's places: 0 is the local build, 1 what was built for every system. */
function put(place: 0 | 1, fill: (path: string) => void): string {
  const path = addonPlaces("core", folder)[place] as string;
  mkdirSync(dirname(path), { recursive: true });
  fill(path);
  return path;
}

const addon = (path: string): void => copyFileSync(addonPath("core"), path);

test("an addon that was built for this system elsewhere is loaded", () => {
  const path = put(1, addon);
  expect(path).toBe(join(folder, "prebuilds", target, "core.node"));
  expect(Object.keys(loadAddon("core", folder) as object)).toContain("ChunkStream");
});

test("one that was built here comes first", () => {
  put(1, (path) => writeFileSync(path, "another"));
  const path = put(0, addon);
  expect(addonPath("core", folder)).toBe(path);
  expect(Object.keys(loadAddon("core", folder) as object)).toContain("ChunkStream");
});

test("where there is none, its name, the system, both places and what to do are said", () => {
  const [built, prebuilt] = addonPlaces("core", folder);
  let message = "";
  try {
    loadAddon("core", folder);
  } catch (error) {
    message = (error as Error).message;
  }
  for (const part of ["core.node", target, built, prebuilt, "npm run setup"]) expect(message).toContain(part);
});

test("one is there in either place, and not for having another's name", () => {
  expect(hasAddon("core", folder)).toBe(false);
  const path = put(1, (at) => writeFileSync(at, ""));
  expect(hasAddon("core", folder)).toBe(true);
  expect(hasAddon("drive", folder)).toBe(false);
  rmSync(path);
  put(0, (at) => writeFileSync(at, ""));
  expect(hasAddon("core", folder)).toBe(true);
});

test("one that is not an addon for this system is refused by its path", () => {
  const path = put(1, (at) => writeFileSync(at, "not an addon"));
  expect(() => loadAddon("core", folder)).toThrow(path);
});
