// Giving the data folder to another user, while that user or a neighbour may write in it.
import { beforeEach, expect, test } from "@jest/globals";
import type { DiskRoot } from "@runnel/shared";
import { SimulatedClock, SimulatedDisk, writeWhole } from "@runnel/shared";
import { give } from "../../src/host/other-user.ts";

const USER = { uid: 1000, gid: 1001 };

let all: DiskRoot;
let data: DiskRoot;
const ownerOf = async (path: string): Promise<object> => {
  const { uid, gid } = await all.stat(path);
  return { uid, gid };
};
const ROOT = { uid: 0, gid: 0 };

beforeEach(async () => {
  const disk = new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
  all = await disk.openRoot("/all", { permissions: 0o755 });
  data = await disk.openRoot("/all/data", { permissions: 0o700 });
  await all.makeFolder("etc");
  await writeWhole(all, "etc/shadow", Buffer.from("secret"));
  await all.makeFolder("data/docs");
  await writeWhole(all, "data/docs/log", Buffer.from("log"));
  await all.makeSymlink("data/link", "/all/etc");
});

test("gives a folder and all in it, of links the links themselves", async () => {
  await give(data, USER);
  for (const path of ["data", "data/docs", "data/docs/log", "data/link"]) expect(await ownerOf(path)).toEqual(USER);
  for (const path of ["etc", "etc/shadow"]) expect(await ownerOf(path)).toEqual(ROOT);
});

test("gives no file away that has a name elsewhere", async () => {
  await all.link("etc/shadow", "data/docs/mine");
  await expect(give(data, USER)).rejects.toMatchObject({ kind: "Denied" });
  expect(await ownerOf("etc/shadow")).toEqual(ROOT);
});

/** The folder, with something done just before an operation on a path in it. */
function disturbed(operation: string, path: string, disturb: () => Promise<void>): DiskRoot {
  let isDone = false;
  return new Proxy(data, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return async (...given: unknown[]) => {
        const isDue = key === operation && given[0] === path && !isDone;
        isDone ||= isDue;
        if (isDue) await disturb();
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
}

test.each(["handle", "stat", "setStat", "list"])(
  "follows nothing out of the folder that takes a folder's place (before %s)",
  async (operation) => {
    const swapped = disturbed(operation, "docs", async () => {
      await all.rename("data/docs", "data/aside", "keep");
      await all.makeSymlink("data/docs", "/all/etc");
    });
    await give(swapped, USER);
    for (const path of ["etc", "etc/shadow"]) expect(await ownerOf(path)).toEqual(ROOT);
  },
);

test.each(["handle", "stat", "setStat"])(
  "gives no other file away that takes a file's place (before %s)",
  async (operation) => {
    const swapped = disturbed(operation, "docs/log", async () => {
      await all.removeFile("data/docs/log");
      await all.link("etc/shadow", "data/docs/log");
    });
    await give(swapped, USER).catch((error: unknown) => expect(error).toMatchObject({ kind: "Denied" }));
    expect(await ownerOf("etc/shadow")).toEqual(ROOT);
  },
);
