// A server for others: TLS, invites, devices and their rights, being cut off. Server, agents and commands are processes
// of their own. Tests that leave the server be share one, where each has devices, folders and volumes that no other
// test looks at; a test that stops it, or makes it refuse this machine, starts its own.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { askServer } from "@runnel/server/admin";
import { RunnelError, WsDialer } from "@runnel/shared";
import { Sandbox, refusalOf, run, waitFor } from "../src/harness/index.ts";
import type { Device, Json, Refusal, RunResult, ServerProcess } from "../src/harness/index.ts";
import { bareConnection } from "../src/harness/clients/wire-client.ts";

/** Time for all tests of this file together, since the shared sandbox is there from the first to the last. */
const DEADLINE_MS = 20 * 60_000;
/** Volumes of the shared server; the other servers have the first two. */
const VOLUMES = ["docs", "photos", "readable", "changing"];

let sharedSandbox: Sandbox;
let sharedServer: ServerProcess;
/** A machine that no server ever lets in. */
let outsider: Device;

// Used by the running test, shared or its own.
let sandbox: Sandbox;
let server: ServerProcess;
let admin: Device;
let device: Device;
/** Folder of the test's own, for its drives and files. */
let testFolder: string;
/** Ids of the devices and invites that the server had before the test. */
let earlier: Set<unknown>;
let count = 0;

beforeAll(async () => {
  sandbox = sharedSandbox = new Sandbox(DEADLINE_MS);
  server = sharedServer = await serveOthers({ volumes: VOLUMES });
  outsider = sandbox.device("outsider");
}, 60_000);

beforeEach(async () => {
  count++;
  sandbox = sharedSandbox;
  server = sharedServer;
  standIn(`a${count}`);
  const { devices: before } = await askServer(dataFolder(), "devices", {});
  const { invites: given } = await askServer(dataFolder(), "invites", {});
  earlier = new Set([...before, ...given].map(({ id }) => id));
}, 60_000);

afterEach(async () => {
  if (sandbox !== sharedSandbox) await sandbox.cleanup();
}, 60_000);

afterAll(() => sharedSandbox.cleanup(), 60_000);

/** Makes what the test has for itself in the sandbox. */
function standIn(name: string): void {
  admin = sandbox.device("admin");
  device = sandbox.device(name);
  testFolder = sandbox.makeFolder(`test-${name}`);
}

/** Gives the test a sandbox of its own, without a server yet. */
function standAlone(): void {
  sandbox = new Sandbox();
  standIn("a");
  earlier = new Set();
}

/** Gives the test a server of its own, which it may stop. */
async function serveAlone(): Promise<void> {
  standAlone();
  server = await serveOthers();
}

const dataFolder = (): string => sandbox.path("data");

/** Makes a folder of the test's own, if need be, and returns its path. */
function ownFolder(name: string): string {
  mkdirSync(join(testFolder, name), { recursive: true });
  return join(testFolder, name);
}

function sh(folder: string, script: string): Promise<RunResult> {
  return run("sh", ["-c", script], { cwd: folder });
}

function serveOthers({ volumes = VOLUMES.slice(0, 2), port = 0, args = [] as string[] } = {}): Promise<ServerProcess> {
  const folders = volumes.map((name) => [name, sandbox.makeFolder("served", name)] as const);
  return sandbox.startServer({ volumes: Object.fromEntries(folders), listen: `0.0.0.0:${port}`, args });
}

const data = (): string[] => ["--data", dataFolder()];

const address = (): string => `127.0.0.1:${server.port}`;

/** Asks the server as the command does, which spares the start of a program. */
async function invite(volume = "docs"): Promise<string> {
  const asked = { volume, isReadOnly: false, person: "", lastsMs: 3_600_000, address: address() };
  return (await askServer(dataFolder(), "invite", asked)).invite;
}

async function inviteByCommand(volume: string, ...options: string[]): Promise<string> {
  const answer = await admin.ask(["invite", volume, ...data(), "--address", address(), ...options]);
  return answer["invite"] as string;
}

/** Devices of this test, in the order in which they came. */
async function devices(): Promise<Json[]> {
  const all = (await admin.ask(["devices", "--all", ...data()]))["devices"] as Json[];
  return all.filter(({ id }) => !earlier.has(id));
}

/** Invites of this test, in the order in which they were given. */
async function invites(): Promise<Json[]> {
  const all = (await admin.ask(["invites", ...data()]))["invites"] as Json[];
  return all.filter(({ id }) => !earlier.has(id));
}

async function refused(of: Device, ...args: string[]): Promise<Refusal> {
  const refusal = refusalOf(await of.runnel([...args, "--json"]));
  return { ...refusal, sentence: refusal.sentence.replaceAll(address(), "HOST") };
}

const url = (volume = "docs"): string => `wss://${address()}/${volume}`;

async function mounted(of: Device): Promise<{ sentence: string; state: string; isReadOnly: boolean }> {
  const { mounts } = (await of.status()) as unknown as {
    mounts: [{ sentence: string; state: string; isReadOnly: boolean }];
  };
  return mounts[0];
}

describe("a server for others", () => {
  test("lets a device in by an invite, and then by its token, also after a restart of both", async () => {
    await serveAlone();
    expect(await device.ask(["login", await inviteByCommand("docs", "--for", "Ada"), "--name", "laptop"])).toEqual({
      url: url(),
      device: "laptop",
      isReadOnly: false,
    });
    const drive = ownFolder("drive");
    await device.mount(url(), drive);
    await sh(drive, "echo hello > greeting");
    await device.flush(drive, { up: true });
    expect(readFileSync(sandbox.path("served", "docs", "greeting"), "utf8")).toBe("hello\n");
    expect(await devices()).toMatchObject([
      {
        name: "laptop",
        person: "Ada",
        volumes: [{ name: "docs", isReadOnly: false }],
        isConnected: true,
        revokedMs: null,
      },
    ]);
    for (const [folder, name] of [
      ["data/_server", "key.pem"],
      ["data/_server", "access.json"],
      ["home/a", "servers.json"],
    ] as const)
      expect([name, statSync(sandbox.path(folder, name)).mode & 0o777]).toEqual([name, 0o600]);

    const { fingerprint } = server;
    await server.kill();
    await device.killAgent();
    server = await serveOthers({ port: server.port });
    expect(server.fingerprint).toBe(fingerprint);
    await device.mount(url(), drive);
    expect((await sh(drive, "cat greeting")).stdout).toBe("hello\n");
  }, 60_000);

  test("with a volume more, the device is the same; what it was not invited to is not there", async () => {
    await device.ask(["login", await invite()]);
    const drive = ownFolder("drive");
    expect(await refused(device, "mount", url("photos"), drive)).toMatchObject({
      kind: "NotFound",
      sentence: 'The server has no volume "photos" for this device. Check the last part of the address.',
    });
    await device.ask(["login", await inviteByCommand("photos", "--read-only")]);
    expect((await devices()).map(({ volumes }) => volumes)).toEqual([
      [
        { name: "docs", isReadOnly: false },
        { name: "photos", isReadOnly: true },
      ],
    ]);
    await device.mount(url("photos"), drive);
  }, 60_000);

  test("that may only be read is a drive that may only be read, for every program", async () => {
    const served = sandbox.path("served", "readable");
    writeFileSync(join(served, "file"), "here\n");
    mkdirSync(join(served, "folder"));
    await device.ask(["login", await inviteByCommand("readable", "--read-only")]);
    const drive = ownFolder("drive");
    await device.mount(url("readable"), drive);
    expect((await sh(drive, "cat file; ls")).stdout).toBe("here\nfile\nfolder\n");
    const attempts = [
      "echo x > new",
      "echo x >> file",
      "rm file",
      "rmdir folder",
      "mkdir f",
      "mv file g",
      "ln file h",
      "ln -s a b",
      "chmod 600 file",
      "touch file",
      "truncate -s 0 file",
      `python3 -c 'import os; os.setxattr("file", "user.a", b"")'`,
    ];
    for (const attempt of attempts) {
      const { code, stderr } = await sh(drive, `LC_ALL=C ${attempt}`);
      expect([attempt, code === 0, stderr.includes("Read-only file system")]).toEqual([attempt, false, true]);
    }
    expect(await mounted(device)).toMatchObject({
      isReadOnly: true,
      sentence: "Connected. This drive can only be read.",
    });
    expect(readFileSync(join(served, "file"), "utf8")).toBe("here\n");
  }, 60_000);

  test("is forgotten by a device that logs out, but not while a drive of it is mounted; an invite brings it back", async () => {
    await device.ask(["login", await invite(), "--name", "laptop"]);
    const drive = ownFolder("drive");
    await device.mount(url(), drive);
    expect(await refused(device, "logout", url())).toEqual({
      code: 1,
      kind: "Busy",
      sentence: `${drive} is a drive of HOST. Unmount it first: runnel unmount ${drive}`,
    });
    expect((await sh(drive, "echo still here > file && cat file")).stdout).toBe("still here\n");
    await device.ask(["unmount", drive]);
    const place = address();
    expect(await device.ask(["logout", place])).toEqual({ server: place, device: "laptop", isTokenGone: true });
    expect(readFileSync(join(device.home, "servers.json"), "utf8")).not.toContain(place);
    expect(await refused(device, "mount", url(), drive)).toMatchObject({ code: 4, kind: "Denied" });
    expect(await refused(device, "logout", place)).toMatchObject({ kind: "NotFound" });
    await device.ask(["login", await invite(), "--name", "again"]);
    await device.mount(url(), drive);
    expect((await sh(drive, "cat file")).stdout).toBe("still here\n");
    expect((await devices()).map(({ name }) => name)).toEqual(["laptop", "again"]);
  }, 90_000);

  test("is used from standard input or a file, seen by nobody who lists processes; withdrawn, it lets nobody in", async () => {
    const typed = await inviteByCommand("docs");
    const kept = await inviteByCommand("photos", "--read-only", "--for", "Ada");
    const late = await invite();
    const loggedIn = await device.runnel(["login", "--name", "typist", "--json"], { input: `\n  ${typed}\n` });
    expect(JSON.parse(loggedIn.stdout)).toEqual({ url: url(), device: "typist", isReadOnly: false });
    writeFileSync(join(testFolder, "invite"), `${kept}\n`);
    expect(await device.ask(["login", "--file", join(testFolder, "invite")])).toMatchObject({ url: url("photos") });
    const given = await invites();
    expect(given.map(({ volume, isReadOnly, person, usedBy }) => [volume, isReadOnly, person, usedBy])).toEqual([
      ["docs", false, "", "typist"],
      ["photos", true, "Ada", "typist"],
      ["docs", false, "", null],
    ]);
    await admin.ask(["invites", "--withdraw", given[2]?.["id"] as string, ...data()]);
    expect(await refused(outsider, "login", late)).toMatchObject({
      kind: "Denied",
      sentence: "This invite is not known here. Ask for a new one.",
    });
    expect(await refused(device, "login")).toMatchObject({ code: 2, kind: "Invalid" });
    expect(await refused(device, "login", late, "--file", "invite")).toMatchObject({ code: 2, kind: "Invalid" });
    expect(await refused(device, "login", "--file", join(testFolder, "none"))).toMatchObject({ kind: "NotFound" });
  }, 60_000);

  test("has a right that is changed at once: a drive that writes may only read, then nothing, then write again", async () => {
    const served = sandbox.path("served", "changing");
    await device.ask(["login", await invite("changing"), "--name", "changed"]);
    const drive = ownFolder("drive");
    await device.mount(url("changing"), drive);
    expect((await sh(drive, "echo one > file")).code).toBe(0);
    const problems = async (): Promise<string> => JSON.stringify(((await device.status())["mounts"] as Json[])[0]);
    const again = async (): Promise<void> => {
      await device.ask(["unmount", drive]);
      await device.mount(url("changing"), drive);
    };
    // A program that has it open meanwhile.
    const held = sh(drive, "exec 3>>file; : > ../ready; while [ ! -e ../go ]; do sleep 0.1; done; echo two >&3");
    await waitFor(async () => existsSync(join(testFolder, "ready")), 15_000, "the program to have it open");
    await admin.ask(["right", "changed", "changing", "read", ...data()]);
    await waitFor(
      async () => (await problems()).includes("lets this device only read now"),
      15_000,
      "status to say so",
    );
    writeFileSync(join(testFolder, "go"), "");
    await held;
    expect((await sh(drive, "LC_ALL=C; echo x > more")).stderr).toContain("Read-only file system");
    expect((await sh(drive, "cat file")).stdout).toContain("one");
    expect(readFileSync(join(served, "file"), "utf8")).toBe("one\n");

    await admin.ask(["right", "changed", "changing", "none", ...data()]);
    await waitFor(async () => (await mounted(device)).state === "offline", 15_000, "the device to be offline");
    await waitFor(async () => (await mounted(device)).sentence.includes("no volume"), 15_000, "the device to know why");
    await admin.ask(["right", "changed", "changing", "write", ...data()]);
    await again();
    await waitFor(async () => (await problems()).includes("lets this device write now"), 15_000, "status to say so");
    await again();
    expect(await mounted(device)).toMatchObject({ isReadOnly: false });
    expect((await sh(drive, "echo x > more")).code).toBe(0);
    await device.flush(drive, { up: true });
    expect(readFileSync(join(served, "more"), "utf8")).toBe("x\n");
    expect(readFileSync(join(served, "file"), "utf8")).toBe("one\ntwo\n");
    expect((await refused(admin, "right", "changed", "nowhere", "read", ...data())).kind).toBe("NotFound");
    await admin.ask(["right", "changed", "changing", "read", ...data()]);
    await waitFor(
      async () => (await problems()).includes("lets this device only read now"),
      15_000,
      "status to say so",
    );
    await again();
    expect(await mounted(device)).toMatchObject({ isReadOnly: true });
  }, 90_000);

  test("cuts a revoked device off at once: what it holds delays nobody, and it is told why", async () => {
    await serveAlone();
    const other = sandbox.device("b");
    const [drive, others] = [ownFolder("drive"), ownFolder("others")];
    await device.ask(["login", await invite(), "--name", "lost"]);
    await other.ask(["login", await invite(), "--name", "kept"]);
    await device.mount(url(), drive);
    await other.mount(url(), others);
    await sh(drive, "echo before > file; cat file");
    await admin.ask(["revoke", "lost", ...data()]);
    await waitFor(async () => (await mounted(device)).state === "offline", 15_000, "the device to be offline");
    await waitFor(
      async () => (await mounted(device)).sentence.startsWith("The server has withdrawn this device's access."),
      5_000,
      "the device to know why",
    );
    const { durationMs } = await sh(others, "echo after > file");
    expect(durationMs).toBeLessThan(3_000);
    expect((await sh(drive, "echo again > more")).code).not.toBe(0);
    expect((await sh(others, "cat file")).stdout).toBe("after\n");
    expect(
      (await devices()).map(({ name, isConnected, revokedMs }) => [name, isConnected, revokedMs !== null]),
    ).toEqual([
      ["lost", false, true],
      ["kept", true, false],
    ]);
    await server.kill();
    server = await serveOthers({ port: server.port });
    await device.runnel(["unmount", drive, "--force"]);
    expect(await refused(device, "find", url(), "-name", "x")).toMatchObject({ code: 4, kind: "Revoked" });
    await device.ask(["login", await invite(), "--name", "found"]);
    await device.mount(url(), drive);
    expect((await sh(drive, "cat file")).stdout).toBe("after\n");
  }, 90_000);
});

/** Tries tokens on one connection: in no time more than are allowed while a command starts. */
async function failOften(): Promise<void> {
  const link = await new WsDialer(() => ({ fingerprint: server.fingerprint ?? "" })).dial(url());
  const connection = bareConnection(link);
  const hello = { protocol: 1, software: "a guesser", token: "x".repeat(43) };
  for (let time = 0; time < 40; time++)
    await expect(connection.call("hello", hello)).rejects.toMatchObject({ kind: time < 10 ? "Denied" : "Busy" });
  connection.close(new RunnelError("Interrupted", "guess", "Enough."));
}

describe("who is not let in is told why in one sentence:", () => {
  test("without an invite", async () => {
    const refusal = await refused(outsider, "mount", url(), ownFolder("drive"));
    expect(refusal).toEqual({
      code: 4,
      kind: "Denied",
      sentence:
        "No authority that this machine knows has signed the certificate of HOST. Log in with an invite (runnel login), " +
        "or name your company's authority with --ca there.",
    });
  }, 60_000);

  test("with one that is used, has run out, was never given, or is not whole", async () => {
    const used = await invite();
    await device.ask(["login", used]);
    const short = await admin.ask(["invite", "docs", ...data(), "--address", address(), "--expires", "1m"]);
    expect(Number(short["untilMs"]) - Date.now()).toBeLessThan(61_000);
    const madeUp = used.replace(/[^.]+$/, randomBytes(16).toString("base64url"));
    expect(await refused(outsider, "login", used)).toEqual({
      code: 4,
      kind: "Denied",
      sentence: "This invite was used already. Ask for a new one; if it was not you who used it, say so there.",
    });
    expect(await refused(outsider, "login", madeUp)).toEqual({
      code: 4,
      kind: "Denied",
      sentence: "This invite is not known here. Ask for a new one.",
    });
    expect(await refused(outsider, "login", used.slice(0, -3))).toEqual({
      code: 2,
      kind: "Invalid",
      sentence: "That is not a whole invite. Copy all of it, from runnel:// to its last letter, and put it in quotes.",
    });
  }, 60_000);

  test("when someone else answers, at the login and at a drive that was mounted before", async () => {
    await serveAlone();
    const before = await invite();
    await device.ask(["login", await invite()]);
    const drive = ownFolder("drive");
    await device.mount(url(), drive);
    const { port } = server;
    await server.stop();
    server = await sandbox.startServer({
      volumes: { docs: sandbox.makeFolder("other") },
      data: sandbox.makeFolder("other-data"),
      listen: `0.0.0.0:${port}`,
    });
    const sentence =
      "Someone else answers at HOST: its key is not the one in your invite. If the server was set up anew, ask for a new invite; " +
      "else do not go on from this network.";
    expect(await refused(sandbox.device("b"), "login", before)).toEqual({ code: 4, kind: "Denied", sentence });
    await waitFor(
      async () => (await mounted(device)).sentence.replaceAll(`127.0.0.1:${port}`, "HOST") === sentence,
      10_000,
      "the drive to say that someone else answers",
    );
  }, 60_000);

  test("too often", async () => {
    await serveAlone();
    await failOften();
    const last = await refused(device, "login", await invite());
    expect(last).toMatchObject({
      kind: "Busy",
      sentence: "Too many logins from this address have failed. Try again in a minute.",
    });
  }, 90_000);
});

describe("plain ws", () => {
  test("is not spoken by a server for others, on loopback neither", async () => {
    expect(await refused(outsider, "mount", `ws://${address()}/docs`, ownFolder("drive"))).toMatchObject({
      kind: "Denied",
    });
  }, 60_000);
});

test("a certificate of an authority's is used instead of the server's own key, with --ca on the other side", async () => {
  standAlone();
  // It has a key from when it ran without the certificate.
  mkdirSync(sandbox.path("data", "_server"), { recursive: true, mode: 0o700 });
  for (const name of ["key.pem", "certificate.pem"])
    copyFileSync(sharedSandbox.path("data", "_server", name), sandbox.path("data", "_server", name));
  const openssl = (line: string): Promise<RunResult> => run("openssl", line.split(" "), { cwd: sandbox.folder });
  await openssl("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=Company -days 2");
  await openssl("req -newkey rsa:2048 -nodes -keyout s.key -out s.csr -subj /CN=files");
  writeFileSync(sandbox.path("ext"), "subjectAltName=IP:127.0.0.1\n");
  await openssl("x509 -req -in s.csr -CA ca.pem -CAkey ca.key -out s.pem -days 1 -extfile ext");
  server = await serveOthers({ args: ["--cert", sandbox.path("s.pem"), "--key", sandbox.path("s.key")] });
  const text = await invite();
  expect(text).toMatch(/#[\w-]{22}$/);
  expect(await refused(device, "login", text)).toMatchObject({ kind: "Denied" });
  expect(await device.ask(["login", text, "--ca", sandbox.path("ca.pem")])).toMatchObject({ url: url() });
  const drive = ownFolder("drive");
  await device.mount(url(), drive);
  expect((await sh(drive, "echo hello > greeting && cat greeting")).stdout).toBe("hello\n");
  // The other way: what the company's computers are told by their administrators.
  const other = sandbox.device("b", { NODE_EXTRA_CA_CERTS: sandbox.path("ca.pem") });
  expect(await other.ask(["login", await invite()])).toMatchObject({ url: url() });
}, 60_000);
