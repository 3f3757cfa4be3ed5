// A pin of many files: the agent is killed in the middle of it, again and again, while programs at the server change
// the folder; in the end all is here, and programs were answered all the time. And a pin on a disk that is full.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { SmallDisk } from "../src/crash/index.ts";
import { Sandbox, onMount, run, waitFor } from "../src/harness/index.ts";

const FOLDERS = 20;
const FILES_EACH = 500;
const KILLS = 3;
const BETWEEN_MS = 3_000;
const HERE_MS = 240_000;
/** A program that asks for a name waits at the most so long while pins are filled, on a machine with other work. */
const ANSWERED_MS = 10_000;
/** Room for one of five files. */
const ROOM_KIB = 4_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

interface Pin {
  isComplete: boolean;
  all: { files: number };
  here: { files: number; bytes: number };
}

test("ten thousand pinned files come, whatever is killed and changed meanwhile", async () => {
  const served = sandbox.makeFolder("served");
  for (let folder = 0; folder < FOLDERS; folder++) {
    mkdirSync(join(served, `folder-${folder}`));
    for (let file = 0; file < FILES_EACH; file++)
      writeFileSync(join(served, `folder-${folder}`, `${file}`), `file ${folder} ${file} `.repeat(100));
  }
  const server = await sandbox.startServer({ volumes: { docs: served } });
  const device = sandbox.device();
  const drive = sandbox.makeFolder("drive");
  const mount = (): Promise<unknown> => device.mount(`${server.url}/docs`, drive);
  const pin = async (): Promise<Pin | undefined> => {
    const [found] = (await device.status())["mounts"] as { pins: Pin[] }[];
    return found?.pins[0];
  };
  await mount();
  await device.ask(["pin", drive], { deadlineMs: 60_000 });
  let changed = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    for (let asked = 0; asked < 10; asked++) {
      const { isOverdue } = await run("stat", [join(drive, `folder-${asked}`, "1")], { deadlineMs: ANSWERED_MS });
      expect(isOverdue).toBe(false);
      writeFileSync(join(served, `folder-${asked}`, "1"), `changed ${++changed}`);
      await new Promise((done) => setTimeout(done, BETWEEN_MS / 10));
    }
    const { pid } = (await device.status())["agent"] as { pid: number };
    process.kill(pid, "SIGKILL");
    await waitFor(() => !existsSync(`/proc/${pid}`), ANSWERED_MS, "its end");
    await mount();
  }
  mkdirSync(join(served, "last"));
  writeFileSync(join(served, "last", "file"), "came last");
  const files = FOLDERS * FILES_EACH + 1;
  const bytes = Number(await onMount('cat "$1"/*/* | wc -c', [served]));
  await waitFor(
    async () => {
      const found = await pin();
      return found?.isComplete === true && found.here.files === files && found.here.bytes === bytes;
    },
    HERE_MS,
    "all files",
  );
  await server.kill();
  const read = await onMount('cat "$1"/*/* | wc -c; cat "$1"/folder-9/1 "$1"/last/file', [drive], {
    deadlineMs: HERE_MS,
  });
  expect(read.trim().split("\n")[1]).toBe(`changed ${changed}came last`);
}, 900_000);

test("a disk that is full refuses a pin; one that fills says what is not here, and goes on when there is room", async () => {
  const served = sandbox.makeFolder("served");
  mkdirSync(join(served, "pinned"));
  const names = Array.from({ length: 5 }, (_, index) => `pinned/file-${index}`);
  writeFileSync(join(served, "large"), randomBytes(10_000_000));
  const server = await sandbox.startServer({ volumes: { docs: served } });
  const device = sandbox.device();
  const drive = sandbox.makeFolder("drive");
  const disk = await SmallDisk.make(sandbox, "small");
  await device.mount(`${server.url}/docs`, drive, ["--cache", disk.folder]);
  const status = async (): Promise<{ pins: Pin[]; problems: string[] }> => {
    const [found] = (await device.status())["mounts"] as { pins: Pin[]; problems: string[] }[];
    return found ?? { pins: [], problems: [] };
  };
  await device.ask(["pin", join(drive, "pinned")]);
  await disk.fill(ROOM_KIB);
  const refused = await device.runnel(["pin", join(drive, "large")]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("this computer's disk lacks")]);
  for (const name of names) writeFileSync(join(served, name), randomBytes(2_000_000));
  await waitFor(
    async () => (await status()).problems.some((problem) => problem.includes("full")),
    HERE_MS,
    "status to say that the disk is full",
  );
  const { pins } = await status();
  expect(pins[0]).toMatchObject({ isComplete: false, all: { files: names.length } });
  // A save crosses without the cache, and names are answered.
  await onMount('echo saved > "$1/new"; ls -l "$1" > /dev/null; rm "$1/new"', [drive]);
  await device.flush(drive, { up: true });
  disk.empty();
  await waitFor(
    async () => {
      const now = await status();
      return now.pins[0]?.isComplete === true && now.pins[0].here.files === names.length;
    },
    HERE_MS,
    "all files",
  );
  expect((await status()).problems).toEqual([]);
  await server.kill();
  for (const name of names) await onMount('cmp "$1/$3" "$2/$3"', [drive, served, name]);
}, 600_000);
