// The contract of Drive: what every engine does for programs and asks of the agent. Each engine's test file calls it.
import { constants } from "node:fs";
import { afterEach, beforeEach, describe, expect, test as anyTest } from "@jest/globals";
import type { DriveNotice } from "../../drive.ts";
import type { RequestOf } from "./fake-agent.ts";
import type { DriveRig, RigSettings } from "./drive-rig.ts";

const { O_RDONLY, O_RDWR, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_APPEND } = constants;
const EIO = 5;
const ENOENT = 2;
const EEXIST = 17;
const ENOSPC = 28;
const ENOTEMPTY = 39;
const ENODATA = 61;
const ENXIO = 6;
const [KEEP_SIZE, PUNCH_HOLE, COLLAPSE_RANGE, ZERO_RANGE] = [1, 2, 8, 16];
const EOPNOTSUPP = 95;
const ENAMETOOLONG = 36;

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const bytes = (what: string): Buffer => Buffer.from(what);

/** Version of a content that the server does not have. */
const UNSENT_VERSION = 2 ** 52 + 1;
/** The kernel may answer names and attributes itself for so long. */
const KERNEL_MS = 1_000;

type Scenario = (title: string, body: () => Promise<void>, timeoutMs?: number) => void;

/** Deadline of what an engine lacks, which may wait for ever for what does not come. */
const LACKED_MS = 10_000;

/**
 * Tests. Those that an engine cannot pass have to fail, so that no reason outlives its cause; their titles are taken
 * out of `unmet`.
 */
function scenarios(
  lacks: Readonly<Record<string, string>>,
  unmet: Set<string>,
): Scenario & {
  each: <T>(values: readonly T[]) => (title: string, body: (value: T) => Promise<void>) => void;
} {
  const isLacked = (title: string): boolean => {
    unmet.delete(title);
    return lacks[title] !== undefined;
  };
  const lackedTitle = (title: string): string => `lacks: ${title} (${lacks[title]})`;
  const scenario: Scenario = (title, body, timeoutMs) =>
    isLacked(title) ? anyTest.failing(lackedTitle(title), body, LACKED_MS) : anyTest(title, body, timeoutMs);
  return Object.assign(scenario, {
    each:
      <T>(values: readonly T[]) =>
      (title: string, body: (value: T) => Promise<void>): void => {
        const each = body as (value: unknown) => Promise<void>;
        if (isLacked(title)) anyTest.failing.each([...values])(lackedTitle(title), each, LACKED_MS);
        else anyTest.each([...values])(title, each);
      },
  });
}

/** `lacks`: titles of what an engine cannot do, with the reason; each is seen to fail. */
export function driveContract(
  name: string,
  make: (changes?: Partial<RigSettings>) => Promise<DriveRig>,
  lacks: Readonly<Record<string, string>> = {},
): void {
  const unmet = new Set(Object.keys(lacks));
  const test = scenarios(lacks, unmet);
  let rig: DriveRig;

  async function remake(changes: Partial<RigSettings>): Promise<void> {
    await rig.close();
    rig = await make(changes);
  }

  async function commits(): Promise<RequestOf<"commit">[]> {
    return (await rig.agent.logOf("commit")) as RequestOf<"commit">[];
  }

  async function count(op: string): Promise<number> {
    return (await rig.agent.logOf(op)).length;
  }

  /** Reads a file from open to close. */
  async function readFile(path: string): Promise<string> {
    const fd = await rig.program.open(path, O_RDONLY);
    try {
      const { sizeBytes } = await rig.program.fstat(fd);
      return text(await rig.program.read(fd, 0, sizeBytes + 1));
    } finally {
      await rig.program.close(fd);
    }
  }

  async function writeFile(path: string, what: string, flags = O_WRONLY | O_CREAT | O_TRUNC): Promise<void> {
    const fd = await rig.program.open(path, flags);
    await rig.program.write(fd, 0, bytes(what));
    await rig.program.close(fd);
  }

  async function agentText(path: string): Promise<string | undefined> {
    const got = await rig.agent.bytesAt(path);
    return got === undefined ? undefined : text(got);
  }

  beforeEach(async () => {
    rig = await make();
  });

  afterEach(async () => {
    await rig.close();
  });

  describe(`${name}: names and attributes`, () => {
    test("shows what the agent put, and asks nothing that it was told", async () => {
      await rig.agent.fill("folder", 300);
      await rig.agent.clearLog();
      const names = await rig.program.readdir("folder");
      expect(names).toHaveLength(300);
      expect((await rig.program.stat("folder/f7")).sizeBytes).toBe(6);
      await expect(rig.program.stat("folder/none")).rejects.toMatchObject({ errno: ENOENT });
      expect(await count("lookup")).toBe(0);
      expect(await count("list")).toBe(0);
      expect(await count("getattr")).toBe(0);
    });

    test("asks for every name without a lease, and again under the next", async () => {
      await rig.agent.remoteWrite("a", bytes("one"));
      await rig.agent.setLease(false);
      await rig.agent.clearLog();
      await rig.program.stat("a");
      await rig.program.stat("a");
      expect(await count("lookup")).toBeGreaterThanOrEqual(2);
      await rig.program.readdir("");
      await rig.program.readdir("");
      expect(await count("list")).toBe(2);
    });

    test("makes, renames and removes", async () => {
      const { program } = rig;
      await program.mkdir("d");
      await writeFile("d/a", "text");
      await expect(program.rmdir("d")).rejects.toMatchObject({ errno: ENOTEMPTY });
      await program.symlink("d/a", "s");
      expect(await program.readlink("s")).toBe("d/a");
      expect(await readFile("s")).toBe("text");
      await program.rename("d/a", "c");
      await program.rmdir("d");
      expect(await readFile("c")).toBe("text");
      expect(await program.readdir("")).toEqual(["c", "s"]);
      await program.unlink("s");
      expect(await program.readdir("")).toEqual(["c"]);
      await expect(program.open("c", O_WRONLY | O_CREAT | O_EXCL)).rejects.toMatchObject({ errno: EEXIST });
    });

    test("gives a file a second name, and takes one", async () => {
      const { program } = rig;
      await writeFile("a", "text");
      await program.link("a", "b");
      expect(await program.stat("b")).toMatchObject({ nlink: 2, ino: (await program.stat("a")).ino });
      await program.unlink("a");
      expect(await program.stat("b")).toMatchObject({ nlink: 1 });
      expect(await readFile("b")).toBe("text");
    });

    test("refuses names that are too long", async () => {
      await expect(rig.program.stat("x".repeat(256))).rejects.toMatchObject({ errno: ENAMETOOLONG });
      expect(await count("lookup")).toBe(0);
    });

    test("hears of changes elsewhere within what the kernel may keep", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("one"));
      await program.stat("a");
      await agent.remoteChmod("a", 0o600);
      await agent.remoteWrite("b", bytes("two"));
      await agent.remoteRename("b", "a");
      await new Promise((resolve) => setTimeout(resolve, KERNEL_MS));
      expect(await program.stat("a")).toMatchObject({ sizeBytes: 3, ino: (await agent.entryAt("a"))?.node });
      expect(await readFile("a")).toBe("two");
      await expect(program.stat("b")).rejects.toMatchObject({ errno: ENOENT });
    });

    test("keeps to its bound of entries and asks again", async () => {
      await remake({ entriesMax: 400 });
      await rig.agent.fill("one", 300);
      await rig.agent.fill("two", 300);
      expect((await rig.agent.statistics()).entries).toBeLessThanOrEqual(400);
      expect(await rig.program.readdir("one")).toHaveLength(300);
      expect((await rig.program.stat("one/f9")).sizeBytes).toBe(6);
    });

    test("chmod and utimes of a closed file are the agent's", async () => {
      await rig.agent.remoteWrite("a", bytes("one"));
      await rig.program.chmod("a", 0o600);
      await rig.program.utimes("a", 5_000_000_000n, 7_000_000_000n);
      expect(await rig.program.stat("a")).toMatchObject({ mtimeNs: 7_000_000_000n });
      await rig.until(async () => (await rig.agent.entryAt("a"))?.mtimeNs === 7_000_000_000n);
      expect(await rig.agent.entryAt("a")).toMatchObject({ mode: 0o600 });
    });
  });

  describe(`${name}: reading`, () => {
    test("fetches what the cache lacks, once", async () => {
      await rig.agent.remoteWrite("a", bytes("0123456789".repeat(1000)));
      expect(await readFile("a")).toBe("0123456789".repeat(1000));
      const fetched = await count("fetch");
      expect(fetched).toBeGreaterThan(0);
      expect(await readFile("a")).toBe("0123456789".repeat(1000));
      expect(await count("fetch")).toBe(fetched);
    });

    test("opens and reads what is cached without a question", async () => {
      await rig.agent.remoteWrite("a", bytes("cached"));
      await rig.agent.cache("a");
      await rig.agent.clearLog();
      expect(await readFile("a")).toBe("cached");
      expect(await count("open")).toBe(0);
      expect(await count("fetch")).toBe(0);
    });

    test("a fetch that fails is the reader's error, and the next read asks again", async () => {
      await rig.agent.remoteWrite("a", bytes("text"));
      const fd = await rig.program.open("a", O_RDONLY);
      await rig.agent.failNext("fetch", "Io");
      // A kernel may try a failed read-ahead once more by itself.
      await rig.agent.failNext("fetch", "Io");
      await expect(rig.program.read(fd, 0, 4)).rejects.toMatchObject({ errno: EIO });
      await rig.until(async () => {
        try {
          return text(await rig.program.read(fd, 0, 4)) === "text";
        } catch {
          return false;
        }
      });
      await rig.program.close(fd);
    });

    test("an open file reads one version, the next open the new one, under the same inode number", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("old"));
      const before = await program.open("a", O_RDONLY);
      await agent.remoteWrite("a", bytes("new and longer"));
      expect(await readFile("a")).toBe("new and longer");
      expect((await program.fstat(before)).sizeBytes).toBe(3);
      expect(text(await program.read(before, 0, 100))).toBe("old");
      const after = await program.open("a", O_RDONLY);
      expect((await program.fstat(after)).ino).toBe((await program.fstat(before)).ino);
      expect((await program.fstat(after)).sizeBytes).toBe(14);
      await program.close(before);
      expect(text(await program.read(after, 0, 100))).toBe("new and longer");
      await program.close(after);
    });

    test("a file that was shown as another version for a while, of another length, is read anew", async () => {
      const { agent, program } = rig;
      const whole = "0123456789".repeat(1_000);
      await agent.remoteWrite("a", bytes(whole));
      expect(await readFile("a")).toBe(whole);
      await agent.show("a", { version: UNSENT_VERSION, sizeBytes: 100 });
      await rig.until(async () => (await program.stat("a")).sizeBytes === 100);
      await agent.show("a");
      await rig.until(async () => (await program.stat("a")).sizeBytes === whole.length);
      expect(await readFile("a")).toBe(whole);
    });

    test("a content under an open file is not dropped", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("text"));
      const fd = await program.open("a", O_RDONLY);
      expect(await agent.drop("a")).toBe(false);
      await program.close(fd);
      await rig.until(async () => (await count("closed")) === 1);
      expect(await agent.drop("a")).toBe(true);
      expect(await readFile("a")).toBe("text");
    });

    test("a content is let go for the one file that is open over it, which reads on", async () => {
      const { agent, program } = rig;
      await agent.setKnobs({ cacheWhole: true });
      await agent.remoteWrite("a", bytes("text"));
      const fd = await program.open("a", O_RDWR);
      await program.write(fd, 0, bytes("T"));
      await program.fsync(fd);
      await rig.until(async () => !(await agent.releaseContent("a", false)));
      const opened = await count("open");
      expect(await agent.releaseContent("a", true)).toBe(true);
      expect(text(await program.read(fd, 0, 100))).toBe("Text");
      await program.close(fd);
      await rig.until(async () => (await agent.statistics()).openFiles === 0);
      expect(await readFile("a")).toBe("Text");
      expect(await count("open")).toBe(opened + 1);
    });
  });

  describe(`${name}: a content that is started over`, () => {
    test("is read on from the one in its place, by every file that was open over it, and fetched anew", async () => {
      const { agent, program } = rig;
      const whole = Buffer.from(Array.from({ length: 2_000_000 }, (_, at) => at % 251));
      await agent.remoteWrite("a", whole);
      await agent.cache("a");
      const files = [await program.open("a", O_RDONLY), await program.open("a", O_RDWR)] as const;
      const at = async (fd: number, offset: number): Promise<void> =>
        expect(Buffer.from(await program.read(fd, offset, 1000))).toEqual(whole.subarray(offset, offset + 1000));
      await at(files[0], 0);
      await program.write(files[1], 0, bytes("dirty"));
      await agent.clearLog();
      for (const offset of [1_900_000, 1_000_000]) {
        expect(await agent.startOver("a")).toBe(true);
        for (const fd of files) await at(fd, offset);
      }
      expect(await count("fetch")).toBeGreaterThan(0);
      expect(text(await program.read(files[1], 0, 5))).toBe("dirty");
      for (const fd of files) await program.close(fd);
      await rig.until(async () => (await agent.statistics()).openFiles === 0);
      expect((await readFile("a")).startsWith("dirty")).toBe(true);
    });
  });

  describe(`${name}: writing`, () => {
    test("commits at close what was written, and nothing twice", async () => {
      const { agent, program } = rig;
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.write(fd, 0, bytes("hello"));
      expect(await agentText("a")).toBe("");
      await program.fsync(fd);
      expect(await agentText("a")).toBe("hello");
      await program.fsync(fd);
      await program.close(fd);
      expect(await count("commit")).toBe(1);
      await rig.until(async () => (await agent.statistics()).openFiles === 0);
      expect(await readFile("a")).toBe("hello");
    });

    test("a new file that nobody wrote to is clean", async () => {
      await rig.program.close(await rig.program.open("a", O_WRONLY | O_CREAT));
      expect(await count("commit")).toBe(0);
      expect((await rig.program.stat("a")).sizeBytes).toBe(0);
    });

    test.each([0, O_EXCL])(
      "a new file over which another client moves one before the answer is its program's own, unseen (%i)",
      async (flag) => {
        await rig.agent.remoteWrite("other", bytes("theirs"));
        await rig.agent.setKnobs({ movedOverNext: "other" });
        const fd = await rig.program.open("f", O_RDWR | O_CREAT | flag);
        await rig.program.write(fd, 0, bytes("ours"));
        expect(await readFile("f")).toBe("theirs");
        expect(text(await rig.program.read(fd, 0, 10))).toBe("ours");
        await rig.program.close(fd);
        expect(await readFile("f")).toBe("theirs");
      },
    );

    test("an edit commits its extents over the version it was opened at", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("0123456789"));
      const version = (await agent.entryAt("a"))?.version;
      const fd = await program.open("a", O_RDWR);
      await program.write(fd, 3, bytes("xy"));
      expect(text(await program.read(fd, 0, 20))).toBe("012xy56789");
      await program.close(fd);
      expect(await agentText("a")).toBe("012xy56789");
      const [commit] = await commits();
      expect(commit).toMatchObject({ reason: "flush", baseVersion: version, baseBytes: 10, sizeBytes: 10 });
      expect(commit?.layers).toHaveLength(1);
      expect(commit?.layers[0]?.extents).toEqual([{ offset: 3, length: 2 }]);
    });

    test("O_TRUNC keeps the base version to commit against", async () => {
      await rig.agent.remoteWrite("a", bytes("0123456789"));
      const version = (await rig.agent.entryAt("a"))?.version;
      await writeFile("a", "new", O_WRONLY | O_TRUNC);
      expect(await agentText("a")).toBe("new");
      expect((await commits())[0]).toMatchObject({ baseVersion: version, baseBytes: 0, sizeBytes: 3 });
      expect(await readFile("a")).toBe("new");
    });

    test("cutting and growing reads as zeros where nothing is left", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("0123456789"));
      const fd = await program.open("a", O_RDWR);
      await program.ftruncate(fd, 4);
      await program.ftruncate(fd, 8);
      expect(text(await program.read(fd, 0, 20))).toBe("0123\0\0\0\0");
      await program.write(fd, 10, bytes("end"));
      expect((await program.fstat(fd)).sizeBytes).toBe(13);
      await program.close(fd);
      expect(await agentText("a")).toBe("0123\0\0\0\0\0\0end");
    });

    test("truncate by path: the agent's while closed, the open file's while open", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("0123456789"));
      await program.truncate("a", 6);
      expect(await agentText("a")).toBe("012345");
      expect(await count("setattr")).toBe(1);
      const fd = await program.open("a", O_RDWR);
      await program.truncate("a", 2);
      expect((await program.fstat(fd)).sizeBytes).toBe(2);
      expect(await count("setattr")).toBe(1);
      await program.close(fd);
      expect(await agentText("a")).toBe("01");
      const reader = await program.open("a", O_RDONLY);
      await program.truncate("a", 1);
      expect(text(await program.read(reader, 0, 10))).toBe("0");
      expect(await agentText("a")).toBe("0");
      await program.close(reader);
    });

    async function isCutTo4(fd: number, path: string): Promise<void> {
      const { program } = rig;
      expect((await program.fstat(fd)).sizeBytes).toBe(4);
      await program.write(fd, 6, bytes("end"));
      await program.close(fd);
      expect(await agentText(path)).toBe("0123\0\0end");
    }

    test("what is opened while the agent cuts it is opened as it is then: what was cut stays so", async () => {
      const { agent, program } = rig;
      for (const isCached of [true, false]) {
        const path = `cut-${isCached}`;
        await agent.remoteWrite(path, bytes("0123456789"));
        if (isCached) await agent.cache(path);
        await program.stat(path);
        await agent.hold("setattr");
        const cutting = program.truncate(path, 4);
        // A system that has no such request opens the file instead: then it ends, and nothing is held.
        await Promise.race([cutting, rig.until(async () => (await agent.heldCount()) === 1)]);
        expect(await agent.heldCount()).toBe(1);
        const opening = program.open(path, O_RDWR);
        let isOpened = false;
        const noteOpened = (): void => void (isOpened = true);
        opening.then(noteOpened, noteOpened);
        await rig.until(async () => isOpened || (await agent.statistics()).pendingRequests === 2);
        await agent.release();
        await cutting;
        await isCutTo4(await opening, path);
      }
    });

    test("what was being opened when the agent was asked to cut it is opened as it is after that", async () => {
      const { agent, program } = rig;
      for (const answersFirst of ["open", "setattr"] as const) {
        const path = `asked-${answersFirst}`;
        await agent.remoteWrite(path, bytes("0123456789"));
        await program.stat(path);
        await agent.hold("open", "setattr");
        const opening = program.open(path, O_RDWR);
        await rig.until(async () => (await agent.heldCount()) === 1);
        const cutting = program.truncate(path, 4);
        await rig.until(async () => (await agent.heldCount()) === 2);
        await agent.release(answersFirst);
        if (answersFirst === "setattr") await cutting;
        await agent.release();
        await cutting;
        await isCutTo4(await opening, path);
      }
    });

    test("appends go to the end, whoever wrote it", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("one"));
      await program.stat("a");
      await agent.remoteWrite("a", bytes("one, two"));
      const fd = await program.open("a", O_WRONLY | O_APPEND);
      await program.write(fd, 0, bytes(", three"));
      await program.close(fd);
      expect(await agentText("a")).toBe("one, two, three");
    });

    test("all who have it open here see one content", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("0123456789"));
      const reader = await program.open("a", O_RDONLY);
      const one = await program.open("a", O_RDWR);
      const two = await program.open("a", O_RDWR);
      await program.write(one, 0, bytes("AA"));
      await program.write(two, 8, bytes("BB"));
      expect(text(await program.read(reader, 0, 20))).toBe("AA234567BB");
      expect(text(await program.read(one, 0, 20))).toBe("AA234567BB");
      await program.close(reader);
      expect(await count("commit")).toBe(0);
      await program.close(one);
      await program.close(two);
      expect(await agentText("a")).toBe("AA234567BB");
      expect(await count("commit")).toBe(1);
    });

    test("a save while another is under way waits for it and commits again", async () => {
      const { agent, program } = rig;
      const one = await program.open("a", O_RDWR | O_CREAT);
      const two = await program.open("a", O_RDWR);
      await program.write(one, 0, bytes("first"));
      await agent.hold("commit");
      const first = program.close(one);
      await rig.until(async () => (await agent.heldCount()) === 1);
      await program.write(two, 5, bytes(" second"));
      const second = program.close(two);
      expect(await agentText("a")).toBe("");
      await agent.release();
      await Promise.all([first, second]);
      expect(await agentText("a")).toBe("first second");
      expect((await commits()).map(({ sizeBytes }) => sizeBytes)).toEqual([5, 12]);
    });

    test("what open files have unsaved is committed when that is asked for, and whoever asks is told once it has been answered", async () => {
      const { agent, program } = rig;
      expect(await agent.commitDirty()).toBeUndefined();
      const [a, b] = [await program.open("a", O_WRONLY | O_CREAT), await program.open("b", O_WRONLY | O_CREAT)];
      await program.write(a, 0, bytes("one"));
      await program.write(b, 0, bytes("other"));
      expect(await agent.commitDirty()).toBeUndefined();
      expect([await agentText("a"), await agentText("b")]).toEqual(["one", "other"]);
      await program.write(a, 0, bytes("two"));
      await agent.hold("commit");
      const first = agent.commitDirty();
      await rig.until(async () => (await agent.heldCount()) === 1);
      await program.write(a, 0, bytes("three"));
      const all = agent.commitDirty();
      await agent.release();
      expect([await first, await all]).toEqual([undefined, undefined]);
      expect(await agentText("a")).toBe("three");
      await program.write(a, 0, bytes("four!"));
      await agent.failNext("commit", "NoSpace");
      expect(await agent.commitDirty()).toBe("NoSpace");
      expect(await agentText("a")).toBe("three");
      await program.close(a);
      await program.close(b);
      expect(await agentText("a")).toBe("four!");
    });

    test("layers stay readable while they are not merged", async () => {
      const { agent, program } = rig;
      await agent.setKnobs({ rebases: false });
      await agent.remoteWrite("a", bytes("0123456789"));
      const fd = await program.open("a", O_RDWR);
      await program.write(fd, 0, bytes("A"));
      await program.fsync(fd);
      await program.write(fd, 5, bytes("B"));
      await program.fsync(fd);
      await program.ftruncate(fd, 7);
      await program.write(fd, 9, bytes("C"));
      await program.fsync(fd);
      expect(text(await program.read(fd, 0, 20))).toBe("A1234B6\0\0C");
      expect(await agentText("a")).toBe("A1234B6\0\0C");
      await program.close(fd);
      expect(await count("commit")).toBe(3);
      expect((await commits())[2]).toMatchObject({ baseBytes: 7 });
    });

    test("layers that lie in one file are read from there, whatever is cut and saved since", async () => {
      const { agent, program } = rig;
      await agent.setKnobs({ rebases: false });
      await agent.remoteWrite("a", bytes("0123456789"));
      const fd = await program.open("a", O_RDWR);
      await program.write(fd, 0, bytes("A"));
      await program.fsync(fd);
      await program.write(fd, 4, bytes("BBB"));
      await program.fsync(fd);
      expect(await agent.joinLayers()).toBe(true);
      expect(text(await program.read(fd, 0, 20))).toBe("A123BBB789");
      await program.ftruncate(fd, 6);
      await program.write(fd, 8, bytes("C"));
      expect(text(await program.read(fd, 0, 20))).toBe("A123BB\0\0C");
      await program.fsync(fd);
      expect((await commits()).at(-1)).toMatchObject({
        baseBytes: 6,
        layers: [{ extents: [{ offset: 8, length: 1 }] }],
      });
      expect(await agent.joinLayers()).toBe(true);
      await program.write(fd, 1, bytes("D"));
      expect(text(await program.read(fd, 0, 20))).toBe("AD23BB\0\0C");
      await agent.setKnobs({ rebases: true });
      await program.fsync(fd);
      expect(text(await program.read(fd, 0, 20))).toBe("AD23BB\0\0C");
      expect(await agent.joinLayers()).toBe(false);
      await program.close(fd);
      expect(await agentText("a")).toBe("AD23BB\0\0C");
    });

    test("a commit that fails is the program's error, and is sent again with what came since", async () => {
      const { agent, program } = rig;
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.write(fd, 0, bytes("first"));
      await agent.failNext("commit", "NoSpace");
      await expect(program.fsync(fd)).rejects.toMatchObject({ errno: ENOSPC });
      await program.write(fd, 5, bytes(" second"));
      await program.fsync(fd);
      expect(await agentText("a")).toBe("first second");
      expect((await commits())[1]?.layers).toHaveLength(2);
      await program.close(fd);
    });

    test("a failed close has been told: it is not tried again at the release, and the file is let go", async () => {
      const { agent, program } = rig;
      const fd = await program.open("a", O_WRONLY | O_CREAT);
      await program.write(fd, 0, bytes("text"));
      await agent.failNext("commit", "Io");
      await expect(program.close(fd)).rejects.toMatchObject({ errno: EIO });
      await rig.until(async () => (await count("closed")) === 1);
      expect((await commits()).map(({ reason }) => reason)).toEqual(["flush"]);
      expect((await agent.statistics()).openFiles).toBe(0);
    });

    test("a file with nothing to save is synced by the agent, which may have answered before what it has is safe", async () => {
      const { agent, program } = rig;
      await writeFile("a", "text");
      const fd = await program.open("a", O_RDWR);
      await agent.hold("sync");
      const syncing = program.fsync(fd);
      await rig.until(async () => (await agent.heldCount()) === 1);
      await agent.release();
      await syncing;
      await agent.failNext("sync", "Io");
      await expect(program.fsync(fd)).rejects.toMatchObject({ errno: EIO });
      await program.close(fd);
      expect(await commits()).toHaveLength(1);
    });

    /** Saves at the beginning of "a", which is "first", and fails; "a" stays open. */
    async function failedSave(what: string): Promise<number> {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("first"));
      const fd = await program.open("a", O_RDWR);
      await program.write(fd, 0, bytes(what));
      await agent.failNext("commit", "Io");
      await expect(program.fsync(fd)).rejects.toMatchObject({ errno: EIO });
      return fd;
    }

    test.each(["close", "commitDirty"] as const)(
      "what failed and was saved since is not sent again by a %s, over what others have saved by then",
      async (by) => {
        const { agent, program } = rig;
        const fd = await failedSave("mine!");
        expect(await agent.saveFailed()).toBe(true);
        expect(await agentText("a")).toBe("mine!");
        await agent.remoteWrite("a", bytes("theirs"));
        if (by === "commitDirty") expect(await agent.commitDirty()).toBeUndefined();
        await program.close(fd);
        expect(await agentText("a")).toBe("theirs");
        expect(await count("commit")).toBe(1);
        expect(await readFile("a")).toBe("theirs");
      },
    );

    test("what is saved after that is an edit of the version that it has become", async () => {
      const { agent, program } = rig;
      const fd = await failedSave("F");
      expect(await agent.saveFailed()).toBe(true);
      const version = (await agent.entryAt("a"))?.version;
      await program.write(fd, 4, bytes("T"));
      await program.close(fd);
      expect(await agentText("a")).toBe("FirsT");
      const [, second] = await commits();
      expect(second?.layers).toHaveLength(1);
      expect(second?.baseVersion).toBe(version);
    });

    test("a reader does not keep others from what has come after a save that failed at first", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("first"));
      const reader = await program.open("a", O_RDONLY);
      const writer = await program.open("a", O_WRONLY);
      await program.write(writer, 0, bytes("mine!"));
      await agent.failNext("commit", "Io");
      await expect(program.close(writer)).rejects.toMatchObject({ errno: EIO });
      expect(await agent.saveFailed()).toBe(true);
      await agent.remoteWrite("a", bytes("theirs"));
      expect(await readFile("a")).toBe("theirs");
      expect(text(await program.read(reader, 0, 20))).toBe("mine!");
      await program.close(reader);
    });

    test("what became another file's is that one's for its programs only", async () => {
      const { agent, program } = rig;
      const fd = await failedSave("mine!");
      await agent.remoteWrite("a", bytes("theirs"));
      expect(await agent.saveFailed(true)).toBe(true);
      expect(await readFile("a")).toBe("theirs");
      await writeFile("a", "edited");
      expect(await agentText("a")).toBe("edited");
      expect(text(await program.read(fd, 0, 20))).toBe("mine!");
      await program.close(fd);
      expect(await agentText("a")).toBe("edited");
      expect(await count("commit")).toBe(2);
    });

    test("who finds it under the name that the kernel still knows gets the file that has the name", async () => {
      const { agent, program } = rig;
      const fd = await failedSave("mine!");
      expect(await agent.saveFailed(true)).toBe(true);
      expect((await program.stat("a")).ino).toBe((await agent.entryAt("a"))?.node);
      expect(await readFile("a")).toBe("first");
      await agent.remoteWrite("a", bytes("theirs"));
      expect(await readFile("a")).toBe("theirs");
      expect(text(await program.read(fd, 0, 20))).toBe("mine!");
      await program.close(fd);
    });

    test("times set on a dirty file go with its commit", async () => {
      const { agent, program } = rig;
      const fd = await program.open("a", O_WRONLY | O_CREAT);
      await program.write(fd, 0, bytes("text"));
      await program.futimes(fd, 1_000_000_000n, 2_000_000_000n);
      await program.close(fd);
      expect(await agent.entryAt("a")).toMatchObject({ mtimeNs: 2_000_000_000n });
      expect(await count("setattr")).toBe(0);
      expect((await program.stat("a")).mtimeNs).toBe(2_000_000_000n);
    });

    test("a file that lost its name lives in its handles and is never committed", async () => {
      const { agent, program } = rig;
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.write(fd, 0, bytes("text"));
      await program.unlink("a");
      await program.write(fd, 4, bytes(" more"));
      expect(text(await program.read(fd, 0, 20))).toBe("text more");
      expect(await program.fstat(fd)).toMatchObject({ nlink: 0, sizeBytes: 9 });
      await program.close(fd);
      expect(await count("commit")).toBe(0);
      await rig.until(async () => (await agent.statistics()).openFiles === 0);
    });

    test("a rename over an open file leaves its readers what they opened", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("victim"));
      await writeFile("b", "source");
      const fd = await program.open("a", O_RDONLY);
      await program.rename("b", "a");
      expect(await readFile("a")).toBe("source");
      expect(text(await program.read(fd, 0, 20))).toBe("victim");
      expect(await program.fstat(fd)).toMatchObject({ nlink: 0 });
      await program.close(fd);
      expect(await agentText("a")).toBe("source");
    });
  });

  describe(`${name}: an agent that is slow, or silent`, () => {
    test("answers EIO at the deadline, and drops what comes later", async () => {
      await remake({ deadlinesMs: { lookup: 150 } });
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("text"));
      await agent.setLease(false);
      await agent.hold("lookup");
      await expect(program.stat("a")).rejects.toMatchObject({ errno: EIO });
      await agent.release();
      expect(await program.stat("a")).toMatchObject({ sizeBytes: 4 });
      expect((await agent.statistics()).pendingRequests).toBe(0);
    });

    test("gives a request that is being worked on its deadline again, as often as the agent says so", async () => {
      await remake({ deadlinesMs: { lookup: 1000 } });
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("text"));
      await agent.setLease(false);
      await agent.hold("lookup");
      const found = program.stat("a");
      await rig.until(async () => (await agent.heldCount()) === 1);
      const startedMs = performance.now();
      await rig.until(async () => {
        await agent.prolong();
        return performance.now() - startedMs > 1500;
      });
      await agent.release();
      expect(await found).toMatchObject({ sizeBytes: 4 });
      await agent.hold("lookup");
      await expect(program.stat("a")).rejects.toMatchObject({ errno: EIO });
      await agent.release();
    });

    test("a commit that outlives its program's patience still counts", async () => {
      await remake({ deadlinesMs: { commit: 150 } });
      const { agent, program } = rig;
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.write(fd, 0, bytes("text"));
      await agent.hold("commit");
      await expect(program.fsync(fd)).rejects.toMatchObject({ errno: EIO });
      await agent.release();
      await program.close(fd);
      expect(await count("commit")).toBe(1);
      expect(await agentText("a")).toBe("text");
    });

    test("a program may give up, and the agent is told", async () => {
      const { agent } = rig;
      await agent.remoteWrite("a", bytes("text"));
      await agent.hold("open");
      await rig.openInterrupted("a");
      const [open] = (await agent.logOf("open")) as RequestOf<"open">[];
      await rig.until(async () => (await count("interrupted")) > 0);
      const notices = (await agent.logOf("interrupted")) as Extract<DriveNotice, { op: "interrupted" }>[];
      expect(notices.map(({ id }) => id)).toEqual([open?.id]);
      await agent.release();
      expect(await readFile("a")).toBe("text");
    });

    test("a waiting request holds up nobody else", async () => {
      const { agent, program } = rig;
      await agent.remoteWrite("a", bytes("text"));
      await agent.remoteWrite("b", bytes("other"));
      await agent.cache("b");
      await agent.hold("open");
      const slow = Array.from({ length: 8 }, () => program.open("a", O_RDONLY));
      await rig.until(async () => (await agent.heldCount()) === 8);
      expect(await readFile("b")).toBe("other");
      await agent.release();
      for (const fd of await Promise.all(slow)) await program.close(fd);
    });

    test("lookups in one folder wait beside one another", async () => {
      const { agent, program } = rig;
      for (const file of ["a", "b", "c"]) await agent.remoteWrite(file, bytes("text"));
      await agent.setLease(false);
      await agent.hold("lookup");
      const found = ["a", "b", "c"].map((file) => program.stat(file));
      await rig.until(async () => (await agent.heldCount()) === 3);
      await agent.release();
      expect((await Promise.all(found)).map(({ sizeBytes }) => sizeBytes)).toEqual([4, 4, 4]);
    });

    test("holes are told, made and kept: of what was never written, of what was punched, of what is cached", async () => {
      const { agent, program } = rig;
      const block = 65_536;
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.write(fd, 4 * block, Buffer.alloc(block, "x"));
      await program.ftruncate(fd, 8 * block);
      expect(await program.seek(fd, 0, true)).toBe(4 * block);
      expect(await program.seek(fd, 0, false)).toBe(0);
      expect(await program.seek(fd, 4 * block, false)).toBe(5 * block);
      await expect(program.seek(fd, 5 * block, true)).rejects.toMatchObject({ errno: ENXIO });
      await expect(program.seek(fd, 8 * block, false)).rejects.toMatchObject({ errno: ENXIO });
      await program.write(fd, 0, Buffer.alloc(3 * block, "y"));
      await program.allocate(fd, PUNCH_HOLE | KEEP_SIZE, block, block);
      expect(await program.seek(fd, 0, false)).toBe(block);
      expect(await program.seek(fd, block, true)).toBe(2 * block);
      expect([...(await program.read(fd, 2 * block - 1, 2))]).toEqual([0, 121]);
      await program.allocate(fd, ZERO_RANGE, 2 * block, block);
      expect(await program.seek(fd, block, true)).toBe(4 * block);
      await program.allocate(fd, KEEP_SIZE, 8 * block, block);
      expect((await program.fstat(fd)).sizeBytes).toBe(8 * block);
      await program.allocate(fd, 0, 8 * block, block);
      expect((await program.fstat(fd)).sizeBytes).toBe(9 * block);
      await expect(program.allocate(fd, COLLAPSE_RANGE, 0, block)).rejects.toMatchObject({ errno: EOPNOTSUPP });
      await program.close(fd);
      const expected = Buffer.alloc(9 * block);
      expected.fill("y", 0, block).fill("x", 4 * block, 5 * block);
      expect(Buffer.compare((await agent.bytesAt("a")) ?? Buffer.alloc(0), expected)).toBe(0);
    });

    test("holes are of whole blocks, as on a disk, however small the writes", async () => {
      const { program } = rig;
      const block = 4096;
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.write(fd, 5 * block + 100, bytes("x"));
      await program.write(fd, 7 * block - 1, bytes("yy"));
      await program.ftruncate(fd, 20 * block);
      expect(await program.seek(fd, 0, true)).toBe(5 * block);
      expect(await program.seek(fd, 5 * block + 200, true)).toBe(5 * block + 200);
      expect(await program.seek(fd, 5 * block + 200, false)).toBe(8 * block);
      expect(await program.seek(fd, 3 * block + 1, false)).toBe(3 * block + 1);
      await expect(program.seek(fd, 8 * block, true)).rejects.toMatchObject({ errno: ENXIO });
      await program.close(fd);
    });

    test("holes take no blocks: while a file is open, when it is saved, when it is cut, when it is known only by its size", async () => {
      const { agent, program } = rig;
      const block = 65_536;
      const size = 64 * block;
      const fd = await program.open("a", O_RDWR | O_CREAT);
      await program.ftruncate(fd, size);
      expect(await program.fstat(fd)).toMatchObject({ sizeBytes: size, allocatedBytes: 0 });
      await program.write(fd, 10 * block, Buffer.alloc(2 * block, "x"));
      expect((await program.fstat(fd)).allocatedBytes).toBe(2 * block);
      await program.allocate(fd, PUNCH_HOLE | KEEP_SIZE, 10 * block, block);
      expect((await program.fstat(fd)).allocatedBytes).toBe(block);
      await program.close(fd);
      expect((await program.stat("a")).allocatedBytes).toBe(block);
      const again = await program.open("a", O_RDWR);
      await program.write(again, 11 * block, Buffer.alloc(block, "y"));
      expect((await program.fstat(again)).allocatedBytes).toBeLessThanOrEqual(2 * block);
      await program.close(again);
      await program.truncate("a", 1);
      expect((await program.stat("a")).allocatedBytes).toBeLessThanOrEqual(4096);
      // Nothing is known of what others wrote but its size.
      await agent.remoteWrite("b", Buffer.alloc(size));
      expect((await program.stat("b")).allocatedBytes).toBe(size);
      // The content is sparse here.
      await agent.setKnobs({ cacheWhole: true });
      await program.close(await program.open("b", O_RDONLY));
      await rig.until(async () => (await program.stat("b")).allocatedBytes === 0);
    });

    test("extended attributes are the agent's, and asked for once where there are some", async () => {
      const { program } = rig;
      await writeFile("a", "text");
      expect(await program.listxattr("a")).toEqual([]);
      await expect(program.getxattr("a", "user.one")).rejects.toMatchObject({ errno: ENODATA });
      expect(await count("xattrs")).toBe(0);
      const large = Buffer.alloc(60_000, "x");
      await program.setxattr("a", "user.one", bytes("1"));
      await program.setxattr("a", "user.large", large);
      await program.setxattr("a", "user.empty", bytes(""), 1);
      await expect(program.setxattr("a", "user.one", bytes("2"), 1)).rejects.toMatchObject({ errno: EEXIST });
      await expect(program.setxattr("a", "user.none", bytes("2"), 2)).rejects.toMatchObject({ errno: ENODATA });
      expect((await program.listxattr("a")).toSorted()).toEqual(["user.empty", "user.large", "user.one"]);
      expect(text(await program.getxattr("a", "user.one"))).toBe("1");
      expect(Buffer.compare(await program.getxattr("a", "user.large"), large)).toBe(0);
      expect(await count("xattrs")).toBe(1);
      await program.removexattr("a", "user.one");
      await expect(program.removexattr("a", "user.one")).rejects.toMatchObject({ errno: ENODATA });
      expect((await program.listxattr("a")).toSorted()).toEqual(["user.empty", "user.large"]);
      expect(await count("xattrs")).toBe(2);
      // Finder's tags, by the name that a drive of macFUSE has for them: a list of properties, as bytes.
      const finderTags = ["user.com.apple.metadata:_kMDItemUserTags", "user.com.apple.FinderInfo"];
      const plist = Buffer.from("bplist00\u00a1\u0001URed\n6\0\0\u00ff", "latin1");
      for (const tag of finderTags) await program.setxattr("a", tag, plist);
      expect(await program.listxattr("a")).toEqual(expect.arrayContaining(finderTags));
      for (const tag of finderTags) expect(Buffer.compare(await program.getxattr("a", tag), plist)).toBe(0);
      for (const tag of finderTags) await program.removexattr("a", tag);
      expect((await program.listxattr("a")).toSorted()).toEqual(["user.empty", "user.large"]);
      for (const other of ["trusted.a", "security.a", "com.apple.FinderInfo"])
        await expect(program.setxattr("a", other, bytes("1"))).rejects.toMatchObject({ errno: EOPNOTSUPP });
    });

    test("of extended attributes those used last are held", async () => {
      const { program } = rig;
      const files = Array.from({ length: 80 }, (_, index) => `a${index}`);
      for (const file of files) {
        await writeFile(file, "");
        await program.setxattr(file, "user.large", Buffer.alloc(60_000, file));
        expect(await program.listxattr(file)).toEqual(["user.large"]);
        await program.getxattr("a0", "user.large");
      }
      expect(await count("xattrs")).toBe(80);
      expect(Buffer.compare(await program.getxattr("a0", "user.large"), Buffer.alloc(60_000, "a0"))).toBe(0);
      expect(await count("xattrs")).toBe(80);
      expect(Buffer.compare(await program.getxattr("a1", "user.large"), Buffer.alloc(60_000, "a1"))).toBe(0);
      expect(await count("xattrs")).toBe(81);
    }, 90_000);

    test("leaves nothing behind", async () => {
      const { agent, program } = rig;
      for (let round = 0; round < 5; round++) {
        await writeFile("a", `round ${round}`);
        await readFile("a");
        await program.unlink("a");
      }
      await rig.until(async () => (await agent.statistics()).openFiles === 0);
      expect((await agent.statistics()).pendingRequests).toBe(0);
      await rig.until(async () => (await count("closed")) >= 5);
    });
  });

  anyTest(`${name}: lacks no scenario that is not there`, () => {
    expect([...unmet]).toEqual([]);
  });
}
