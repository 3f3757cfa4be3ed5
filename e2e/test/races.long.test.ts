// The same as races.test.ts, thousands of times, and of large files.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, onMount, waitFor } from "../src/harness/index.ts";
import type { Device } from "../src/harness/index.ts";
import { runRaces } from "../src/races/run-races.ts";

const KB = 1000;
const MB = 1000 * KB;
const RACES_MS = 40 * 60_000;

test.each([
  ["6,000 of up to 64 KB", { trials: 1_500, sizesBytes: [64 * KB, 40 * KB, 20 * KB, 9 * KB] }, 4],
  ["570 of 1 to 4 MB", { trials: 95, sizesBytes: [4 * MB, MB, 2 * MB] }, 6],
  ["30 of 100 MB", { trials: 10, sizesBytes: [100 * MB] }, 3],
])(
  "a save and a write in the folder at once: both contents are there, %s",
  async (_name, settings, rounds) => {
    for (let seed = 1; seed <= rounds; seed++) {
      const report = await runRaces({ ...settings, parallel: 10, seed }, RACES_MS);
      expect(report.faults).toEqual([]);
      expect(report.incomplete).toEqual([]);
    }
  },
  RACES_MS,
);

/** Saves an edit of a file that it has read, and kills the server as soon as that is acknowledged. */
const SAVE_AND_KILL = `python3 -c '
import os, signal, sys
fd = os.open(sys.argv[1] + "/big", os.O_RDWR)
os.pwrite(fd, b"EDITED", 30000000)
os.close(fd)
os.kill(int(sys.argv[2]), signal.SIGKILL)
' "$1" "$2"`;

describe("a server that is killed as a save is acknowledged, and a program that overwrites what the save copies", () => {
  let sandbox: Sandbox;
  let served: string;
  let device: Device;
  let wanted: Buffer;
  let restart: () => Promise<unknown>;

  /** Up to the program's write: 20 MB of the base are gone. */
  async function destroyed(): Promise<void> {
    served = sandbox.makeFolder("served");
    const [data, drive] = [sandbox.makeFolder("data"), sandbox.makeFolder("drive")];
    const base = randomBytes(60 * MB);
    wanted = Buffer.from(base);
    wanted.write("EDITED", 30 * MB);
    writeFileSync(join(served, "big"), base);
    const server = await sandbox.startServer({ volumes: { docs: served }, data });
    await device.mount(`${server.url}/docs`, drive);
    await onMount('cat "$1/big" > /dev/null', [drive], { deadlineMs: 60_000 });
    await onMount(SAVE_AND_KILL, [drive, String(server.child.pid)], { deadlineMs: 60_000 });
    await server.ended;
    expect(readFileSync(join(served, "big")).equals(base)).toBe(true);
    const file = openSync(join(served, "big"), "r+");
    writeSync(file, randomBytes(20 * MB), 0, 20 * MB, 5 * MB);
    closeSync(file);
    // Files that the killed server had begun to make of it are gone too.
    for (const name of readdirSync(join(served, ".runnel-store/temp")))
      if (name.endsWith(".new")) rmSync(join(served, ".runnel-store/temp", name));
    restart = () => sandbox.startServer({ volumes: { docs: served }, data, listen: `127.0.0.1:${server.port}` });
  }

  beforeEach(() => {
    sandbox = new Sandbox();
    device = sandbox.device();
  });

  afterEach(() => sandbox.cleanup(), 120_000);

  test("[W160] the client that saved brings them", async () => {
    await destroyed();
    await restart();
    await waitFor(() => readFileSync(join(served, "big")).equals(wanted), 60_000, "the save in the folder");
    const { mounts } = (await device.status()) as { mounts: { server: { incomplete: unknown[] } }[] };
    expect(mounts[0]?.server.incomplete).toEqual([]);
  });

  test("[F163] without it, the bytes are named and the rest lies beside", async () => {
    await destroyed();
    await device.killAgent();
    await restart();
    const beside = (): string => readdirSync(served).find((name) => name.startsWith("big (conflict")) ?? "";
    await waitFor(() => beside() !== "", 60_000, "what there is of the save");
    const bytes = readFileSync(join(served, beside()));
    expect(bytes.subarray(30 * MB).equals(wanted.subarray(30 * MB))).toBe(true);
    expect(bytes.subarray(0, 4 * MB).equals(wanted.subarray(0, 4 * MB))).toBe(true);
    expect(bytes).toHaveLength(wanted.length);
  });
});
