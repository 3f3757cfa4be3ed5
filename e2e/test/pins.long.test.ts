// A pin of many files: the agent is killed in the middle of it, again and again, while programs at the server change
// the folder; in the end all is here, and programs were answered all the time.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox, onMount, run, waitFor } from "../src/harness/index.ts";

const FOLDERS = 20;
const FILES_EACH = 500;
const KILLS = 3;
const BETWEEN_MS = 3_000;
const HERE_MS = 240_000;
/** A program that asks for a name waits at the most so long while pins are filled, on a machine with other work. */
const ANSWERED_MS = 10_000;

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
