// Bytes that a program has written into an open file and not saved, while the drive is told to save all or to remove
// something.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Device, Sandbox, onMount } from "../src/harness/index.ts";

/** Writes, says so, and closes when its input ends. No shell: its children would close the file too, which saves it. */
const WRITER = `
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b"unsaved", 0)
print("written", flush=True)
sys.stdin.readline()
os.close(fd)
`;

let sandbox: Sandbox;
let device: Device;
let served: string;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  for (const name of ["edited", "removed"]) writeFileSync(join(served, name), "a content before");
  const server = await sandbox.startServer({ volumes: { docs: served } });
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

async function writeInto(name: string): Promise<ChildProcess> {
  const child = spawn("python3", ["-c", WRITER, join(drive, name)], {
    cwd: "/",
    env: sandbox.env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

test("`runnel flush` saves it, and `runnel remove` goes on beside it; the agent answers throughout", async () => {
  const writers = [await writeInto("edited"), await writeInto("new")];
  await device.flush(drive, { up: true, deadlineMs: 15_000 });
  expect(readFileSync(join(served, "edited"), "utf8")).toBe("unsavednt before");
  expect(readFileSync(join(served, "new"), "utf8")).toBe("unsaved");
  writers.push(await writeInto("newer"));
  await device.ask(["remove", join(drive, "removed")], { deadlineMs: 15_000 });
  expect(await device.status()).toMatchObject({ mounts: [{ unsentFiles: 0 }] });
  expect(await onMount('ls "$1"', [drive])).toBe("edited\nnew\nnewer\n");
  const ended = Promise.all(writers.map((writer) => once(writer, "exit")));
  for (const writer of writers) writer.stdin?.end("\n");
  expect(await ended).toEqual(writers.map(() => [0, null]));
  await device.flush(drive, { up: true });
  expect(readFileSync(join(served, "newer"), "utf8")).toBe("unsaved");
  expect(existsSync(join(served, "removed"))).toBe(false);
}, 60_000);
