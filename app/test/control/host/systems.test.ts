// Contract of what differs by operating system, for each system, as far as it can be asked anywhere.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isRunnelMount, RealClock } from "@runnel/shared";
import { DarwinMountTable, type MountPrograms } from "../../../src/agent/control/host/darwin/mount-table.ts";
import { darwinSystem } from "../../../src/agent/control/host/darwin/system.ts";
import type { FolderView } from "../../../src/agent/control/host/folder-view.ts";
import { posixSystem } from "../../../src/agent/control/host/posix/system.ts";
import type { System } from "../../../src/agent/control/host/system.ts";
import { replace } from "../../../src/agent/control/host/windows/names.ts";
import { windowsSystem } from "../../../src/agent/control/host/windows/system.ts";
import { resolvePath } from "../../../src/agent/control/mount-point.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "runnel-systems-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Prints and changes a text of mounts, as mount(8) and umount(8) of macOS do theirs. */
class FakePrograms implements MountPrograms {
  readonly #text = mkdtempSync(join(tmpdir(), "runnel-mounts-"));
  readonly mount = ["cat", join(this.#text, "mounts")];
  readonly umount: string[];
  readonly node = [process.execPath];

  constructor(lines: readonly string[]) {
    writeFileSync(join(this.#text, "mounts"), `${lines.join("\n")}\n`);
    const script = join(this.#text, "umount");
    const at = join(this.#text, "mounts");
    const forget = `grep -vF " on $2 (" ${at} > ${at}.new; mv ${at}.new ${at}`;
    writeFileSync(script, `#!/bin/sh\n[ "$1" = -f ] || exit 1\n${forget}\n`);
    chmodSync(script, 0o755);
    this.umount = [script];
  }

  [Symbol.dispose](): void {
    rmSync(this.#text, { recursive: true });
  }
}

const MAC_LINES = [
  "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)",
  "map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)",
  "runnel:docs on /Volumes/docs (macfuse, nodev, nosuid, synchronous, mounted by ada)",
];
const macPrograms = new FakePrograms(MAC_LINES);
afterAll(() => macPrograms[Symbol.dispose]());

describe.each<[string, System]>([
  ["Linux", posixSystem],
  ["macOS", { ...darwinSystem, mountTable: (clock) => new DarwinMountTable(clock, macPrograms) }],
  ["Windows", windowsSystem],
])("an agent on %s", (_, system) => {
  test("replaces a file that may be there, and leaves nothing beside it", () => {
    const at = mkdtempSync(join(folder, "replaced-"));
    for (const text of ["first", "second"]) {
      writeFileSync(join(at, "file.new"), text);
      system.replace(join(at, "file.new"), join(at, "file"));
      system.syncFolder(at);
      expect(readFileSync(join(at, "file"), "utf8")).toBe(text);
    }
    expect(readdirSync(at)).toEqual(["file"]);
    expect(() => system.replace(join(at, "none"), join(at, "file"))).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
  });

  test("listens at another place for each home", () => {
    const [one, two] = ["one", "two"].map((name) => system.placeSocket(join(folder, name), {}));
    expect(one).not.toBe(two);
  });

  test("has drives of its process in the table while they are mounted, and disposes of what is none", async () => {
    const table = system.mountTable(new RealClock());
    const before = await table.read();
    const guard = await table.endWithProcess(join(folder, "nothing is mounted here"));
    guard[Symbol.dispose]();
    expect(await table.read()).toEqual(before);
  });
});

describe("macOS", () => {
  const table = (programs: MountPrograms): DarwinMountTable => new DarwinMountTable(new RealClock(), programs);

  test("asks macOS for its mounts, and for nothing that touches one", () => {
    expect(darwinSystem.mountTable(new RealClock())).toBeInstanceOf(DarwinMountTable);
    const others = { paths: 0, mountTable: 0, mapsNfs: 0 };
    expect({ ...darwinSystem, ...others }).toEqual({ ...posixSystem, ...others });
  });

  test("has drives of its process in the table whatever the system says, and each of them once", async () => {
    using programs = new FakePrograms(MAC_LINES);
    const mounts = table(programs);
    const drives = async (): Promise<string[]> =>
      (await mounts.read()).filter(isRunnelMount).map(({ mountpoint }) => mountpoint);
    const guards = await Promise.all(
      ["/Volumes/docs", "/Users/ada/a\nb", "/Users/ada/a\nb"].map((at) => mounts.endWithProcess(at)),
    );
    expect(await drives()).toEqual(["/Volumes/docs", "/Users/ada/a\nb"]);
    for (const guard of guards.slice(0, 2)) guard[Symbol.dispose]();
    guards[1]?.[Symbol.dispose]();
    expect(await drives()).toEqual(["/Volumes/docs", "/Users/ada/a\nb"]);
    guards[2]?.[Symbol.dispose]();
    expect(await drives()).toEqual(["/Volumes/docs"]);
  });

  test("leads a path in a drive to the drive, by the agent's name for it, and looks at nothing of it", async () => {
    using programs = new FakePrograms(MAC_LINES);
    const mounts = table(programs);
    const looked: string[] = [];
    const folders: FolderView = {
      paths: darwinSystem.paths,
      probe: async (path) => {
        looked.push(path);
        return { type: "folder" };
      },
      isEmpty: async () => true,
      mayWrite: async () => true,
    };
    const found = await resolvePath("/Volumes/docs/a/b.txt", await mounts.read(), folders);
    expect(found).toMatchObject({ path: "/Volumes/docs/a/b.txt", runnelMount: "/Volumes/docs" });
    expect(looked).toEqual(["/Volumes"]);
    // Volumes of a Mac take small and large letters for each other.
    const typed = await resolvePath("/volumes/DOCS/A/b.txt", await mounts.read(), folders);
    expect(typed).toMatchObject({ path: "/Volumes/docs/A/b.txt", runnelMount: "/Volumes/docs" });
    expect(looked).toEqual(["/Volumes", "/volumes"]);
    using _ = await mounts.endWithProcess("/Volumes/Docs");
    const named = await resolvePath("/Volumes/docs", await mounts.read(), folders);
    expect(named.runnelMount).toBe("/Volumes/Docs");
  });

  test("takes a dead drive away by force, and says so where it stays", async () => {
    using programs = new FakePrograms([...MAC_LINES, "runnel:a on /Users/ada/a (b) (macfuse, mounted by ada)"]);
    await table(programs).detach("/Users/ada/a (b)");
    expect((await table(programs).read()).map(({ mountpoint }) => mountpoint)).not.toContain("/Users/ada/a (b)");
    const refusing = { ...macPrograms, mount: programs.mount, umount: ["false"] };
    await expect(table(refusing).detach("/Volumes/docs")).rejects.toMatchObject({ kind: "Busy" });
  });

  test("takes a drive for dead when it cannot be opened any more, and for no other reason", async () => {
    const lives: Record<string, string> = {};
    for (const code of ["ENXIO", "ENOTCONN", "EACCES", "EIO", "ENOENT"]) {
      const patch = join(folder, `${code}.cjs`);
      const refuses = `() => { throw Object.assign(new Error(), { code: "${code}" }); }`;
      writeFileSync(patch, `require("node:fs").opendirSync = ${refuses};`);
      const node = [process.execPath, "--require", patch];
      lives[code] = await table({ ...macPrograms, node }).probe(folder);
    }
    expect(lives).toEqual({ ENXIO: "dead", ENOTCONN: "dead", EACCES: "alive", EIO: "alive", ENOENT: "alive" });
    expect(await table(macPrograms).probe(folder)).toBe("alive");
  });

  test.each([
    ["ends with an error", ["false"]],
    ["is not there", ["/nowhere/mount"]],
    ["says more than any system mounts", ["yes"]],
  ])("does not take a system whose mount %s for one without mounts", async (_, mount) => {
    await expect(table({ ...macPrograms, mount }).read()).rejects.toMatchObject({ kind: "Unavailable" });
  });
});

describe("Windows", () => {
  test("has a drive in the table for as long as its process has it, and never a dead one", async () => {
    const table = windowsSystem.mountTable(new RealClock());
    const one = await table.endWithProcess("R:");
    const two = await table.endWithProcess("X:");
    expect((await table.read()).map((entry) => [entry.mountpoint, isRunnelMount(entry)])).toEqual([
      ["R:", true],
      ["X:", true],
    ]);
    expect(await table.probe("R:")).toBe("alive");
    one[Symbol.dispose]();
    expect((await table.read()).map(({ mountpoint }) => mountpoint)).toEqual(["X:"]);
    await expect(table.detach("X:")).rejects.toMatchObject({ kind: "Busy" });
    two[Symbol.dispose]();
  });

  test("gives an agent a pipe that nobody can know beforehand", () => {
    const [one, two] = [windowsSystem.placeSocket(folder, {}), windowsSystem.placeSocket(folder, {})];
    expect(one).toMatch(/^\\\\\.\\pipe\\runnel-[-0-9a-f]{36}$/);
    expect(two).not.toBe(one);
  });

  test("waits for the reader of a file that is to be replaced, for a while", () => {
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    writeFileSync(from, "new");
    const refused = Object.assign(new Error("in use"), { code: "EPERM" });
    let readers = 3;
    const rename: typeof renameSync = (...names) => {
      if (readers-- > 0) throw refused;
      renameSync(...names);
    };
    replace(from, to, rename);
    expect(readFileSync(to, "utf8")).toBe("new");
    expect(readers).toBe(-1);

    readers = Infinity;
    let nowMs = 0;
    const clock = Object.assign(new RealClock(), { bootMs: () => (nowMs += 300) });
    expect(() => replace(from, to, rename, clock)).toThrow(refused);
    expect(nowMs).toBeLessThan(3000);
  });
});
