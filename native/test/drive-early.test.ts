// Changes that the drive answers before the agent hears of them: which, what it makes of what the agent says meanwhile,
// and what of them a killed process leaves.
import { readFileSync, writeFileSync } from "node:fs";
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

/** Lists what the agent was told of that is done already, and what it was asked for. */
function words(): string[] {
  return requests().map(({ op, answeredNs }) => `${op} ${answeredNs === undefined ? "asked" : "done"}`);
}

/** Runs while the agent does nothing, and returns what it is told of. */
async function withBusyAgent(run: () => Promise<unknown>): Promise<DriveRequest[]> {
  rig.fake.hold("remove", "rename", "setattr");
  await run();
  await rig.drive.given();
  return requests();
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
    ["for a file with several names", ({ program }) => program.unlink("full/twice")],
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
    const made = program.mkdir("full/new", 0o755);
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
    await new Promise((resolve) => setTimeout(resolve, 300));
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
    // The second one holds the place of the third.
    rig.drive.done(told[2]?.id ?? 0);
    expect(leftEarly(path, "boot").requests).toHaveLength(2);
    rig.drive.done(told[1]?.id ?? 0);
    expect(leftEarly(path, "boot")).toEqual({ requests: [], last: 3 });
    await program.chmod("full/a", 0o600);
    await rig.drive.given();
    expect(leftEarly(path, "boot").requests).toMatchObject([{ earlyNumber: 4, mode: 0o600 }]);
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
