// An agent that may have few files open at once: programs use as many as they like, and it can be talked to throughout.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, onMount, run, waitFor, waitForMount, withFewDescriptors, writtenIn } from "../src/harness/index.ts";

const LIMIT = 256;
const FILES = 300;
/** The most that a program has open at a time, more than the agent could have. */
const OPEN_FILES = 300;

/** Opens a file, says so, and reads its end once it is told to. */
const READER = `
import hashlib, os, sys, time
path, opened, go = sys.argv[1:]
fd = os.open(path, os.O_RDONLY)
head = os.pread(fd, 10, 0)
open(opened, "w").close()
while not os.path.exists(go): time.sleep(0.05)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
print(hashlib.sha256(head + os.pread(fd, 1 << 20, 3 << 20)).hexdigest())`;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("files are read and written whatever number of them programs have open, and the agent answers", async () => {
  const place = await withFewDescriptors(sandbox, { limit: LIMIT, files: FILES, openFiles: OPEN_FILES });
  expect(await place.useAll(60_000)).toBe("done\n");
  await place.device.flush(place.drive, { up: true });
  expect(writtenIn(place.served, FILES)).toBe(FILES);
  expect(await place.device.status()).toMatchObject({ mounts: [{ state: "connected", unsentFiles: 0, problems: [] }] });
  expect(place.open()).toBeLessThan(LIMIT / 2);
}, 120_000);

test("what a program has opened before it was sent is read on afterwards, whatever else was read meanwhile", async () => {
  const place = await withFewDescriptors(sandbox, {
    limit: LIMIT,
    files: 100,
    openFiles: 1,
    args: ["--mode", "async"],
  });
  const { device, drive } = place;
  await device.ask(["pause", drive]);
  const [opened, go] = [sandbox.path("opened"), sandbox.path("go")];
  await onMount('seq -f %07g 524288 > "$1/saved"', [drive]);
  const reading = run("python3", ["-c", READER, join(drive, "saved"), opened, go], { deadlineMs: 90_000 });
  await waitFor(() => existsSync(opened), 30_000, "the file to be open");
  await device.ask(["resume", drive]);
  await waitForMount(device, ({ unsentFiles }) => unsentFiles === 0, 30_000, "the file to be sent");
  const data = join(device.home, "mounts");
  const waiting = (): string[] =>
    readdirSync(data, { recursive: true, encoding: "utf8" }).filter((path) => /\/data\/./.test(path));
  // Saves another one, which nobody reads: it goes, and not before what was sent earlier would.
  await onMount('echo later > "$1/later"', [drive]);
  await device.flush(drive, { up: true });
  await waitFor(() => waiting().length === 1, 30_000, "what nobody reads to be removed");
  await onMount('cat "$1"/d0/* > /dev/null', [drive]);
  writeFileSync(go, "");
  const lines = Array.from({ length: 524_288 }, (_, line) => `${String(line + 1).padStart(7, "0")}\n`).join("");
  const read = createHash("sha256").update(lines.slice(0, 10) + lines.slice(3 << 20));
  expect(await reading).toMatchObject({ code: 0, stdout: `${read.digest("hex")}\n` });
  await waitFor(() => waiting().length === 0, 30_000, "what was read to be removed");
}, 120_000);
