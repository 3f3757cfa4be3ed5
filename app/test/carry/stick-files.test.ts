// Files of a stick as bytes: they come back as they were written, and whatever else lies there is refused by name.
import { expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import { SeededRandom, isRunnelError } from "@runnel/shared";
import fc from "fast-check";
import { decodeInventory, encodeInventory, hasKey } from "../../src/agent/carry/inventory.ts";
import { decodeManifest, encodeManifest } from "../../src/agent/carry/manifest.ts";
import { decodePackIndex, encodePackIndex, type PlacedChunk } from "@runnel/shared/supply";

const executor = inlineExecutor();
const EPOCH = "ab".repeat(16);
const PACK_BYTES = 10_000;
const CHUNKS: PlacedChunk[] = [0, 4000, 9000].map((offset) => ({
  digest: new SeededRandom(offset).bytes(32),
  offset,
  length: offset === 9000 ? 1000 : 4000,
}));

/** Bytes that somebody has bent: some of them others, cut, or with more behind. */
function bent(bytes: Uint8Array): fc.Arbitrary<Uint8Array> {
  const change = fc.record({ at: fc.nat(bytes.length - 1), to: fc.nat(255) });
  const how = fc.record({
    changes: fc.array(change, { maxLength: 4 }),
    length: fc.option(fc.nat(bytes.length)),
    more: fc.uint8Array({ maxLength: 40 }),
  });
  return how.map(({ changes, length, more }) => {
    const other = Uint8Array.from(bytes);
    for (const { at, to } of changes) other[at] = to;
    return Buffer.concat([other.subarray(0, length ?? other.length), more]);
  });
}

/** @returns undefined where it is refused as damaged. @throws anything else. */
async function orRefused<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isRunnelError(error, "Corrupt", "Version")) return undefined;
    throw error;
  }
}

function kindOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return isRunnelError(error) ? error.kind : String(error);
  }
}

test("[F221] an index of a pack comes back as it was", async () => {
  const bytes = await encodePackIndex(PACK_BYTES, CHUNKS, executor);
  const decoded = await decodePackIndex(bytes, PACK_BYTES, executor);
  expect(decoded.map((chunk) => ({ ...chunk, digest: Uint8Array.from(chunk.digest) }))).toEqual(CHUNKS);
});

test("[F221] whatever lies in place of an index is refused, or is one", async () => {
  const bytes = await encodePackIndex(PACK_BYTES, CHUNKS, executor);
  const property = fc.asyncProperty(bent(bytes), async (other) => {
    const decoded = await orRefused(() => decodePackIndex(other, PACK_BYTES, executor));
    expect(decoded === undefined).toBe(Buffer.compare(other, bytes) !== 0);
  });
  await fc.assert(property, { numRuns: 500 });
});

test.each([
  ["a chunk beyond its pack", [{ ...CHUNKS[0], offset: 9_000, length: 1_001 }], PACK_BYTES, PACK_BYTES],
  ["a chunk longer than any", [{ ...CHUNKS[0], length: 2 ** 20 + 1 }], 2 ** 22, 2 ** 22],
  ["a chunk of nothing", [{ ...CHUNKS[0], length: 0 }], PACK_BYTES, PACK_BYTES],
  ["a pack longer than it is", CHUNKS, PACK_BYTES, PACK_BYTES - 1],
  ["a pack longer than any", CHUNKS, 2 ** 28 + 1, 2 ** 28 + 1],
])("[F221] an index with %s is refused, though its digest is right", async (_what, chunks, says, packBytes) => {
  const bytes = await encodePackIndex(says, chunks as PlacedChunk[], executor);
  await expect(decodePackIndex(bytes, packBytes, executor)).rejects.toMatchObject({ kind: "Corrupt" });
});

test("[F222] a manifest comes back as it was", () => {
  const manifest = {
    epoch: EPOCH,
    device: "office",
    versions: [[7, 3, 100, "folder/a.txt"] as const].map((v) => [...v]),
  };
  const bytes = encodeManifest(manifest as Parameters<typeof encodeManifest>[0]);
  expect(decodeManifest(bytes)).toEqual({ format: 1, ...manifest });
});

test("[F222] whatever lies in place of a manifest is refused, or is one", async () => {
  const bytes = encodeManifest({ epoch: EPOCH, device: "office", versions: [[7, 3, 100, "folder/a.txt"]] });
  const property = fc.asyncProperty(bent(bytes), async (other) => {
    const decoded = await orRefused(() => decodeManifest(other));
    for (const [node, seq, sizeBytes, path] of decoded?.versions ?? []) {
      expect([node, seq, sizeBytes].every((number) => Number.isSafeInteger(number) && number >= 0)).toBe(true);
      expect(path.split("/")).not.toContain("..");
    }
  });
  await fc.assert(property, { numRuns: 1000 });
});

test.each([
  ["a path out of the volume", { versions: [[7, 3, 100, "../../etc/passwd"]] }],
  ["an absolute path", { versions: [[7, 3, 100, "/etc/passwd"]] }],
  ["a size below zero", { versions: [[7, 3, -1, "a"]] }],
  ["too many versions", { versions: Array.from({ length: 4097 }, () => [7, 3, 1, "a"]) }],
  ["an epoch that is none", { epoch: "../x" }],
  ["a field that nobody knows", { more: 1 }],
])("[F222] a manifest with %s is refused", (_what, change) => {
  const value = { format: 1, epoch: EPOCH, device: "office", versions: [], ...change };
  expect(kindOf(() => decodeManifest(Buffer.from(JSON.stringify(value))))).toBe("Corrupt");
});

test("[F222] a manifest of a newer program is refused by its format", () => {
  expect(kindOf(() => decodeManifest(Buffer.from('{"format": 2}')))).toBe("Version");
});

test("[F223] an inventory comes back in order, and says which keys it has", async () => {
  const keys = BigUint64Array.from([9n, 2n ** 64n - 1n, 0n, 7n]);
  const bytes = await encodeInventory({ device: "büro", keys }, executor);
  const { device, keys: read } = await decodeInventory(bytes, executor);
  expect([device, [...read]]).toEqual(["büro", [0n, 7n, 9n, 2n ** 64n - 1n]]);
  expect([0n, 1n, 9n, 10n, 2n ** 64n - 1n].map((key) => hasKey(read, key))).toEqual([true, false, true, false, true]);
});

test("[F223] whatever lies in place of an inventory is refused, or is one", async () => {
  const keys = BigUint64Array.from(Array.from({ length: 50 }, (_, at) => BigInt(at) ** 9n));
  const bytes = await encodeInventory({ device: "office", keys }, executor);
  const property = fc.asyncProperty(bent(bytes), async (other) => {
    const decoded = await orRefused(() => decodeInventory(other, executor));
    expect(decoded === undefined).toBe(Buffer.compare(other, bytes) !== 0);
  });
  await fc.assert(property, { numRuns: 500 });
});
