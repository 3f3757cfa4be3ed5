// Makes shared/vectors/chunks.json: where contents are cut, computed straight from the definition
// (native/src/chunk/rabin.h) by long division of every window, with nothing in common with the engines that are tested
// against it; and the OIDs in shared/vectors/objects.json, whose contents and URIs are written by hand. Takes some
// minutes.
//
//   node scripts/make-chunk-vectors.ts
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildContent } from "../shared/vectors/content.ts";
import type { ContentPart } from "../shared/vectors/content.ts";

const POLYNOMIAL = 0xbfe6b8a5bf378d83n;
const DEGREE = 63;
const WINDOW_BYTES = 48;
const BREAKPOINT_VALUE = 0x78n;
/** Presets by number. */
const PRESETS = [
  { mask: 0x1fffn, minBytes: 2048, maxBytes: 65_536 },
  { mask: 0xffffn, minBytes: 16_384, maxBytes: 524_288 },
  { mask: 0x7ffffn, minBytes: 262_144, maxBytes: 1_048_576 },
  { mask: 0x1fffn, minBytes: 65_536, maxBytes: 65_536 },
  { mask: 0x1fffn, minBytes: 1_048_576, maxBytes: 1_048_576 },
] as const;
type Preset = 0 | 1 | 2 | 3 | 4;
const [{ minBytes: MIN_BYTES, maxBytes: MAX_BYTES }] = PRESETS;

const TOP_BIT = WINDOW_BYTES * 8 - 1;

/** The remainder of a polynomial of degree up to TOP_BIT divided by POLYNOMIAL, as on paper. */
function remainder(dividend: bigint): bigint {
  let rest = dividend;
  for (let bit = TOP_BIT; bit >= DEGREE; bit--) {
    if (((rest >> BigInt(bit)) & 1n) === 1n) rest ^= POLYNOMIAL << BigInt(bit - DEGREE);
  }
  return rest;
}

/** Returns true when the 48 bytes before `position` say "cut". */
function isBreakpoint(bytes: Uint8Array, position: number, mask: bigint): boolean {
  const window = bytes.subarray(position - WINDOW_BYTES, position);
  return (remainder(BigInt(`0x${Buffer.from(window).toString("hex")}`)) & mask) === BREAKPOINT_VALUE;
}

function cut(bytes: Uint8Array, preset: Preset): number[] {
  const { mask, minBytes, maxBytes } = PRESETS[preset];
  const lengths: number[] = [];
  for (let start = 0; start < bytes.length;) {
    let end = start + minBytes;
    while (end < bytes.length && end < start + maxBytes && !isBreakpoint(bytes, end, mask)) end++;
    end = Math.min(end, bytes.length);
    lengths.push(end - start);
    start = end;
  }
  return lengths;
}

/** The first seed whose random content has a breakpoint at `position`. */
function seedWithBreakpoint(position: number): number {
  for (let seed = 1; ; seed++) {
    if (isBreakpoint(buildContent([{ random: { seed, length: position } }]), position, PRESETS[0].mask)) return seed;
  }
}

const RANDOM = { random: { seed: 1, length: 300_000 } };
const INSERTED_AT = 150_000;

const contents: { name: string; preset?: Preset; parts: ContentPart[] }[] = [
  { name: "empty", parts: [] },
  { name: "one byte", parts: [{ random: { seed: 7, length: 1 } }] },
  { name: "shorter than the window", parts: [{ random: { seed: 7, length: 47 } }] },
  { name: "exactly the minimum", parts: [{ random: { seed: 7, length: MIN_BYTES } }] },
  { name: "one more than the minimum", parts: [{ random: { seed: 7, length: MIN_BYTES + 1 } }] },
  {
    name: "a breakpoint just before the minimum does not cut",
    parts: [{ random: { seed: seedWithBreakpoint(MIN_BYTES - 1), length: 6000 } }],
  },
  {
    name: "a breakpoint at the minimum cuts",
    parts: [{ random: { seed: seedWithBreakpoint(MIN_BYTES), length: 6000 } }],
  },
  { name: "exactly the maximum, no breakpoint", parts: [{ zeros: MAX_BYTES }] },
  { name: "one more than the maximum", parts: [{ zeros: MAX_BYTES + 1 }] },
  { name: "zeros, cut at the maximum", parts: [{ zeros: 200_000 }] },
  { name: "random", parts: [RANDOM] },
  {
    name: "random with 100 bytes inserted in the middle",
    parts: [{ ...RANDOM, to: INSERTED_AT }, { random: { seed: 2, length: 100 } }, { ...RANDOM, from: INSERTED_AT }],
  },
  { name: "random with the first byte removed", parts: [{ ...RANDOM, from: 1 }] },
  { name: "a short pattern repeated", parts: [{ repeat: { hex: "00ff10a5", length: 150_000 } }] },
  {
    name: "a pattern longer than the window",
    parts: [{ repeat: { hex: "0123456789abcdef".repeat(9) + "5a", length: 80_000 } }],
  },
  { name: "text", parts: [{ words: { seed: 3, length: 120_000 } }] },
  {
    name: "zeros, random, zeros",
    parts: [{ zeros: 70_000 }, { random: { seed: 4, length: 20_000 } }, { zeros: 70_000 }],
  },
  { name: "random, larger chunks", preset: 1, parts: [{ random: { seed: 5, length: 900_000 } }] },
  {
    name: "zeros, random, zeros, larger chunks",
    preset: 1,
    parts: [{ zeros: 600_000 }, { random: { seed: 6, length: 200_000 } }, { zeros: 530_000 }],
  },
  { name: "random, largest chunks", preset: 2, parts: [{ random: { seed: 8, length: 2_500_000 } }] },
  { name: "zeros, largest chunks", preset: 2, parts: [{ zeros: 2_200_000 }] },
  { name: "empty, fixed chunks", preset: 3, parts: [] },
  { name: "one byte, fixed chunks", preset: 3, parts: [{ random: { seed: 7, length: 1 } }] },
  { name: "exactly a fixed chunk", preset: 3, parts: [{ random: { seed: 9, length: 65_536 } }] },
  { name: "one more than a fixed chunk", preset: 3, parts: [{ random: { seed: 9, length: 65_537 } }] },
  { name: "random, fixed chunks", preset: 3, parts: [RANDOM] },
  {
    name: "zeros, random, zeros, fixed chunks",
    preset: 3,
    parts: [{ zeros: 70_000 }, { random: { seed: 4, length: 20_000 } }, { zeros: 70_000 }],
  },
  { name: "random, large fixed chunks", preset: 4, parts: [{ random: { seed: 8, length: 2_500_000 } }] },
];

const cases = contents.map(({ name, preset = 0, parts }) => {
  const bytes = buildContent(parts);
  return {
    name,
    preset,
    parts,
    sizeBytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    lengths: cut(bytes, preset),
  };
});
const about =
  "Lengths of the chunks of each content. Made by scripts/make-chunk-vectors.ts; contents as in vectors/content.ts.";
write("chunks.json", { about, cases });

interface ObjectVector {
  name: string;
  cut: "content" | "fixed";
  parts: ContentPart[];
}

const told = JSON.parse(readFileSync(vectors("objects.json"), "utf8")) as { objects: ObjectVector[] };
const objects = told.objects.map(({ name, cut: how, parts }) => {
  const bytes = buildContent(parts);
  const lengths = cut(bytes, how === "fixed" ? 3 : 0);
  return { name, cut: how, parts, sizeBytes: bytes.length, chunks: lengths.length, oid: oidOf(bytes, lengths) };
});
write("objects.json", { ...told, objects });
console.log(`${cases.length} contents, ${cases.reduce((sum, one) => sum + one.lengths.length, 0)} chunks`);

/** The digest of each chunk's length and digest. */
function oidOf(bytes: Uint8Array, lengths: readonly number[]): string {
  const recipe = createHash("sha256");
  let at = 0;
  for (const length of lengths) {
    const encoded = Buffer.alloc(4);
    encoded.writeUInt32LE(length);
    recipe.update(encoded).update(
      createHash("sha256")
        .update(bytes.subarray(at, (at += length)))
        .digest(),
    );
  }
  return recipe.digest("hex");
}

function vectors(name: string): string {
  return fileURLToPath(new URL(`../shared/vectors/${name}`, import.meta.url));
}

function write(name: string, content: object): void {
  writeFileSync(vectors(name), JSON.stringify(content));
  execFileSync(fileURLToPath(new URL("../node_modules/.bin/oxfmt", import.meta.url)), [vectors(name)]);
}
