// Suspended writes that a volume keeps, and those that go.
import { expect, test } from "@jest/globals";
import { SimulatedClock, wallMs } from "@runnel/shared";
import type { ResumableFile, StagedFile } from "../../src/content/content-store.ts";
import { HeldVersions } from "../../src/upload/held-versions.ts";
import { NewData } from "../../src/upload/new-data.ts";
import { ResumableUploads } from "../../src/upload/resumable-uploads.ts";
import { encodeOpening } from "../../src/upload/write-notes.ts";
import type { WriteSession } from "../../src/upload/write-session.ts";

const MiB = 1024 * 1024;

function open(): {
  writes: ResumableUploads;
  discarded: string[];
  keep(instance: string, n: number, descriptors?: number, device?: string): Promise<void>;
} {
  const discarded: string[] = [];
  const resume = async (): Promise<WriteSession> => {
    throw new Error("Nothing is detached here.");
  };
  const writes = new ResumableUploads({ clock: new SimulatedClock(), epoch: "e", resume, warn: () => undefined });
  const keep = (instance: string, n: number, descriptors = 1, device = ""): Promise<void> => {
    const session = {
      descriptors,
      suspend: async () => undefined,
      detach: async () => undefined,
      discard: async () => void discarded.push(`${instance}:${n}`),
    };
    return writes.suspend({ instance, n, device }, session as unknown as WriteSession);
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

test("of a device's the newest 64 are kept, whatever its instances; what more is just being suspended is not even begun", async () => {
  const { discarded, keep, writes } = open();
  for (let n = 0; n < 70; n++) await keep(`instance ${n}`, 1, 1, "one");
  expect(discarded).toHaveLength(6);
  discarded.length = 0;
  await Promise.all(Array.from({ length: 200 }, (_, n) => keep(`more ${n}`, 1, 1, "two")));
  const names = Array.from({ length: 200 }, (_, n) => `more ${n}:1`);
  expect(discarded.slice(0, 72)).toEqual(names.slice(128));
  expect(new Set(discarded.slice(72))).toEqual(new Set(names.slice(0, 64)));
  expect(writes.take("instance 69", 1)).toBeDefined();
});

test("of what a device has staged 8 MiB are kept in memory", () => {
  const { writes } = open();
  const [one, same, other] = [writes.allowance("one"), writes.allowance("one"), writes.allowance("other")];
  for (let count = 0; count < 4; count++)
    expect([one.reserveMemory(MiB), same.reserveMemory(MiB)]).toEqual([true, true]);
  expect(one.reserveMemory(1)).toBe(false);
  expect(other.reserveMemory(1)).toBe(true);
  same.releaseMemory(MiB);
  expect(one.reserveMemory(MiB)).toBe(true);
});

test("for a device's writes 4,096 files are open: one that needs more is Busy, or is asked for what it would copy", async () => {
  const { writes } = open();
  const [one, other] = [writes.allowance("one"), writes.allowance("other")];
  const staged: StagedFile[] = [];
  const content = { stage: async () => staged[staged.push({ discard: async () => undefined } as StagedFile) - 1]! };
  const data = new NewData(content, one, () => undefined);
  expect(one.openFiles(4_096 - 1)).toBe(true);
  await expect(data.store(0, new Uint8Array(2 * MiB), () => undefined)).rejects.toMatchObject({ kind: "Busy" });
  expect(staged).toEqual([]);
  expect(other.openFiles(1)).toBe(true);
  const meta = { recipe: async () => ({ lengths: new Uint32Array(10), digests: new Uint8Array(320) }) };
  const opened = { open: async () => ({ close: async () => undefined }) };
  const held = new HeldVersions({ meta, content: opened, executor: {} } as never, one);
  expect((await held.get({ node: 1, seq: 1 }))?.open).toBeDefined();
  expect((await held.get({ node: 1, seq: 2 }))?.open).toBeUndefined();
  await held.close();
  expect(one.openFiles(1)).toBe(true);
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

test("of devices that may write no more, those that were found at the start go too, until they may again", async () => {
  const clock = new SimulatedClock();
  const discarded: string[] = [];
  const sessionOf = (name: string): WriteSession =>
    ({
      descriptors: 1,
      suspend: async () => undefined,
      discard: async () => void discarded.push(name),
    }) as unknown as WriteSession;
  const resume = async ({ instance }: { instance: string }): Promise<WriteSession> => sessionOf(instance);
  const writes = new ResumableUploads({ clock, epoch: "e", resume, warn: () => undefined });
  const file = (device: string, instance: string): ResumableFile => {
    const note = encodeOpening({ epoch: "e", device, instance, n: 1, sizeBytes: 1, preset: 0 });
    const notes = async function* (): AsyncGenerator<{ note: Uint8Array; end: number }> {
      yield { note, end: 1 };
    };
    const discard = async (): Promise<void> => void discarded.push(instance);
    return { atMs: wallMs(clock), notes, discard } as unknown as ResumableFile;
  };
  writes.addDetached([file("gone", "one"), file("gone", "two"), file("stays", "three")]);
  writes.addDetached([file("gone before", "five"), file("", "of no device")]);
  await writes.dropOthers((device) => device !== "gone before");
  expect(discarded.splice(0)).toEqual(["five"]);
  await writes.resumeDetached("of no device", 1);
  expect(writes.take("of no device", 1)).toBeDefined();
  // Resumed already: it is the device's still.
  await writes.resumeDetached("two", 1);
  await writes.drop("gone");
  expect(new Set(discarded)).toEqual(new Set(["one", "two"]));
  await writes.resumeDetached("one", 1);
  expect(writes.take("one", 1)).toBeUndefined();
  await writes.resumeDetached("three", 1);
  expect(writes.take("three", 1)).toBeDefined();
  writes.restore("gone");
  await writes.suspend({ instance: "four", n: 1, device: "gone" }, sessionOf("four"));
  expect(writes.take("four", 1)).toBeDefined();
});
