// A new file and its first content in one batch: it is made with that content, and an empty one never shows.
import { afterEach, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { FILE, VolumeRig, bytesOf } from "../../../volume/volume-rig.ts";

const FILES = 20;
const rigs: VolumeRig[] = [];

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
});

async function opened(): Promise<VolumeRig> {
  const rig = await VolumeRig.open(9);
  rigs.push(rig);
  return rig;
}

/** Makes files with their contents, all asked for before any is answered, as a client says them. */
async function files(rig: VolumeRig, folder: number, contents: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const { first } = await rig.volume.meta.allocateNodes(Object.keys(contents).length);
  const asked: Promise<unknown>[] = [];
  for (const [index, [name, bytes]] of Object.entries(contents).entries()) {
    const node = first + index;
    const recipe = await rig.executor.chunkBytes(bytes);
    const runs = [{ from: "log", at: 0, length: bytes.length }] as const;
    const content = { recipe, sizeBytes: bytes.length, runs: [...runs], temp: "" };
    asked.push(rig.commit({ op: "make", folder, name, node, attributes: FILE }));
    asked.push(rig.commit({ op: "write", node, base: 0, content, attributes: {} }, bytes));
  }
  await rig.run(Promise.all(asked));
  await rig.settle();
}

test("costs few calls of the disk", async () => {
  const rig = await opened();
  const names = Array.from({ length: FILES }, (_, index) => [`f${index}`, bytesOf(index + 1, 4096)] as const);
  const before = rig.disk.operations;
  await files(rig, ROOT_NODE, Object.fromEntries(names));
  expect((rig.disk.operations - before) / FILES).toBeLessThan(13);
  expect((await rig.files()).size).toBe(FILES);
});

test("shows no empty file, and has the content's attributes", async () => {
  const rig = await opened();
  const renamed: string[] = [];
  rig.disk.fault = (operation, path) => {
    if (operation === "rename") renamed.push(path);
    return undefined;
  };
  await files(rig, ROOT_NODE, { new: Buffer.from("its content"), empty: Buffer.alloc(0) });
  expect(renamed).toHaveLength(2);
  expect(await rig.files()).toEqual(
    new Map([
      ["empty", "file "],
      ["new", "file its content"],
    ]),
  );
  expect(await rig.other.stat("new")).toMatchObject({ mode: FILE.mode, sizeBytes: 11, mtimeNs: expect.any(BigInt) });
  expect(await rig.tree()).toEqual(await rig.files());
});

test("keeps what another program has put at its name, and puts the content there", async () => {
  const rig = await opened();
  let isPut = false;
  rig.disk.fault = (operation, path) => {
    if (operation !== "rename" || !path.endsWith(".new") || isPut) return undefined;
    isPut = true;
    void rig.writeFile("new", "of another program");
    return "Exists";
  };
  await files(rig, ROOT_NODE, { new: Buffer.from("its content") });
  await rig.settle();
  const found = await rig.files();
  expect([...found.values()].sort()).toEqual(["file its content", "file of another program"]);
  expect(found.get("new")).toBe("file its content");
});
