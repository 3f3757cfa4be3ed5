// How many unfinished writes a volume keeps, whoever's they are, and which go.
import { expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { StagedWrites } from "../../src/volume/staged-writes.ts";
import type { WriteSession } from "../../src/volume/write-session.ts";

function open(): {
  writes: StagedWrites;
  discarded: string[];
  keep(instance: string, n: number, descriptors?: number, device?: string): Promise<void>;
} {
  const discarded: string[] = [];
  const takeUp = async (): Promise<WriteSession> => {
    throw new Error("Nothing is left here.");
  };
  const writes = new StagedWrites({ clock: new SimulatedClock(), epoch: "e", takeUp, warn: () => undefined });
  const keep = (instance: string, n: number, descriptors = 1, device = ""): Promise<void> => {
    const session = {
      descriptors,
      rest: async () => undefined,
      leave: async () => undefined,
      discard: async () => void discarded.push(`${instance}:${n}`),
    };
    return writes.keep({ instance, n, device }, session as unknown as WriteSession);
  };
  return { writes, discarded, keep };
}

test("of an instance's the newest 64 are kept, of all the newest 1,024", async () => {
  const { discarded, keep, writes } = open();
  for (let n = 0; n < 70; n++) await keep("one", n);
  expect(discarded).toEqual(Array.from({ length: 6 }, (_, n) => `one:${n}`));
  discarded.length = 0;
  for (let n = 0; n < 1024; n++) await keep(`other ${n}`, 1);
  expect(discarded).toHaveLength(64);
  expect(new Set(discarded.map((key) => key.split(":")[0]))).toEqual(new Set(["one"]));
  expect(writes.take("other 0", 1)).toBeDefined();
});

test("of those with long recipes as many as take a million descriptors, and one in any case", async () => {
  const { discarded, keep } = open();
  for (let n = 0; n < 5; n++) await keep("one", n, 400_000);
  expect(discarded).toEqual(["one:0", "one:1", "one:2"]);
  await keep("two", 1, 4_000_000);
  expect(discarded).toEqual(["one:0", "one:1", "one:2", "one:4", "one:3"]);
});

test("those of a device whose access was withdrawn go, and what comes of it later is not kept", async () => {
  const { discarded, keep, writes } = open();
  await keep("one", 1, 1, "gone");
  await keep("two", 1, 1, "stays");
  await writes.drop("gone");
  await keep("three", 1, 1, "gone");
  expect(discarded).toEqual(["one:1", "three:1"]);
  expect(writes.take("two", 1)).toBeDefined();
});
