// [F168] What clients say about set-uid, owners and devices shows on drives, and the server's system never gets it; it
// survives the loss of the index.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { NewAttributes } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import type { Ownership } from "../../../../src/content/folder/disk/attributes.ts";
import { SHOWN_XATTR } from "../../../../src/content/folder/disk/shown.ts";
import { SHOWN_FOLDER } from "../../../../src/content/folder/disk/store-layout.ts";
import { TestVolume, folderStore, namesIn } from "../test-volume.ts";

const SERVER = { uid: 0, gid: 0 };
const OTHER_OWNER = { uid: 1000, gid: 1001 };

let volume: TestVolume;

async function served(ownership: Partial<Ownership> = {}): Promise<void> {
  const settings = { ownership: { isPrivileged: true, user: SERVER, keepsOwners: false, ...ownership } };
  volume = new TestVolume(1, folderStore(settings));
  await volume.fillFirst(async ({ other }) => {
    await volume.writeFile("theirs", "of the server's");
    await other.setStat("theirs", { uid: 7, gid: 8, mode: 0o640 });
    await volume.writeFile("tool", "a program");
    await other.setStat("tool", { mode: 0o4755 });
    await other.makeFolder("shared");
    await other.setStat("shared", { mode: 0o2775 });
  });
  await volume.start();
  await volume.settle();
}

const made = (name: string, attributes: Partial<NewAttributes>): Promise<number> =>
  volume.make(ROOT_NODE, name, { ...OTHER_OWNER, ...attributes });

async function change(node: number, attributes: Partial<NewAttributes>): Promise<void> {
  await volume.commit({ op: "setAttr", node, change: attributes });
  await volume.settle();
}

const shown = async (name: string): Promise<unknown> => {
  const state = await volume.meta.lookup(ROOT_NODE, name);
  return state && { type: state.type, mode: state.mode, uid: state.uid, gid: state.gid, rdev: state.rdev };
};
const onDisk = async (path: string): Promise<unknown> => {
  const { type, mode, uid, gid } = await volume.other.stat(path);
  return { type, mode, uid, gid };
};
const nodeOf = async (name: string): Promise<number> => (await volume.meta.lookup(ROOT_NODE, name))?.node ?? 0;

/** The index is lost, or power is cut before anything of the last seconds is compared. */
async function loseIndex(): Promise<void> {
  await volume.loseMeta();
  await volume.restart();
  await volume.settle();
}

beforeEach(() => served());
afterEach(() => volume.store.close());

describe("[F168] what a client makes", () => {
  test.each([
    ["a set-uid file", { mode: 0o6755 }, { type: "file", mode: 0o755 }],
    ["a folder with all bits", { type: "folder", mode: 0o7777 }, { type: "folder", mode: 0o777 }],
    ["a disk", { type: "block", mode: 0o666, rdev: 0x0800 }, { type: "file", mode: 0o600 }],
    ["/dev/mem", { type: "char", mode: 0o666, rdev: 0x0101 }, { type: "file", mode: 0o600 }],
  ] as const)(
    "%s is plain on disk, and shown as it was made, also after the loss of the index",
    async (_what, given, plain) => {
      const node = await made("new", given);
      await volume.settle();
      expect(await onDisk("new")).toEqual({ ...plain, ...SERVER });
      const asMade = { type: "file", rdev: 0, ...OTHER_OWNER, ...given };
      expect(await shown("new")).toEqual(asMade);
      expect(await volume.meta.xattrs(node)).toEqual([]);
      await loseIndex();
      expect(await shown("new")).toEqual(asMade);
      expect(await onDisk("new")).toEqual({ ...plain, ...SERVER });
      expect(await volume.meta.xattrs(await nodeOf("new"))).toEqual([]);
    },
  );

  test("keeps what is shown through saves, changes and renames", async () => {
    const node = await made("new", { mode: 0o4755 });
    await volume.write(node, "one");
    await volume.write(node, "another");
    await change(node, { mode: 0o4711 });
    await volume.rename(ROOT_NODE, "new", ROOT_NODE, "moved");
    await volume.settle();
    expect(await onDisk("moved")).toEqual({ type: "file", mode: 0o711, ...SERVER });
    await loseIndex();
    expect(await shown("moved")).toEqual({ type: "file", mode: 0o4711, rdev: 0, ...OTHER_OWNER });
    expect(await volume.readFile("moved")).toBe("another");
  });

  test("has no attribute where the disk has it all", async () => {
    const node = await made("new", { ...SERVER, mode: 0o644 });
    await volume.write(node, "one");
    await change(node, { mode: 0o4644 });
    expect((await volume.other.xattrs("new")).map(([name]) => name)).toEqual([SHOWN_XATTR]);
    await change(node, { mode: 0o644 });
    expect(await volume.other.xattrs("new")).toEqual([]);
  });
});

describe("[F168] a file of the server's", () => {
  test("keeps its owner and group when a client saves it, or says another one", async () => {
    const node = await nodeOf("theirs");
    await volume.write(node, "edited");
    await volume.settle();
    expect(await onDisk("theirs")).toEqual({ type: "file", mode: 0o640, uid: 7, gid: 8 });
    await change(node, OTHER_OWNER);
    expect(await onDisk("theirs")).toEqual({ type: "file", mode: 0o640, uid: 7, gid: 8 });
    expect(await shown("theirs")).toMatchObject(OTHER_OWNER);
    await loseIndex();
    expect(await shown("theirs")).toMatchObject({ mode: 0o640, ...OTHER_OWNER });
  });

  test("that is set-uid is not so with a client's bytes in it", async () => {
    await volume.write(await nodeOf("tool"), "a client's program");
    await volume.settle();
    expect(await onDisk("tool")).toMatchObject({ mode: 0o755 });
    expect(await shown("tool")).toMatchObject({ mode: 0o4755 });
    await loseIndex();
    expect(await shown("tool")).toMatchObject({ mode: 0o4755 });
  });

  test("keeps the bits that it has, where a client's change has them too", async () => {
    const node = await nodeOf("shared");
    await change(node, { mode: 0o6770 });
    expect(await onDisk("shared")).toMatchObject({ mode: 0o2770 });
    await change(node, { mode: 0o770 });
    expect(await onDisk("shared")).toMatchObject({ mode: 0o770 });
  });
});

test("a server program's chmod or chown wins for that field", async () => {
  const node = await made("new", { mode: 0o4755 });
  await volume.write(node, "text");
  await volume.settle();
  await volume.other.setStat("new", { mode: 0o700 });
  await volume.settle();
  expect(await shown("new")).toMatchObject({ mode: 0o700, ...OTHER_OWNER });
  await loseIndex();
  expect(await shown("new")).toMatchObject({ mode: 0o700, ...OTHER_OWNER });
  await volume.other.setStat("new", { uid: 9 });
  await volume.settle();
  expect(await shown("new")).toMatchObject({ mode: 0o700, uid: 9, gid: OTHER_OWNER.gid });
  await loseIndex();
  expect(await shown("new")).toMatchObject({ mode: 0o700, uid: 9, gid: OTHER_OWNER.gid });
});

test("what a server program writes into a device's place is a file", async () => {
  await made("device", { type: "char", rdev: 5 });
  await volume.settle();
  await volume.writeFile("device", "bytes");
  await volume.settle(10_000);
  expect(await shown("device")).toMatchObject({ type: "file" });
  expect(await volume.tree()).toEqual(await volume.files());
});

test("the served folder itself is never changed; what was asked for shows on drives", async () => {
  const before = await onDisk("");
  await change(ROOT_NODE, { mode: 0o7777, ...OTHER_OWNER });
  expect(await onDisk("")).toEqual(before);
  expect(await volume.meta.node(ROOT_NODE)).toMatchObject({ mode: 0o7777, ...OTHER_OWNER });
  await loseIndex();
  expect(await volume.meta.node(ROOT_NODE)).toMatchObject({ mode: 0o7777, ...OTHER_OWNER });
});

test("an attribute that this server did not write says nothing", async () => {
  for (const value of ["", "{", "[]", '{"shown":{"mode":-1},"disk":{}}', '{"shown":{"mode":4095,"uid":0,"gid":0}}']) {
    await volume.writeFile("copy", "text");
    await volume.other.setXattr("copy", [SHOWN_XATTR, Buffer.from(value)]);
    await volume.settle();
    expect(await shown("copy")).toEqual({ type: "file", mode: 0o644, rdev: 0, ...SERVER });
    await volume.other.removeFile("copy");
    await volume.settle(10_000);
  }
});

const UNSUPPORTED: TestVolume["disk"]["fault"] = (operation) => (operation === "setXattr" ? "Unsupported" : undefined);
const records = (): Promise<string[]> => namesIn(volume.other, SHOWN_FOLDER);

describe("[F168] what the file system gives no attribute", () => {
  const LINK = { type: "symlink", target: "away", mode: 0o777 } as const;

  async function loseIndexWithoutXattrs(): Promise<void> {
    await volume.loseMeta();
    await volume.restart(UNSUPPORTED);
    await volume.settle();
  }

  test.each([
    ["a symlink", LINK],
    ["a pipe", { type: "fifo", mode: 0o6640 }],
    ["a socket", { type: "socket", mode: 0o1640 }],
  ] as const)("%s is shown as it was made and changed, also after the loss of the index", async (_what, given) => {
    const node = await made("new", given);
    await volume.settle();
    const { type, mode } = given;
    expect(await onDisk("new")).toMatchObject({ type, ...SERVER });
    await loseIndex();
    expect(await shown("new")).toEqual({ type, mode, rdev: 0, ...OTHER_OWNER });
    await change(await nodeOf("new"), { uid: 12 });
    await volume.rename(ROOT_NODE, "new", ROOT_NODE, "moved");
    await volume.settle();
    await loseIndex();
    expect(await shown("moved")).toEqual({ type, mode, rdev: 0, uid: 12, gid: OTHER_OWNER.gid });
    expect(await onDisk("moved")).toMatchObject(SERVER);
    expect(node).toBeGreaterThan(0);
  });

  test.each([
    ["a file", { mode: 0o6755 }],
    ["a folder", { type: "folder", mode: 0o7777 }],
    ["a disk", { type: "block", mode: 0o666, rdev: 0x0800 }],
  ] as const)("%s on a file system without attributes is too", async (_what, given) => {
    volume.disk.fault = UNSUPPORTED;
    await made("new", given);
    await volume.settle();
    await loseIndexWithoutXattrs();
    expect(await shown("new")).toEqual({ type: "file", rdev: 0, ...OTHER_OWNER, ...given });
    await change(await nodeOf("new"), { ...SERVER, mode: 0o4700 });
    await loseIndexWithoutXattrs();
    expect(await shown("new")).toMatchObject({ ...SERVER, mode: 0o4700 });
  });

  test("keeps what is shown through saves, and the served folder itself does", async () => {
    volume.disk.fault = UNSUPPORTED;
    const node = await made("new", { mode: 0o4755 });
    await volume.write(node, "one");
    await volume.write(node, "another");
    await change(ROOT_NODE, OTHER_OWNER);
    await loseIndexWithoutXattrs();
    expect(await shown("new")).toMatchObject({ mode: 0o4755, ...OTHER_OWNER });
    expect(await volume.meta.node(ROOT_NODE)).toMatchObject(OTHER_OWNER);
  });

  test("survives a power cut as soon as its commit is applied", async () => {
    await made("new", LINK);
    await volume.settle();
    volume.cutPower();
    volume.image = new (volume.image.constructor as new () => typeof volume.image)();
    volume.log.length = 0;
    await volume.restart();
    await volume.settle();
    expect(await shown("new")).toMatchObject(OTHER_OWNER);
  });

  test("follows a server program's rename, and its chown wins", async () => {
    await made("new", LINK);
    await volume.settle();
    await volume.other.rename("new", "moved", "keep");
    await volume.settle();
    await loseIndex();
    expect(await shown("moved")).toMatchObject(OTHER_OWNER);
    await volume.other.setStat("moved", { uid: 9 });
    await volume.settle();
    await loseIndex();
    expect(await shown("moved")).toMatchObject({ uid: 9, gid: OTHER_OWNER.gid });
  });

  test("has no record where the disk has it all, and none of what is gone", async () => {
    const node = await made("new", LINK);
    const kept = await made("kept", LINK);
    const gone = await made("gone", LINK);
    await volume.settle();
    expect(await records()).toHaveLength(3);
    await change(node, SERVER);
    expect(await records()).toHaveLength(2);
    await change(node, OTHER_OWNER);
    await volume.remove(ROOT_NODE, "new");
    await volume.settle();
    expect(await records()).toHaveLength(2);
    await volume.other.removeFile("gone");
    await volume.settle(3_700_000);
    expect(await records()).toHaveLength(1);
    await loseIndex();
    expect(await shown("kept")).toMatchObject(OTHER_OWNER);
    expect([kept, gone]).not.toContain(0);
  });

  test("is shown as the disk has it when a record is damaged, or of another file", async () => {
    await made("new", LINK);
    await volume.settle();
    const [name] = await records();
    await volume.writeFile(`${SHOWN_FOLDER}/${name ?? ""}`, '{"shown":{');
    await loseIndex();
    expect(await shown("new")).toMatchObject(SERVER);
    await volume.other.removeFile("new");
    await volume.other.makeSymlink("new", "away");
    await loseIndex();
    expect(await shown("new")).toMatchObject(SERVER);
  });
});

test("with owners kept a root server gives files away, and still makes no set-uid file and no device", async () => {
  await volume.store.close();
  await served({ keepsOwners: true });
  const node = await made("new", { mode: 0o4755 });
  await volume.write(node, "text");
  await made("device", { type: "block", rdev: 5 });
  await volume.settle();
  expect(await onDisk("new")).toEqual({ type: "file", mode: 0o755, ...OTHER_OWNER });
  expect(await onDisk("device")).toEqual({ type: "file", mode: 0o600, ...OTHER_OWNER });
});

test("an ordinary user's server can open its own files, and shows them as they were made", async () => {
  await volume.store.close();
  await served({ isPrivileged: false });
  const node = await made("new", { mode: 0o0 });
  await volume.write(node, "text");
  await volume.settle();
  expect(await onDisk("new")).toEqual({ type: "file", mode: 0o600, ...SERVER });
  await loseIndex();
  expect(await shown("new")).toMatchObject({ mode: 0, ...OTHER_OWNER });
});

test("a change that was interrupted is not taken for a server program's", async () => {
  const node = await made("new", {});
  await volume.write(node, "text");
  await volume.settle();
  let isSet = false;
  // When all of the change is on disk, and not in the rows.
  volume.disk.fault = (operation) => {
    isSet ||= operation === "setXattr";
    return isSet && operation === "syncFolder" ? "Io" : undefined;
  };
  await volume.commit({ op: "setAttr", node, change: { mode: 0o6777, uid: 3 } });
  await volume.clock.advance(200);
  expect(isSet).toBe(true);
  volume.disk.fault = undefined;
  await volume.settle(30_000);
  expect(await shown("new")).toMatchObject({ mode: 0o6777, uid: 3 });
  expect(await onDisk("new")).toEqual({ type: "file", mode: 0o777, ...SERVER });
});

test("[F168] with owners kept a new one takes the bits away that let programs run as the former", async () => {
  await volume.store.close();
  await served({ keepsOwners: true });
  await change(await nodeOf("tool"), { uid: 0, gid: 0, mode: 0o4755 });
  expect(await onDisk("tool")).toMatchObject({ mode: 0o755, uid: 0, gid: 0 });
  await change(await nodeOf("shared"), { mode: 0o2770 });
  expect(await onDisk("shared")).toMatchObject({ mode: 0o2770 });
});
