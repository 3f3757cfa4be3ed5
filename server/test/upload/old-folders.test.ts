// Folders beside the volumes that a write takes chunks from.
import { mkdir, mkdtemp, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { realDisk, threadExecutor } from "@runnel/native";
import { RealClock, SeededRandom, concatRecipes, sliceRecipe } from "@runnel/shared";
import { OldFolders } from "../../src/upload/old-folders.ts";

const executor = threadExecutor();
const BYTES = new SeededRandom(1).bytes(400_000);

let folder: string;
let opened: OldFolders | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "runnel-old-"));
});

afterEach(async () => {
  await opened?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function open(...names: string[]): Promise<OldFolders> {
  const paths = names.map((name) => join(folder, name));
  const warn = (): void => undefined;
  opened = await OldFolders.open(paths, { disk: realDisk(), executor, clock: new RealClock(), warn });
  await opened.scanned();
  return opened;
}

async function makeFolder(name: string, bytes: Uint8Array): Promise<void> {
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, "file"), bytes);
}

test("[W210] chunks are read of whichever folder has all of them", async () => {
  await makeFolder("one", new SeededRandom(2).bytes(10_000));
  await makeFolder("two", BYTES);
  const folders = await open("one", "two");
  const recipe = await executor.chunkBytes(BYTES);
  const read = await folders.read(recipe);
  expect(read && Buffer.compare(read, BYTES)).toBe(0);
  const other = await executor.chunkBytes(new SeededRandom(3).bytes(5_000));
  expect(await folders.read(concatRecipes([sliceRecipe(recipe, 0, 3), other]))).toBeUndefined();
});

test("[W210] bytes that have rotted are not given out, nor asked for again", async () => {
  await makeFolder("one", BYTES);
  const folders = await open("one");
  const path = join(folder, "one", "file");
  const { atime, mtime } = await stat(path);
  await writeFile(
    path,
    BYTES.map((byte) => byte ^ 1),
  );
  await utimes(path, atime, mtime);
  const recipe = await executor.chunkBytes(BYTES);
  expect(await folders.read(recipe)).toBeUndefined();
  expect(await folders.read(recipe)).toBeUndefined();
});

test("[W210] of a folder that is pulled out, also in the middle of a read, the client sends what is wanted", async () => {
  await makeFolder("one", BYTES);
  const folders = await open("one");
  const recipe = await executor.chunkBytes(BYTES);
  const reading = folders.read(recipe);
  await rename(join(folder, "one"), join(folder, "gone"));
  const read = await reading;
  if (read !== undefined) expect(Buffer.compare(read, BYTES)).toBe(0);
  expect(await folders.read(recipe)).toBeUndefined();
});

test("[W210] an item of more than 4 MiB is not looked for", async () => {
  const large = new SeededRandom(4).bytes(4 * 1024 * 1024 + 1);
  await makeFolder("one", large);
  const folders = await open("one");
  const recipe = await executor.chunkBytes(large);
  expect(await folders.read(recipe)).toBeUndefined();
  expect(await folders.read(sliceRecipe(recipe, 0, 10))).toBeDefined();
});

test("a folder that is not there is refused at the start by its name", async () => {
  await expect(open("nowhere")).rejects.toMatchObject({
    kind: "Invalid",
    message: expect.stringContaining(join(folder, "nowhere")),
  });
});
