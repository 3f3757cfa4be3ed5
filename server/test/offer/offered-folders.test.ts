// Folders that may become volumes: those below the offered ones, by no symlink and no dots.
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { realDisk } from "@runnel/native";
import { OfferedFolders } from "../../src/offer/offered-folders.ts";

let base: string;
let root: string;
let offered: OfferedFolders;

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "runnel-offer-")));
  root = join(base, "srv");
  for (const folder of ["srv/docs/inner", "srv/photos", "outside", "srv2"])
    await mkdir(join(base, folder), { recursive: true });
  await writeFile(join(root, "notes.txt"), "no folder");
  await symlink(join(base, "outside"), join(root, "link"));
  await symlink(root, join(base, "way"));
  offered = await OfferedFolders.open(realDisk(), [join(base, "way")]);
});

afterAll(() => rm(base, { recursive: true, force: true }));

describe("offered folders", () => {
  test("are the roots, by their real paths, and the folders in them by name", async () => {
    expect(await offered.list("")).toEqual({ folders: [{ name: root, path: root }], after: null });
    const docs = { name: "docs", path: join(root, "docs") };
    const photos = { name: "photos", path: join(root, "photos") };
    expect(await offered.list(root)).toEqual({ folders: [docs, photos], after: null });
    expect(await offered.list(root, "", 1)).toEqual({ folders: [docs], after: "docs" });
    expect(await offered.list(root, "docs", 1)).toEqual({ folders: [photos], after: null });
    expect((await offered.list(docs.path)).folders).toEqual([{ name: "inner", path: join(docs.path, "inner") }]);
  });

  test("of which one may become a volume lie below a root", async () => {
    await expect(offered.check(join(root, "docs", "inner"))).resolves.toBeUndefined();
  });

  test.each([
    ["the root itself", "", "Denied"],
    ["a folder beside it", "/../srv2", "Invalid"],
    ["a path with dots that stays inside", "/docs/../photos", "Invalid"],
    ["a path with a dot", "/./docs", "Invalid"],
    ["a path that ends in a slash", "/docs/", "Invalid"],
    ["a path with a NUL", "/docs\0", "Invalid"],
    ["a name that only begins like the root", "2", "Denied"],
    ["what a symlink leads to", "/link", "NotFolder"],
    ["what lies behind a symlink", "/link/x", "NotFolder"],
    ["a file", "/notes.txt", "NotFolder"],
    ["what is not there", "/nothing", "NotFound"],
    ["a name that is too long", `/${"x".repeat(300)}`, "NameTooLong"],
  ])("are not %s", async (_title, rest, kind) => {
    await expect(offered.check(`${root}${rest}`)).rejects.toMatchObject({ kind });
    if (rest !== "") await expect(offered.list(`${root}${rest}`)).rejects.toMatchObject({ kind });
  });

  test("are no relative paths, and none where nothing is offered", async () => {
    await expect(offered.check("docs")).rejects.toMatchObject({ kind: "Invalid" });
    const none = await OfferedFolders.open(realDisk(), []);
    await expect(none.check(join(root, "docs"))).rejects.toMatchObject({ kind: "Denied" });
    expect((await none.list("")).folders).toEqual([]);
  });

  test("are refused at the start where there is no folder", async () => {
    for (const path of [join(root, "notes.txt"), join(base, "nothing")])
      await expect(OfferedFolders.open(realDisk(), [path])).rejects.toMatchObject({ kind: "Invalid" });
  });
});
