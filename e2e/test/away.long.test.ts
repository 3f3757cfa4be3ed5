// Serves two folders of which one is missing: the other is served, and the one when it is there.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Device,
  Sandbox,
  type ServerProcess,
  readFrom,
  refusalOf,
  saveTo,
  trySavingTo,
  waitFor,
} from "../src/harness/index.ts";

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

/** Resolves when a save succeeds again. */
async function untilBack(drive: string): Promise<void> {
  await waitFor(async () => (await trySavingTo(drive, "back", 1)) === "", BACK_MS, "the drive to be back");
}

test("[W110] makes one volume unavailable, not the server, and is served when it appears, and again when it was away", async () => {
  const volumes = { docs: sandbox.makeFolder("served"), late: sandbox.path("late") };
  const server = await sandbox.startServer({ volumes });
  expect(server.stderr).toContain(
    "The volume late cannot be served now: The folder is not there: is its disk mounted?",
  );
  const drive = await mounted(server);
  await saveTo(drive, "file", "content");
  const late = sandbox.makeFolder("drive-late");
  const refused = await device.runnel(["mount", `${server.url}/late`, late, "--json"]);
  expect(refusalOf(refused)).toMatchObject({ kind: "Unavailable" });
  mkdirSync(volumes.late);
  writeFileSync(join(volumes.late, "file"), "late");
  await waitFor(() => server.stderr.includes("The volume late is served now."), BACK_MS, "it to be served");
  await device.mount(`${server.url}/late`, late);
  expect(await readFrom(late, "file")).toBe("late");
  renameSync(volumes.late, `${volumes.late}-away`);
  await waitFor(async () => (await trySavingTo(late, "lost", LARGE)).includes("Read-only"), BACK_MS, "it to be away");
  expect(await readFrom(late, "file")).toBe("late");
  renameSync(`${volumes.late}-away`, volumes.late);
  await untilBack(late);
  expect(readdirSync(volumes.late).filter((name) => name.includes("unsent"))).toEqual([]);
  await saveTo(drive, "file", "of a volume that was never away");
}, 90_000);
