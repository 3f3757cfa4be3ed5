// Targets in the addon, which are given what came from outside: bytes to cut, edits to find, and compressed bytes.
import { type FuzzTarget, type Targets, requireThat } from "@runnel/shared/test/fuzz/target.ts";
import { joinMessages, splitMessages } from "@runnel/shared/test/fuzz/message-list.ts";
import { CHUNK_PRESETS, type ChunkPreset, type ChunkedRange, type Piece, rechunkedRecipe } from "@runnel/shared";
import { buildContent } from "@runnel/shared/vectors/content.ts";
import { type ChunkEngine, coreAddon } from "../engines.ts";
import { inlineExecutor } from "../index.ts";

const executor = inlineExecutor();
const RAW_BYTES_MAX = 256 * 1024;

const random = (seed: number, length: number): Uint8Array => buildContent([{ random: { seed, length } }]);

function sameRecipe(one: ChunkedRange, other: ChunkedRange): boolean {
  return Buffer.compare(one.digests, other.digests) === 0 && one.lengths.join() === other.lengths.join();
}

/** Cuts `bytes` that come in steps of `stepBytes`. */
function cut(bytes: Uint8Array, stepBytes: number, engine: ChunkEngine, preset: ChunkPreset): ChunkedRange {
  const stream = new (coreAddon().ChunkStream)(engine, preset);
  for (let at = 0; at < bytes.length; at += stepBytes) stream.update(bytes.subarray(at, at + stepBytes));
  const { lengths, digests } = stream.finish();
  return { lengths: new Uint32Array(lengths), digests: new Uint8Array(digests) };
}

/**
 * A preset, how the bytes come (steps of so many times 256, u8), and any bytes: every engine cuts as the plain roll
 * does, within the bounds.
 */
function chunks(): FuzzTarget {
  return {
    structure: "bytes",
    seeds: [random(1, 9000), new Uint8Array(5000), random(2, 60_000)].map((bytes) =>
      Buffer.concat([Uint8Array.of(0, 200), bytes]),
    ),
    run: async (input) => {
      const preset = ((input[0] ?? 0) % CHUNK_PRESETS.length) as ChunkPreset;
      const stepBytes = 256 * ((input[1] ?? 0) + 1);
      const bytes = input.subarray(2);
      const plain = cut(bytes, Math.max(1, bytes.length), "plain", preset);
      requireThat(
        plain.lengths.reduce((sum, length) => sum + length, 0) === bytes.length,
        "chunks are all of the content",
      );
      requireThat(plain.digests.length === 32 * plain.lengths.length, "each has a digest");
      for (const engine of coreAddon().chunkEngines) {
        requireThat(sameRecipe(cut(bytes, stepBytes, engine, preset), plain), `${engine} cuts as the plain roll does`);
      }
    },
  };
}

/** The base, the edits as numbers (offset, length, seed: u8 each, times 64), and how long the content is then. */
function edits(): FuzzTarget {
  const base = random(3, 30_000);
  return {
    structure: "messages",
    seeds: [
      joinMessages([base, Uint8Array.of(10, 2, 5, 100, 1, 6), Uint8Array.of(200, 1)]),
      joinMessages([base.subarray(0, 8000), Uint8Array.of(0, 255, 1), Uint8Array.of(0, 0)]),
    ],
    run: async (input) => {
      const [old = NOTHING, places = NOTHING, length = NOTHING] = splitMessages(input);
      const content = new Uint8Array(Math.max(0, old.length + ((length[0] ?? 0) - 128) * (length[1] ?? 0)));
      content.set(old.subarray(0, content.length));
      const dirty: { offset: number; length: number }[] = [];
      for (let at = 0; at + 2 < places.length && dirty.length < 20; at += 3) {
        const offset = Math.min(64 * (places[at] ?? 0), content.length);
        const news = random(places[at + 2] ?? 0, 64 * (places[at + 1] ?? 0)).subarray(0, content.length - offset);
        content.set(news, offset);
        dirty.push({ offset, length: news.length });
      }
      const baseRecipe = await executor.chunkBytes(old);
      const read = async (offset: number, count: number): Promise<Uint8Array> => content.slice(offset, offset + count);
      const piece: Piece = {
        file: { read } as unknown as NonNullable<Piece["file"]>,
        offset: 0,
        length: content.length,
      };
      const rechunked = await executor.rechunk([piece], baseRecipe.lengths, dirty);
      const whole = await executor.chunkBytes(content);
      requireThat(
        sameRecipe(rechunkedRecipe(baseRecipe, rechunked), whole),
        "what is found is what cutting the whole finds",
      );
    },
  };
}

const NOTHING = new Uint8Array(0);

/** Compressed bytes, the prefix, and the length that they should unfold to (u24). */
async function unfolding(): Promise<FuzzTarget> {
  const text = Buffer.from("What is new is compressed against what is old. ".repeat(60));
  const old = Buffer.from("What is old is compressed against what was. ".repeat(40));
  const of = async (bytes: Uint8Array, prefix?: Uint8Array): Promise<Uint8Array> => {
    const packed = (await executor.compress(bytes, 3, prefix)) ?? NOTHING;
    const { length } = bytes;
    return joinMessages([packed, prefix ?? NOTHING, Uint8Array.of(length >> 16, length >> 8, length)]);
  };
  const large = await of(new Uint8Array(200_000));
  return {
    structure: "messages",
    seeds: [await of(text), await of(text, old), await of(random(1, 300)), large],
    run: async (input) => {
      const [packed = NOTHING, prefix = NOTHING, length = NOTHING] = splitMessages(input);
      const rawBytes = ((length[0] ?? 0) * 65_536 + (length[1] ?? 0) * 256 + (length[2] ?? 0)) % RAW_BYTES_MAX;
      const bytes = await executor.decompress(packed, rawBytes, prefix.length === 0 ? undefined : prefix);
      requireThat(bytes.length === rawBytes, "it unfolds to the length that was asked for");
    },
  };
}

export const targets: Targets = { chunks, edits, unfolding };
