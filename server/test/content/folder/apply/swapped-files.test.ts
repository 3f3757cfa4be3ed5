// [F168] A neighbour who may write in the served folder puts another file in the place of one that was just looked at:
// owner and mode that a commit gives are for that one, never for the other.
import { afterEach, expect, test } from "@jest/globals";
import type { DiskRoot, NewAttributes } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import { openFolderStore } from "../../../../src/content/folder/folder-store.ts";
import { TestVolume } from "../test-volume.ts";

const NEIGHBOUR = { uid: 1000, gid: 1000 };

let volume: TestVolume;
/** Called just before attributes of "new" are set. */
let swap: (() => Promise<void>) | undefined;

afterEach(() => volume.store.close());

function watched(root: DiskRoot): DiskRoot {
  const setStat: DiskRoot["setStat"] = async (path, ...rest) => {
    const due = path === "new" ? swap : undefined;
    if (due !== undefined) swap = undefined;
    await due?.();
    return root.setStat(path, ...rest);
  };
  return new Proxy(root, {
    get(_root, key) {
      if (key === "setStat") return setStat;
      const value: unknown = Reflect.get(root, key, root);
      return typeof value === "function" ? (value.bind(root) as unknown) : value;
    },
  });
}

async function served(): Promise<void> {
  volume = new TestVolume(1, (parts) =>
    openFolderStore({ ...parts, root: watched(parts.root), settings: { volume: "volume 1" } }),
  );
  await volume.fillFirst(async ({ other }) => {
    await volume.writeFile("foreign", "");
    await other.setStat("foreign", { uid: 0, gid: 0, mode: 0o600 });
  });
  await volume.start();
  await volume.settle();
}

async function putForeign(): Promise<void> {
  await volume.other.rename("new", "aside", "keep");
  await volume.other.link("foreign", "new");
}

const foreign = async (): Promise<Partial<NewAttributes>> => {
  const { uid, gid, mode } = await volume.other.stat("foreign");
  return { uid, gid, mode };
};

test("a file that a commit takes over", async () => {
  await served();
  await volume.writeFile("new", "");
  await volume.other.setStat("new", NEIGHBOUR);
  swap = putForeign;
  await volume.make(ROOT_NODE, "new", { mode: 0o666 });
  await volume.settle();
  expect(swap).toBeUndefined();
  expect(await foreign()).toEqual({ uid: 0, gid: 0, mode: 0o600 });
  expect(volume.store.status().stuck).toBeUndefined();
  expect(await volume.tree()).toEqual(await volume.files());
});

test("a file whose attributes a commit sets", async () => {
  await served();
  const node = await volume.make(ROOT_NODE, "new", { mode: 0o600 });
  await volume.settle();
  swap = putForeign;
  await volume.commit({ op: "setAttr", node, change: { mode: 0o666 } });
  await volume.settle();
  expect(swap).toBeUndefined();
  expect(await foreign()).toEqual({ uid: 0, gid: 0, mode: 0o600 });
  expect(volume.store.status().stuck).toBeUndefined();
  expect(await volume.tree()).toEqual(await volume.files());
});
