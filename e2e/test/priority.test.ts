// Reads that someone waits for do not wait behind a large upload on a slow line.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, killGroup, onMount, waitFor, waitForMount } from "../src/harness/index.ts";

const RTT_MS = 300;
const BITS_PER_SECOND = 1.5e6;
/** 20 ms of the line's rate. */
const BULK_FRAME_MS = 20;
/** A loaded machine with two cores: processes to be started, and an agent that cuts and digests meanwhile. */
const MARGIN_MS = 400;
const BOUND_MS = 3 * RTT_MS + BULK_FRAME_MS + MARGIN_MS;
const UPLOAD_BYTES = process.env["RUNNEL_LONG"] === undefined ? 150_000_000 : 500_000_000;
/** The line is full, and its rate known. */
const UNDER_WAY_BYTES = 1_000_000;
const ROUNDS = 4;
const SLOW_MS = 240_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox(SLOW_MS);
});

afterEach(() => sandbox.cleanup(), 120_000);

/** Milliseconds that a command on a drive takes. */
async function took(command: string, ...args: string[]): Promise<number> {
  const script = `from=$(date +%s%N); ${command} >&2; echo $(( ($(date +%s%N) - from) / 1000000 ))`;
  return Number(await onMount(script, args));
}

test(
  "[W51] [W52] while a large file goes up a line of 1.5 Mbit/s, a folder never seen is listed, a small file read and another client's change acknowledged within 3 round trips and a bulk frame",
  async () => {
    const served = sandbox.makeFolder("served");
    for (let round = 0; round < ROUNDS; round++) writeFileSync(join(served, `small ${round}`), `content ${round}`);
    const server = await sandbox.startServer({ volumes: { docs: served } });
    const link = await sandbox.startEmulator(server.port, {});
    const [device, other] = [sandbox.device("one"), sandbox.device("other")];
    const [drive, otherDrive] = [sandbox.makeFolder("drive"), sandbox.makeFolder("other-drive")];
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    await other.mount(`${server.url}/docs`, otherDrive);
    await waitForMount(device, ({ state }) => state === "connected", SLOW_MS, "the listing");
    await link.setShape({ upBitsPerSecond: BITS_PER_SECOND, downBitsPerSecond: BITS_PER_SECOND, rttMs: RTT_MS });
    await link.resetCounts();
    const script = 'head -c "$2" /dev/urandom > "$1/big"';
    const writer = spawn("bash", ["-c", script, "bash", drive, String(UPLOAD_BYTES)], {
      cwd: "/",
      env: sandbox.env,
      detached: true,
      stdio: "ignore",
    });
    try {
      const isUnderWay = async (): Promise<boolean> => (await link.counts()).up.sentBytes > UNDER_WAY_BYTES;
      await waitFor(isUnderWay, SLOW_MS, "the upload");
      const { sentBytes } = (await link.counts()).up;
      let tookMs = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const folder = `folder ${round}`;
        // The other client is answered when this one has acknowledged.
        const changed = await took('mkdir "$1/$2"', otherDrive, folder);
        const listed = await took('ls "$1/$2"', drive, folder);
        const read = await took('cat "$1/$2"', drive, `small ${round}`);
        const asked = await took('df "$1"', drive);
        for (const ms of [changed, listed, read, asked]) expect(ms).toBeLessThanOrEqual(BOUND_MS);
        tookMs += changed + listed + read + asked;
      }
      // The line was full, but for the pauses in which its round trip is measured.
      const { up } = await link.counts();
      expect(up.sentBytes - sentBytes).toBeGreaterThan((tookMs * BITS_PER_SECOND) / 8 / 1000 / 2);
    } finally {
      killGroup(writer);
    }
  },
  SLOW_MS,
);
