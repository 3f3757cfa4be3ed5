// Sizes of the chunks of a file (native/src/chunk/chunk_preset.h has the same numbers). Pure.

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** A place in CHUNK_PRESETS. */
export type ChunkPreset = 0 | 1 | 2 | 3 | 4;

/** Names a way to cut: where the bytes say so, or each time after the same number of them. */
export const CHUNK_KINDS = ["content", "fixed"] as const;
export type ChunkKind = (typeof CHUNK_KINDS)[number];

export interface ChunkSizes {
  minBytes: number;
  maxBytes: number;
  /** Number of low bits of a fingerprint that decide. */
  breakpointBits: number;
  /** Size above which new files take this preset. */
  aboveBytes: number;
}

/**
 * Small chunks find more of what the other side has; of a large file they make a recipe that weighs on memory, disk and
 * line. The first preset is LBFS's. A chunk is never larger than a run (LIMITS.runBytes). The last two cut each time
 * after the same number of bytes [W211].
 */
export const CHUNK_PRESETS: readonly [ChunkSizes, ChunkSizes, ChunkSizes, ChunkSizes, ChunkSizes] = [
  { minBytes: 2 * KiB, maxBytes: 64 * KiB, breakpointBits: 13, aboveBytes: -1 },
  { minBytes: 16 * KiB, maxBytes: 512 * KiB, breakpointBits: 16, aboveBytes: 256 * MiB },
  { minBytes: 256 * KiB, maxBytes: 1 * MiB, breakpointBits: 19, aboveBytes: 8 * GiB },
  { minBytes: 64 * KiB, maxBytes: 64 * KiB, breakpointBits: 0, aboveBytes: -1 },
  { minBytes: 1 * MiB, maxBytes: 1 * MiB, breakpointBits: 0, aboveBytes: 8 * GiB },
];

/** Returns the preset for a content that has no base. */
export function presetFor(sizeBytes: number, kind: ChunkKind = "content"): ChunkPreset {
  if (kind === "fixed") return sizeBytes > CHUNK_PRESETS[4].aboveBytes ? 4 : 3;
  if (sizeBytes > CHUNK_PRESETS[2].aboveBytes) return 2;
  return sizeBytes > CHUNK_PRESETS[1].aboveBytes ? 1 : 0;
}

export function isFixedPreset(preset: ChunkPreset): boolean {
  return preset >= 3;
}

/** Number of chunks that a content of random bytes is likely to have. */
export function likelyChunks(sizeBytes: number, preset: ChunkPreset): number {
  const { minBytes, breakpointBits } = CHUNK_PRESETS[preset];
  return Math.ceil(sizeBytes / (isFixedPreset(preset) ? minBytes : minBytes + 2 ** breakpointBits));
}

/**
 * The preset that a recipe shows, so that a file keeps the one of its base; undefined where few chunks leave it open.
 * Only the last chunk may be shorter than the preset's minimum; one of exactly its maximum was most likely cut by that
 * (zeros are).
 */
export function presetOf({ lengths }: { lengths: Uint32Array }): ChunkPreset | undefined {
  let shortest = Infinity;
  let longest = 0;
  for (let index = 0; index + 1 < lengths.length; index++) {
    const length = lengths[index] ?? 0;
    if (length < shortest) shortest = length;
    if (length > longest) longest = length;
  }
  const possible = ([0, 1, 2] as const).filter((preset) => {
    const { minBytes, maxBytes } = CHUNK_PRESETS[preset];
    return shortest >= minBytes && longest <= maxBytes && (lengths[lengths.length - 1] ?? 0) <= maxBytes;
  });
  const [first] = possible;
  if (first === undefined || possible.length === 1) return first;
  return longest === CHUNK_PRESETS[first].maxBytes ? first : undefined;
}
