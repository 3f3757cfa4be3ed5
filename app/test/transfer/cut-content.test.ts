// A content cut in windows has the chunks of one cut at once, and what is planned from it does not depend on the
// windows.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createCipheriv } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realDisk, threadExecutor } from "@runnel/native";
import { DIGEST_BYTES, EMPTY_RECIPE, encodeRecipe, sliceRecipe } from "@runnel/shared";
import type { ChunkPreset, DiskFile, DiskRoot, Recipe } from "@runnel/shared";
import { ComposedContent } from "../../src/agent/transfer/compose.ts";
import { CutContent } from "../../src/agent/transfer/cut-content.ts";
import { UploadPlan } from "../../src/agent/transfer/upload-plan.ts";
import type { Item, References } from "../../src/agent/transfer/upload-plan.ts";

const MiB = 1024 * 1024;
const executor = threadExecutor();
let folder: string;
let root: DiskRoot;
let file: DiskFile;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "runnel-cut-"));
  root = await realDisk().openRoot(folder);
});

afterEach(async () => {
  await file.close();
  await root.close();
  rmSync(folder, { recursive: true });
});

async function content(bytes: Uint8Array): Promise<CutContent> {
  writeFileSync(join(folder, "content"), bytes);
  file = await root.open("content", "read");
  return cutOf(bytes.length);
}

function cutOf(sizeBytes: number, preset: ChunkPreset = 0): CutContent {
  return new CutContent(new ComposedContent([{ file, offset: 0, length: sizeBytes }], []), executor, preset);
}

function noise(sizeBytes: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, 7), Buffer.alloc(16)).update(Buffer.alloc(sizeBytes));
}

/** No version of anything is known. */
const nothing = {
  findChunks: (digests: Uint8Array) => Array.from({ length: digests.length / DIGEST_BYTES }, () => undefined),
};

async function planned(cut: CutContent, base?: Recipe): Promise<{ given: Item[]; plan: UploadPlan }> {
  const known = base && { version: { node: 5, seq: 9 }, recipe: base };
  const plan = new UploadPlan({ cache: nothing, base: known, references: "copies", hasDeltas: false });
  const given: Item[] = [];
  for await (const window of cut.windows()) given.push(...plan.add(window));
  return { given: [...given, ...plan.end()], plan };
}

describe("CutContent", () => {
  for (const [name, bytes] of [
    ["noise of several windows", noise(20 * MiB + 12_345)],
    ["zeros of exactly two windows", Buffer.alloc(16 * MiB)],
    ["less than a window", noise(100_000)],
    ["nothing", Buffer.alloc(0)],
  ] as const) {
    test(`has the recipe that a cut at once gives: ${name}`, async () => {
      const cut = await content(bytes);
      const whole = await executor.chunkFile(file, 0, bytes.length);
      const got = await cut.whole();
      expect(Buffer.compare(encodeRecipe(got.recipe), encodeRecipe(whole))).toBe(0);
      expect(got.oid).toEqual(await executor.digest([encodeRecipe(whole)]));
    });
  }

  test("gives its windows again, before and after the whole was made, and slices across them", async () => {
    const cut = await content(noise(20 * MiB));
    const first = await Array.fromAsync(cut.windows());
    expect(first.length).toBeGreaterThan(2);
    expect(await Array.fromAsync(cut.windows())).toEqual(first);
    const border = first[1]?.from ?? 0;
    const slice = await cut.slice(border - 3, border + 4);
    const { recipe } = await cut.whole();
    expect(slice).toEqual(sliceRecipe(recipe, border - 3, border + 4));
    expect(await cut.slice(border - 3, border + 4)).toEqual(slice);
    expect((await Array.fromAsync(cut.windows())).map((window) => window.recipe)).toEqual([recipe]);
  });

  test("fails with what cutting fails with, for whoever asks", async () => {
    await content(noise(1000));
    const cut = cutOf(2000);
    await expect(cut.whole()).rejects.toMatchObject({ kind: "Stale" });
    await expect(Array.fromAsync(cut.windows())).rejects.toMatchObject({ kind: "Stale" });
  });
});

describe("UploadPlan", () => {
  test("names chunks that only the server may know of, in few items, window by window as at once; holes go as data", async () => {
    const bytes = noise(20 * MiB).fill(0, 12 * MiB, 14 * MiB);
    const cut = await content(bytes);
    const ask = async (asksFirst: number, references: References = "copies"): Promise<Item[]> => {
      const plan = new UploadPlan({ cache: nothing, base: undefined, references, hasDeltas: false, asksFirst });
      const given: Item[] = [];
      for await (const window of cut.windows()) given.push(...plan.add(window));
      given.push(...plan.end());
      expect(plan.items).toEqual(given);
      return given;
    };
    const chunks = (items: readonly Item[]): number => items.reduce((sum, { count }) => sum + count, 0);
    const inWindows = await ask(2000);
    const { recipe } = await cut.whole();
    expect(await ask(2000)).toEqual(inWindows);
    expect(chunks(inWindows)).toBe(recipe.lengths.length);
    expect(new Set(inWindows.map(({ is }) => is))).toEqual(new Set(["hash", "data"]));
    const holes = inWindows.filter((item) => item.is === "data");
    expect(holes.length).toBeLessThanOrEqual(3);
    expect(holes.every(({ repeats }) => repeats !== undefined)).toBe(true);
    const named = inWindows.filter((item) => item.is !== "data");
    expect(named.every(({ version, count }) => version.node === 0 && count === 1)).toBe(true);
    // Several are one item where there are more chunks than there may be items.
    const few = await ask(20_000);
    expect(chunks(few)).toBe(recipe.lengths.length);
    expect(Math.max(...few.map((item) => (item.is === "hash" ? item.count : 0)))).toBe(4);
    expect((await ask(0)).every(({ is }) => is === "data")).toBe(true);
  });

  test("plans the same items window by window as at once, and gives each once", async () => {
    const cut = await content(noise(20 * MiB));
    const before = await executor.chunkBytes(noise(20 * MiB).fill(1, 12 * MiB, 12 * MiB + 100));
    const inWindows = await planned(cut, before);
    await cut.whole();
    const atOnce = await planned(cut, before);
    expect(inWindows.given).toEqual(atOnce.given);
    expect(inWindows.given).toEqual(inWindows.plan.items);
    expect(inWindows.given.map((item) => item.is)).toEqual(["copy", "data", "copy"]);
  });

  test("fills runs across the borders of windows", async () => {
    const cut = await content(noise(20 * MiB));
    const { given } = await planned(cut, EMPTY_RECIPE);
    const lengths = given.map((item) => (item.is === "data" ? item.length : 0));
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(20 * MiB);
    for (const length of lengths.slice(0, -1)) expect(length).toBeGreaterThan(MiB - 64 * 1024);
  });

  test("marks runs that repeat one chunk, and no others", async () => {
    const cut = await content(noise(6 * MiB).fill(0, 2 * MiB, 5 * MiB));
    const { given } = await planned(cut, EMPTY_RECIPE);
    const runs = given.flatMap((item) => (item.is === "data" && item.repeats !== undefined ? [item] : []));
    expect(runs.length).toBeGreaterThan(1);
    expect(new Set(runs.map(({ repeats }) => repeats)).size).toBe(1);
    for (const { offset, length } of runs) {
      expect(offset).toBeGreaterThanOrEqual(2 * MiB);
      expect(offset + length).toBeLessThanOrEqual(5 * MiB);
    }
  });

  test("names a hole that another version has by one range; what that lacks, and a hole that only digests name, is data that repeats", async () => {
    const cut = await content(Buffer.alloc(20 * MiB));
    const recipe = await executor.chunkBytes(new Uint8Array(12 * MiB));
    const version = { node: 8, seq: 3 };
    const known = { id: 1, version, sizeBytes: 12 * MiB, path: "", recipe, oid: undefined };
    const findChunks = (digests: Uint8Array) =>
      Array.from({ length: digests.length / DIGEST_BYTES }, () => ({
        content: known,
        index: 0,
        offset: 0,
        length: recipe.lengths[0] ?? 0,
      }));
    const plan = async (references: References): Promise<Item[]> => {
      const made = new UploadPlan({ cache: { findChunks }, base: undefined, references, hasDeltas: false });
      for await (const window of cut.windows()) made.add(window);
      return made.items;
    };
    const count = recipe.lengths.length;
    const data = { is: "data", length: MiB, repeats: expect.any(String) };
    const [copied, ...rest] = await plan("copies");
    expect(copied).toEqual({ is: "copy", version, at: 0, from: 0, count });
    expect(rest).toHaveLength(8);
    for (const item of rest) expect(item).toMatchObject(data);
    const [named, ...others] = await plan("digests");
    expect(named).toEqual({ is: "hash", version, at: 0, from: 0, count: 1 });
    expect(others).toHaveLength(20);
    for (const item of others.slice(0, -1)) expect(item).toMatchObject(data);
  });

  test("goes on with ranges of its base when another version is not kept any more: of that, chunks are named by digest", async () => {
    const before = noise(4 * MiB);
    const base = { version: { node: 5, seq: 9 }, recipe: await executor.chunkBytes(before) };
    const cut = await content(Buffer.concat([before, Buffer.alloc(MiB, "another")]));
    const { recipe: whole } = await cut.whole();
    // The other version is the last chunk.
    const recipe = sliceRecipe(whole, whole.lengths.length - 1, whole.lengths.length);
    const version = { node: 8, seq: 3 };
    const known = { id: 1, version, sizeBytes: recipe.lengths[0] ?? 0, path: "", recipe, oid: undefined };
    const findChunks = (digests: Uint8Array) =>
      Array.from({ length: digests.length / DIGEST_BYTES }, (_, index) =>
        Buffer.compare(digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES), recipe.digests) === 0
          ? { content: known, index: 0, offset: 0, length: recipe.lengths[0] ?? 0 }
          : undefined,
      );
    const named: string[][] = [];
    for (const references of ["copies", "base"] as const) {
      const plan = new UploadPlan({ cache: { findChunks }, base, references, hasDeltas: false });
      for await (const window of cut.windows()) plan.add(window);
      plan.end();
      const items = plan.items.flatMap((item) => (item.is === "data" ? [] : [item]));
      expect(items.some((item) => item.is === "copy" && item.version === base.version && item.count > 100)).toBe(true);
      named.push(items.filter((item) => item.version === version).map(({ is }) => is));
    }
    expect(named).toEqual([["copy"], ["hash"]]);
  });

  test("looks for no chunk elsewhere that its base has", async () => {
    const before = noise(4 * MiB);
    const after = Uint8Array.from(before);
    for (const at of [100, 2_000_000, 4_000_000]) after.fill(1, at, at + 10);
    const base = { version: { node: 5, seq: 9 }, recipe: await executor.chunkBytes(before) };
    const cut = await content(after);
    let looked = 0;
    const findChunks = (digests: Uint8Array): undefined[] => {
      looked += digests.length / DIGEST_BYTES;
      return nothing.findChunks(digests);
    };
    const plan = new UploadPlan({ cache: { findChunks }, base, references: "copies", hasDeltas: false });
    for await (const window of cut.windows()) plan.add(window);
    plan.end();
    const sent = plan.items.reduce((sum, item) => sum + (item.is === "data" ? item.count : 0), 0);
    expect(sent).toBeLessThan(10);
    expect(looked).toBe(sent);
  });

  test("joins runs of deltas over what little is copied between them", async () => {
    const before = noise(4 * MiB);
    const after = Uint8Array.from(before);
    for (const at of [1_000_000, 1_050_000, 1_100_000, 3_000_000]) after.fill(1, at, at + 10);
    const known = { version: { node: 5, seq: 9 }, recipe: await executor.chunkBytes(before) };
    const cut = await content(after);
    await cut.whole();
    const plan = new UploadPlan({ cache: nothing, base: known, references: "copies", hasDeltas: true });
    const given: Item[] = [];
    for await (const window of cut.windows()) given.push(...plan.add(window));
    given.push(...plan.end());
    expect(given.map((item) => item.is)).toEqual(["copy", "data", "copy", "data", "copy"]);
    expect(given).toEqual(plan.items);
    let next = 0;
    for (const item of given) {
      expect(item.from).toBe(next);
      next = item.from + item.count;
    }
    expect(next).toBe((await cut.whole()).recipe.lengths.length);
  });
});
