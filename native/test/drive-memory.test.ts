// The drive without a kernel against the contract, and what only it can show: marks, lookups, read-only, and a model of
// an open file.
import { constants } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { driveContract } from "./support/drive-contract.ts";
import type { DriveBinding, MemoryDrive } from "../drive.ts";
import { memoryRig, type MemoryRig } from "./support/memory-rig.ts";

driveContract("memory drive", memoryRig);

const { O_RDONLY, O_RDWR, O_CREAT, O_WRONLY } = constants;
const ESTALE = 116;
const EROFS = 30;
const ENOENT = 2;
const ALIAS_BASE = 2 ** 53;

async function withRig(run: (rig: MemoryRig) => Promise<void>): Promise<void> {
  const rig = await memoryRig();
  try {
    await run(rig);
  } finally {
    await rig.close();
  }
}

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

const ROOT = { folder: 1, callerUid: 0, callerGid: 0 };

/** Names the kernel keeps for a second: they did not change lately. Returns its ids. */
async function settledFiles(rig: MemoryRig, names: readonly string[]): Promise<number[]> {
  const { fake, drive } = rig;
  for (const name of names) {
    fake.remoteWrite(name, Buffer.from(name));
    fake.cache(name);
  }
  drive.dropFolder(0);
  await rig.program.readdir("");
  const ids: number[] = [];
  for (const name of names) {
    const { stat } = await drive.request("lookup", { ...ROOT, name });
    expect(stat?.entryTimeoutMs).toBe(1000);
    ids.push(stat?.id ?? 0);
  }
  return ids;
}

async function settledFile(rig: MemoryRig, name: string): Promise<number> {
  const [id = 0] = await settledFiles(rig, [name]);
  return id;
}

function absent(name: string): DriveBinding {
  return { folder: 1, name, entry: undefined };
}

/** A kernel that is slow to forget names. */
function holdInvalidations(drive: MemoryDrive): (() => void)[] {
  const held: (() => void)[] = [];
  drive.onInvalidation((_what, forgotten) => void held.push(forgotten));
  return held;
}

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

describe("what the kernel may still believe", () => {
  test("an open through a name that leads elsewhere now is sent back to look again", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      const held = holdInvalidations(drive);
      fake.remoteWrite("b", Buffer.from("other"));
      fake.remoteRename("b", "a");
      for (const op of ["open", "getattr"]) {
        expect(await drive.request(op, { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 })).toMatchObject({
          error: ESTALE,
        });
      }
      const { stat } = await drive.request("lookup", { ...ROOT, name: "a" });
      expect(stat?.id).not.toBe(id);
      for (const forgotten of held) forgotten();
      expect((await drive.request("getattr", { id, callerUid: 0, callerGid: 0 })).error).toBe(ESTALE);
    }));

  test("a program that found the name before the kernel forgot it is sent back, too, for a moment", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      const held = holdInvalidations(drive);
      rig.passKernelTime(0);
      fake.remoteRename("a", "b");
      for (const forgotten of held) forgotten();
      const open = { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 };
      expect((await drive.request("open", { ...open, callerPid: 11 })).error).toBe(ESTALE);
      rig.passKernelTime(101);
      const { error, handle } = await drive.request("open", { ...open, callerPid: 12 });
      expect(error).toBe(0);
      await drive.request("release", { ...open, handle });
    }));

  test("a name just answered ESTALE gets no timeout, and its next open is served", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      holdInvalidations(drive);
      fake.remoteRename("a", "b");
      const open = { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 };
      expect((await drive.request("open", open)).error).toBe(ESTALE);
      const { stat } = await drive.request("lookup", { ...ROOT, name: "b" });
      expect(stat).toMatchObject({ id, entryTimeoutMs: 0 });
      const { error, handle } = await drive.request("open", open);
      expect(error).toBe(0);
      await drive.request("release", { ...open, handle });
    }));

  test("of several threads that are sent back at once each is served when it comes again", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      holdInvalidations(drive);
      fake.remoteRename("a", "b");
      const open = (callerPid: number): object => ({ id, flags: O_RDONLY, callerUid: 0, callerGid: 0, callerPid });
      const threads = [11, 12, 13];
      for (const thread of threads) expect((await drive.request("open", open(thread))).error).toBe(ESTALE);
      for (let looked = 0; looked < threads.length; looked++) await drive.request("lookup", { ...ROOT, name: "b" });
      for (const thread of threads) {
        const { error, handle } = await drive.request("open", open(thread));
        expect(error).toBe(0);
        await drive.request("release", { ...open(thread), handle });
      }
      // A request that comes by the old name.
      expect((await drive.request("open", open(14))).error).toBe(ESTALE);
    }));

  test.each(["open", "getattr"])(
    "of a file that took another one's name each thread that is sent back by the former one is served: %s",
    (op) =>
      withRig(async (rig) => {
        const { fake, drive } = rig;
        const [former, mover] = [await settledFile(rig, "a"), await settledFile(rig, "b")];
        // The folder has been listed anew since.
        await drive.request("lookup", { ...ROOT, name: "a" });
        holdInvalidations(drive);
        fake.remoteRename("b", "a");
        const caller = (callerPid: number): object => ({ flags: O_RDONLY, callerUid: 0, callerGid: 0, callerPid });
        const threads = [11, 12, 13];
        for (const thread of threads)
          expect((await drive.request(op, { id: former, ...caller(thread) })).error).toBe(ESTALE);
        for (const thread of threads) {
          const { stat } = await drive.request("lookup", { folder: 1, name: "a", ...caller(thread) });
          expect(stat?.id).toBe(mover);
        }
        for (const thread of threads) {
          const { error, handle } = await drive.request(op, { id: mover, ...caller(thread) });
          expect(error).toBe(0);
          if (op === "open") await drive.request("release", { id: mover, ...caller(thread), handle });
        }
        // A request that comes by the name of before.
        expect((await drive.request(op, { id: mover, ...caller(14) })).error).toBe(ESTALE);
      }),
  );

  test("a name that a program moved is still the kernel's for the rest of its time", () =>
    withRig(async (rig) => {
      const { fake, drive, program } = rig;
      const id = await settledFile(rig, "a");
      await program.rename("a", "b");
      holdInvalidations(drive);
      fake.remoteWrite("c", Buffer.from("other"));
      fake.remoteRename("c", "b");
      expect((await drive.request("open", { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 })).error).toBe(ESTALE);
    }));

  test("a name that a program moves over another client's newer change of it is not believed", () =>
    withRig(async (rig) => {
      const { fake, drive, program } = rig;
      const id = await settledFile(rig, "a");
      fake.remoteWrite("c", Buffer.from("other"));
      const other = (await program.stat("c")).ino;
      const [entry, others] = [fake.entryAt("a"), fake.entryAt("c")];
      fake.hold("rename");
      const moving = program.rename("a", "b");
      await rig.until(async () => fake.heldCount() > 0);
      drive.putEntries([absent("a"), { folder: 1, name: "b", entry }], false);
      drive.putEntries([absent("c"), { folder: 1, name: "b", entry: others }], true);
      const told: string[] = [];
      drive.onInvalidation(({ name }) => void told.push(name));
      const asked = fake.log.findLast((one) => one.op === "rename");
      drive.done(asked !== undefined && "id" in asked ? asked.id : 0);
      await moving;
      expect(told).toEqual(["b"]);
      expect((await drive.request("open", { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 })).error).toBe(ESTALE);
      expect((await program.stat("b")).ino).toBe(other);
    }));

  test.each(["remove", "rename"] as const)(
    "a name that a program takes away by %s, and another client binds anew before the answer, is not believed",
    (op) =>
      withRig(async (rig) => {
        const { fake, drive, program } = rig;
        const id = await settledFile(rig, "a");
        for (const name of ["b", "c"]) fake.remoteWrite(name, Buffer.from(name));
        const [mover, other] = [fake.entryAt("b"), fake.entryAt("c")];
        fake.hold(op);
        const taking = op === "remove" ? program.unlink("a") : program.rename("b", "a");
        await rig.until(async () => fake.heldCount() > 0);
        const own = op === "remove" ? [absent("a")] : [absent("b"), { folder: 1, name: "a", entry: mover }];
        drive.putEntries(own, false);
        const told: string[] = [];
        drive.onInvalidation(({ name }) => void told.push(name));
        drive.putEntries([absent("c"), { folder: 1, name: "a", entry: other }], true);
        expect(told).toEqual(["a"]);
        const open = { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 };
        expect((await drive.request("open", open)).error).toBe(ESTALE);
        const asked = fake.log.findLast((one) => one.op === op);
        drive.done(asked !== undefined && "id" in asked ? asked.id : 0);
        await taking;
      }),
  );

  test.each(["remove", "rename"] as const)(
    "a name that another client takes away by %s, while the same change from here is under way, is not believed",
    (op) =>
      withRig(async (rig) => {
        const { fake, drive, program } = rig;
        const settled = await settledFiles(rig, ["a", "b"]);
        const mover = fake.entryAt("a");
        const caller = { callerUid: 0, callerGid: 0 };
        fake.hold(op);
        const taking = op === "remove" ? program.unlink("a") : program.rename("a", "b");
        await rig.until(async () => fake.heldCount() > 0);
        const told: string[] = [];
        drive.onInvalidation(({ name }) => void told.push(name));
        // The agent takes it for what the program here does: the kernel learns of that by the answer.
        const taken = op === "remove" ? [absent("a")] : [absent("a"), { folder: 1, name: "b", entry: mover }];
        drive.putEntries(taken, false);
        expect(told).toEqual([]);
        const ids = op === "remove" ? settled.slice(0, 1) : settled;
        for (const each of ids)
          expect((await drive.request("open", { id: each, flags: O_RDONLY, ...caller })).error).toBe(ESTALE);
        const asked = fake.log.findLast((one) => one.op === op);
        drive.fail(asked !== undefined && "id" in asked ? asked.id : 0, "NotFound");
        await expect(taking).rejects.toMatchObject({ errno: ENOENT });
        expect(told).toEqual(op === "remove" ? ["a"] : ["a", "b"]);
        for (const each of ids) expect((await drive.request("getattr", { id: each, ...caller })).error).toBe(ESTALE);
      }),
  );

  test("what a program here has moved is opened at once when that is answered", () =>
    withRig(async (rig) => {
      const { drive, program } = rig;
      const id = await settledFile(rig, "a");
      await program.rename("a", "b");
      const open = { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 };
      const { error, handle } = await drive.request("open", open);
      expect(error).toBe(0);
      await drive.request("release", { ...open, handle });
    }));

  test("a name given under a lease that is over is looked up again before it is opened", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const open = { id: await settledFile(rig, "a"), flags: O_RDONLY, callerUid: 0, callerGid: 0 };
      fake.setLease(false);
      expect((await drive.request("open", open)).error).toBe(ESTALE);
      await drive.request("lookup", { ...ROOT, name: "a" });
      const { error, handle } = await drive.request("open", open);
      expect(error).toBe(0);
      await drive.request("release", { ...open, handle });
    }));

  test("a new version is opened only after its size has been told", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      fake.remoteWrite("a", Buffer.from("longer than it was"));
      fake.cache("a");
      const open = { id, flags: O_RDONLY, callerUid: 0, callerGid: 0 };
      expect((await drive.request("open", open)).error).toBe(ESTALE);
      const { stat } = await drive.request("lookup", { ...ROOT, name: "a" });
      expect(stat).toMatchObject({ ino: id, sizeBytes: 18, entryTimeoutMs: 0 });
      const { error, handle } = await drive.request("open", { ...open, id: stat?.id });
      expect(error).toBe(0);
      await drive.request("release", { ...open, handle });
    }));

  test("a file that its program has closed is opened as others left it, before the kernel has let go of it", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      const caller = { callerUid: 0, callerGid: 0, callerPid: 11 };
      const opened = { id, ...caller, handle: (await drive.request("open", { id, flags: O_RDWR, ...caller })).handle };
      const openedSize = async (): Promise<number> => {
        const { stat } = await drive.request("lookup", { ...ROOT, name: "a" });
        const reader = { id: stat?.id ?? 0, ...caller };
        const { error, handle } = await drive.request("open", { ...reader, flags: O_RDONLY });
        expect(error).toBe(0);
        const { data } = await drive.request("read", { ...reader, handle, offset: 0, length: 100 });
        await drive.request("release", { ...reader, handle });
        return data?.length ?? 0;
      };
      const write = (data: Buffer): Promise<unknown> => drive.request("write", { ...opened, offset: 0, data });
      await write(Buffer.from("own"));
      await drive.request("flush", opened);
      expect(await openedSize()).toBe(3);
      // It has it open by another descriptor as well.
      await write(Buffer.from("own again"));
      await drive.request("fsync", opened);
      fake.remoteWrite("a", Buffer.from("of another"));
      fake.cache("a");
      expect(await openedSize()).toBe(9);
      await drive.request("flush", opened);
      expect(await openedSize()).toBe(10);
      await drive.request("release", opened);
    }));

  test("an id that was told another version's size, too, is given out no more", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      const caller = { callerUid: 0, callerGid: 0, callerPid: 11 };
      fake.remoteWrite("a", Buffer.from("longer than it was"));
      fake.cache("a");
      // A kernel may drop this answer, as one that was overtaken: it has either size now.
      expect((await drive.request("getattr", { id, ...caller })).stat).toMatchObject({ sizeBytes: 18 });
      expect((await drive.request("open", { id, flags: O_RDONLY, ...caller })).error).toBe(ESTALE);
      const { stat } = await drive.request("lookup", { ...ROOT, name: "a" });
      expect(stat).toMatchObject({ ino: id, sizeBytes: 18 });
      expect(stat?.id).toBeGreaterThanOrEqual(ALIAS_BASE);
      const { error, handle } = await drive.request("open", { id: stat?.id, flags: O_RDONLY, ...caller });
      expect(error).toBe(0);
      await drive.request("release", { id: stat?.id, handle, ...caller });
    }));

  test("an id that was told versions of one size stays the node's", () =>
    withRig(async (rig) => {
      const { fake, drive } = rig;
      const id = await settledFile(rig, "a");
      fake.remoteWrite("a", Buffer.from("b"));
      const { stat } = await drive.request("lookup", { ...ROOT, name: "a" });
      expect(stat).toMatchObject({ id, sizeBytes: 1 });
    }));

  test("who was not sent back is, when the version has changed since it looked, whoever else was", () =>
    withRig(async ({ fake, drive }) => {
      fake.remoteWrite("a", Buffer.from("one"));
      const caller = (callerPid: number): object => ({ callerUid: 0, callerGid: 0, callerPid });
      const look = async (pid: number): Promise<number> =>
        (await drive.request("lookup", { folder: 1, name: "a", ...caller(pid) })).stat?.id ?? 0;
      const open = (pid: number, id: number): Promise<{ error: number; handle?: object }> =>
        drive.request("open", { id, flags: O_RDONLY, ...caller(pid) });
      const [first, second] = [await look(11), await look(12)];
      fake.remoteWrite("a", Buffer.from("three"));
      expect((await open(11, first)).error).toBe(ESTALE);
      expect((await open(12, second)).error).toBe(ESTALE);
      const again = await look(11);
      const other = await look(13);
      fake.remoteWrite("a", Buffer.from("seventh"));
      // The kernel lets no program look a third time.
      const { error, handle } = await open(11, again);
      expect(error).toBe(0);
      await drive.request("release", { id: again, handle, ...caller(11) });
      expect((await open(13, other)).error).toBe(ESTALE);
    }));

  test("of attributes that it was given no time for it is not told", () =>
    withRig(async ({ fake, drive }) => {
      for (const text of ["one", "two"]) fake.remoteWrite("a", Buffer.from(text));
      const { stat } = await drive.request("lookup", { ...ROOT, name: "a" });
      expect(stat).toMatchObject({ entryTimeoutMs: 0, attributeTimeoutMs: 0 });
      const held = holdInvalidations(drive);
      fake.remoteWrite("a", Buffer.from("three"));
      expect(held).toEqual([]);
    }));

  test("while it is open at an older version a node has an alias, and later its own id again", () =>
    withRig(async (rig) => {
      const { fake, drive, program } = rig;
      fake.remoteWrite("a", Buffer.from("one"));
      const fd = await program.open("a", O_RDONLY);
      const own = (await program.stat("a")).id;
      fake.remoteWrite("a", Buffer.from("two"));
      const alias = await program.stat("a");
      expect(alias.id).toBeGreaterThanOrEqual(ALIAS_BASE);
      expect(alias.ino).toBe(own);
      expect((await program.fstat(fd)).id).toBe(0);
      await program.close(fd);
      expect((await program.stat("a")).id).toBe(own);
      expect(drive.statistics().kernelNodes).toBe(1);
    }));

  test("names that changed lately, folders and hard links get no timeout", () =>
    withRig(async (rig) => {
      const { fake, drive, program } = rig;
      await settledFile(rig, "a");
      fake.remoteMkdir("d");
      expect(await program.stat("d")).toMatchObject({ entryTimeoutMs: 0 });
      await program.link("a", "b");
      expect(await program.stat("b")).toMatchObject({ entryTimeoutMs: 0 });
      fake.remoteWrite("c", Buffer.from("new"));
      expect(await program.stat("c")).toMatchObject({ entryTimeoutMs: 0 });
      fake.setLease(true, 400);
      fake.remoteWrite("e", Buffer.from("e"));
      drive.dropFolder(0);
      await program.readdir("");
      expect((await program.stat("e")).entryTimeoutMs).toBeLessThanOrEqual(400);
    }));
});

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

// ── sizes against a kernel that may drop any answer but the first of an id ──

type Look = { do: "lookup" | "getattr" | "open" | "close" | "forget"; which: number } | { change: "write" | "replace" };

const look: fc.Arbitrary<Look> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("lookup" as const, "getattr" as const, "open" as const, "close" as const, "forget" as const),
      which: fc.nat(9),
    }),
  },
  { weight: 2, arbitrary: fc.record({ change: fc.constantFrom("write" as const, "replace" as const) }) },
);

test("what is opened at the first try has the only size that its id was ever told", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(look, { maxLength: 40 }), (looks) =>
      withRig(async ({ fake, drive }) => {
        const told = new Map<number, { sizes: Set<number>; lookups: number; handles: object[] }>();
        let callerPid = 1;
        let length = 1;
        fake.remoteWrite("a", Buffer.alloc(length));
        for (const step of looks) {
          const caller = { callerUid: 0, callerGid: 0, callerPid: ++callerPid };
          if ("change" in step) {
            fake.remoteWrite(step.change === "write" ? "a" : "b", Buffer.alloc(++length));
            if (step.change === "replace") fake.remoteRename("b", "a");
            continue;
          }
          if (step.do === "lookup") {
            const { stat } = await drive.request("lookup", { folder: 1, name: "a", ...caller });
            const { id = 0, sizeBytes = 0 } = stat ?? {};
            const known = told.get(id) ?? { sizes: new Set(), lookups: 0, handles: [] };
            known.lookups += 1;
            known.sizes.add(sizeBytes);
            told.set(id, known);
            continue;
          }
          const [id, kernel] = [...told][step.which % Math.max(1, told.size)] ?? [];
          if (id === undefined || kernel === undefined) continue;
          if (step.do === "getattr") {
            const { stat } = await drive.request("getattr", { id, ...caller });
            if (stat !== undefined) kernel.sizes.add(stat.sizeBytes);
          } else if (step.do === "open") {
            const { error, handle } = await drive.request("open", { id, flags: O_RDONLY, ...caller });
            expect([0, ESTALE]).toContain(error);
            if (handle === undefined) continue;
            kernel.handles.push(handle);
            const { data } = await drive.request("read", { id, handle, offset: 0, length: 2 * length, ...caller });
            expect([...kernel.sizes]).toEqual([data?.length]);
          } else if (step.do === "close") {
            const handle = kernel.handles.pop();
            if (handle !== undefined) await drive.request("release", { id, handle, ...caller });
          } else if (kernel.handles.length === 0) {
            await drive.request("forget", { id, lookups: kernel.lookups, ...caller });
            told.delete(id);
          }
        }
      }),
    ),
    { numRuns: 200 },
  );
});

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
