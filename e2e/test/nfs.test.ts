// A drive without any driver: runnel mount --nfs, used by programs with libnfs, beside a drive of another machine.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { type Device, mustRun, run, Sandbox, type ServerProcess, waitFor } from "../src/harness/index.ts";

const hasLibnfs = spawnSync("nfs-ls", [], { stdio: "ignore" }).error === undefined;

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await sandbox.startServer();
  device = sandbox.device();
}, 60_000);

afterEach(async () => {
  await sandbox.cleanup();
}, 60_000);

/** Serves the volume as the drive at a folder; returns the address of a path in it. */
async function mountNfs(): Promise<(path: string) => string> {
  const said = (await device.mount(`${server.url}/docs`, sandbox.makeFolder("drive"), ["--nfs"])) as {
    mount: { address: string };
  };
  const { address } = said.mount;
  expect(address).toMatch(/^nfs:\/\/127\.0\.0\.1\/[0-9a-f]{32}\?version=3&nfsport=\d+&mountport=\d+$/);
  return (path) => address.replace("?", `/${path}?`);
}

const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, at) => (at * 13) % 251));

(hasLibnfs ? describe : describe.skip)("runnel mount --nfs", () => {
  test("shows what the server has and saves what is written; who comes after a killed agent needs a new address", async () => {
    writeFileSync(sandbox.path("served", "from-server"), "of the server\n");
    const before = await mountNfs();
    expect((await mustRun("nfs-cat", [before("from-server")])).stdout).toBe("of the server\n");
    const bytes = bytesOf(2_000_003);
    writeFileSync(sandbox.path("local"), bytes);
    await mustRun("nfs-cp", [sandbox.path("local"), before("copied")]);
    // The client has had it committed: it is on the server, whatever becomes of the agent.
    await device.killAgent();
    expect((await run("nfs-cat", [before("copied")])).code).not.toBe(0);
    const after = await mountNfs();
    expect(after("copied")).not.toBe(before("copied"));
    await mustRun("nfs-cp", [after("copied"), sandbox.path("back")]);
    expect(readFileSync(sandbox.path("back")).equals(bytes)).toBe(true);
    expect((await mustRun("nfs-ls", [after("")])).stdout).toMatch(/2000003 copied/);
    const { mounts } = (await device.status()) as { mounts: object[] };
    expect(mounts).toMatchObject([{ address: after("").replace("/?", "?"), unsentFiles: 0 }]);
    // Other verbs know what lies in a drive that the system does not list.
    await device.ask(["pin", sandbox.path("drive", "copied")]);
    const unknown = after("copied").replace(/1\/[0-9a-f]{32}/, `1/${"0".repeat(32)}`);
    expect((await run("nfs-cat", [unknown])).code).not.toBe(0);
    await device.unmount(sandbox.path("drive"));
    expect((await run("nfs-cat", [after("copied")])).code).not.toBe(0);
    await waitFor(() => readFileSync(sandbox.path("served", "copied")).equals(bytes), 10_000, "the plain file");
  }, 120_000);
});
