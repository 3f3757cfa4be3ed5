// The drive without a kernel against the contract, and what only it can show: the order of requests, read-only, and a
// model of an open file.
import { constants } from "node:fs";
import { expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { driveContract } from "./support/drive-contract.ts";
import type { DriveBinding } from "../drive.ts";
import { memoryRig, withRig } from "./support/memory-rig.ts";

driveContract("memory drive", memoryRig);

const { O_RDONLY, O_RDWR, O_CREAT, O_WRONLY } = constants;
const EROFS = 30;

test("a content that nobody wants is asked about once, and goes with the next one when it is wanted again", () =>
  withRig(async ({ fake, program, drive }) => {
    fake.wantsCommits = false;
    const file = await program.open("new", O_RDWR | O_CREAT, 0o644);
    await program.write(file, 0, Buffer.from("first"));
    await program.fsync(file);
    expect(fake.logOf("commit")).toHaveLength(1);
    fake.wantsCommits = true;
    await program.write(file, 5, Buffer.from(" second"));
    await program.fsync(file);
    expect(fake.bytesAt("new")?.toString()).toBe("first second");
    fake.wantsCommits = false;
    await program.write(file, 0, Buffer.from("FIRST"));
    await program.close(file);
    await drive.commitDirty();
    expect(fake.logOf("commit")).toHaveLength(3);
    expect(fake.logOf("closed")).toHaveLength(1);
  }));

test("a content that is put again, for a second program that opens it, is still the one that the first reads from", () =>
  withRig(async ({ fake, program }) => {
    fake.remoteWrite("a", Buffer.from("text"));
    const fd = await program.open("a", O_RDONLY);
    fake.putAgain("a");
    expect(Buffer.from(await program.read(fd, 0, 4)).toString()).toBe("text");
    await program.close(fd);
    expect(fake.drop("a")).toBe(true);
  }));

test("a save says which file with bytes its program last opened to read, if it is another one", () =>
  withRig(async ({ fake, drive }) => {
    fake.remoteWrite("a", Buffer.from("text"));
    fake.remoteWrite("b", Buffer.from("more"));
    fake.remoteWrite("empty", Buffer.alloc(0));
    const [one, other, nobody] = [11, 12, 0].map((pid) => drive.program({ uid: 0, gid: 0, pid }));
    const node = (name: string): number => fake.entryAt(name)?.node ?? 0;
    const readBefore = async (program: typeof one, reads: readonly string[], writes: string): Promise<unknown> => {
      for (const name of reads) await program?.close(await program.open(name, O_RDONLY));
      const fd = (await program?.open(writes, O_WRONLY | O_CREAT)) ?? 0;
      await program?.write(fd, 0, Buffer.from("new"));
      await program?.close(fd);
      return (fake.logOf("commit").at(-1) as { readBefore?: number }).readBefore;
    };
    expect(await readBefore(one, [], "c")).toBe(0);
    expect(await readBefore(one, ["a"], "c")).toBe(node("a"));
    expect(await readBefore(one, ["a", "b", "empty"], "d")).toBe(node("b"));
    expect(await readBefore(other, [], "e")).toBe(0);
    expect(await readBefore(nobody, ["a"], "f")).toBe(0);
    expect(await readBefore(one, [], "b")).toBe(0);
    for (let pid = 100; pid < 200; pid++) await readBefore(drive.program({ uid: 0, gid: 0, pid }), ["a"], "g");
    expect(await readBefore(one, [], "d")).toBe(0);
  }));

test("requests come in a later turn of the event loop, however many promises settle before", () =>
  withRig(async ({ fake, program }) => {
    fake.setLease(false);
    fake.clearLog();
    const statting = program.stat("a").catch(() => undefined);
    for (let turn = 0; turn < 1000; turn++) await Promise.resolve();
    expect(fake.log).toEqual([]);
    await statting;
    expect(fake.logOf("lookup")).toHaveLength(1);
  }));

function absent(name: string): DriveBinding {
  return { folder: 1, name, entry: undefined };
}

test("a file that another client moved, before a rename from here took its old name, is saved like any other", () =>
  withRig(async (rig) => {
    const { fake, drive, program } = rig;
    for (const name of ["old", "new"]) fake.remoteWrite(name, Buffer.from(name));
    await program.readdir("");
    const [moved, mover] = [fake.entryAt("old"), fake.entryAt("new")];
    fake.hold("rename");
    const renaming = program.rename("new", "old");
    await rig.until(async () => fake.heldCount() > 0);
    drive.putEntries([absent("old"), { folder: 1, name: "elsewhere", entry: moved }], true);
    drive.putEntries([absent("new"), { folder: 1, name: "old", entry: mover }], false);
    const fd = await program.open("elsewhere", O_WRONLY);
    await program.write(fd, 0, Buffer.from("text"));
    const asked = fake.log.findLast((one) => one.op === "rename");
    drive.done(asked !== undefined && "id" in asked ? asked.id : 0);
    await renaming;
    await program.close(fd);
    expect(fake.log.filter((one) => one.op === "commit")).toHaveLength(1);
  }));

test("a read-only drive refuses every change", async () => {
  const rig = await memoryRig({}, true);
  try {
    rig.fake.remoteWrite("a", Buffer.from("text"));
    const { program } = rig;
    const changes = [
      program.open("a", O_WRONLY),
      program.open("b", O_WRONLY | O_CREAT),
      program.mkdir("d"),
      program.unlink("a"),
      program.rename("a", "c"),
      program.truncate("a", 1),
      program.chmod("a", 0o600),
    ];
    for (const outcome of await Promise.allSettled(changes))
      expect(outcome).toMatchObject({ status: "rejected", reason: { errno: EROFS } });
    await program.close(await program.open("a", O_RDONLY));
  } finally {
    await rig.close();
  }
});

test("an open that meets a file made meanwhile opens that one", () =>
  withRig(async (rig) => {
    const { fake, program } = rig;
    fake.remoteWrite("a", Buffer.from("text"));
    rig.drive.putEntries([{ folder: 1, name: "a", entry: undefined }], false);
    fake.setLease(false);
    const opening = program.open("a", O_RDWR | O_CREAT);
    expect((await program.fstat(await opening)).sizeBytes).toBe(4);
  }));

test("a file with unsaved bytes is committed when the drive closes", () =>
  withRig(async (rig) => {
    const { fake, program } = rig;
    const fd = await program.open("a", O_RDWR | O_CREAT);
    await program.write(fd, 0, Buffer.from("text"));
    await expect(rig.drive.close(false)).rejects.toMatchObject({ kind: "Busy" });
    await rig.drive.close(true);
    expect(fake.bytesAt("a")?.toString()).toBe("text");
  }));

// ── an open file against a model: one buffer ──

const SIZE_MAX = 64;

type Step =
  | { do: "write"; offset: number; length: number }
  | { do: "cut"; size: number }
  | { do: "save" }
  | { do: "failSave" }
  | { do: "rebases"; on: boolean }
  | { do: "reopen" }
  | { do: "join" }
  | { do: "elsewhere"; length: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("write" as const),
      offset: fc.nat(SIZE_MAX),
      length: fc.integer({ min: 1, max: 24 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("cut" as const), size: fc.nat(SIZE_MAX) }) },
  { weight: 3, arbitrary: fc.constant({ do: "save" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "failSave" as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rebases" as const), on: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant({ do: "reopen" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "join" as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("elsewhere" as const), length: fc.nat(SIZE_MAX) }) },
);

test("whatever is written, cut, saved and merged, a file reads as one buffer would", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), (steps) =>
      withRig(async ({ fake, program, drive }) => {
        let letter = 0;
        let model = Buffer.from("the first content of the file");
        let isDirty = false;
        fake.remoteWrite("a", model);
        let fd = await program.open("a", O_RDWR);
        for (const each of steps) {
          if (each.do === "write") {
            const data = Buffer.alloc(each.length, 65 + (letter++ % 26));
            await program.write(fd, each.offset, data);
            const grown = Buffer.alloc(Math.max(model.length, each.offset + each.length));
            model.copy(grown);
            data.copy(grown, each.offset);
            model = grown;
            isDirty = true;
          } else if (each.do === "cut") {
            await program.ftruncate(fd, each.size);
            isDirty ||= each.size !== model.length;
            const cut = Buffer.alloc(each.size);
            model.copy(cut);
            model = cut;
          } else if (each.do === "save") {
            await program.fsync(fd);
            isDirty = false;
          } else if (each.do === "failSave" && isDirty) {
            fake.failNext("commit", "Io");
            await expect(program.fsync(fd)).rejects.toMatchObject({ errno: 5 });
          } else if (each.do === "rebases") {
            fake.setKnobs({ rebases: each.on });
          } else if (each.do === "join") {
            fake.joinLayers();
          } else if (each.do === "reopen") {
            await program.close(fd);
            isDirty = false;
            fd = await program.open("a", O_RDWR);
          } else if (each.do === "elsewhere" && !isDirty) {
            await program.close(fd);
            model = Buffer.alloc(each.length, 97);
            fake.remoteWrite("a", model);
            fd = await program.open("a", O_RDWR);
          }
          expect((await program.fstat(fd)).sizeBytes).toBe(model.length);
          expect(Buffer.from(await program.read(fd, 0, 2 * SIZE_MAX)).equals(model)).toBe(true);
        }
        await program.close(fd);
        expect(fake.bytesAt("a")?.equals(model)).toBe(true);
        expect(drive.statistics()).toMatchObject({ openFiles: 0, pendingRequests: 0 });
      }),
    ),
    { numRuns: 150 },
  );
});
