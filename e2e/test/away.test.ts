// A served folder that is not there, or is not the volume's: nobody takes it for an empty one, nothing is acknowledged
// into nowhere, and the drive comes back by itself. Through processes, on real disks.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Device,
  LAUNCHER,
  Sandbox,
  type ServerProcess,
  mustRun,
  onMount,
  readFrom,
  refusalOf,
  run,
  saveTo,
  trySavingTo,
  waitFor,
} from "../src/harness/index.ts";

/** A folder that is another one is noticed within this time; and how late a machine that has much else to do may be. */
const NOTICED_MS = 2_000;
const MARGIN_MS = 5_000;

let sandbox: Sandbox;
let device: Device;

beforeEach(() => {
  sandbox = new Sandbox();
  device = sandbox.device();
});

afterEach(() => sandbox.cleanup(), 120_000);

const BACK_MS = 20_000;
const LARGE = 2 * 1024 * 1024;

async function mounted(server: ServerProcess): Promise<string> {
  const drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive);
  return drive;
}

async function sentence(): Promise<string> {
  const { mounts } = (await device.status()) as { mounts: { sentence: string }[] };
  return mounts[0]?.sentence ?? "";
}

/** Resolves when a save succeeds again. */
async function untilBack(drive: string): Promise<void> {
  await waitFor(async () => (await trySavingTo(drive, "back", 1)) === "", BACK_MS, "the drive to be back");
}

test("[F21] a server without the data of before serves no empty drive and acknowledges nothing; with them again all is there", async () => {
  const served = sandbox.makeFolder("served");
  const server = await sandbox.startServer();
  const drive = await mounted(server);
  await saveTo(drive, "kept", "content");
  await device.flush(drive, { up: true });
  await server.stop();
  renameSync(sandbox.path("data"), sandbox.path("data-away"));
  const listen = `127.0.0.1:${server.port}`;
  const without = await sandbox.startServer({ listen });
  expect(without.stderr).toContain("The volume docs cannot be served now: The folder belongs to another volume");
  expect(without.stderr).toContain('"runnel serve --adopt docs" takes it in anew');
  await waitFor(async () => (await sentence()).includes("cannot serve docs now"), BACK_MS, "the drive to say why");
  expect(await readFrom(drive, "kept")).toBe("content");
  expect(await trySavingTo(drive, "small", 10)).toContain("Read-only file system");
  expect(await trySavingTo(drive, "large", LARGE)).toContain("Read-only file system");
  const refused = await run(
    process.execPath,
    [LAUNCHER, "mount", `${without.url}/docs`, sandbox.makeFolder("b"), "--json"],
    {
      env: sandbox.device("b").env,
    },
  );
  expect(refusalOf(refused)).toMatchObject({
    kind: "Unavailable",
    sentence: expect.stringContaining("another volume"),
  });
  expect(readdirSync(served).sort()).toEqual([".runnel-store", "kept"]);
  expect(existsSync(sandbox.path("data", "docs"))).toBe(false);
  await without.stop();
  rmSync(sandbox.path("data"), { recursive: true });
  renameSync(sandbox.path("data-away"), sandbox.path("data"));
  await sandbox.startServer({ listen });
  await untilBack(drive);
  expect(await onMount('ls "$1"', [drive])).toBe("back\nkept\n");
}, 90_000);

test("[F113] a folder whose data are lost is taken in anew with --adopt: the drive shows it again, and saves reach it", async () => {
  const served = sandbox.makeFolder("served");
  const server = await sandbox.startServer({ leaseTerm: 1 });
  const drive = await mounted(server);
  await saveTo(drive, "kept", "content");
  await device.flush(drive, { up: true });
  await server.stop();
  renameSync(sandbox.path("data"), sandbox.path("data-away"));
  const listen = `127.0.0.1:${server.port}`;
  const adopting = await sandbox.startServer({ listen, leaseTerm: 1, args: ["--adopt", "docs"] });
  expect(adopting.stderr).toContain(`${served} is taken in anew as docs`);
  await untilBack(drive);
  expect(await readFrom(drive, "kept")).toBe("content");
  await saveTo(drive, "kept", "changed");
  await device.flush(drive, { up: true });
  expect(readFileSync(join(served, "kept"), "utf8")).toBe("changed");
  expect(readdirSync(served).sort()).toEqual([".runnel-store", "back", "kept"]);
}, 90_000);

test("[F110] a served folder that is swapped for a copy of it is noticed within 2 s, and what was acknowledged meanwhile is in the copy", async () => {
  const served = sandbox.makeFolder("served");
  writeFileSync(join(served, "file"), "first");
  const server = await sandbox.startServer();
  const drive = await mounted(server);
  await saveTo(drive, "file", "second");
  await device.flush(drive, { up: true });
  renameSync(served, `${served}.old`);
  await mustRun("cp", ["-a", `${served}.old`, served]);
  // Acknowledged or not: who knows how much was noticed by then.
  const saved = await Promise.all(
    ["one", "two", "three"].map(async (name) => ((await trySavingTo(drive, name, 10)) === "" ? [name] : [])),
  );
  // Another one is in its place, or none where somebody looked between the two.
  await waitFor(() => server.stderr.includes("cannot be served now"), NOTICED_MS + MARGIN_MS, "it to be noticed");
  await untilBack(drive);
  await device.flush(drive, { up: true });
  for (const name of [...saved.flat(), "back"]) expect(existsSync(join(served, name))).toBe(true);
  expect(existsSync(join(`${served}.old`, "back"))).toBe(false);
  expect(readFileSync(join(served, "file"), "utf8")).toBe("second");
  writeFileSync(join(served, "seen"), "by the drive");
  await waitFor(
    async () => (await run("cat", [join(drive, "seen")])).stdout === "by the drive",
    BACK_MS,
    "a change there",
  );
}, 90_000);

test("[F21] a disk that is unmounted under the server is away, and what stands in its place stays empty", async () => {
  if (process.getuid?.() !== 0) return;
  const [disk, served] = [sandbox.makeFolder("disk"), sandbox.makeFolder("served")];
  await mustRun("mount", ["--bind", disk, served]);
  const server = await sandbox.startServer();
  const drive = await mounted(server);
  await saveTo(drive, "file", "content");
  await device.flush(drive, { up: true });
  await mustRun("umount", ["-l", served]);
  await waitFor(() => server.stderr.includes("cannot be served now"), NOTICED_MS + MARGIN_MS, "it to be noticed");
  expect(await trySavingTo(drive, "new", 10)).not.toBe("");
  expect(await readFrom(drive, "file")).toBe("content");
  expect(readdirSync(served)).toEqual([]);
  await mustRun("mount", ["--bind", disk, served]);
  await untilBack(drive);
  // Bytes that a close failed with are kept, and come then, unless their file was refused before.
  expect(await onMount('ls "$1"', [drive])).toMatch(/^back\nfile\n(new\n)?$/);
}, 90_000);
