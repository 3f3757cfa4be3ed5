// A server without TLS: for programs of the user who runs it, and with TLS at the same port for guests. Server, agents
// and commands are processes of their own.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Sandbox, refusalOf, run, waitFor } from "../src/harness/index.ts";
import type { Device, Refusal, RunResult, ServerProcess } from "../src/harness/index.ts";

let sandbox: Sandbox;
let admin: Device;
let device: Device;

beforeEach(() => {
  sandbox = new Sandbox();
  admin = sandbox.device("admin");
  device = sandbox.device("a");
});

afterEach(() => sandbox.cleanup(), 120_000);

function sh(folder: string, script: string): Promise<RunResult> {
  return run("sh", ["-c", script], { cwd: folder });
}

async function refused(of: Device, ...args: string[]): Promise<Refusal> {
  return refusalOf(await of.runnel([...args, "--json"]));
}

async function sentenceOf(of: Device): Promise<string | undefined> {
  const { mounts } = (await of.status()) as unknown as { mounts: { sentence: string }[] };
  return mounts[0]?.sentence;
}

describe("plain ws", () => {
  const servePlain = (listen = "127.0.0.1:0", ...args: string[]): Promise<ServerProcess> =>
    sandbox.startServer({
      volumes: { docs: sandbox.makeFolder("plain") },
      data: sandbox.makeFolder("plain-data"),
      listen,
      args,
    });
  /** A device that looks for secrets elsewhere, as another user does. */
  const outsider = (): Device => sandbox.device("stranger", { XDG_RUNTIME_DIR: sandbox.makeFolder("elsewhere") });

  test("is for programs of the user who runs the server; other devices come with TLS to the same port, before and after a restart", async () => {
    let plain = await servePlain();
    expect(plain.url).toMatch(/^ws:/);
    const { port } = plain;
    const [own, joined] = [sandbox.makeFolder("own"), sandbox.makeFolder("guest")];
    const joinedDevice = outsider();
    await device.mount(`${plain.url}/docs`, own);
    expect(refusalOf(await joinedDevice.runnel(["mount", `${plain.url}/docs`, joined, "--json"]))).toEqual({
      code: 4,
      kind: "Denied",
      sentence: `No server that this user runs listens at 127.0.0.1:${port}. Ask whoever runs it for an invite, or name its secret with --secret.`,
    });
    const asked = await admin.ask(["invite", "docs", "--data", sandbox.path("plain-data")]);
    expect(await joinedDevice.ask(["login", String(asked["invite"])])).toMatchObject({
      url: `wss://127.0.0.1:${port}/docs`,
    });
    await joinedDevice.mount(`wss://127.0.0.1:${port}/docs`, joined);
    await sh(own, "echo mine > file");
    expect((await sh(joined, "cat file && echo yours > file")).stdout).toBe("mine\n");
    expect((await sh(own, "cat file")).stdout).toBe("yours\n");
    await plain.kill();
    plain = await servePlain(`127.0.0.1:${port}`);
    await waitFor(
      async () =>
        (await sh(own, "echo again > more")).code === 0 && (await sh(joined, "cat more")).stdout === "again\n",
      30_000,
      "both to be back",
    );
    expect(plain.stderr).not.toMatch(/secret/);
  }, 90_000);

  test("with --secret knows whoever was told of the file", async () => {
    const file = sandbox.path("told");
    const plain = await servePlain("127.0.0.1:0", "--secret", file);
    const [drive, other] = [sandbox.makeFolder("drive"), outsider()];
    await other.mount(`${plain.url}/docs`, drive, ["--secret", file]);
    await sh(drive, "echo text > found");
    const found = await other.ask(["find", "--secret", file, `${plain.url}/docs`, "-name", "found"]);
    expect(found["entries"]).toMatchObject([{ path: "found" }]);
    expect(refusalOf(await other.runnel(["find", `${plain.url}/docs`, "-name", "found", "--json"]))).toMatchObject({
      kind: "Denied",
    });
  }, 60_000);

  test("is not spoken to who has taken the server's port, and its own user is told", async () => {
    const plain = await servePlain();
    const { port } = plain;
    const drive = sandbox.makeFolder("drive");
    await device.mount(`${plain.url}/docs`, drive);
    await plain.kill();
    // Another user's server, as far as the drive can tell.
    const env = { XDG_RUNTIME_DIR: sandbox.makeFolder("of-another") };
    await sandbox.startServer({
      volumes: { docs: sandbox.makeFolder("trap") },
      data: sandbox.makeFolder("trap-data"),
      listen: `127.0.0.1:${port}`,
      env,
    });
    const sentence = `What answers at 127.0.0.1:${port} is not the server that this user runs there. Stop it, or ask whoever runs it for an invite.`;
    await waitFor(async () => (await sentenceOf(device)) === sentence, 20_000, "the drive to say who answers");
    expect(refusalOf(await device.runnel(["find", `${plain.url}/docs`, "-name", "x", "--json"]))).toMatchObject({
      kind: "Denied",
      sentence,
    });
  }, 60_000);

  test("has the guests of a data folder at one server only; another beside it serves its own user", async () => {
    const first = await servePlain();
    const second = await sandbox.startServer({
      volumes: { more: sandbox.makeFolder("more") },
      data: sandbox.path("plain-data"),
    });
    for (const [one, volume] of [
      [first, "docs"],
      [second, "more"],
    ] as const)
      expect(await device.ask(["find", `${one.url}/${volume}`, "-name", "x"])).toMatchObject({ entries: [] });
  }, 60_000);

  test("stays on this machine", async () => {
    expect(await refused(device, "mount", "ws://192.0.2.1:7473/docs", sandbox.makeFolder("drive"))).toMatchObject({
      code: 4,
      kind: "Denied",
    });
  }, 60_000);
});
