// The drive on a real mount against the contract, and what only a kernel can show. Programs and the server are
// processes of their own.
import { constants, existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import { driveContract } from "./support/drive-contract.ts";
import { fuseRig, refusedStart, type FuseRig } from "./support/fuse-rig.ts";
import { canMount, mountObstacle } from "./support/mount-place.ts";

const { O_RDONLY, O_RDWR, O_CREAT } = constants;
const EFBIG = 27;
const STALL_MS = 5_000;

/** Content of a file after so many changes: every one of another length. */
const contentOf = (round: number): string => `${round} `.repeat(1 + ((round * 37) % 400));

async function refusal(mountpoint: string): Promise<string> {
  const { kind, message } = await refusedStart({ mountpoint });
  expect(kind).toBe("Unavailable");
  return message;
}

// On macOS and Windows this is the drive of macFUSE and of WinFsp, where they are installed. A machine without one says
// so here; `npm run scenarios` fails there.
const obstacle = mountObstacle();
if (obstacle === undefined) driveContract("a kernel's drive", fuseRig);
else (canMount() ? test : test.skip)(`a kernel's drive keeps the contract of drives (skipped: ${obstacle})`, () => {});

// Needs the shell and the sentences of Linux.
const canMountOnLinux = obstacle === undefined && process.platform === "linux";

(canMountOnLinux ? describe : describe.skip)("a mount", () => {
  let rig: FuseRig;

  beforeEach(async () => {
    rig = await fuseRig();
  });

  afterEach(async () => {
    await rig.close();
  });

  test("serves what is cached while the agent's event loop stands still", async () => {
    const { agent, program } = rig;
    await agent.fill("folder", 50);
    for (let i = 0; i < 50; i++) await agent.cache(`folder/f${i}`);
    const stalled = agent.stall(STALL_MS);
    const startMs = performance.now();
    expect(await program.readdir("folder")).toHaveLength(50);
    for (let i = 0; i < 50; i++) {
      expect((await program.stat(`folder/f${i}`)).sizeBytes).toBeGreaterThan(5);
      const fd = await program.open(`folder/f${i}`, O_RDONLY);
      expect(Buffer.from(await program.read(fd, 0, 100)).toString()).toBe(`file ${i}`);
      await program.close(fd);
    }
    await expect(program.stat("folder/none")).rejects.toMatchObject({ errno: 2 });
    expect(performance.now() - startMs).toBeLessThan(STALL_MS);
    await stalled;
  });

  test("opens never fail and never mix versions while names and contents change elsewhere", async () => {
    const { agent } = rig;
    await agent.remoteWrite("a", Buffer.from(contentOf(0)));
    const forMs = 2_000;
    const reading = rig.readOften("a", forMs);
    // Others at the same time: what one makes the kernel believe must not reach another.
    const cat = `for i in $(seq 300); do cat ${rig.mountpoint}/a > /dev/null || exit 7; done`;
    const others = [rig.shell(cat), rig.shell(cat)];
    let round = 0;
    for (const end = performance.now() + forMs; performance.now() < end;) {
      round++;
      if (round % 3 === 0) {
        await agent.remoteWrite("b", Buffer.from(contentOf(round)));
        await agent.remoteRename("b", "a");
      } else {
        await agent.remoteWrite("a", Buffer.from(contentOf(round)));
      }
      await new Promise((resolve) => setTimeout(resolve, round % 7));
    }
    const { count, seen } = await reading;
    expect(await Promise.all(others)).toEqual([0, 0]);
    expect(count).toBeGreaterThan(100);
    const known = new Set(Array.from({ length: round + 1 }, (_, each) => contentOf(each)));
    expect(seen.filter((each) => !known.has(each))).toEqual([]);
  });

  test("reads through a mapping, and saves what was stored through one", async () => {
    const { agent } = rig;
    await agent.remoteWrite("a", Buffer.from("0123456789"));
    const script =
      "import mmap; f=open('a','r+b'); m=mmap.mmap(f.fileno(),0); assert m[:]==b'0123456789'; m[2:4]=b'XY'; m.flush(); m.close(); f.close()";
    expect(await rig.shell(`cd ${rig.mountpoint} && python3 -c "${script}"`)).toBe(0);
    expect((await agent.bytesAt("a"))?.toString()).toBe("01XY456789");
  });

  test("a folder is synced by the agent, as a file with nothing to save is", async () => {
    const { agent } = rig;
    await agent.failNext("sync", "Io");
    const sync = `python3 -c "import os; os.fsync(os.open('${rig.mountpoint}', os.O_RDONLY))"`;
    expect(await rig.shell(sync)).toBe(1);
    expect(await rig.shell(sync)).toBe(0);
    expect(await agent.logOf("sync")).toHaveLength(2);
  });

  test("shows the access time that a program set, and leaves it when the other is set", async () => {
    await rig.agent.remoteWrite("a", Buffer.from("text"));
    await rig.program.utimes("a", 5_000_000_000n, 7_000_000_000n);
    expect(await rig.program.stat("a")).toMatchObject({ atimeNs: 5_000_000_000n, mtimeNs: 7_000_000_000n });
    expect(await rig.shell(`touch -m ${rig.mountpoint}/a`)).toBe(0);
    expect(await rig.program.stat("a")).toMatchObject({ atimeNs: 5_000_000_000n });
  });

  test("an access time that a program set is a change of the file's status", async () => {
    await rig.agent.remoteWrite("a", Buffer.from("text"));
    const { ctimeNs } = await rig.program.stat("a");
    expect(await rig.shell(`sleep 0.02; touch -a -d 2001-01-01 ${rig.mountpoint}/a`)).toBe(0);
    expect((await rig.program.stat("a")).ctimeNs).toBeGreaterThan(ctimeNs);
  });

  test("a file grows to the largest that can be sent, and no further", async () => {
    const { program } = rig;
    const fd = await program.open("a", O_RDWR | O_CREAT);
    await program.ftruncate(fd, LIMITS.fileBytes);
    await expect(program.ftruncate(fd, LIMITS.fileBytes + 1)).rejects.toMatchObject({ errno: EFBIG });
    await expect(program.write(fd, LIMITS.fileBytes, Buffer.from("x"))).rejects.toMatchObject({ errno: EFBIG });
    expect((await program.fstat(fd)).sizeBytes).toBe(LIMITS.fileBytes);
    await program.ftruncate(fd, 0);
    await program.close(fd);
  });

  test("[W78] a name that is not UTF-8 is the agent's by the text that stands for it", async () => {
    const name = `${rig.mountpoint}/$(printf 'x\\377')`;
    expect(
      await rig.shell(`touch "${name}" && ln -s "$(printf '\\200')" ${rig.mountpoint}/s && test -e "${name}"`),
    ).toBe(0);
    expect(await rig.agent.entryAt("x\uf7ff")).toMatchObject({ type: "file" });
    expect(await rig.agent.entryAt("s")).toMatchObject({ target: "\uf780" });
    expect(
      await rig.shell(
        `cd ${rig.mountpoint} && ls | grep -q "$(printf 'x\\377')" && test "$(readlink s)" = "$(printf '\\200')"`,
      ),
    ).toBe(0);
  });

  test("an open file is opened anew through /proc/self/fd, also when the lease went that its name was given under", async () => {
    await rig.agent.remoteWrite("a", Buffer.from("text\n"));
    const ready = join(tmpdir(), `runnel-reopen-${process.pid}`);
    // Only of a name that has not changed lately does the kernel keep anything.
    const reopening = rig.shell(
      `sleep 2.2; exec 3<> ${rig.mountpoint}/a; touch ${ready}; while [ -e ${ready} ]; do sleep 0.01; done; grep -q text /dev/fd/3 && echo more > /dev/fd/3`,
    );
    await rig.until(async () => existsSync(ready));
    await rig.agent.setLease(false);
    await rm(ready);
    expect(await reopening).toBe(0);
    expect((await rig.agent.bytesAt("a"))?.toString()).toBe("more\n");
  });

  test("large writes and reads come through whole", async () => {
    const command = `cd ${rig.mountpoint} && head -c 30000000 /dev/urandom > one && cp one two && cmp one two && tail -c +1000001 one | cmp - two -i 0:1000000`;
    expect(await rig.shell(command)).toBe(0);
  });

  test("refuses to close while a program uses it, then closes", async () => {
    const { agent, program } = rig;
    const fd = await program.open("a", O_RDWR | O_CREAT);
    await expect(agent.close(false)).rejects.toMatchObject({ kind: "Busy" });
    await program.write(fd, 0, Buffer.from("text"));
    await program.close(fd);
    await rig.until(async () => (await agent.statistics()).openFiles === 0);
    await agent.close(false);
    expect((await agent.logOf("unmounted")).length).toBe(1);
  });

  test("a forced close answers whoever waits", async () => {
    const { agent, program } = rig;
    await agent.remoteWrite("a", Buffer.from("text"));
    await agent.hold("open");
    const opening = program.open("a", O_RDONLY);
    const outcome = opening.catch((error: { errno: number }) => error.errno);
    await rig.until(async () => (await agent.heldCount()) === 1);
    await agent.close(true);
    expect(await outcome).toBe(5);
  });

  test("says so when it is unmounted from outside", async () => {
    expect(await rig.shell(`umount ${rig.mountpoint}`)).toBe(0);
    await rig.until(async () => (await rig.agent.logOf("unmounted")).length === 1);
    await rig.agent.close(true);
  });

  test("a folder with many names can be read, sought in and removed while it is read", async () => {
    await rig.agent.fill("folder", 3000);
    const count = `cd ${rig.mountpoint} && test $(ls -U folder | wc -l) = 3000 && test $(find folder -type f -size 9c | wc -l) -gt 100`;
    expect(await rig.shell(count)).toBe(0);
    expect(await rig.shell(`cd ${rig.mountpoint} && rm -r folder && test -z "$(ls)"`)).toBe(0);
  });
});

(canMountOnLinux ? describe : describe.skip)("what start() refuses", () => {
  test("a mount point that is missing, a file, or not empty, in a sentence", async () => {
    const folder = await mkdtemp(join(tmpdir(), "runnel-refused-"));
    await writeFile(join(folder, "file"), "");
    expect(await refusal(join(folder, "none"))).toMatch(/does not exist/);
    expect(await refusal(join(folder, "file"))).toMatch(/not a folder/);
    expect(await refusal(folder)).toMatch(/not empty/);
    await rm(folder, { recursive: true });
  });
});
