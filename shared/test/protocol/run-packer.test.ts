// Compresses runs by what the line can take, and not again and again in vain.
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Executor } from "../../src/host/executor.ts";
import { RunPacker } from "../../src/protocol/run-packer.ts";

const KiB = 1024;
const SLOW = 1e6;
const FAST = 1e9;
const OLD = { bytes: new Uint8Array(10), encoding: "delta" } as const;

interface Tried {
  bytes: number;
  level: number;
  isDelta: boolean;
}

let tried: Tried[];
/** Share of its size that a run is compressed to; undefined when it does not shrink. */
let shrinksTo: number | undefined;
let ratePerSecond: number;
let packer: RunPacker<"delta">;

beforeEach(() => {
  tried = [];
  shrinksTo = 0.5;
  const compress: Executor["compress"] = async (bytes, level, old) => {
    tried.push({ bytes: bytes.length, level, isDelta: old !== undefined });
    return shrinksTo === undefined ? undefined : new Uint8Array(bytes.length * shrinksTo);
  };
  packer = new RunPacker({ compress } as unknown as Executor, () => ratePerSecond);
});

async function pack(runs: number, withOld = false): Promise<string[]> {
  const encodings: string[] = [];
  for (let run = 0; run < runs; run++)
    encodings.push((await packer.pack(new Uint8Array(256 * KiB), withOld ? async () => OLD : undefined)).encoding);
  return encodings;
}

describe("a run", () => {
  test.each([
    [SLOW, false, 3],
    [FAST, false, 1],
    [SLOW, true, 12],
    [FAST, true, 3],
  ])(
    "on a line of %d bytes a second, against old bytes: %s, is compressed at level %d",
    async (rate, isDelta, level) => {
      ratePerSecond = rate;
      expect(await pack(2, isDelta)).toEqual(Array(2).fill(isDelta ? "delta" : "zstd"));
      expect(tried).toEqual([0, 1].map(() => ({ bytes: 256 * KiB, level, isDelta })));
    },
  );

  test("against many old bytes is compressed at a level that is quick at taking those in", async () => {
    ratePerSecond = SLOW;
    await packer.pack(new Uint8Array(KiB), async () => ({ ...OLD, bytes: new Uint8Array(1024 * KiB) }));
    expect(tried).toEqual([{ bytes: KiB, level: 6, isDelta: true }]);
  });

  test("after one that did not shrink is tried by its beginning, and whole again once that shrinks", async () => {
    ratePerSecond = SLOW;
    shrinksTo = undefined;
    expect(await pack(3)).toEqual(["raw", "raw", "raw"]);
    expect(tried.map(({ bytes }) => bytes)).toEqual([256 * KiB, 32 * KiB, 32 * KiB]);
    shrinksTo = 0.5;
    expect(await pack(2)).toEqual(["zstd", "zstd"]);
    expect(tried.slice(3).map(({ bytes }) => bytes)).toEqual([32 * KiB, 256 * KiB, 256 * KiB]);
  });

  test("that hardly shrinks goes as it is the next time", async () => {
    ratePerSecond = SLOW;
    shrinksTo = 0.98;
    expect(await pack(2)).toEqual(["zstd", "raw"]);
  });

  test.each([false, true])(
    "on a fast line is tried ever less often while nothing shrinks (old bytes: %s)",
    async (withOld) => {
      ratePerSecond = FAST;
      shrinksTo = undefined;
      await pack(200, withOld);
      expect(tried.length).toBeGreaterThan(10);
      expect(tried.length).toBeLessThan(30);
    },
  );

  test("that is not tried has nobody look for its old bytes", async () => {
    ratePerSecond = FAST;
    shrinksTo = undefined;
    let asked = 0;
    for (let run = 0; run < 200; run++)
      await packer.pack(new Uint8Array(256 * KiB), async () => {
        asked++;
        return OLD;
      });
    expect(asked).toBe(tried.length);
  });
});
