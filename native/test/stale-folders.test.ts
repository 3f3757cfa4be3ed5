// Folders that another client has moved while a kernel still finds them by their former name: each request that names
// such a folder, or something below it, is sent back to walk its path anew, once. On a mount, the kernel does so.
import { constants } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { fuseRig } from "./support/fuse-rig.ts";
import type { TestProgram } from "./support/drive-rig.ts";
import { memoryRig, type MemoryRig } from "./support/memory-rig.ts";
import { canMount } from "./support/mount-place.ts";

const { O_RDONLY, O_RDWR, O_CREAT } = constants;
const ENOENT = 2;
const ESTALE = 116;
/** Names that changed less than two seconds ago are not kept by the kernel. */
const SETTLED_MS = 2_100;
const TEST_MS = 60_000;

interface Ids {
  top: number;
  moved: number;
  inner: number;
  file: number;
  link: number;
  other: number;
}

/** top/moved/inner/file, with other folders to move to; the kernel knows the names of the folders. */
async function withFolders(run: (rig: MemoryRig, ids: Ids) => Promise<void>): Promise<void> {
  const rig = await memoryRig();
  try {
    const { fake, drive, program } = rig;
    for (const path of ["top", "top/moved", "top/moved/inner", "other"]) fake.remoteMkdir(path);
    fake.remoteWrite("top/moved/inner/file", Buffer.from("text"));
    fake.remoteWrite("top/moved/inner/twice", Buffer.from("text"));
    await program.symlink("file", "top/moved/inner/link");
    drive.dropFolder(0);
    for (const path of ["", "top", "top/moved", "top/moved/inner", "other"]) await program.readdir(path);
    rig.passKernelTime(0);
    const look = async (folder: number, name: string): Promise<number> => {
      const { stat } = await drive.request("lookup", { folder, name, ...by(1) });
      if ((stat?.mode ?? 0) >> 12 === 4) expect(stat?.entryTimeoutMs).toBe(1000);
      return stat?.id ?? 0;
    };
    const top = await look(1, "top");
    const moved = await look(top, "moved");
    const inner = await look(moved, "inner");
    const [file, link] = [await look(inner, "file"), await look(inner, "link")];
    await run(rig, { top, moved, inner, file, link, other: await look(1, "other") });
  } finally {
    await rig.close();
  }
}

function by(thread: number): object {
  return { callerUid: 0, callerGid: 0, callerPid: thread };
}

const REQUESTS: readonly [string, string, (ids: Ids) => object][] = [
  ["open", "open", ({ file }) => ({ id: file, flags: O_RDONLY })],
  ["opendir", "opendir", ({ inner }) => ({ id: inner })],
  ["readlink", "readlink", ({ link }) => ({ id: link })],
  ["mkdir", "make", ({ inner }) => ({ folder: inner, name: "new", type: 1, mode: 0o755, rdev: 0, target: "" })],
  ["symlink", "make", ({ inner }) => ({ folder: inner, name: "new", type: 2, mode: 0o777, rdev: 0, target: "x" })],
  ["create", "create", ({ inner }) => ({ folder: inner, name: "new", mode: 0o644, flags: O_RDWR | O_CREAT })],
  ["unlink", "remove", ({ inner }) => ({ folder: inner, name: "file", isFolder: false })],
  ["rmdir", "remove", ({ moved }) => ({ folder: moved, name: "inner", isFolder: true })],
  ["rename from", "rename", ({ inner, other }) => renaming(inner, "file", other, "to")],
  ["rename to", "rename", ({ inner, other }) => renaming(other, "none", inner, "file")],
  ["link to", "link", ({ inner, file }) => ({ id: file, folder: inner, name: "new" })],
  ["link of", "link", ({ other, file }) => ({ id: file, folder: other, name: "new" })],
  ["chmod", "setattr", ({ file }) => ({ id: file, mode: 0o600 })],
  ["chmod of a folder", "setattr", ({ inner }) => ({ id: inner, mode: 0o700 })],
];

function renaming(folder: number, name: string, toFolder: number, toName: string): object {
  return { folder, name, toFolder, toName, how: 0 };
}

describe("below a folder that another client moved", () => {
  test.each(REQUESTS)("a request is sent back once, and served when it comes again: %s", (_what, op, args) =>
    withFolders(async ({ fake, drive }, ids) => {
      drive.onInvalidation(() => {});
      fake.remoteRename("top/moved", "other/moved");
      const asked = { ...args(ids), ...by(11) };
      expect((await drive.request(op, asked)).error).toBe(ESTALE);
      expect(await drive.request(op, asked)).not.toMatchObject({ error: ESTALE });
    }),
  );

  test.each(REQUESTS)("so it is below one that lies deeper, and of each thread: %s", (_what, op, args) =>
    withFolders(async ({ fake, drive }, ids) => {
      drive.onInvalidation(() => {});
      fake.remoteRename("top", "other/top");
      for (const thread of [11, 12, 13])
        expect((await drive.request(op, { ...args(ids), ...by(thread) })).error).toBe(ESTALE);
    }),
  );

  test.each(REQUESTS)("not when the kernel has forgotten it for as long as it may keep a name: %s", (_what, op, args) =>
    withFolders(async (rig, ids) => {
      rig.drive.onInvalidation((_which, forgotten) => forgotten());
      rig.fake.remoteRename("top/moved", "other/moved");
      rig.passKernelTime(1000);
      expect((await rig.drive.request(op, { ...args(ids), ...by(11) })).error).toBe(ESTALE);
      rig.passKernelTime(21);
      expect(await rig.drive.request(op, { ...args(ids), ...by(12) })).not.toMatchObject({ error: ESTALE });
    }),
  );

  test("what is found is found, and attributes are shown: the request that follows is sent back", () =>
    withFolders(async ({ fake, drive }, { moved, inner, file }) => {
      drive.onInvalidation(() => {});
      fake.remoteRename("top/moved", "other/moved");
      expect((await drive.request("lookup", { folder: moved, name: "inner", ...by(11) })).stat?.id).toBe(inner);
      expect((await drive.request("getattr", { id: moved, ...by(11) })).error).toBe(0);
      expect((await drive.request("open", { id: file, flags: O_RDONLY, ...by(11) })).error).toBe(ESTALE);
    }));

  test("a name that is not found is sent back only if it is where the path leads now: mkdir does not look twice", () =>
    withFolders(async ({ fake, drive }, { moved, inner }) => {
      drive.onInvalidation(() => {});
      const look = async (thread: number, folder: number, name: string): Promise<number> =>
        (await drive.request("lookup", { folder, name, ...by(thread) })).error;
      fake.remoteRename("top/moved", "other/moved");
      expect(await look(11, inner, "none")).toBe(ENOENT);
      // These have not been listed here yet.
      fake.remoteMkdir("made");
      fake.remoteMkdir("made/inner");
      fake.remoteWrite("made/inner/new", Buffer.from("text"));
      fake.remoteWrite("made/beside", Buffer.from("text"));
      drive.dropFolder(fake.entryAt("made")?.node ?? 0);
      drive.dropFolder(fake.entryAt("made/inner")?.node ?? 0);
      fake.remoteRename("made", "top/moved");
      expect(await look(11, inner, "none")).toBe(ENOENT);
      expect(await look(12, inner, "new")).toBe(ESTALE);
      expect(await look(12, inner, "new")).toBe(ENOENT);
      expect(await look(13, moved, "beside")).toBe(ESTALE);
    }));

  test("a request that comes again is served also when another folder has been moved meanwhile", () =>
    withFolders(async ({ fake, drive }, { inner }) => {
      drive.onInvalidation(() => {});
      fake.remoteRename("top/moved", "other/moved");
      const make = { folder: inner, name: "new", type: 1, mode: 0o755, rdev: 0, target: "", ...by(11) };
      expect((await drive.request("make", make)).error).toBe(ESTALE);
      fake.remoteRename("other", "elsewhere");
      expect((await drive.request("lookup", { folder: inner, name: "new", ...by(11) })).error).toBe(ENOENT);
      expect((await drive.request("make", make)).error).toBe(0);
      // It was served: this is another system call, which begins after one more move.
      fake.remoteRename("elsewhere/moved/inner", "top/inner");
      expect((await drive.request("opendir", { id: inner, ...by(11) })).error).toBe(ESTALE);
    }));

  test("a call that ended because a name was not found excuses none of the next one", () =>
    withFolders(async ({ fake, drive }, { inner, file }) => {
      drive.onInvalidation(() => {});
      fake.remoteRename("top/moved", "other/moved");
      const open = { id: file, flags: O_RDONLY, ...by(11) };
      expect((await drive.request("open", open)).error).toBe(ESTALE);
      expect((await drive.request("lookup", { folder: inner, name: "none", ...by(11) })).error).toBe(ENOENT);
      expect((await drive.request("lookup", { folder: inner, name: "file", ...by(11) })).error).toBe(0);
      expect((await drive.request("open", open)).error).toBe(ESTALE);
      expect((await drive.request("lookup", { folder: inner, name: "file", ...by(11) })).error).toBe(0);
      expect((await drive.request("open", open)).error).toBe(0);
    }));

  test("a rename that was sent back is not so again, whatever was moved back meanwhile", () =>
    withFolders(async ({ fake, drive }, { other }) => {
      drive.onInvalidation(() => {});
      const exchange = (): void => {
        fake.remoteRename("other", "meanwhile");
        fake.remoteRename("top/moved", "other");
        fake.remoteRename("meanwhile", "top/moved");
      };
      const look = async (folder: number): Promise<number> =>
        (await drive.request("lookup", { folder, name: "inner", ...by(11) })).error;
      fake.remoteMkdir("inner");
      exchange();
      expect([await look(1), await look(other)]).toEqual([0, ESTALE]);
      exchange();
      expect([await look(1), await look(other)]).toEqual([0, ENOENT]);
      const { error } = await drive.request("rename", { ...renaming(1, "inner", other, "inner"), ...by(11) });
      expect(error).toBe(0);
    }));

  test("a file with several names is sent back wherever its folders are", () =>
    withFolders(async ({ fake, drive, program }, { inner, other, top }) => {
      await program.link("top/moved/inner/twice", "other/twice");
      const { stat } = await drive.request("lookup", { folder: inner, name: "twice", ...by(1) });
      await drive.request("lookup", { folder: other, name: "twice", ...by(1) });
      await drive.request("lookup", { folder: top, name: "moved", ...by(1) });
      drive.onInvalidation(() => {});
      fake.remoteRename("top/moved", "elsewhere");
      expect((await drive.request("open", { id: stat?.id, flags: O_RDONLY, ...by(11) })).error).toBe(ESTALE);
    }));

  test("of an open folder the attributes can be set, and they are shown", () =>
    withFolders(async ({ fake, drive }, { moved }) => {
      drive.onInvalidation(() => {});
      const { handle } = await drive.request("opendir", { id: moved, ...by(11) });
      fake.remoteRename("top/moved", "other/moved");
      expect((await drive.request("setattr", { id: moved, mode: 0o700, ...by(11) })).error).toBe(0);
      expect((await drive.request("getattr", { id: moved, ...by(11) })).error).toBe(0);
      await drive.request("releasedir", { handle, ...by(11) });
    }));

  test("its new name is not kept by the kernel at once, and a change of the folder itself ends no name", () =>
    withFolders(async ({ fake, drive }, { top, other, moved }) => {
      fake.remoteChmod("top/moved", 0o700);
      const { stat } = await drive.request("lookup", { folder: top, name: "moved", ...by(1) });
      expect(stat).toMatchObject({ id: moved, entryTimeoutMs: 1000 });
      fake.remoteRename("top/moved", "other/moved");
      const again = await drive.request("lookup", { folder: other, name: "moved", ...by(1) });
      expect(again.stat).toMatchObject({ id: moved, entryTimeoutMs: 0 });
    }));
});

test("one that a program here moves, or fails to move, sends nobody back once that is answered", () =>
  withFolders(async ({ fake, drive, program }, { moved }) => {
    drive.onInvalidation(() => {});
    await program.rename("top/moved", "other/moved");
    expect((await drive.request("opendir", { id: moved, ...by(11) })).error).toBe(0);
    fake.failNext("rename", "Denied");
    await program.rename("other/moved", "top/new").catch(() => undefined);
    expect((await drive.request("opendir", { id: moved, ...by(12) })).error).toBe(0);
  }));

test("one that a program here moved keeps the kernel's time under its new name", () =>
  withFolders(async ({ fake, drive, program }, { moved }) => {
    drive.onInvalidation(() => {});
    await program.rename("top/moved", "other/moved");
    fake.remoteRename("other/moved", "elsewhere");
    expect((await drive.request("opendir", { id: moved, ...by(11) })).error).toBe(ESTALE);
  }));

test("without the lease under which the names of folders were given, every path is walked anew", () =>
  withFolders(async (rig, { inner }) => {
    rig.fake.setLease(false);
    expect((await rig.drive.request("opendir", { id: inner, ...by(11) })).error).toBe(ESTALE);
    expect((await rig.drive.request("opendir", { id: inner, ...by(11) })).error).toBe(0);
    rig.passKernelTime(1021);
    expect((await rig.drive.request("opendir", { id: inner, ...by(12) })).error).toBe(0);
  }));

test("folders that are no longer known send back whatever may be below them", async () => {
  await withFolders(async ({ drive }, { inner }) => {
    drive.onInvalidation(() => {});
    drive.dropFolder(0);
    expect((await drive.request("opendir", { id: inner, ...by(11) })).error).toBe(ESTALE);
  });
});

const PAIRS = 40;

/** Work of a program in a folder, by number, and the names that are there then. */
const WORK: readonly [(program: TestProgram, path: string) => Promise<unknown>, string[]][] = [
  [(program, path) => read(program, `${path}/file`), ["file", "other"]],
  [(program, path) => program.unlink(`${path}/file`), ["other"]],
  [(program, path) => program.mkdir(`${path}/new`), ["file", "new", "other"]],
  [(program, path) => program.rename(`${path}/file`, `${path}/moved`), ["moved", "other"]],
  [(program, path) => read(program, `${path}/made`, O_RDWR | O_CREAT), ["file", "made", "other"]],
  [(program, path) => program.symlink("file", `${path}/linked`), ["file", "linked", "other"]],
  [(program, path) => program.chmod(`${path}/file`, 0o600), ["file", "other"]],
];

async function read(program: TestProgram, path: string, flags = O_RDONLY): Promise<string> {
  const fd = await program.open(path, flags);
  const text = Buffer.from(await program.read(fd, 0, 100)).toString();
  await program.close(fd);
  return text;
}

(canMount() && process.platform === "linux" ? test.each : test.skip.each)([
  ["", false],
  [", also while a program that waits keeps the kernel from forgetting names", true],
] as const)(
  "programs never work in a folder that another client has put out of their path, and are told of no such thing%s",
  async (_also, isHeld) => {
    const rig = await fuseRig();
    try {
      const { agent, program } = rig;
      await agent.remoteMkdir("at");
      await agent.remoteMkdir("away");
      for (let i = 0; i < PAIRS; i++) {
        for (const path of [`at/${i}`, `away/${i}`]) {
          await agent.remoteMkdir(path);
          for (const name of ["file", "other"]) await agent.remoteWrite(`${path}/${name}`, Buffer.from(path));
          await agent.cache(`${path}/file`);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
      const warm = async (): Promise<void> => {
        for (let i = 0; i < PAIRS; i++) await program.stat(`at/${i}/file`);
      };
      await warm();
      const before = (await agent.statistics()).native.lookup ?? 0;
      await warm();
      // The kernel walks there by itself: else nothing is shown here.
      expect(((await agent.statistics()).native.lookup ?? 0) - before).toBeLessThan(PAIRS);
      if (isHeld) await agent.hold("link");
      const holding = isHeld ? program.link("at/0/other", "at/held") : Promise.resolve();
      if (isHeld) await rig.until(async () => (await agent.heldCount()) === 1);
      const done: Promise<unknown>[] = [];
      for (let i = 0; i < PAIRS; i++) {
        await agent.remoteRename(`at/${i}`, `former-${i}`);
        await agent.remoteRename(`away/${i}`, `at/${i}`);
        const work = WORK[i % WORK.length]?.[0](program, `at/${i}`);
        done.push(work ?? Promise.resolve());
        if (!isHeld) await work;
      }
      if (isHeld) await agent.release();
      await holding;
      const seen = await Promise.all(done);
      for (let i = 0; i < PAIRS; i++) {
        if (i % WORK.length === 0) expect(seen[i]).toBe(`away/${i}`);
        expect(await program.readdir(`at/${i}`)).toEqual(WORK[i % WORK.length]?.[1]);
        expect(await program.readdir(`former-${i}`)).toEqual(["file", "other"]);
        expect((await program.stat(`former-${i}/other`)).mode & 0o777).toBe(0o644);
        const isChanged = i % WORK.length === 6;
        if (isChanged) expect((await program.stat(`at/${i}/file`)).mode & 0o777).toBe(0o600);
      }
    } finally {
      await rig.close();
    }
  },
  TEST_MS,
);
