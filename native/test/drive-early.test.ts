// Changes that the drive answers before the agent hears of them: which, what it makes of what the agent says meanwhile,
// and what of them a killed process leaves.
import { constants, readFileSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type DriveEntry, type DriveRequest, leftEarly } from "../drive.ts";
import { type MemoryRig, memoryRig } from "./support/memory-rig.ts";

const ENOENT = 2;
const EEXIST = 17;
const ENOTEMPTY = 39;

let rig: MemoryRig;
let path: string;

beforeEach(async () => {
  rig = await memoryRig();
  const { fake, program } = rig;
  for (const folder of ["full", "full/empty", "other"]) fake.remoteMkdir(folder);
  for (const name of ["a", "b", "c", "twice"]) fake.remoteWrite(`full/${name}`, Buffer.from(name));
  await program.link("full/twice", "full/thrice");
  for (const folder of ["", "full", "full/empty", "other"]) await program.readdir(folder);
  for (const name of ["a", "b", "c", "twice", "thrice", "empty"]) await program.stat(`full/${name}`);
  path = rig.allowEarly();
  fake.clearLog();
});

afterEach(() => rig.close());

function entryOf(name: string): DriveEntry {
  const entry = rig.fake.entryAt(name);
  if (entry === undefined) throw new Error(`There is no ${name}.`);
  return entry;
}

function nodeOf(name: string): number {
  return entryOf(name).node;
}

function requests(): DriveRequest[] {
  return rig.fake.log.filter((item): item is DriveRequest => "caller" in item);
}

async function create(name: string, mode: number): Promise<void> {
  const { program } = rig;
  await program.close(await program.open(name, constants.O_WRONLY | constants.O_CREAT, mode));
}

/** A program writes all of a file, and closes it. */
async function save(name: string, content: string, mode = 0o644): Promise<void> {
  const { program } = rig;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
  const file = await program.open(name, flags, mode);
  await program.write(file, 0, Buffer.from(content));
  await program.close(file);
}

async function read(name: string): Promise<string> {
  const { program } = rig;
  const file = await program.open(name, constants.O_RDONLY);
  const bytes = await program.read(file, 0, 1000);
  await program.close(file);
  return Buffer.from(bytes).toString();
}

/** Lists what the agent was told of that is done already, and what it was asked for. */
function words(): string[] {
  return requests().map(({ op, answeredNs }) => `${op} ${answeredNs === undefined ? "asked" : "done"}`);
}

/** Runs while the agent does nothing, and returns the changes that it is told of. */
async function withBusyAgent(run: () => Promise<unknown>): Promise<DriveRequest[]> {
  rig.fake.hold("make", "link", "commit", "remove", "rename", "setattr");
  await run();
  await rig.drive.given();
  return requests().filter(({ op }) => op !== "open" && op !== "fetch");
}

describe("a program has its answer while the agent is busy, and sees what it did", () => {
  test("a mode and a time", async () => {
    const { program } = rig;
    const told = await withBusyAgent(async () => {
      await program.chmod("full/a", 0o640);
      await program.utimes("full/a", 1_000_000_000n, 5_000_000_000n);
      expect(await program.stat("full/a")).toMatchObject({ mtimeNs: 5_000_000_000n });
      expect((await program.stat("full/a")).mode & 0o7777).toBe(0o640);
    });
    expect(told).toMatchObject([
      { op: "setattr", node: nodeOf("full/a"), mode: 0o640, earlyNumber: 1, answeredNs: expect.any(BigInt) },
      { op: "setattr", node: nodeOf("full/a"), mtimeNs: 5_000_000_000n, earlyNumber: 2 },
    ]);
  });

  test("a removed file, and a removed folder", async () => {
    const { program } = rig;
    const nodes = [nodeOf("full/a"), nodeOf("full/empty")];
    const before = await program.stat("full");
    const told = await withBusyAgent(async () => {
      await program.unlink("full/a");
      await program.rmdir("full/empty");
      await expect(program.stat("full/a")).rejects.toMatchObject({ errno: ENOENT });
      await expect(program.unlink("full/a")).rejects.toMatchObject({ errno: ENOENT });
      expect(await program.readdir("full")).not.toContain("a");
    });
    expect(told).toMatchObject([
      { op: "remove", name: "a", isFolder: false, node: nodes[0] },
      { op: "remove", name: "empty", isFolder: true, node: nodes[1] },
    ]);
    const after = await program.stat("full");
    expect(after.nlink).toBe(before.nlink - 1);
    expect(after.mtimeNs).toBeGreaterThan(before.mtimeNs);
  });

  test("a file that was moved: to a new name, over another one, to another folder", async () => {
    const { program } = rig;
    const told = await withBusyAgent(async () => {
      await program.rename("full/a", "full/new");
      await program.rename("full/new", "full/b");
      await program.rename("full/b", "other/b");
      await expect(program.stat("full/b")).rejects.toMatchObject({ errno: ENOENT });
      expect((await program.stat("other/b")).sizeBytes).toBe(1);
    });
    expect(told).toMatchObject([
      { op: "rename", name: "a", toName: "new", node: nodeOf("full/a"), how: "replace" },
      { op: "rename", name: "new", toName: "b", node: nodeOf("full/a") },
      { op: "rename", name: "b", toName: "b", toFolder: nodeOf("other"), node: nodeOf("full/a") },
    ]);
  });

  test("a folder and what is made in it, at any depth", async () => {
    const { program } = rig;
    const before = await program.stat("other");
    const told = await withBusyAgent(async () => {
      await program.mkdir("other/new", 0o750);
      await program.mkdir("other/new/below", 0o755);
      await create("other/new/below/plain", 0o640);
      expect(await program.readdir("other")).toEqual(["new"]);
      expect(await program.readdir("other/new/below")).toEqual(["plain"]);
      await expect(program.stat("other/new/none")).rejects.toMatchObject({ errno: ENOENT });
    });
    const nodes = told.map((request) => ("node" in request ? request.node : undefined));
    expect(told).toMatchObject([
      { op: "make", type: "folder", folder: nodeOf("other"), name: "new", mode: 0o750, earlyNumber: 1 },
      { op: "make", type: "folder", folder: nodes[0], name: "below", mode: 0o755 },
      { op: "make", type: "file", folder: nodes[1], name: "plain", mode: 0o640 },
    ]);
    expect(new Set(nodes).size).toBe(3);
    const after = await program.stat("other");
    expect(after.nlink).toBe(before.nlink + 1);
    expect(after.mtimeNs).toBeGreaterThan(before.mtimeNs);
    expect(await program.stat("other/new")).toMatchObject({ ino: nodes[0], nlink: 3 });
    expect(await program.stat("other/new/below/plain")).toMatchObject({ ino: nodes[2], nlink: 1, sizeBytes: 0 });
  });

  test("a file that it creates, saves and moves", async () => {
    const { program, fake } = rig;
    const told = await withBusyAgent(async () => {
      await save("other/new", "written", 0o600);
      await program.rename("other/new", "full/moved");
      expect((await program.stat("full/moved")).sizeBytes).toBe(7);
      expect(await read("full/moved")).toBe("written");
    });
    expect(told).toMatchObject([
      { op: "make", type: "file", name: "new", mode: 0o600 },
      { op: "commit", reason: "flush", baseVersion: 0, baseBytes: 0, sizeBytes: 7, earlyNumber: 2 },
      { op: "rename", name: "new", toName: "moved" },
    ]);
    fake.release();
    await rig.drive.given();
    expect(fake.entryAt("full/moved")).toMatchObject({ sizeBytes: 7, mode: 0o600 });
    expect(await read("full/moved")).toBe("written");
    expect(leftEarly(path, "boot").requests).toEqual([]);
  });

  test("a file that it writes anew", async () => {
    const { program } = rig;
    const told = await withBusyAgent(async () => {
      await save("full/a", "another content");
      expect((await program.stat("full/a")).sizeBytes).toBe(15);
    });
    expect(told).toMatchObject([
      { op: "commit", baseVersion: entryOf("full/a").version, baseBytes: 0, sizeBytes: 15, earlyNumber: 1 },
    ]);
    rig.fake.release();
    await rig.drive.given();
    expect(entryOf("full/a").sizeBytes).toBe(15);
  });

  test("the size and time of what it saved, while the agent has not heard of a later mode", async () => {
    const { program, fake } = rig;
    await withBusyAgent(async () => {
      await save("other/new", "written");
      const { mtimeNs } = await program.stat("other/new");
      await program.chmod("other/new", 0o600);
      for (const op of ["make", "commit"] as const) {
        fake.release(op);
        await rig.drive.given();
      }
      expect(await program.stat("other/new")).toMatchObject({ sizeBytes: 7, mtimeNs });
      expect((await program.stat("other/new")).mode & 0o7777).toBe(0o600);
      await program.utimes("other/new", 1n, 2n);
      expect(await program.stat("other/new")).toMatchObject({ sizeBytes: 7, mtimeNs: 2n });
    });
    fake.release();
    await rig.drive.given();
    expect(await program.stat("other/new")).toMatchObject({ sizeBytes: 7, mtimeNs: 2n });
  });

  test("a second name of a file, and the removal of one", async () => {
    const { program } = rig;
    const told = await withBusyAgent(async () => {
      await program.link("full/a", "other/second");
      expect(await program.stat("full/a")).toMatchObject({ nlink: 2, ino: nodeOf("full/a") });
      expect(await program.stat("other/second")).toMatchObject({ nlink: 2, ino: nodeOf("full/a") });
      await program.unlink("full/a");
      expect(await program.stat("other/second")).toMatchObject({ nlink: 1 });
      expect(await read("other/second")).toBe("a");
      await expect(program.stat("full/a")).rejects.toMatchObject({ errno: ENOENT });
    });
    const node = nodeOf("full/a");
    expect(told).toMatchObject([
      { op: "link", node, folder: nodeOf("other"), name: "second" },
      { op: "remove", node, name: "a" },
    ]);
    rig.fake.release();
    await rig.drive.given();
    expect(entryOf("other/second")).toMatchObject({ node, nlink: 1 });
    expect(await program.stat("other/second")).toMatchObject({ nlink: 1 });
  });

  test("in a folder with S_ISGID, which gives its group and, to folders, the bit", async () => {
    const { program, fake } = rig;
    await program.chmod("other", 0o2775);
    await rig.drive.given();
    rig.drive.putNode({ ...entryOf("other"), gid: 77 }, false);
    const told = await withBusyAgent(async () => {
      await program.mkdir("other/folder", 0o755);
      await create("other/file", 0o644);
    });
    expect(told.slice(-2)).toMatchObject([
      { op: "make", mode: 0o2755, caller: { gid: 77 } },
      { op: "make", mode: 0o644, caller: { gid: 77 } },
    ]);
    expect((await program.stat("other/folder")).mode & 0o7777).toBe(0o2755);
    expect(await program.stat("other/file")).toMatchObject({ gid: 77 });
    fake.release();
  });

  test("an open file that was removed reads on", async () => {
    const { program } = rig;
    const file = await program.open("full/a", 0);
    await withBusyAgent(() => program.unlink("full/a"));
    expect((await program.fstat(file)).nlink).toBe(0);
    rig.fake.release();
    await rig.drive.given();
    expect((await program.fstat(file)).nlink).toBe(0);
    expect(Buffer.from(await program.read(file, 0, 10)).toString()).toBe("a");
    await program.close(file);
  });
});

test("the agent that has taken all in sees what programs see", async () => {
  const { program, fake, drive } = rig;
  await withBusyAgent(async () => {
    await program.rename("full/a", "full/new");
    await program.chmod("full/new", 0o600);
    await program.unlink("full/b");
    await program.rename("full/new", "full/b");
  });
  fake.release();
  await drive.given();
  drive.dropFolder(0);
  expect((await program.readdir("full")).toSorted()).toEqual(["b", "c", "empty", "thrice", "twice"]);
  expect((await program.stat("full/b")).mode & 0o7777).toBe(0o600);
  expect(leftEarly(path, "boot").requests).toEqual([]);
});

describe("the agent is asked", () => {
  test.each<[string, (rig: MemoryRig) => Promise<unknown>]>([
    ["for a link", ({ program }) => program.symlink("a", "full/link")],
    ["to move a file with several names", ({ program }) => program.rename("full/twice", "full/moved")],
    [
      "to remove a name of a file whose others are not known",
      async ({ program, drive }) => {
        const entry = entryOf("full/twice");
        drive.dropFolder(nodeOf("full"));
        drive.putEntries([{ folder: nodeOf("full"), name: "twice", entry }], false);
        await program.unlink("full/twice");
      },
    ],
    ["to link a name that servers may refuse", ({ program }) => program.link("full/a", "full/a:b")],
    ["to make a name that servers may refuse", ({ program }) => program.mkdir("full/a:b", 0o755)],
    [
      "when there is no number for what is made",
      async ({ program, drive }) => {
        drive.giveNodes(0, 0);
        await program.mkdir("full/new", 0o755);
      },
    ],
    ["to move a folder", ({ program }) => program.rename("full/empty", "other/empty")],
    ["for a name that servers may refuse", ({ program }) => program.rename("full/a", "full/a:b")],
    ["for a name with a control", ({ program }) => program.rename("full/a", "full/a\u0085")],
    ["for a name that ends in a dot", ({ program }) => program.rename("full/a", "full/a.")],
  ])("%s", async (_what, change) => {
    await change(rig);
    expect(words().filter((each) => !each.startsWith("lookup"))).toEqual([expect.stringMatching(/asked$/)]);
  });

  test("when nothing is answered early any more, behind what was", async () => {
    const { program, drive } = rig;
    await withBusyAgent(async () => {
      await program.chmod("full/a", 0o600);
      drive.allowEarly(false);
      void program.chmod("full/b", 0o600);
    });
    expect(words()).toEqual(["setattr done", "setattr asked"]);
    rig.fake.release();
  });

  test("when there is no lease", async () => {
    rig.fake.setLease(false);
    await rig.program.chmod("full/a", 0o600);
    expect(words()).toContain("setattr asked");
  });

  test("while it is asked for another change, if only by somebody who has given up", async () => {
    const { program, fake, drive } = rig;
    fake.hold("make");
    const made = program.symlink("a", "full/new");
    await drive.given();
    const changed = program.chmod("full/a", 0o600);
    await drive.given();
    expect(words()).toEqual(["make asked", "setattr asked"]);
    fake.release();
    await Promise.all([made, changed]);
    await program.chmod("full/a", 0o644);
    await drive.given();
    expect(requests().at(-1)).toMatchObject({ op: "setattr", earlyNumber: 1 });
  });

  test("when it does not keep up, until it does", async () => {
    const { program, fake } = rig;
    await withBusyAgent(() => program.chmod("full/a", 0o600));
    rig.passTime(2_100);
    const later = program.chmod("full/b", 0o600);
    await rig.drive.given();
    expect(words()).toEqual(["setattr done", "setattr asked"]);
    fake.release();
    await later;
    await program.chmod("full/b", 0o644);
    await rig.drive.given();
    expect(requests().at(-1)).toMatchObject({ earlyNumber: 2 });
  });
});

describe("the agent is asked to save", () => {
  /** Returns whether each commit that it was told of was answered before. */
  function commits(): string[] {
    return words().filter((each) => each.startsWith("commit"));
  }

  test("an edit of what the file has", async () => {
    const { program } = rig;
    const file = await program.open("full/a", constants.O_RDWR);
    await program.write(file, 1, Buffer.from("more"));
    await program.close(file);
    expect(commits()).toEqual(["commit asked"]);
  });

  test("a content that is large", async () => {
    await save("full/a", "x".repeat(2 ** 20 + 1));
    expect(commits()).toEqual(["commit asked"]);
  });

  test("what a program has made safe from a power cut, and what is behind a save that is", async () => {
    const { program } = rig;
    const file = await program.open("full/a", constants.O_RDWR | constants.O_TRUNC);
    await program.write(file, 0, Buffer.from("safe"));
    await program.fsync(file);
    await program.close(file);
    expect(commits()).toEqual(["commit asked"]);
  });

  test("a second time before it has taken in the first: both are saved, one after the other", async () => {
    const { fake } = rig;
    fake.hold("commit");
    await save("full/a", "first");
    const second = save("full/a", "second");
    await rig.drive.given();
    expect(commits()).toEqual(["commit done"]);
    fake.release();
    await second;
    await rig.drive.given();
    expect(commits()).toEqual(["commit done", "commit done"]);
    expect(await read("full/a")).toBe("second");
  });

  test("and a sync of what is not taken in yet waits until that is safe", async () => {
    const { program, fake } = rig;
    fake.hold("commit", "sync");
    await save("full/a", "content");
    const file = await program.open("full/a", constants.O_RDWR);
    let isSafe = false;
    const synced = program.fsync(file).then(() => (isSafe = true));
    fake.release("commit");
    await rig.drive.given();
    await rig.until(async () => fake.heldCount() > 0);
    expect([words().at(-1), isSafe]).toEqual(["sync asked", false]);
    fake.release();
    await synced;
    await program.close(file);
  });

  test("each seventh of contents that lie one over another before the server has any: their files are to be joined", async () => {
    const { fake } = rig;
    fake.versionsFrom = 2 ** 52;
    for (let n = 0; n < 15; n++) {
      await save("full/a", `content ${n}`);
      await rig.drive.given();
    }
    const six = Array.from({ length: 6 }, () => "commit done");
    // The first is over a version of the server.
    expect(commits()).toEqual(["commit done", ...six, "commit asked", ...six, "commit asked"]);
    fake.clearLog();
    await save("full/b", "of another file");
    await rig.drive.given();
    expect(commits()).toEqual(["commit done"]);
    expect(await read("full/a")).toBe("content 14");
  });

  test("more than the drive may have answered for", async () => {
    const content = "x".repeat(2 ** 20);
    const { fake } = rig;
    fake.hold("make", "commit");
    for (let n = 0; n < 64; n++) await save(`full/large-${n}`, content);
    const more = save("full/more", content);
    await rig.drive.given();
    expect(commits()).toEqual([...Array.from({ length: 64 }, () => "commit done"), "commit asked"]);
    fake.release();
    await more;
    await rig.drive.given();
    fake.clearLog();
    await save("full/later", content);
    await rig.drive.given();
    expect(commits()).toEqual(["commit done"]);
  });
});

test("a question goes ahead of what the agent has not heard of, unless that concerns it", async () => {
  const { program, drive, fake } = rig;
  drive.dropFolder(nodeOf("other"));
  await program.mkdir("full/new", 0o755);
  await program.chmod("full/a", 0o600);
  await Promise.all([program.readdir("other"), program.open("full/a", constants.O_RDONLY)]);
  await drive.given();
  const told = requests().map(({ op }) => op);
  expect(told.indexOf("list")).toBeLessThan(told.indexOf("make"));
  expect(told.indexOf("open")).toBeGreaterThan(told.indexOf("setattr"));
  expect(fake.entryAt("full/new")).toMatchObject({ type: "folder" });
});

test("what cannot be done is refused, by whomever", async () => {
  const { program } = rig;
  await expect(program.rmdir("full")).rejects.toMatchObject({ errno: ENOTEMPTY });
  await expect(program.mkdir("full", 0o755)).rejects.toMatchObject({ errno: EEXIST });
  await expect(program.rename("full/none", "full/a")).rejects.toMatchObject({ errno: ENOENT });
});

describe("what the agent said before it took a change in is not heeded", () => {
  test("of a name", async () => {
    const { program, drive } = rig;
    const entry = entryOf("full/a");
    await withBusyAgent(() => program.unlink("full/a"));
    drive.putEntries([{ folder: nodeOf("full"), name: "a", entry }], false);
    await expect(program.stat("full/a")).rejects.toMatchObject({ errno: ENOENT });
    drive.putFolder(nodeOf("full"), [{ name: "a", entry }]);
    expect(await program.readdir("full")).toEqual([]);
  });

  test("of a node, under another name as well", async () => {
    const { program, drive } = rig;
    const entry = entryOf("full/a");
    const told = await withBusyAgent(() => program.chmod("full/a", 0o600));
    drive.putNode(entry, true);
    drive.putEntries([{ folder: nodeOf("other"), name: "linked", entry }], false);
    expect((await program.stat("full/a")).mode & 0o7777).toBe(0o600);
    expect((await program.stat("other/linked")).mode & 0o7777).toBe(0o600);
    expect(told).toHaveLength(1);
    expect(drive.tookIn(told[0]?.id ?? 0)).toBe(true);
    drive.putNode({ ...entry, mode: 0o444 }, false);
    expect((await program.stat("full/a")).mode & 0o7777).toBe(0o444);
  });

  test("of a folder of which it knows nothing any more: it is asked when it has taken in", async () => {
    const { program, drive, fake } = rig;
    await withBusyAgent(() => program.unlink("full/a"));
    drive.dropFolder(nodeOf("full"));
    await expect(program.stat("full/a")).rejects.toMatchObject({ errno: ENOENT });
    fake.release();
    await drive.given();
    fake.clearLog();
    await program.stat("full/b");
    expect(requests()).toMatchObject([{ op: "lookup", name: "b" }]);
  });
});

describe("a process that is killed leaves what the agent has not recorded", () => {
  test("[F197] in its order, as it was asked", async () => {
    const { program } = rig;
    const told = await withBusyAgent(async () => {
      await program.chmod("full/a", 0o640);
      await program.rename("full/b", "other/ä b");
      await program.unlink("full/c");
    });
    const left = leftEarly(path, "boot");
    expect(left.last).toBe(3);
    expect(left.requests).toMatchObject(told.map(({ id: _id, caller: _caller, ...each }) => each));
    rig.drive.done(told[0]?.id ?? 0);
    expect(leftEarly(path, "boot").requests).toMatchObject([{ earlyNumber: 2 }, { earlyNumber: 3 }]);
    rig.drive.done(told[2]?.id ?? 0);
    expect(leftEarly(path, "boot").requests).toMatchObject([{ earlyNumber: 2 }]);
    rig.drive.done(told[1]?.id ?? 0);
    expect(leftEarly(path, "boot")).toEqual({ requests: [], last: 3 });
    await program.chmod("full/a", 0o600);
    await rig.drive.given();
    expect(leftEarly(path, "boot").requests).toMatchObject([{ earlyNumber: 4, mode: 0o600 }]);
  });

  test("a file and a folder that were made, with their numbers and owners", async () => {
    const { program } = rig;
    const told = await withBusyAgent(async () => {
      await program.mkdir("other/folder", 0o700);
      await create("other/folder/file", 0o4640);
    });
    const left = leftEarly(path, "boot").requests;
    expect(left).toMatchObject(
      told.map(({ id: _id, caller: { pid: _pid, ...owner }, ...each }) => ({ ...each, caller: owner })),
    );
    expect(left).toMatchObject([{ type: "folder" }, { type: "file", mode: 0o4640 }]);
  });

  test("a content that was saved, with where it lies", async () => {
    const told = await withBusyAgent(async () => {
      await save("full/a", "saved");
      const { program } = rig;
      const file = await program.open("full/b", constants.O_RDWR | constants.O_TRUNC);
      for (const at of [0, 10_000]) await program.write(file, at, Buffer.from("part"));
      await program.close(file);
    });
    const left = leftEarly(path, "boot").requests;
    expect(left).toMatchObject([
      { op: "commit", node: nodeOf("full/a"), sizeBytes: 5, layers: [{ extents: [{ offset: 0, length: 5 }] }] },
      { op: "commit", node: nodeOf("full/b"), sizeBytes: 10_004, layers: [{ extents: [{}, { offset: 10_000 }] }] },
    ]);
    const content = (request: DriveRequest | undefined): object =>
      request?.op === "commit" ? { layers: request.layers, mtimeNs: request.mtimeNs, ctimeNs: request.ctimeNs } : {};
    expect(left.map(content)).toEqual(told.map(content));
    const [layer] = left.flatMap((request) => (request.op === "commit" ? request.layers : []));
    expect(readFileSync(layer?.path ?? "", "utf8")).toBe("saved");
  });

  test("nothing that was written in another boot, or is no such file", async () => {
    await withBusyAgent(() => rig.program.chmod("full/a", 0o640));
    expect(leftEarly(path, "boot").requests).toHaveLength(1);
    for (const boot of ["another", "boot 2", ""]) expect(leftEarly(path, boot)).toEqual({ requests: [], last: 0 });
    expect(leftEarly(`${path}-none`, "boot")).toEqual({ requests: [], last: 0 });
    const bytes = readFileSync(path);
    for (const damaged of [
      bytes.subarray(1),
      bytes.subarray(0, 1000),
      Buffer.alloc(0),
      Buffer.alloc(bytes.length, 1),
    ]) {
      writeFileSync(`${path}-damaged`, damaged);
      expect(leftEarly(`${path}-damaged`, "boot").requests).toEqual([]);
    }
  });

  test("and the log begins anew, with higher numbers", async () => {
    const { program, drive } = rig;
    await withBusyAgent(() => program.chmod("full/a", 0o640));
    expect(drive.openEarlyLog(path, "boot", 17)).toBe(true);
    expect(leftEarly(path, "boot")).toEqual({ requests: [], last: 16 });
    await program.chmod("full/b", 0o640);
    expect(leftEarly(path, "boot").requests).toMatchObject([{ earlyNumber: 17 }]);
  });
});

test("a disk that is full, or no such folder: nothing is answered early", async () => {
  expect(rig.drive.openEarlyLog("/nowhere/early", "boot", 1)).toBe(false);
  await rig.program.chmod("full/a", 0o600);
  expect(words()).toEqual(["setattr asked"]);
});
