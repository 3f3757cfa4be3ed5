// Chooses the old version that the new bytes of a file without a base are compressed against: the cheapest of those
// that it may resemble, if any pays.
import { expect, test } from "@jest/globals";
import { threadExecutor } from "@runnel/native";
import { DIGEST_BYTES, RunnelError } from "@runnel/shared";
import type { Recipe } from "@runnel/shared";
import type { Cache, CachedContent } from "../../src/agent/cache/cache.ts";
import type { ComposedContent } from "../../src/agent/transfer/compose.ts";
import { CutContent } from "../../src/agent/transfer/cut-content.ts";
import { GuessedBase } from "../../src/agent/transfer/guessed-base.ts";

const executor = threadExecutor();
const KiB = 1024;

/** Lines that no compressor shrinks much, each its own. */
function textOf(seed: number, sizeBytes: number): Buffer {
  const lines: string[] = [];
  let state = seed;
  for (let bytes = 0; bytes < sizeBytes; bytes += 33) {
    let line = "";
    while (line.length < 32) line += ((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 8).toString(36);
    lines.push(line.slice(0, 32));
  }
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** Every chunk is another one. */
function edited(text: Buffer): Buffer {
  return Buffer.from(text.toString().replaceAll(/^(.{3}).(.*[01])$/gm, "$1-$2"));
}

interface Version {
  bytes: Buffer;
  recipe: Recipe;
  content: CachedContent;
}

async function version(node: number, bytes: Buffer): Promise<Version> {
  const recipe = await executor.chunkBytes(bytes);
  const content = { id: node, version: { node, seq: 1 }, sizeBytes: bytes.length, path: "", recipe, oid: undefined };
  return { bytes, recipe, content };
}

/** The node that is chosen. */
async function chosen(
  bytes: Buffer,
  guesses: Version[],
  indexed: Version[] = [],
  gone: number[] = [],
): Promise<number> {
  const all = [...guesses, ...indexed];
  const cache = {
    byId: (id: number) => all.find(({ content }) => content.id === id)?.content,
    findChunks: (digests: Uint8Array) =>
      Array.from({ length: digests.length / DIGEST_BYTES }, (_, at) => {
        const digest = Buffer.from(digests.subarray(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES));
        const holder = indexed.find(({ recipe }) => Buffer.from(recipe.digests).includes(digest));
        return holder && { content: holder.content, index: 0, offset: 0, length: 0 };
      }),
    read: async ({ id }: CachedContent, offset: number, length: number) => {
      if (gone.includes(id)) throw new RunnelError("Gone", "read", "It was evicted.");
      return all.find(({ content }) => content.id === id)?.bytes.subarray(offset, offset + length);
    },
  } as unknown as Cache;
  const content = {
    sizeBytes: bytes.length,
    read: async (offset: number, into: Uint8Array) => void bytes.copy(into, 0, offset, offset + into.length),
  } as unknown as ComposedContent;
  const cut = new CutContent(content, executor, 0, await executor.chunkBytes(bytes));
  const guessed = new GuessedBase({ cache, executor, guesses: guesses.map((guess) => guess.content) });
  const found = await guessed.of(cut, false);
  expect(await guessed.of(cut, true)).toBe(found);
  return found?.version.node ?? 0;
}

test("the guess that it resembles is taken, wherever it stands among others", async () => {
  const old = await version(1, textOf(1, 40 * KiB));
  const others = await Promise.all([2, 3].map((node) => version(node, textOf(node, 40 * KiB))));
  expect(await chosen(edited(old.bytes), [others[0] as Version, old, others[1] as Version])).toBe(1);
});

test("no wrong guess is taken, and none that has gone", async () => {
  const old = await version(1, textOf(1, 40 * KiB));
  expect(await chosen(textOf(9, 40 * KiB), [old])).toBe(0);
  expect(await chosen(edited(old.bytes), [old], [], [1])).toBe(0);
});

test("a version that has the same head, as all files with a licence, stands back behind what it is an edit of", async () => {
  const head = textOf(5, 30 * KiB);
  const old = await version(1, Buffer.concat([head, textOf(1, 60 * KiB)]));
  const other = await version(2, Buffer.concat([head, textOf(2, 60 * KiB)]));
  const now = Buffer.concat([head, edited(textOf(1, 60 * KiB))]);
  expect(await chosen(now, [], [other])).toBe(2);
  expect(await chosen(now, [old], [other])).toBe(1);
});

test("the version that has most of its chunks is taken without a trial", async () => {
  const old = await version(1, textOf(1, 200 * KiB));
  const guess = await version(2, textOf(1, 200 * KiB));
  expect(await chosen(Buffer.concat([old.bytes, Buffer.from("more")]), [guess], [old])).toBe(1);
});
