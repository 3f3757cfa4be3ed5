// A large file that a program has open and saves again and again, as databases and disk images are: each save costs
// this device's disk the edit, and what the program has not read yet still comes.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, mustRun, onMount } from "../src/harness/index.ts";
import type { Device } from "../src/harness/index.ts";

const SLOW_MS = 60_000;
const SAVES = 12;
const FILE_BYTES = 16_000_000;
const content = randomBytes(FILE_BYTES);

/** Writes a line at every 1.3 MB in turn, each saved; says what it reads far from there after each. */
const PROGRAM = `
import os, sys, hashlib
fd = os.open(sys.argv[1], os.O_RDWR)
seen = hashlib.sha256()
for save in range(${SAVES}):
    os.pwrite(fd, b"save %d\\n" % save, 1_300_000 * save)
    if save % 2: os.fsync(fd)
    seen.update(os.pread(fd, 50_000, ${FILE_BYTES} - 1_100_000 * (save + 1)))
os.ftruncate(fd, ${FILE_BYTES} - 100_000)
os.fsync(fd)
os.pwrite(fd, b"end", ${FILE_BYTES} - 3)
os.close(fd)
print(seen.hexdigest())
`;

let sandbox: Sandbox;
let served: string;
let url: string;
let device: Device;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  writeFileSync(join(served, "large"), content);
  ({ url } = await sandbox.startServer({ volumes: { docs: served } }));
  [device, drive] = [sandbox.device(), sandbox.makeFolder("drive")];
  await device.mount(`${url}/docs`, drive);
}, SLOW_MS);

afterEach(() => sandbox.cleanup(), SLOW_MS);

/** Output and result of the same program on a local disk. */
async function expected(): Promise<{ bytes: Buffer; said: string }> {
  const local = sandbox.path("local");
  writeFileSync(local, content);
  const { stdout } = await mustRun("python3", ["-c", PROGRAM, local]);
  return { bytes: readFileSync(local), said: stdout };
}

test.each(["was read before", "was not read before"])(
  "%s: it is what it is on a local disk, for others and in the folder, and lies once in the cache",
  async (which) => {
    const { bytes, said } = await expected();
    const file = join(drive, "large");
    if (which === "was read before") await onMount('cat "$1" > /dev/null', [file]);
    expect(await onMount('python3 -c "$2" "$1"', [file, PROGRAM], { deadlineMs: SLOW_MS })).toBe(said);
    await device.flush(drive, { up: true });
    expect(readFileSync(join(served, "large")).equals(bytes)).toBe(true);
    writeFileSync(sandbox.path("expected"), bytes);
    const other = sandbox.makeFolder("other");
    await sandbox.device("b").mount(`${url}/docs`, other);
    for (const at of [drive, other])
      expect(await onMount('cmp "$1/large" "$2" && echo same', [at, sandbox.path("expected")])).toBe("same\n");
    const { stdout } = await mustRun("du", ["--summarize", "--block-size=1", device.home]);
    expect(Number.parseInt(stdout, 10)).toBeLessThan(1.5 * FILE_BYTES);
  },
  2 * SLOW_MS,
);
