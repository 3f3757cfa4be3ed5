// Two saves of one file before either is in the folder: what only a later step of the same work has replaced may go,
// what another person saved may not.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { tempPath } from "../../../../src/content/folder/disk/store-layout.ts";
import { VolumeRig, bytesOf } from "../../../volume/volume-rig.ts";

const MB = 1024 * 1024;
const ALICE = "aa".repeat(16);
const BOB = "bb".repeat(16);

let rig: VolumeRig;
let node: number;
let base: Uint8Array;

beforeEach(async () => {
  rig = await VolumeRig.open(1);
});

afterEach(() => rig.close());

async function served(sizeBytes: number): Promise<number> {
  base = bytesOf(3, sizeBytes);
  node = await rig.file(ROOT_NODE, "doc", base);
  await rig.settle();
  return (await rig.volume.meta.node(node))?.version ?? 0;
}

/** The first chunk anew, with these words at its beginning; the rest is copied from `from`. */
async function save(words: string, from: number, on: number, instance: string, n: number): Promise<number> {
  const bytes = Uint8Array.from(base);
  bytes.set(Buffer.from(words), 0);
  const recipe = await rig.executor.chunkBytes(bytes);
  const head = recipe.lengths[0] ?? 0;
  const content = {
    recipe,
    sizeBytes: bytes.length,
    runs: [
      { from: "log" as const, at: 0, length: head },
      { from: "version" as const, version: { node, seq: from }, offset: head, length: bytes.length - head },
    ],
    temp: "",
  };
  const id = { instance, n, digest: bytesOf(n, 32) };
  const operation = { op: "write" as const, node, base: on, content, attributes: {} };
  return (await rig.volume.commit(operation, id, undefined, bytes.subarray(0, head))).version;
}

async function wordsOf(seq: number): Promise<string> {
  return Buffer.from(await rig.run(rig.read(node, seq)))
    .subarray(0, 5)
    .toString();
}

/** All reach the folder with one batch; `fault`: while they first try to. */
async function together(saves: () => Promise<void>, fault?: typeof rig.disk.fault): Promise<void> {
  rig.disk.fault = (operation) => (operation === "open" || operation === "rename" ? "NoSpace" : undefined);
  await saves();
  rig.disk.fault = fault;
  if (fault !== undefined) await rig.clock.advance(60_000);
  rig.disk.fault = undefined;
  await rig.settle();
}

test.each([600_000, 2 * MB])("[F164] both contents of a conflict are kept (%i bytes)", async (sizeBytes) => {
  const first = await served(sizeBytes);
  let [alice, bob] = [0, 0];
  await together(async () => {
    alice = await save("ALICE", first, first, ALICE, 900);
    bob = await save("BOB--", first, first, BOB, 901);
  });
  expect([await wordsOf(alice), await wordsOf(bob)]).toEqual(["ALICE", "BOB--"]);
});

test("[F164] what one person saved and another goes on with is kept", async () => {
  const first = await served(2 * MB);
  let [alice, bob] = [0, 0];
  await together(async () => {
    alice = await save("ALICE", first, first, ALICE, 900);
    bob = await save("BOB--", alice, alice, BOB, 901);
  });
  expect([await wordsOf(alice), await wordsOf(bob)]).toEqual(["ALICE", "BOB--"]);
});

test("[F164] of one machine's saves, each made from the one before, the last is copied only", async () => {
  const first = await served(2 * MB);
  let [one, two] = [0, 0];
  await together(async () => {
    one = await save("FIRST", first, first, ALICE, 900);
    two = await save("AGAIN", one, one, ALICE, 901);
  });
  expect(await wordsOf(two)).toBe("AGAIN");
  expect(await rig.volume.meta.version({ node, seq: one })).toBeUndefined();
});

test("[F164] a conflict copy that is saved over at once, by who made it, is in the folder and stays", async () => {
  const first = await served(2 * MB);
  let alice = 0;
  await together(async () => {
    const removal = { op: "remove" as const, folder: ROOT_NODE, name: "doc", node, isFolder: false };
    await rig.volume.commit(removal, { instance: BOB, n: 900, digest: bytesOf(1, 32) }, undefined);
    const made = await save("FIRST", first, first, ALICE, 901);
    const [copy] = await rig.volume.meta.list(ROOT_NODE, "", 10);
    node = copy?.state.node ?? 0;
    alice = await save("AGAIN", made, made, ALICE, 902);
  });
  const there = async (): Promise<string[]> =>
    (await rig.volume.meta.list(ROOT_NODE, "", 10)).map(({ name }) => name.replace(/ \(.*/, ""));
  expect(await there()).toEqual(["doc"]);
  await rig.kill();
  await rig.open();
  await rig.settle();
  expect(await there()).toEqual(["doc"]);
  expect(await wordsOf(alice)).toBe("AGAIN");
});

test("[F164] what somebody else's save copies from is kept when that save cannot be put in place at first", async () => {
  const first = await served(2 * MB);
  let [one, two, bob] = [0, 0, 0];
  await together(
    async () => {
      one = await save("FIRST", first, first, ALICE, 900);
      two = await save("AGAIN", one, one, ALICE, 901);
      bob = await save("BOB--", one, one, BOB, 902);
    },
    (operation, path) => (operation === "open" && path === tempPath(bob, "new") ? "Denied" : undefined),
  );
  expect([await wordsOf(one), await wordsOf(two)]).toEqual(["FIRST", "AGAIN"]);
  const wanted = Uint8Array.from(base);
  wanted.set(Buffer.from("BOB--"), 0);
  expect(Buffer.compare(await rig.run(rig.read(node, bob)), wanted)).toBe(0);
});

test("[F164] nobody is promised bytes of a version that will not be there", async () => {
  const first = await served(2 * MB);
  const promised: boolean[] = [];
  let [one, two] = [0, 0];
  const { content } = rig.volume;
  await together(
    async () => {
      one = await save("FIRST", first, first, ALICE, 900);
      two = await save("AGAIN", one, one, ALICE, 901);
    },
    (operation, path) => {
      // The second is being filled.
      if (operation === "write" && path === tempPath(two, "new") && promised.length === 0) {
        promised.push(true);
        void content.open({ node, seq: one }).then(async (opened) => {
          promised.push(await opened.secure([{ offset: 0, length: 1_000 }]));
          await opened.close();
        });
      }
      return undefined;
    },
  );
  expect(promised).toEqual([true, false]);
  expect(await wordsOf(two)).toBe("AGAIN");
});
