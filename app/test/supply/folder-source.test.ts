// A folder as a source of chunks, over real files: found, read, doubted, forgotten.
import { chmod, mkdir, rename, rm, symlink, utimes, writeFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { buildContent } from "@runnel/shared/vectors/content.ts";
import { rangeOf } from "../../src/agent/transfer/sources/chunk-spans.ts";
import { SupplyRig, all, NEVER, takenChunks, wantedContent } from "./supply-rig.ts";

let rig: SupplyRig;
beforeEach(async () => {
  rig = await SupplyRig.make();
});
afterEach(() => rig[Symbol.asyncDispose]());

const contentOf = (length: number, seed: number): Uint8Array => buildContent([{ random: { seed, length } }]);
const BYTES = contentOf(900_000, 1);

test("finds and brings the chunks of files where they lie, wherever they are in them", async () => {
  await mkdir(join(rig.path, "deep/er"), { recursive: true });
  await writeFile(join(rig.path, "deep/er/copy"), Buffer.concat([contentOf(5_000, 2), BYTES.subarray(0, 500_000)]));
  await writeFile(join(rig.path, "rest"), BYTES.subarray(400_000));
  expect(await rig.scan()).toEqual({ files: 2, bytes: 1_005_000, passedOver: 0, isFull: false });
  const content = await wantedContent(BYTES);
  // The first chunk is longer where other bytes go before it.
  const count = content.recipe.lengths.length - 1;
  expect(await rig.source.locate(content, all(content), NEVER)).toEqual([{ from: 1, count }]);
  expect((await takenChunks(rig.source, content)).size).toBe(count);
});

test("a further scan cuts only what has changed, and forgets what is gone", async () => {
  await writeFile(join(rig.path, "one"), BYTES);
  await writeFile(join(rig.path, "two"), contentOf(100_000, 3));
  await rig.scan();
  const one = rig.index.fileAt("one");
  await rm(join(rig.path, "two"));
  await rig.scan();
  expect(rig.index.fileAt("one")).toEqual(one);
  expect(rig.index.totals).toEqual({ files: 1, bytes: BYTES.length });
  await writeFile(join(rig.path, "one"), contentOf(900_000, 4));
  await rig.scan();
  const content = await wantedContent(BYTES);
  expect(await rig.source.locate(content, all(content), NEVER)).toEqual([]);
});

test("links are not followed, and what cannot be read is passed over and counted", async () => {
  await writeFile(join(rig.folder, "outside"), BYTES);
  await symlink(join(rig.folder, "outside"), join(rig.path, "link"));
  await symlink(rig.folder, join(rig.path, "folder"));
  await writeFile(join(rig.path, "closed"), contentOf(10_000, 5));
  await chmod(join(rig.path, "closed"), 0o000);
  const scanned = await rig.scan();
  expect(scanned.files).toBe(1);
  expect(scanned.passedOver).toBe(process.getuid?.() === 0 ? 0 : 1);
  const content = await wantedContent(BYTES);
  expect(await rig.source.locate(content, all(content), NEVER)).toEqual([]);
});

test("bytes that are not what they were are doubted, and cut anew though their times are the same", async () => {
  const path = join(rig.path, "rotten");
  await writeFile(path, BYTES);
  await rig.scan();
  const content = await wantedContent(BYTES);
  // A file that was put in place of another with its size and times, as rot leaves them.
  const { atime, mtime } = await stat(path);
  const rotten = Buffer.from(BYTES);
  rotten[450_000] = (rotten[450_000] ?? 0) ^ 1;
  await writeFile(path, rotten);
  await utimes(path, atime, mtime);
  await takenChunks(rig.source, content);
  expect(rig.source.hasDoubts).toBe(true);
  expect(await rig.source.locate(content, all(content), NEVER)).toEqual([]);
  await rig.scan();
  expect(rig.source.hasDoubts).toBe(false);
  expect((await takenChunks(rig.source, content)).size).toBe(content.recipe.lengths.length - 1);
});

test("a source that rots under its own times tells wrong chunks, whose file is cut anew", async () => {
  await writeFile(join(rig.path, "one"), BYTES);
  await rig.scan();
  const content = await wantedContent(BYTES);
  await takenChunks(rig.source, content);
  rig.source.wrong(content, 3);
  expect(await rig.source.locate(content, all(content), NEVER)).toEqual([]);
  await rig.scan();
  expect((await takenChunks(rig.source, content)).size).toBe(content.recipe.lengths.length);
});

test("a folder that is not there has nothing, and forgets nothing", async () => {
  await writeFile(join(rig.path, "one"), BYTES);
  await rig.scan();
  const content = await wantedContent(BYTES);
  await rename(rig.path, `${rig.path}-away`);
  await expect(takenChunks(rig.source, content)).rejects.toMatchObject({ kind: "NotFound" });
  expect(rig.source.isAway).toBe(true);
  expect(await rig.source.locate(content, all(content), NEVER)).toEqual([]);
  // Without its file system a mount point is an empty folder.
  await mkdir(rig.path);
  await expect(rig.scan()).rejects.toMatchObject({ kind: "Unavailable" });
  await rm(rig.path, { recursive: true });
  await rename(`${rig.path}-away`, rig.path);
  await rig.scan();
  expect((await takenChunks(rig.source, content)).size).toBe(content.recipe.lengths.length);
});

test("a folder that goes in the middle of a read has brought what is right, and the rest is not there", async () => {
  // Two files, so that the second is opened when the folder has gone.
  await writeFile(join(rig.path, "first"), BYTES.subarray(0, 500_000));
  await writeFile(join(rig.path, "second"), BYTES.subarray(400_000));
  await rig.scan();
  const content = await wantedContent(BYTES);
  const came = new Set<number>();
  const reading = (async () => {
    for await (const run of rig.source.get(content, all(content), NEVER)) {
      const { offset, length } = rangeOf(content.recipe, run);
      expect(Buffer.compare(run.bytes, BYTES.subarray(offset, offset + length))).toBe(0);
      for (let index = run.from; index < run.from + run.count; index++) came.add(index);
      if (came.size === run.count) {
        await rename(rig.path, `${rig.path}-away`);
        for (const name of ["first", "second"]) await rm(join(`${rig.path}-away`, name));
      }
    }
  })();
  await reading.catch((error: unknown) => expect(error).toMatchObject({ kind: expect.any(String) }));
  expect(came.size).toBeGreaterThan(0);
  expect(came.size).toBeLessThan(content.recipe.lengths.length);
  expect(await rig.source.locate(content, all(content), NEVER)).not.toEqual(all(content));
});

test("an ended scan throws Interrupted, and the next goes on where it was", async () => {
  await writeFile(join(rig.path, "one"), BYTES);
  const ended = AbortSignal.abort();
  await expect(rig.source.scan(ended, () => undefined)).rejects.toMatchObject({ kind: "Interrupted" });
  await rig.scan();
  expect(rig.index.totals.files).toBe(1);
});
