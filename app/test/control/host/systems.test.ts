// Contract of what differs by operating system, for each system, as far as it can be asked anywhere.
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { isRunnelMount, listenPrivately, RealClock } from "@runnel/shared";
import { DarwinMountTable, type MountPrograms } from "../../../src/agent/control/host/darwin/mount-table.ts";
import { darwinSystem } from "../../../src/agent/control/host/darwin/system.ts";
import type { FolderView } from "../../../src/agent/control/host/folder-view.ts";
import { linuxSystem } from "../../../src/agent/control/host/linux/system.ts";
import { MemorySystem } from "../../../src/agent/control/host/memory/system.ts";
import { posixSystem } from "../../../src/agent/control/host/posix/system.ts";
import type { System } from "../../../src/agent/control/host/system.ts";
import { replace } from "../../../src/agent/control/host/windows/names.ts";
import { windowsSystem } from "../../../src/agent/control/host/windows/system.ts";
import { resolvePath } from "../../../src/agent/control/mount-point.ts";
import { waitUntil } from "./wait-until.ts";

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

/** Files of a system as whoever uses it finds them. */
interface Ground {
  system: System;
  /** A folder that is empty. */
  folder(): string;
  write(path: string, text: string): void;
  read(path: string): string | undefined;
  /** Names in a folder. */
  names(path: string): string[];
  /** The user's own folder, in this system's words. */
  user: string;
  /** A program that says a word and ends with this code. */
  ends(code: number): readonly [string, ...string[]];
}

const onDisk = (system: System, user: string): Ground => ({
  system,
  user,
  folder: () => mkdtempSync(join(folder, "empty-")),
  write: (path, text) => writeFileSync(path, text),
  read: (path) => readFileSync(path, "utf8"),
  names: (path) => readdirSync(path),
  ends: (code) => [process.execPath, "-e", `process.exitCode = ${code}; console.log("said")`],
});

function inMemory(): Ground {
  const system = new MemorySystem();
  return {
    system,
    user: "/users/ada",
    folder: () => "/empty",
    write: (path, text) => void system.files.set(path, text),
    read: (path) => system.files.get(path),
    ends: (code) => {
      system.programs.set(`ends with ${code}`, code);
      return [`ends with ${code}`];
    },
    names: (path) => [...system.files.keys()].map((name) => name.slice(path.length + 1)),
  };
}

/** macOS with a text in place of its mounts. */
const darwinOnText: System = { ...darwinSystem, mountTable: (clock) => new DarwinMountTable(clock, macPrograms) };

describe.each<[string, () => Ground]>([
  ["Linux", () => onDisk(linuxSystem, "/users/ada")],
  ["macOS", () => onDisk(darwinOnText, "/users/ada")],
  ["Windows", () => onDisk(windowsSystem, String.raw`C:\Users\ada`)],
  ["no system at all", inMemory],
])("an agent on %s", (_, ground) => {
  test("replaces a file that may be there, and leaves nothing beside it", () => {
    const { system, folder: empty, write, read, names } = ground();
    const at = empty();
    for (const text of ["first", "second"]) {
      write(join(at, "file.new"), text);
      system.replace(join(at, "file.new"), join(at, "file"));
      system.syncFolder(at);
      expect(read(join(at, "file"))).toBe(text);
    }
    expect(names(at)).toEqual(["file"]);
    expect(() => system.replace(join(at, "none"), join(at, "file"))).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
    expect(read(join(at, "file"))).toBe("second");
  });

  test("listens at another place for each home", () => {
    const { system } = ground();
    const [one, two] = ["one", "two"].map((name) => system.placeSocket(join(folder, name), {}));
    expect(one).not.toBe(two);
  });

  test("has no drive in the table where none is mounted, whoever asks to have it watched over", async () => {
    const { system, folder: empty } = ground();
    const table = system.mountTable(new RealClock());
    const at = empty();
    const before = await table.read();
    const guard = await table.endWithProcess(at);
    guard[Symbol.dispose]();
    guard[Symbol.dispose]();
    expect(await table.read()).toEqual(before);
    expect(before.filter(({ mountpoint }) => mountpoint === at)).toEqual([]);
  });

  test("takes nothing for dead that is none of its drives, and detaches nothing there", async () => {
    const { system, folder: empty } = ground();
    const table = system.mountTable(new RealClock());
    const at = empty();
    expect(await table.probe(at)).toBe("alive");
    await expect(table.detach(at)).rejects.toMatchObject({ kind: "Busy", message: expect.stringContaining(at) });
  });

  test("has a home of its own for each user, below the user's folder, and takes one that is this user's", () => {
    const { system, folder: empty, user } = ground();
    const home = system.homeFolder(user, {});
    expect(system.paths.isAbsolute(home)).toBe(true);
    expect(system.paths.spell(home)).toBe(home);
    expect(home.startsWith(user + system.paths.files.sep)).toBe(true);
    expect(system.homeFolder(`${user}2`, {})).not.toBe(home);
    expect(() => system.claimHome(empty())).not.toThrow();
  });

  test("opens a path as one word of a command, whatever is in it", () => {
    const { system, user } = ground();
    const path = system.paths.files.join(user, "a b & c", "open-1.html");
    const { program, args, isVerbatim } = system.opener(path);
    expect(program).not.toBe("");
    expect(args.at(-1)).toContain(isVerbatim ? `"${path}"` : path);
  });

  test("knows of a program in the background when it has failed, or is not there", async () => {
    const { system, folder: empty, ends } = ground();
    const at = mkdtempSync(join(folder, "log-"));
    const start = (command: readonly [string, ...string[]]) =>
      system.startInBackground({ command, folder: at, environment: {}, logPath: join(at, "log") });
    const fine = start(ends(0));
    const failing = [start(ends(3)), start([join(empty(), "none")])];
    await waitUntil(() => failing.every((program) => program.hasFailed()));
    expect(fine.hasFailed()).toBe(false);
  });

  test("says of drives either that they can be shown, or what to do", async () => {
    const { system, folder: empty } = ground();
    const { isFine, sentence, next } = await system.checkDrives({ PATH: folder }, empty());
    expect(sentence).toMatch(/^\S.*\.$/);
    expect(next === null).toBe(isFine);
  });
});

test("a drive in memory is there until it is unmounted, and dead once its process is, when it can be detached", async () => {
  const { mounts } = new MemorySystem();
  mounts.mount("/docs");
  const guard = await mounts.endWithProcess("/docs");
  expect(mounts.watched).toEqual(["/docs"]);
  expect((await mounts.read()).map((entry) => [entry.mountpoint, isRunnelMount(entry)])).toEqual([["/docs", true]]);
  await expect(mounts.detach("/docs")).rejects.toMatchObject({ kind: "Busy" });
  guard[Symbol.dispose]();
  expect(mounts.watched).toEqual([]);
  mounts.die();
  mounts.mount("/docs");
  expect(await mounts.probe("/docs")).toBe("alive");
  mounts.unmount("/docs");
  expect(await mounts.probe("/docs")).toBe("dead");
  await mounts.detach("/docs");
  expect(await mounts.read()).toEqual([]);
});

describe("macOS", () => {
  const table = (programs: MountPrograms): DarwinMountTable => new DarwinMountTable(new RealClock(), programs);

  test("asks macOS for its mounts, and for nothing that touches one", () => {
    expect(darwinSystem.mountTable(new RealClock())).toBeInstanceOf(DarwinMountTable);
    const { syncFolder, replace: replaces, placeSocket, claimHome } = posixSystem;
    expect(darwinSystem).toMatchObject({ syncFolder, replace: replaces, placeSocket, claimHome });
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

const isWindows = process.platform === "win32";
const SYSTEMS_HERE: [string, System][] = isWindows
  ? [["Windows", windowsSystem]]
  : [
      ["Linux", linuxSystem],
      ["macOS", darwinSystem],
    ];

/** Resolves to what a listener says to who comes. */
async function saidAt(place: string): Promise<string> {
  const socket = connect(place).setEncoding("utf8");
  let said = "";
  for await (const text of socket) said += String(text);
  return said;
}

describe.each(SYSTEMS_HERE)("the place that an agent on %s listens at", (_, system) => {
  const servers: Server[] = [];
  const listen = async (place: string, word: string): Promise<void> => {
    const server = createServer((socket) => socket.end(word));
    servers.push(server);
    await listenPrivately(server, place, "listen");
  };
  const closeAll = (): Promise<unknown> =>
    Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
  afterEach(closeAll);

  test("is where it is found, also by the next one", async () => {
    const home = mkdtempSync(join(folder, "home-"));
    const places = [1, 2].map(() => system.placeSocket(home, {}));
    for (const [at, place] of places.entries()) {
      // A dead agent's socket, which has a name still.
      if (!isWindows) writeFileSync(place, "");
      await listen(place, `agent ${at}`);
      expect(await saidAt(place)).toBe(`agent ${at}`);
      await closeAll();
      await expect(saidAt(place)).rejects.toMatchObject({ code: "ENOENT" });
    }
  });

  (isWindows ? test : test.skip)("is not another's at the same time", async () => {
    const place = system.placeSocket(folder, {});
    await listen(place, "first");
    await expect(listen(place, "second")).rejects.toMatchObject({ kind: "Exists" });
    expect(await saidAt(place)).toBe("first");
  });
});

/** UV_FS_O_EXLOCK of libuv: nobody else may open the file, nor give its name away. */
const SHARES_NOTHING = 0x1000_0000;
/** A reader that closes the file after a moment, whatever other threads do. */
const READER = `
  const { closeSync, openSync } = require("node:fs");
  const { path, flags, isOpen } = require("node:worker_threads").workerData;
  const file = openSync(path, flags);
  Atomics.store(isOpen, 0, 1);
  Atomics.notify(isOpen, 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  closeSync(file);
`;

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

  (isWindows ? test : test.skip)("finds a reader there, and waits for it", async () => {
    const [from, to] = [join(folder, "held-from"), join(folder, "held-to")];
    writeFileSync(from, "new");
    writeFileSync(to, "old");
    const holding = openSync(to, constants.O_RDONLY | SHARES_NOTHING);
    const isInUse = expect.objectContaining({ code: expect.stringMatching(/^(EACCES|EBUSY|EPERM)$/) });
    expect(() => replace(from, to)).toThrow(isInUse);
    closeSync(holding);
    expect(readFileSync(to, "utf8")).toBe("old");

    const isOpen = new Int32Array(new SharedArrayBuffer(4));
    const reader = new Worker(READER, {
      eval: true,
      workerData: { path: to, flags: constants.O_RDONLY | SHARES_NOTHING, isOpen },
    });
    await once(reader, "online");
    Atomics.wait(isOpen, 0, 0);
    expect(() => renameSync(from, to)).toThrow(isInUse);
    replace(from, to);
    expect(readFileSync(to, "utf8")).toBe("new");
    await once(reader, "exit");
  });
});
