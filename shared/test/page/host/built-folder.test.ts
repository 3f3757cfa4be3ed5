// The folder of the built pages: what a path can name in it, and what it cannot.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { BuiltFolder } from "../../../src/page/host/built-folder.ts";
import { makeFolder } from "../folders.ts";

function build(): { base: string; folder: BuiltFolder } {
  const base = makeFolder();
  mkdirSync(join(base, "dist", "assets"), { recursive: true });
  for (const name of ["secret", "dist/index.html", "dist/assets/app-A1b2C3d4.js", "dist/.hidden"])
    writeFileSync(join(base, name), name);
  symlinkSync(join(base, "secret"), join(base, "dist", "link"));
  symlinkSync(base, join(base, "dist", "up"));
  symlinkSync("index.html", join(base, "dist", "start"));
  return { base, folder: new BuiltFolder(join(base, "dist")) };
}

async function textOf(folder: BuiltFolder, path: string): Promise<string | undefined> {
  const bytes = await folder.read(path);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

test("gives files by their paths, also through a link inside", async () => {
  const { folder } = build();
  for (const name of ["index.html", "assets/app-A1b2C3d4.js"])
    expect(await textOf(folder, `/${name}`)).toBe(`dist/${name}`);
  expect(await textOf(folder, "/start")).toBe("dist/index.html");
});

test.each([
  "/",
  "/assets",
  "/assets/",
  "/none",
  "/../secret",
  "/assets/../../secret",
  "/./index.html",
  "//index.html",
  "/%2e%2e/secret",
  "/..%2fsecret",
  "/..\\secret",
  "/index.html\0",
  "/.hidden",
  "/link",
  "/up/secret",
  "index.html",
  "",
])("has nothing at %j", async (path) => {
  expect(await textOf(build().folder, path)).toBeUndefined();
});

test("has nothing at all when it is not there", async () => {
  expect(await textOf(new BuiltFolder(join(build().base, "gone")), "/index.html")).toBeUndefined();
});
