// A drive over NFS while the agent is killed and the server cannot be reached: its clients are answered, and what was
// acknowledged is there.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { readFileSync, writeFileSync } from "node:fs";
import {
  createFile,
  type FileHandle,
  NFS_PROC,
  NO_CHANGE,
  RawClient,
  resultOf,
  STABLE,
  STATUS,
} from "@runnel/native/test/nfs/raw-client.ts";
import { type Device, type LinkEmulator, Sandbox, waitFor, waitForMount } from "../src/harness/index.ts";

const RESUME_MS = 30_000;

let sandbox: Sandbox;
let link: LinkEmulator;
let device: Device;
let drive: string;
let client: RawClient;
let root: FileHandle;

beforeEach(async () => {
  sandbox = new Sandbox();
  const served = sandbox.makeFolder("served");
  writeFileSync(sandbox.path("served", "seen"), "seen before");
  writeFileSync(sandbox.path("served", "unseen"), "never read");
  const server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
}, 60_000);

afterEach(async () => {
  client.end();
  await sandbox.cleanup();
}, 60_000);

async function mount(...args: string[]): Promise<void> {
  const said = await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive, ["--nfs", ...args]);
  const { address } = said["mount"] as { address: string };
  await waitForMount(device, ({ state }) => state === "connected", RESUME_MS, "the whole tree");
  client = new RawClient(address);
  root = await client.mount();
}

const write = (file: FileHandle, offset: number, data: Buffer, stable: number = STABLE.UNSTABLE) =>
  client.call(NFS_PROC.WRITE, { file, offset: BigInt(offset), count: data.length, stable, data });

async function read(file: FileHandle): Promise<string> {
  const said = await client.call(NFS_PROC.READ, { file, offset: 0n, count: 1000 });
  return said.response?.status === STATUS.OK
    ? Buffer.from(resultOf<{ data: Uint8Array }>(said).data).toString()
    : `status ${said.response?.status}`;
}

const commit = (file: FileHandle) => client.call(NFS_PROC.COMMIT, { file, offset: 0n, count: 0 });

const withStatus = (status: number): object => ({ response: { status } });

describe("an agent that is killed while clients write", () => {
  test("has what it acknowledged as committed; its clients hear that handles are stale and the verifier is another", async () => {
    await mount();
    const kept = await createFile(client, root, "kept");
    const bytes = Buffer.alloc(200_000, "k");
    await write(kept, 0, bytes);
    const committed = await commit(kept);
    const lost = await createFile(client, root, "lost");
    await write(lost, 0, bytes);
    const stable = await createFile(client, root, "stable");
    await write(stable, 0, Buffer.from("stable"), STABLE.FILE_SYNC);
    // Answered or not when it dies.
    void write(kept, 0, Buffer.alloc(200_000, "x")).catch(() => undefined);
    await device.killAgent();
    await waitFor(() => client.isClosed, 5000, "the end of the connection");
    await mount();
    await device.flush(drive, { up: true });
    expect(readFileSync(sandbox.path("served", "kept")).equals(bytes)).toBe(true);
    expect(readFileSync(sandbox.path("served", "stable")).toString()).toBe("stable");
    for (const file of [kept, lost]) {
      expect(await write(file, 0, bytes)).toMatchObject(withStatus(STATUS.STALE));
      expect(await commit(file)).toMatchObject(withStatus(STATUS.STALE));
    }
    const again = await client.lookup(root, "lost");
    await write(again, 0, bytes);
    const committedAgain = await commit(again);
    await device.flush(drive, { up: true });
    expect(readFileSync(sandbox.path("served", "lost")).equals(bytes)).toBe(true);
    const verifierOf = (said: { response: unknown }): string =>
      Buffer.from(resultOf<{ verf: Uint8Array }>(said).verf).toString("hex");
    expect(verifierOf(committedAgain)).not.toBe(verifierOf(committed));
  }, 120_000);

  test("has in mode async what it acknowledged without a line, and sends it afterwards", async () => {
    await mount("--mode", "async");
    await link.cut("refuse");
    await waitForMount(device, ({ state }) => state === "offline", RESUME_MS, "the state offline");
    const file = await createFile(client, root, "made");
    await write(file, 0, Buffer.from("made away"));
    expect(await commit(file)).toMatchObject(withStatus(STATUS.OK));
    await device.killAgent();
    await link.restore();
    await mount("--mode", "async");
    await device.flush(drive, { up: true });
    expect(readFileSync(sandbox.path("served", "made")).toString()).toBe("made away");
  }, 120_000);
});

describe("a server that cannot be reached", () => {
  test("leaves what was read; all else is answered with an error, and goes on when it is back", async () => {
    await mount();
    const [seen, unseen] = [await client.lookup(root, "seen"), await client.lookup(root, "unseen")];
    expect(await read(seen)).toBe("seen before");
    await link.cut("refuse");
    await waitForMount(device, ({ state }) => state === "offline", RESUME_MS, "the state offline");
    expect(await read(seen)).toBe("seen before");
    expect(await read(unseen)).toBe(`status ${STATUS.IO}`);
    const making = { where: { dir: root, name: "new" }, attributes: NO_CHANGE };
    expect(await client.call(NFS_PROC.MKDIR, making)).toMatchObject(withStatus(STATUS.ROFS));
    await link.restore();
    await waitForMount(device, ({ state }) => state === "connected", RESUME_MS, "the state connected");
    expect(await read(unseen)).toBe("never read");
    expect(await client.call(NFS_PROC.MKDIR, making)).toMatchObject(withStatus(STATUS.OK));
  }, 120_000);

  test("and does not say so: a READ and a COMMIT fail in time, and what was written is kept and sent later", async () => {
    await mount();
    const unseen = await client.lookup(root, "unseen");
    const file = await createFile(client, root, "made");
    await write(file, 0, Buffer.from("written"));
    await link.blackHole();
    const [said, committed] = await Promise.all([read(unseen), commit(file)]);
    expect(said).toBe(`status ${STATUS.IO}`);
    expect(committed).toMatchObject(withStatus(STATUS.IO));
    expect(((await device.status())["mounts"] as object[])[0]).toMatchObject({ unsentFiles: 1 });
    await link.restore();
    await waitForMount(device, ({ state }) => state === "connected", RESUME_MS, "the state connected");
    await device.flush(drive, { up: true });
    expect(readFileSync(sandbox.path("served", "made")).toString()).toBe("written");
    expect(await read(unseen)).toBe("never read");
  }, 120_000);
});
