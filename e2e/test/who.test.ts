// A server for others: TLS, invites, devices and their rights, being cut off. Server, agents and commands are processes
// of their own.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { RunnelError, WsDialer } from "@runnel/shared";
import { Sandbox, refusalOf, run, waitFor } from "../src/harness/index.ts";
import type { Device, Json, Refusal, RunResult, ServerProcess } from "../src/harness/index.ts";
import { bareConnection } from "../src/harness/clients/wire-client.ts";

let sandbox: Sandbox;
let server: ServerProcess;
let admin: Device;
let device: Device;

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await serveOthers();
  admin = sandbox.device("admin");
  device = sandbox.device("a");
}, 60_000);

afterEach(() => sandbox.cleanup(), 60_000);

function sh(folder: string, script: string): Promise<RunResult> {
  return run("sh", ["-c", script], { cwd: folder });
}

function serveOthers(listen = "0.0.0.0:0", args: readonly string[] = []): Promise<ServerProcess> {
  const volumes = { docs: sandbox.makeFolder("served"), photos: sandbox.makeFolder("photos") };
  return sandbox.startServer({ volumes, listen, args });
}

const data = (): string[] => ["--data", sandbox.path("data")];

async function invite(volume = "docs", ...options: string[]): Promise<string> {
  const address = `127.0.0.1:${server.port}`;
  const answer = await admin.ask(["invite", volume, ...data(), "--address", address, ...options]);
  return answer["invite"] as string;
}

async function devices(): Promise<Json[]> {
  return (await admin.ask(["devices", "--all", ...data()]))["devices"] as Json[];
}

async function refused(of: Device, ...args: string[]): Promise<Refusal> {
  const refusal = refusalOf(await of.runnel([...args, "--json"]));
  return { ...refusal, sentence: refusal.sentence.replaceAll(`127.0.0.1:${server.port}`, "HOST") };
}

const url = (volume = "docs"): string => `wss://127.0.0.1:${server.port}/${volume}`;

async function mounted(of: Device): Promise<{ sentence: string; state: string; isReadOnly: boolean }> {
  const { mounts } = (await of.status()) as unknown as {
    mounts: [{ sentence: string; state: string; isReadOnly: boolean }];
  };
  return mounts[0];
}

describe("a server for others", () => {
  test("lets a device in by an invite, and then by its token, also after a restart of both", async () => {
    expect(await device.ask(["login", await invite("docs", "--for", "Ada"), "--name", "laptop"])).toEqual({
      url: url(),
      device: "laptop",
      isReadOnly: false,
    });
    const drive = sandbox.makeFolder("drive");
    await device.mount(url(), drive);
    await sh(drive, "echo hello > greeting");
    await device.flush(drive, { up: true });
    expect(readFileSync(sandbox.path("served", "greeting"), "utf8")).toBe("hello\n");
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
    server = await serveOthers(`0.0.0.0:${server.port}`);
    expect(server.fingerprint).toBe(fingerprint);
    await device.mount(url(), drive);
    expect((await sh(drive, "cat greeting")).stdout).toBe("hello\n");
  }, 60_000);

  test("with a volume more, the device is the same; what it was not invited to is not there", async () => {
    await device.ask(["login", await invite("docs")]);
    const drive = sandbox.makeFolder("drive");
    expect(await refused(device, "mount", url("photos"), drive)).toMatchObject({
      kind: "NotFound",
      sentence: 'The server has no volume "photos" for this device. Check the last part of the address.',
    });
    await device.ask(["login", await invite("photos", "--read-only")]);
    expect((await devices()).map(({ volumes }) => volumes)).toEqual([
      [
        { name: "docs", isReadOnly: false },
        { name: "photos", isReadOnly: true },
      ],
    ]);
    await device.mount(url("photos"), drive);
  }, 60_000);

  test("that may only be read is a drive that may only be read, for every program", async () => {
    writeFileSync(sandbox.path("served", "file"), "here\n");
    mkdirSync(sandbox.path("served", "folder"));
    await device.ask(["login", await invite("docs", "--read-only")]);
    const drive = sandbox.makeFolder("drive");
    await device.mount(url(), drive);
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
    expect(readFileSync(sandbox.path("served", "file"), "utf8")).toBe("here\n");
  }, 60_000);

  test("is forgotten by a device that logs out, but not while a drive of it is mounted; an invite brings it back", async () => {
    await device.ask(["login", await invite(), "--name", "laptop"]);
    const drive = sandbox.makeFolder("drive");
    await device.mount(url(), drive);
    expect(await refused(device, "logout", url())).toEqual({
      code: 1,
      kind: "Busy",
      sentence: `${drive} is a drive of HOST. Unmount it first: runnel unmount ${drive}`,
    });
    expect((await sh(drive, "echo still here > file && cat file")).stdout).toBe("still here\n");
    await device.ask(["unmount", drive]);
    const place = `127.0.0.1:${server.port}`;
    expect(await device.ask(["logout", place])).toEqual({ server: place, device: "laptop" });
    expect(readFileSync(sandbox.path("home/a", "servers.json"), "utf8")).not.toContain(place);
    expect(await refused(device, "mount", url(), drive)).toMatchObject({ code: 4, kind: "Denied" });
    expect(await refused(device, "logout", place)).toMatchObject({ kind: "NotFound" });
    await device.ask(["login", await invite(), "--name", "again"]);
    await device.mount(url(), drive);
    expect((await sh(drive, "cat file")).stdout).toBe("still here\n");
    expect((await devices()).map(({ name }) => name)).toEqual(["laptop", "again"]);
  }, 90_000);

  test("is used from standard input or a file, seen by nobody who lists processes; withdrawn, it lets nobody in", async () => {
    const [typed, kept, late] = [await invite(), await invite("photos", "--read-only", "--for", "Ada"), await invite()];
    const loggedIn = await device.runnel(["login", "--name", "laptop", "--json"], { input: `\n  ${typed}\n` });
    expect(JSON.parse(loggedIn.stdout)).toEqual({ url: url(), device: "laptop", isReadOnly: false });
    writeFileSync(sandbox.path("invite"), `${kept}\n`);
    expect(await device.ask(["login", "--file", sandbox.path("invite")])).toMatchObject({ url: url("photos") });
    const { invites } = (await admin.ask(["invites", ...data()])) as { invites: Json[] };
    expect(invites.map(({ volume, isReadOnly, person, usedBy }) => [volume, isReadOnly, person, usedBy])).toEqual([
      ["docs", false, "", "laptop"],
      ["photos", true, "Ada", "laptop"],
      ["docs", false, "", null],
    ]);
    await admin.ask(["invites", "--withdraw", invites[2]?.["id"] as string, ...data()]);
    expect(await refused(sandbox.device("b"), "login", late)).toMatchObject({
      kind: "Denied",
      sentence: "This invite is not known here. Ask for a new one.",
    });
    expect(await refused(device, "login")).toMatchObject({ code: 2, kind: "Invalid" });
    expect(await refused(device, "login", late, "--file", "invite")).toMatchObject({ code: 2, kind: "Invalid" });
    expect(await refused(device, "login", "--file", sandbox.path("none"))).toMatchObject({ kind: "NotFound" });
  }, 60_000);

  test("has a right that is changed at once: a drive that writes may only read, then nothing, then write again", async () => {
    await device.ask(["login", await invite(), "--name", "laptop"]);
    const drive = sandbox.makeFolder("drive");
    await device.mount(url(), drive);
    expect((await sh(drive, "echo one > file")).code).toBe(0);
    const problems = async (): Promise<string> => JSON.stringify(((await device.status())["mounts"] as Json[])[0]);
    const again = async (): Promise<void> => {
      await device.ask(["unmount", drive]);
      await device.mount(url(), drive);
    };
    // A program that has it open meanwhile.
    const held = sh(drive, "exec 3>>file; : > ../ready; while [ ! -e ../go ]; do sleep 0.1; done; echo two >&3");
    await waitFor(async () => existsSync(sandbox.path("ready")), 15_000, "the program to have it open");
    await admin.ask(["right", "laptop", "docs", "read", ...data()]);
    await waitFor(
      async () => (await problems()).includes("lets this device only read now"),
      15_000,
      "status to say so",
    );
    writeFileSync(sandbox.path("go"), "");
    await held;
    expect((await sh(drive, "LC_ALL=C; echo x > more")).stderr).toContain("Read-only file system");
    expect((await sh(drive, "cat file")).stdout).toContain("one");
    expect(readFileSync(sandbox.path("served", "file"), "utf8")).toBe("one\n");

    await admin.ask(["right", "laptop", "docs", "none", ...data()]);
    await waitFor(async () => (await mounted(device)).state === "offline", 15_000, "the device to be offline");
    await waitFor(async () => (await mounted(device)).sentence.includes("no volume"), 15_000, "the device to know why");
    await admin.ask(["right", "laptop", "docs", "write", ...data()]);
    await again();
    await waitFor(async () => (await problems()).includes("lets this device write now"), 15_000, "status to say so");
    await again();
    expect(await mounted(device)).toMatchObject({ isReadOnly: false });
    expect((await sh(drive, "echo x > more")).code).toBe(0);
    await device.flush(drive, { up: true });
    expect(readFileSync(sandbox.path("served", "more"), "utf8")).toBe("x\n");
    expect(readFileSync(sandbox.path("served", "file"), "utf8")).toBe("one\ntwo\n");
    expect((await refused(admin, "right", "laptop", "nowhere", "read", ...data())).kind).toBe("NotFound");
    await admin.ask(["right", "laptop", "docs", "read", ...data()]);
    await waitFor(
      async () => (await problems()).includes("lets this device only read now"),
      15_000,
      "status to say so",
    );
    await again();
    expect(await mounted(device)).toMatchObject({ isReadOnly: true });
  }, 90_000);

  test("cuts a revoked device off at once: what it holds delays nobody, and it is told why", async () => {
    const other = sandbox.device("b");
    const [drive, others] = [sandbox.makeFolder("drive"), sandbox.makeFolder("others")];
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
    server = await serveOthers(`0.0.0.0:${server.port}`);
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
    const refusal = await refused(device, "mount", url(), sandbox.makeFolder("drive"));
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
    await sandbox.device("b").ask(["login", used]);
    const short = await admin.ask([
      "invite",
      "docs",
      ...data(),
      "--address",
      `127.0.0.1:${server.port}`,
      "--expires",
      "1m",
    ]);
    expect(Number(short["untilMs"]) - Date.now()).toBeLessThan(61_000);
    const madeUp = used.replace(/[^.]+$/, randomBytes(16).toString("base64url"));
    expect(await refused(device, "login", used)).toEqual({
      code: 4,
      kind: "Denied",
      sentence: "This invite was used already. Ask for a new one; if it was not you who used it, say so there.",
    });
    expect(await refused(device, "login", madeUp)).toEqual({
      code: 4,
      kind: "Denied",
      sentence: "This invite is not known here. Ask for a new one.",
    });
    expect(await refused(device, "login", used.slice(0, -3))).toEqual({
      code: 2,
      kind: "Invalid",
      sentence: "That is not a whole invite. Copy all of it, from runnel:// to its last letter, and put it in quotes.",
    });
  }, 60_000);

  test("when someone else answers, at the login and at a drive that was mounted before", async () => {
    const before = await invite();
    await device.ask(["login", await invite()]);
    const drive = sandbox.makeFolder("drive");
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
    expect(
      await refused(device, "mount", `ws://127.0.0.1:${server.port}/docs`, sandbox.makeFolder("drive")),
    ).toMatchObject({
      kind: "Denied",
    });
  }, 60_000);
});

test("a certificate of an authority's is used instead of the server's own key, with --ca on the other side", async () => {
  await server.stop();
  const run1 = (args: string[]): ReturnType<typeof run> => run("openssl", args, { cwd: sandbox.folder });
  await run1([
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-subj",
    "/CN=Company",
    "-days",
    "2",
  ]);
  await run1(["req", "-newkey", "rsa:2048", "-nodes", "-keyout", "s.key", "-out", "s.csr", "-subj", "/CN=files"]);
  writeFileSync(sandbox.path("ext"), "subjectAltName=IP:127.0.0.1\n");
  await run1([
    "x509",
    "-req",
    "-in",
    "s.csr",
    "-CA",
    "ca.pem",
    "-CAkey",
    "ca.key",
    "-out",
    "s.pem",
    "-days",
    "1",
    "-extfile",
    "ext",
  ]);
  server = await serveOthers("0.0.0.0:0", ["--cert", sandbox.path("s.pem"), "--key", sandbox.path("s.key")]);
  const text = await invite();
  expect(text).toMatch(/#[\w-]{22}$/);
  expect(await refused(device, "login", text)).toMatchObject({ kind: "Denied" });
  expect(await device.ask(["login", text, "--ca", sandbox.path("ca.pem")])).toMatchObject({ url: url() });
  const drive = sandbox.makeFolder("drive");
  await device.mount(url(), drive);
  expect((await sh(drive, "echo hello > greeting && cat greeting")).stdout).toBe("hello\n");
  // The other way: what the company's computers are told by their administrators.
  const other = sandbox.device("b", { NODE_EXTRA_CA_CERTS: sandbox.path("ca.pem") });
  expect(await other.ask(["login", await invite()])).toMatchObject({ url: url() });
}, 60_000);
