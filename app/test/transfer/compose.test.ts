// A content read where it lies is what painting its layers over its base gives.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realDisk } from "@runnel/native";
import type { DiskRoot } from "@runnel/shared";
import * as fc from "fast-check";
import { dirtyRanges, openComposed } from "../../src/agent/transfer/compose.ts";

let folder: string;
let root: DiskRoot;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "runnel-compose-"));
  root = await realDisk().openRoot(folder);
});

afterEach(async () => {
  await root.close();
  rmSync(folder, { recursive: true });
});

/** Ascending, apart from each other. */
const extents = fc
  .array(fc.record({ gap: fc.nat(300), length: fc.integer({ min: 1, max: 300 }) }), { maxLength: 8 })
  .map((list) => {
    let at = 0;
    return list.map(({ gap, length }) => {
      const extent = { offset: at + gap, length };
      at = extent.offset + length;
      return extent;
    });
  });

const composition = fc.record({
  base: fc.uint8Array({ maxLength: 2000 }),
  shown: fc.nat(2500),
  sizeBytes: fc.nat(4000),
  layers: fc.array(extents, { maxLength: 4 }),
});

describe("a composed content", () => {
  test("is its base with the layers over it, read in parts, copied, and outside of its dirty ranges the base", async () => {
    await fc.assert(
      fc.asyncProperty(
        composition,
        fc.nat(4000),
        fc.nat(4000),
        async ({ base, shown, sizeBytes, layers }, at, count) => {
          const expected = new Uint8Array(sizeBytes);
          expected.set(base.subarray(0, Math.min(shown, sizeBytes)));
          writeFileSync(join(folder, "base"), base);
          for (const [index, ranges] of layers.entries()) {
            const size = Math.max(0, ...ranges.map(({ offset, length }) => offset + length));
            writeFileSync(join(folder, `layer-${index}`), new Uint8Array(size).fill(index + 1));
            for (const { offset, length } of ranges) expected.subarray(offset, offset + length).fill(index + 1);
          }
          const of = {
            baseBytes: Math.min(shown, base.length),
            sizeBytes,
            layers: layers.map((ranges, index) => ({ file: `layer-${index}`, extents: ranges })),
          };
          const content = await openComposed(root, { ...of, base: await root.open("base", "read") });
          expect(content.sizeBytes).toBe(sizeBytes);
          const [offset, end] = [Math.min(at, sizeBytes), Math.min(at + count, sizeBytes)];
          const got = new Uint8Array(end - offset).fill(1);
          await content.read(offset, got);
          expect(Buffer.compare(got, expected.subarray(offset, end))).toBe(0);
          rmSync(join(folder, "copy"), { force: true });
          const copy = await root.open("copy", "createNew");
          await content.copyTo(copy);
          await copy.close();
          expect(Buffer.compare(readFileSync(join(folder, "copy")), expected)).toBe(0);
          const clean = Uint8Array.from(expected);
          for (const range of dirtyRanges(of)) clean.fill(0xff, range.offset, range.offset + range.length);
          for (const [index, byte] of clean.entries())
            if (byte !== 0xff && byte !== base[index]) throw new Error("dirty");
          await content.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  test("says what a copy lacks of its base, though that came while it was copied", async () => {
    writeFileSync(join(folder, "base"), Buffer.alloc(100, 7));
    const coming = [[{ offset: 10, length: 20 }], []];
    const content = await openComposed(root, {
      baseBytes: 100,
      sizeBytes: 100,
      layers: [],
      base: await root.open("base", "read"),
      verification: { unverified: () => [], absent: () => coming.shift() ?? [], verify: async () => undefined },
    });
    rmSync(join(folder, "copy"), { force: true });
    const copy = await root.open("copy", "createNew");
    expect(await content.copyTo(copy)).toEqual([{ offset: 10, length: 20 }]);
    await copy.close();
    await content.close();
    const expected = Buffer.alloc(100, 7).fill(0, 10, 30);
    expect(readFileSync(join(folder, "copy")).equals(expected)).toBe(true);
  });
});
