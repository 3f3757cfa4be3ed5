// The whole product on Windows, as far as Wine shows it: command line and agent of the installed folder against a
// server on Linux, programs of Windows on the drive, another client on Linux. WinFsp is a stand-in (native/README.md),
// whose port takes connections for programs: most are played here, over a connection of this process.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream, existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StandIn } from "@runnel/native/test/support/stand-in.ts";
import { ACCESS, type WindowsProgram } from "@runnel/native/test/support/windows-program.ts";
import { type Device, Sandbox, type ServerProcess, onMount, waitFor } from "../src/harness/index.ts";
import { WindowsMachine } from "../src/windows/index.ts";

const { O_CREAT, O_RDONLY, O_RDWR, O_TRUNC } = constants;
/** Answers of a drive (ntstatus.h); the third is to changes without its server. */
const [NAME_INVALID, COLLISION, WRITE_PROTECTED] = [0xc0000033, 0xc0000035, 0xc00000a2];
const [NOT_FOUND, NO_DRIVE] = [0xc0000034, 0xc000003a];
/** The addons for Windows are compiled, with zig's C++ library, when nothing of it is there yet. */
const BUILD_MS = 60 * 60_000;
/** Deadlines for a busy machine, on which each command starts Node under Wine. */
const TEST_MS = 15 * 60_000;
const SHOWN_MS = 120_000;
const PIECE_BYTES = 256 * 1024;
const LARGE_BYTES = 2 ** 30;
const PLACES = "A drive is mapped at a free letter or share here: R: or \\\\runnel\\docs.";
const SHARE = "\\\\runnel\\photos";
/** A rename replaces whatever has the other name, or nothing may have it. */
const [REPLACES, KEEPS] = [true, false];

jest.setTimeout(TEST_MS);

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;
let photos: string;
let machine: WindowsMachine;
let url: string;
let photosUrl: string;
let linux: Device;
let linuxDrive: string;
let program: WindowsProgram;
let standIn: StandIn;

beforeAll(async () => {
  sandbox = new Sandbox(BUILD_MS);
  served = sandbox.makeFolder("served");
  photos = sandbox.makeFolder("photos");
  machine = await WindowsMachine.start(sandbox);
  server = await startServer("127.0.0.1:0");
  linux = sandbox.device("linux");
  linuxDrive = sandbox.makeFolder("drive-linux");
  const { url: joined } = await linux.ask(["login", await invite(), "--name", "linux"]);
  await linux.mount(String(joined), linuxDrive);
}, BUILD_MS);

afterAll(async () => {
  standIn?.close();
  await machine?.close();
  await sandbox.cleanup();
}, 120_000);

function startServer(listen: string): Promise<ServerProcess> {
  const volumes = { docs: served, photos };
  return sandbox.startServer({ volumes, listen, args: ["--tls"] });
}

async function invite(volume = "docs"): Promise<string> {
  const place = ["--data", sandbox.path("data"), "--address", `127.0.0.1:${server.port}`];
  const made = await sandbox.device("admin").ask(["invite", volume, ...place]);
  return String(made["invite"]);
}

const digest = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Digest of a served file; "" while there is none. */
function servedDigest(name: string): string {
  const path = join(served, name);
  return existsSync(path) ? digest(readFileSync(path)) : "";
}

/** Digest of a file that is too large to be read at once. */
async function digestOfLarge(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer);
  return hash.digest("hex");
}

/** Runs a shell script on the Linux drive. */
const onLinux = (script: string, ...args: string[]): Promise<string> => onMount(script, args, { deadlineMs: SHOWN_MS });

/** Owner and group of a path on the Linux drive. */
const ownerOf = (path: string): Promise<string> => onLinux('stat -c "%u %g" -- "$1"', join(linuxDrive, path));

async function isOffline(): Promise<boolean> {
  const { mounts } = (await machine.ask("status")) as { mounts: { mountpoint: string; state: string }[] };
  return mounts.some(({ mountpoint, state }) => mountpoint === "R:" && state === "offline");
}

/** Kills the server, and waits until the drive knows. */
async function loseServer(): Promise<void> {
  await server.kill();
  await waitFor(isOffline, SHOWN_MS, "the drive to be offline");
}

async function bringServerBack(): Promise<void> {
  server = await startServer(`127.0.0.1:${server.port}`);
}

function renameAs(path: string, to: string, replaces: boolean): Promise<unknown> {
  const how = { path: `\\${path}`, access: ACCESS.delete };
  return program.with(how, ({ handle }) => program.ask("rename", { handle, to: `\\${to}`, isOn: replaces }));
}

async function startProgram(): Promise<void> {
  standIn?.close();
  ({ program, standIn } = await machine.program("R:"));
}

async function write(name: string, bytes: Uint8Array): Promise<void> {
  const fd = await program.open(name, O_RDWR | O_CREAT | O_TRUNC);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    await program.write(fd, at, bytes.subarray(at, at + PIECE_BYTES));
  await program.close(fd);
}

async function read(name: string): Promise<Uint8Array> {
  const fd = await program.open(name, O_RDONLY);
  const parts: Uint8Array[] = [];
  for (let at = 0; ;) {
    const bytes = await program.read(fd, at, PIECE_BYTES);
    if (bytes.length === 0) break;
    parts.push(bytes);
    at += bytes.length;
  }
  await program.close(fd);
  return Buffer.concat(parts);
}

describe("a drive of Windows", () => {
  test("is mapped at a letter, once the machine is let in and has WinFsp, which doctor and a mount ask for", async () => {
    const joined = await machine.ask("login", await invite(), "--name", "windows");
    url = String(joined["url"]);
    const missing = "install it from https://github.com/winfsp/winfsp";
    expect((await machine.runnel("doctor")).stdout).toContain(missing);
    expect(await machine.runnelCmd("mount", url, "R:")).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringContaining(missing),
    });
    await machine.installWinFsp();
    expect((await machine.runnel("doctor")).stdout).toContain("WinFsp, which shows drives, is installed.");
    expect(await machine.runnelCmd("mount", url, "r:\\")).toMatchObject({ code: 0, stdout: `Mounted ${url} at R:.\n` });
    await startProgram();
    expect(await standIn.volume()).toMatchObject({ mountpoint: "R:", prefix: "\\runnel-R\\docs" });
    const { mounts } = (await machine.ask("status")) as { mounts: { mountpoint: string; state: string }[] };
    // Windows counts no files of a disk, which is not called full for that.
    expect(mounts).toMatchObject([{ mountpoint: "R:", state: "connected", problems: [] }]);
  });

  test("is refused where no drive can be, in one sentence", async () => {
    const refusals = [
      ["R:", `${url} is already mounted at R:.`],
      ["C:", "C: is the letter of another drive. Choose a free one."],
      ["C:\\windows", `C:\\windows is neither a drive letter nor a share. ${PLACES}`],
      ["\\\\localhost\\docs", "and is not localhost."],
      ["\\\\.\\pipe\\docs", "\\\\.\\pipe\\docs is the name of a device."],
    ];
    for (const [place = "", sentence = ""] of refusals) {
      const { code, stderr } = await machine.runnelCmd("mount", url, place);
      expect(code).not.toBe(0);
      expect(stderr).toContain(sentence);
    }
  });

  test("shows the server and other clients what its programs write, and its programs what others write", async () => {
    const [hello, large] = [Buffer.from("hello from Windows\r\n"), randomBytes(5_000_000)];
    await write("hello.txt", hello);
    await write("large.bin", large);
    const [onServer, onDrive] = [join(served, "large.bin"), join(linuxDrive, "large.bin")];
    await onLinux('until cmp -s "$1" "$2"; do sleep 0.05; done', onServer, onDrive);
    expect(servedDigest("large.bin")).toBe(digest(large));
    expect(await onLinux('cat "$1"', join(linuxDrive, "hello.txt"))).toBe("hello from Windows\r\n");
    // Numbers of users are made up there: the owner is chosen here.
    expect(await ownerOf("hello.txt")).toBe(await ownerOf("."));

    await onLinux('printf "from Linux" > "$1"', join(linuxDrive, "Reply.txt"));
    const isThere = async (): Promise<boolean> => (await program.readdir("")).includes("Reply.txt");
    await waitFor(isThere, SHOWN_MS, "the file of the other client");
    const paths = (await standIn.heard("R:")).map(([, , path]) => path);
    expect(paths).toContain("\\Reply.txt");
    const number = await onLinux('stat -c %i -- "$1"', join(linuxDrive, "Reply.txt"));
    expect(String((await program.stat("Reply.txt")).ino)).toBe(number.trim());
    expect(Buffer.from(await read("REPLY.TXT")).toString()).toBe("from Linux");

    large.set(randomBytes(100), 2_000_000);
    writeFileSync(join(served, "large.bin"), large);
    const isSame = async (): Promise<boolean> => digest(await read("large.bin").catch(() => hello)) === digest(large);
    await waitFor(isSame, SHOWN_MS, "what a program on the server wrote");
  });

  test("is used by a process of Windows, which a client on Linux sees, and back", async () => {
    const told = await machine.perform("R:", [
      ["mkdir", "work"],
      ["write", "work/draft.md", "from a process of Windows"],
      ["write", "work/old.md", "old"],
      ["rename", "work/draft.md", "work/Final.md"],
      ["remove", "work/old.md"],
      ["read", "work/final.md"],
      ["read", "work/draft.md"],
      ["list", "work"],
    ]);
    expect(told.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => ({ result: null })));
    expect(told.slice(5)).toEqual([
      { result: "from a process of Windows" },
      { status: NOT_FOUND },
      { result: ["Final.md"] },
    ]);
    const folder = join(linuxDrive, "work");
    expect(await onLinux('ls "$1" && cat "$1/Final.md"', folder)).toBe("Final.md\nfrom a process of Windows");
    await onLinux('mv "$1/Final.md" "$1/seen.md" && printf "from Linux" > "$1/answer.md"', folder);
    expect(
      await machine.perform("R:", [
        ["list", "work"],
        ["read", "work/answer.md"],
        ["read", "work/seen.md"],
      ]),
    ).toEqual([
      { result: ["answer.md", "seen.md"] },
      { result: "from Linux" },
      { result: "from a process of Windows" },
    ]);
    expect(await machine.perform("Q:", [["list", ""]])).toEqual([{ status: NO_DRIVE }]);
  });

  test("is one of several", async () => {
    photosUrl = String((await machine.ask("login", await invite("photos")))["url"]);
    expect(await machine.runnel("mount", photosUrl, "X:")).toMatchObject({ code: 0 });
    const other = await machine.program("X:");
    expect(await other.standIn.volume("X:")).toMatchObject({ mountpoint: "X:", prefix: "\\runnel-X\\photos" });
    expect(await other.program.readdir("")).toEqual([]);
    expect(await program.readdir("")).toContain("hello.txt");
    other.standIn.close();
    expect(await machine.runnel("unmount", "X:\\")).toMatchObject({ code: 0 });
    expect(await program.readdir("")).toContain("hello.txt");
  });

  test("is a share without a letter, whose paths lead to it as they are typed, and is mapped again", async () => {
    const mapped = { code: 0, stdout: `Mounted ${photosUrl} at ${SHARE}.\n` };
    expect(await machine.runnelCmd("mount", photosUrl, "\\\\Runnel\\Photos\\", "--keep")).toMatchObject(mapped);
    const other = await machine.program(SHARE);
    expect(await other.standIn.volume(SHARE)).toMatchObject({ mountpoint: "", prefix: "\\runnel\\photos" });
    await other.program.mkdir("Trip");
    const fd = await other.program.open("Trip/a.txt", O_RDWR | O_CREAT);
    await other.program.write(fd, 0, Buffer.from("by a share"));
    await other.program.close(fd);
    await machine.ask("flush", `${SHARE}\\`, "--applied");
    expect(readFileSync(join(photos, "Trip", "a.txt"), "utf8")).toBe("by a share");
    const found = (await machine.ask("find", "//RUNNEL/photos/", "-name", "*.txt")) as { entries: { path: string }[] };
    expect(found.entries.map(({ path }) => path)).toEqual(["Trip/a.txt"]);
    const { mounts } = (await machine.ask("status")) as { mounts: { mountpoint: string; state: string }[] };
    expect(mounts).toMatchObject([{ mountpoint: "R:" }, { mountpoint: SHARE, state: "connected" }]);
    await machine.ask("pin", `${SHARE}\\Trip`);
    await machine.ask("unpin", "\\\\?\\UNC\\runnel\\photos\\Trip");
    expect(await machine.runnel("mount", photosUrl, SHARE.toUpperCase())).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringContaining(`${photosUrl} is already mounted at ${SHARE}.`),
    });
    await machine.killAgent();
    expect(await machine.ask("reconnect")).toMatchObject({ failed: [] });
    await startProgram();
    const again = await machine.program(SHARE);
    expect(await again.program.readdir("Trip")).toEqual(["a.txt"]);
    expect(await machine.ask("remove", "\\\\runnel\\photos\\Trip\\a.txt")).toMatchObject({
      removed: { path: "Trip/a.txt" },
    });
    again.standIn.close();
    expect(await machine.runnel("unmount", "//Runnel/Photos")).toMatchObject({
      code: 0,
      stdout: `Unmounted ${SHARE}.\n`,
    });
    const { code, stderr } = await machine.runnel("unmount", SHARE);
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(`Runnel has no drive at ${SHARE}.`)]);
  });

  test("answers the verbs for what is on it", async () => {
    await program.mkdir("old");
    await write("old/a:b.txt".replace(":", "\uf03a"), Buffer.from("x"));
    expect(await machine.ask("flush", "R:\\", "--applied")).toMatchObject({
      flushed: { mountpoint: "R:", applied: true, unsent: [] },
    });
    expect(readFileSync(join(served, "old", "a:b.txt"), "utf8")).toBe("x");
    const found = (await machine.ask("find", "R:", "-name", "*.txt")) as { entries: { path: string }[] };
    expect(found.entries.map(({ path }) => path).sort()).toEqual(["Reply.txt", "hello.txt", "old/a:b.txt"]);
    const stats = (await machine.ask("stats", "R:")) as { mounts: { mountpoint: string }[] };
    expect(stats.mounts).toMatchObject([{ mountpoint: "R:" }]);
    await machine.ask("pin", "R:\\old");
    await machine.ask("unpin", "R:\\old");
    expect(await machine.ask("remove", "r:/old/a\uf03ab.txt")).toMatchObject({ removed: { path: "old/a:b.txt" } });
    await machine.ask("remove", "R:\\old");
    await waitFor(() => !existsSync(join(served, "old")), SHOWN_MS, "the folder to be gone");
  });

  test("keeps names as they are, those that are long, and such as differ in their form only", async () => {
    const folder = Array.from({ length: 8 }, (_, at) => `${at} ${"long ".repeat(9)}name`);
    for (let depth = 1; depth <= folder.length; depth++) await program.mkdir(folder.slice(0, depth).join("/"));
    const names = ["\u00e4", "a\u0308", "UPPER lower", "ｆｕｌｌ"];
    for (const name of names) await write([...folder, name].join("/"), Buffer.from(name));
    await machine.ask("flush", "R:", "--applied");
    expect(readdirSync(join(served, ...folder)).sort()).toEqual(names.toSorted());
    for (const name of names) expect(readFileSync(join(served, ...folder, name), "utf8")).toBe(name);
    for (const name of ["nul", "end.", "end ", "a:stream"])
      await expect(write(name, Buffer.from("x"))).rejects.toMatchObject({ status: NAME_INVALID });
  });

  test("has what Office saves: a new file under the old name, and the old one as a backup for a while", async () => {
    await write("report.docx", Buffer.from("first"));
    await program.chmod("report.docx", 0o660);
    await write("~WRD0001.tmp", Buffer.from("second"));
    await renameAs("report.docx", "~WRL0002.tmp", KEEPS);
    await renameAs("~WRD0001.tmp", "report.docx", KEEPS);
    await program.unlink("~WRL0002.tmp");
    await write("~WRD0003.tmp", Buffer.from("third"));
    await renameAs("~WRD0003.tmp", "report.docx", REPLACES);
    await machine.ask("flush", "R:", "--applied");
    expect(readFileSync(join(served, "report.docx"), "utf8")).toBe("third");
    expect(readdirSync(served).filter((name) => name.startsWith("~"))).toEqual([]);
    expect(await onLinux('cat "$1"', join(linuxDrive, "report.docx"))).toBe("third");
  });

  test("has the rights that its programs give", async () => {
    await program.chmod("hello.txt", 0o640);
    await machine.ask("flush", "R:", "--applied");
    expect(statSync(join(served, "hello.txt")).mode & 0o777).toBe(0o640);
  });

  test("closes the files of a process that is killed, and removes those that go with it", async () => {
    const { told, kill } = await machine.leave("R:", [
      ["lock", "~lock.tmp"],
      ["begin", "saved.txt", "by a program that crashed"],
    ]);
    expect(told).toEqual([{ result: null }, { result: null }]);
    const lock = await machine.perform("R:", [
      ["lock", "~lock.tmp"],
      ["list", ""],
    ]);
    expect(lock).toEqual([{ status: COLLISION }, { result: expect.arrayContaining(["~lock.tmp", "saved.txt"]) }]);
    expect(servedDigest("saved.txt")).not.toBe(digest(Buffer.from("by a program that crashed")));
    expect(await machine.runnel("unmount", "R:")).toMatchObject({
      stderr: expect.stringContaining("Programs use the drive"),
    });
    await kill();
    const isSaved = (): boolean => servedDigest("saved.txt") === digest(Buffer.from("by a program that crashed"));
    await waitFor(isSaved, SHOWN_MS, "the file to be saved");
    await waitFor(async () => !(await program.readdir("")).includes("~lock.tmp"), SHOWN_MS, "the other to go");
    expect(await machine.perform("R:", [["lock", "~lock.tmp"]])).toEqual([{ result: null }]);
    await waitFor(async () => !(await program.readdir("")).includes("~lock.tmp"), SHOWN_MS, "it to go again");
  });

  test("carries a file of a gigabyte", async () => {
    const hash = createHash("sha256");
    const fd = await program.open("gigabyte.bin", O_RDWR | O_CREAT);
    for (let at = 0; at < LARGE_BYTES; at += PIECE_BYTES) {
      const piece = randomBytes(PIECE_BYTES);
      hash.update(piece);
      await program.write(fd, at, piece);
    }
    await program.close(fd);
    await machine.ask("flush", "R:", "--applied");
    const path = join(served, "gigabyte.bin");
    expect(statSync(path).size).toBe(LARGE_BYTES);
    expect(await digestOfLarge(path)).toBe(hash.digest("hex"));
    await program.unlink("gigabyte.bin");
  });

  test("without a server shows what is here, keeps what is saved, and sends it later, beside what others did", async () => {
    for (const name of ["mine.txt", "both.txt"]) await write(name, Buffer.from("before"));
    await machine.ask("flush", "R:", "--applied");
    expect(Buffer.from(await read("mine.txt")).toString()).toBe("before");
    const [mine, both] = [await program.open("mine.txt", O_RDWR), await program.open("both.txt", O_RDWR)];
    await loseServer();
    expect(Buffer.from(await read("mine.txt")).toString()).toBe("before");
    await expect(write("new.txt", Buffer.from("more"))).rejects.toMatchObject({ status: WRITE_PROTECTED });
    await program.write(mine, 0, Buffer.from("after!"));
    await program.write(both, 0, Buffer.from("from Windows"));
    // No program of Windows hears of a close that fails.
    for (const fd of [mine, both]) await program.close(fd);
    expect(Buffer.from(await read("mine.txt")).toString()).toBe("after!");
    const { unsent } = (await machine.ask("unsent")) as { unsent: { path: string }[] };
    expect(unsent.map(({ path }) => path).sort()).toEqual(["both.txt", "mine.txt"]);
    writeFileSync(join(served, "both.txt"), "from a program on the server");
    await bringServerBack();
    await waitFor(() => servedDigest("mine.txt") === digest(Buffer.from("after!")), SHOWN_MS, "what was saved");
    // Named by who noticed first: the client, or the server as the save came.
    const besides = (): string | undefined =>
      readdirSync(served).find((name) => /^both \((unsent|conflict) /.test(name));
    const copy = await waitFor(besides, SHOWN_MS, "the conflict copy");
    await machine.ask("flush", "R:", "--applied");
    expect(readFileSync(join(served, copy), "utf8")).toBe("from Windows");
    expect(readFileSync(join(served, "both.txt"), "utf8")).toBe("from a program on the server");
  });

  test("loses nothing that was saved when server and agent are killed, and is mapped again", async () => {
    const bytes = randomBytes(29_000);
    const fd = await program.open("waiting.bin", O_RDWR | O_CREAT);
    await program.write(fd, 0, bytes);
    await waitFor(() => existsSync(join(served, "waiting.bin")), SHOWN_MS, "the name on the server");
    await server.kill();
    const closing = program.close(fd).catch(() => undefined);
    const isWaiting = async (): Promise<boolean> => {
      const { unsent } = (await machine.ask("unsent")) as { unsent: unknown[] };
      return unsent.length > 0;
    };
    await waitFor(isWaiting, SHOWN_MS, "the save to wait");
    await machine.killAgent();
    await closing;
    await bringServerBack();
    expect(await machine.ask("status")).toMatchObject({ mounts: [], lost: [{ url, mountpoint: "R:" }] });
    expect(await machine.runnel("mount", url, "R:")).toMatchObject({ code: 0 });
    await waitFor(() => servedDigest("waiting.bin") === digest(bytes), SHOWN_MS, "what waited to be sent");
    await startProgram();
    expect(digest(await read("waiting.bin"))).toBe(digest(bytes));
  });

  test("in mode async sends what an agent had answered that was killed the next moment, before a sync", async () => {
    expect(await machine.runnel("unmount", "R:")).toMatchObject({ code: 0 });
    expect(await machine.runnel("mount", url, "R:", "--mode", "async")).toMatchObject({ code: 0 });
    await startProgram();
    await loseServer();
    const bytes = randomBytes(100_000);
    await write("answered.bin", bytes);
    await machine.killAgent();
    await bringServerBack();
    expect(await machine.runnel("mount", url, "R:", "--mode", "async")).toMatchObject({ code: 0 });
    await waitFor(() => servedDigest("answered.bin") === digest(bytes), SHOWN_MS, "what was answered");
    await startProgram();
  });

  test("is mapped again after the machine was started anew, and has what was saved before", async () => {
    await loseServer();
    const bytes = randomBytes(100_000);
    await write("synced.bin", bytes);
    const fd = await program.open("synced.bin", O_RDWR);
    // It returns once what waits is on this machine's disk, though the server is away.
    await program.fsync(fd);
    await program.close(fd);
    machine.restart();
    await waitFor(() => machine.agentPid() === undefined, SHOWN_MS, "the agent to end");
    await bringServerBack();
    expect(await machine.runnel("mount", url, "R:", "--mode", "sync")).toMatchObject({ code: 0 });
    await waitFor(() => servedDigest("synced.bin") === digest(bytes), SHOWN_MS, "what was saved before");
    await startProgram();
    expect(digest(await read("synced.bin"))).toBe(digest(bytes));
  });

  test("is mapped again at a log-in, by a value of the registry, as long as one is asked for", async () => {
    await machine.ask("set", "R:", "--keep");
    const place = `HKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Run, "Runnel drives"`;
    expect(await machine.ask("start-at-login")).toEqual({ state: "off", place, obstacle: null });
    expect(await machine.ask("start-at-login", "on")).toEqual({ state: "on", place, obstacle: null });
    machine.restart();
    await waitFor(() => machine.agentPid() === undefined, SHOWN_MS, "the agent to end");
    await machine.logIn();
    const isMapped = async (): Promise<boolean> => {
      const { mounts } = (await machine.ask("status")) as { mounts: { mountpoint: string }[] };
      return mounts.some(({ mountpoint }) => mountpoint === "R:");
    };
    await waitFor(isMapped, SHOWN_MS, "the drive to be mapped");
    await startProgram();
    expect(await program.readdir("")).toContain("hello.txt");
    expect(await machine.ask("start-at-login")).toMatchObject({ state: "on" });
    expect(await machine.ask("start-at-login", "off")).toEqual({ state: "off", place, obstacle: null });
    await machine.ask("set", "R:", "--no-keep");
  });

  test("answers for what it has while the agent's event loop is held; what the agent decides waits", async () => {
    expect(await machine.runnel("unmount", "R:")).toMatchObject({ code: 0 });
    expect(await machine.runnel("stop")).toMatchObject({ code: 0 });
    await waitFor(() => machine.agentPid() === undefined, SHOWN_MS, "the agent to end");
    machine.letHold();
    expect(await machine.runnel("mount", url, "R:")).toMatchObject({ code: 0 });
    await startProgram();
    for (const name of ["one.txt", "other.txt"]) await write(name, Buffer.from(name));
    for (const name of ["one.txt", "other.txt"]) await read(name);
    const names = await program.readdir("");
    const other = await program.open("other.txt", O_RDWR);
    const goOn = await machine.holdAgent();
    let isMade = false;
    const waiting = [program.mkdir("made").then(() => (isMade = true))];
    try {
      expect(Buffer.from(await read("one.txt")).toString()).toBe("one.txt");
      expect((await program.stat("One.txt")).sizeBytes).toBe(7);
      expect(await program.readdir("")).toEqual(names);
      await program.write(other, 0, Buffer.from("OTHER"));
      expect(Buffer.from(await program.read(other, 0, 100)).toString()).toBe("OTHER.txt");
      waiting.push(program.fsync(other).then(() => (isMade = true)));
      expect(Buffer.from(await read("one.txt")).toString()).toBe("one.txt");
      expect(isMade).toBe(false);
    } finally {
      goOn();
    }
    await Promise.all(waiting);
    await program.close(other);
    await machine.ask("flush", "R:", "--applied");
    expect(servedDigest("other.txt")).toBe(digest(Buffer.from("OTHER.txt")));
    expect(await program.readdir("")).toContain("made");
  });

  test("is ended, and its agent too", async () => {
    const fd = await program.open("hello.txt", O_RDONLY);
    expect(await machine.runnel("unmount", "R:")).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringContaining("Programs use the drive"),
    });
    await program.close(fd);
    expect(await machine.runnel("unmount", "R:")).toMatchObject({ code: 0, stdout: "Unmounted R:.\n" });
    expect(await machine.runnel("stop")).toMatchObject({ code: 0 });
    await waitFor(() => machine.agentPid() === undefined, SHOWN_MS, "the agent to end");
    expect(await machine.runnel("status")).toMatchObject({ code: 0 });
    expect(existsSync(join(machine.home, "agent.json"))).toBe(false);
  });
});
