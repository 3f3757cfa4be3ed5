// Names, versions and sizes that a kernel was given and may still believe while others change them. The drive is
// without one, so that it can be slow to forget, or drop answers.
import { constants } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { DriveBinding, MemoryDrive } from "../drive.ts";
import { type MemoryRig, withRig } from "./support/memory-rig.ts";

const { O_RDONLY, O_RDWR } = constants;
const ESTALE = 116;
const ENOENT = 2;
const ALIAS_BASE = 2 ** 53;
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
