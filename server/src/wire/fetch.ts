// fetch: a version's recipe as a delta against what the client holds, and the chunks of a range that it lacks; raw ranges of a file that
// has no recipe yet. One round trip (WIRE: Operations, read).
import type { Channel, Recipe, RequestOf, VersionId } from "@runnel/shared";
import {
  HeldChunks,
  LIMITS,
  RunPacker,
  RunnelError,
  EMPTY_RECIPE,
  chunkOffsets,
  digestAt,
  encodeRecipe,
  encodeRecipeDelta,
  sliceRecipe,
  splitRecipeParts,
} from "@runnel/shared";
import type { Volume } from "../volume/volume.ts";
import { chunkRuns, readRun } from "../volume/version-reader.ts";
import type { Delta, HeldByClient } from "./encode-run.ts";
import { DeltaEncoder, RunSender } from "./encode-run.ts";

export async function serveFetch(volume: Volume, request: RequestOf<"fetch">, channel: Channel): Promise<void> {
  const recipe = await volume.recipes.get(request.version);
  const open = await volume.content.open(request.version);
  try {
    const held = await heldRecipes(volume, request.held);
    if (recipe === undefined || request.hasRecipe) channel.send(["v", open.sizeBytes, null]);
    else {
      const [first = [], ...more] = splitRecipeParts(encodeRecipeDelta(recipe, held.chunks));
      channel.send(["v", open.sizeBytes, first]);
      for (const parts of more) channel.send(["p", parts]);
    }
    const end = Math.min(open.sizeBytes, request.offset + request.length);
    const packer = new RunPacker<Delta>(volume.executor, () => channel.ratePerSecond);
    const runs = new RunSender(channel);
    if (recipe === undefined) {
      for (let offset = request.offset; offset < end && !channel.abort.signal.aborted; offset += LIMITS.runBytes) {
        const bytes = await open.read(offset, Math.min(LIMITS.runBytes, end - offset));
        const { encoding, encoded } = await packer.pack(bytes);
        await runs.send(["raw", offset, encoding, bytes.length, encoded.length], encoded);
      }
    } else {
      const deltas = new DeltaEncoder(volume, packer, recipe, held.versions);
      try {
        for (const run of chunkRuns(recipe, missingChunks(recipe, request.offset, end, held.chunks))) {
          if (channel.abort.signal.aborted) break;
          const bytes = await readRun(open, recipe, run, volume.executor);
          const { encoding, encoded } = await deltas.encode(bytes, run);
          await runs.send(["d", run.from, run.count, encoding, bytes.length, encoded.length], encoded);
        }
      } finally {
        await deltas.close();
      }
    }
    await runs.end();
  } finally {
    await open.close();
  }
  channel.end();
}

/** getHash: descriptors of a range of chunks, and the OID of all. */
export async function serveGetHash(volume: Volume, request: RequestOf<"getHash">, channel: Channel): Promise<void> {
  const row = await volume.meta.version(request.version);
  if (row === undefined) throw new RunnelError("Gone", "getHash", "This version is no longer kept.");
  if (request.oid === true && !row.hasRecipe) await volume.cutSoon(request.version, CUT_WAIT_MS);
  const recipe = await volume.recipes.get(request.version);
  const oid = async (): Promise<Uint8Array | null> =>
    recipe === undefined ? null : volume.executor.digest([encodeRecipe(recipe)]);
  const more = request.oid === true ? { oid: await oid() } : {};
  if (recipe === undefined) {
    channel.end({ sizeBytes: row.sizeBytes, recipe: null, chunks: 0, ...more });
    return;
  }
  const count = Math.min(request.count, LIMITS.recipeDescriptorsPerItem);
  const part = sliceRecipe(recipe, request.from, request.from + count);
  channel.end({ sizeBytes: row.sizeBytes, recipe: encodeRecipe(part), chunks: recipe.lengths.length, ...more });
}

/** Less than the silence after which a client takes the server for away. */
const CUT_WAIT_MS = 1_000;

async function heldRecipes(
  volume: Volume,
  versions: readonly VersionId[],
): Promise<{ versions: HeldByClient[]; chunks: HeldChunks }> {
  const held: HeldByClient[] = [];
  for (const version of versions) {
    // A version that is not known any more still takes its place, so that indexes agree.
    held.push({ version, recipe: (await volume.recipes.get(version)) ?? EMPTY_RECIPE });
  }
  return { versions: held, chunks: new HeldChunks(held.map(({ recipe }) => recipe)) };
}

/** Chunks of the range that are in no held version. */
export function missingChunks(recipe: Recipe, from: number, to: number, held: HeldChunks): number[] {
  const offsets = chunkOffsets(recipe);
  const missing: number[] = [];
  // A range of no bytes overlaps nothing.
  if (from >= to) return missing;
  for (let index = 0; index < recipe.lengths.length; index++) {
    const start = offsets[index] ?? 0;
    const length = recipe.lengths[index] ?? 0;
    if (start >= to) break;
    if (start + length <= from) continue;
    if (held.find(digestAt(recipe, index), length) === undefined) missing.push(index);
  }
  return missing;
}
