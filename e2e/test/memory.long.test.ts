// Memory under load: what the agent and the server hold at the most, sampled all the time, and what the cache takes on
// disk.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { Sandbox, mustRun, onMount, onMountInNode, waitFor, watchMemory } from "../src/harness/index.ts";
import type { Device, ServerProcess } from "../src/harness/index.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
/** Each, of agent and server. */
const RESIDENT_MB_MAX = 300;
const TEST_MS = 30 * 60_000;
const STEP_MS = 15 * 60_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox(TEST_MS);
});

afterEach(() => sandbox.cleanup(), 120_000);

/**
 * Files f0, f1 … in a folder: writes them, or reads them and compares. Their bytes come from the number of the file.
 */
async function throughFiles(task: { folder: string; files: number; bytes: number; isReading: boolean }): Promise<void> {
  const fs = await import("node:fs");
  const { createCipheriv } = await import("node:crypto");
  const step = Math.min(task.bytes, 1048576);
  const zeros = Buffer.alloc(step);
  const got = Buffer.alloc(step);
  for (let i = 0; i < task.files; i++) {
    const stream = createCipheriv("aes-128-ctr", Buffer.alloc(16, i & 255), Buffer.alloc(16, i >> 8));
    const file = fs.openSync(`${task.folder}/f${i}`, task.isReading ? "r" : "w");
    for (let at = 0; at < task.bytes; at += step) {
      const bytes = stream.update(zeros);
      if (!task.isReading) fs.writeSync(file, bytes);
      else if (fs.readSync(file, got) !== step || !got.equals(bytes)) throw new Error(`f${i} differs at ${at}`);
    }
    fs.closeSync(file);
  }
}

async function cacheBytes(device: Device): Promise<number> {
  const { mounts } = (await device.status()) as { mounts?: { cacheBytes: number }[] };
  return mounts?.[0]?.cacheBytes ?? Number.NaN;
}

interface Drive {
  server: ServerProcess;
  device: Device;
  drive: string;
}

async function mounted(served: string, options: string[] = []): Promise<Drive> {
  const server = await sandbox.startServer({ volumes: { docs: served }, readyMs: STEP_MS });
  const device = sandbox.device();
  const drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive, options);
  return { server, device, drive };
}

function watched({ server, device }: Drive): ReturnType<typeof watchMemory> {
  return watchMemory({ agent: device.agentPid(), server: server.child.pid ?? 0 });
}

/** Prints the figures too: a limit that holds says nothing of how near it is. */
function expectSmall(peaks: Record<string, number>): void {
  console.log(`largest resident memory: ${JSON.stringify(peaks)} MB`);
  for (const peak of Object.values(peaks)) expect(peak).toBeLessThan(RESIDENT_MB_MAX);
}

describe("memory", () => {
  test(
    "10 GB written and read again, in many files and in one, keep agent and server small and the cache within its budget",
    async () => {
      const budget = 1 * GiB;
      const { bavail, bsize } = statfsSync(tmpdir());
      // Removed files stay in the trash for a while.
      expect(bavail * bsize).toBeGreaterThan(24 * GiB);
      const place = await mounted(sandbox.makeFolder("served"), ["--cache-size", "1G"]);
      const { device, drive } = place;
      const memory = watched(place);
      const work = [...Array.from({ length: 6 }, () => ({ files: 256, bytes: 4 * MiB })), { files: 1, bytes: 4 * GiB }];
      for (const [index, files] of work.entries()) {
        const folder = `${drive}/${index}`;
        await onMount('mkdir "$1"', [folder]);
        await onMountInNode(throughFiles, { folder, ...files, isReading: false }, { deadlineMs: STEP_MS });
        await onMountInNode(throughFiles, { folder, ...files, isReading: true }, { deadlineMs: STEP_MS });
        await onMount('rm -r "$1"', [folder], { deadlineMs: STEP_MS });
        await waitFor(async () => (await cacheBytes(device)) <= budget, 60_000, "the cache to be within its budget");
        console.log(`after step ${index}: ${JSON.stringify(memory.peaks())} MB`);
      }
      expectSmall(memory.end());
    },
    TEST_MS,
  );

  test(
    "500,000 files listed keep agent and server small",
    async () => {
      const served = sandbox.makeFolder("served");
      const make = `import os, sys
for d in range(500):
    p = f"{sys.argv[1]}/d{d:03}"
    os.mkdir(p)
    for f in range(1000):
        os.close(os.open(f"{p}/file-{f:04}.txt", os.O_CREAT | os.O_WRONLY, 0o644))`;
      await mustRun("python3", ["-c", make, served], { deadlineMs: STEP_MS });
      const place = await mounted(served);
      const memory = watched(place);
      const { device, drive } = place;
      const isListed = async (): Promise<boolean> => {
        const { mounts } = (await device.status()) as { mounts?: { state: string }[] };
        return mounts?.[0]?.state === "connected";
      };
      await waitFor(isListed, STEP_MS, "the tree to be listed");
      console.log(`listed: ${JSON.stringify(memory.peaks())} MB`);
      for (let round = 0; round < 2; round++) {
        const found = await onMount('find "$1" -type f | wc -l; ls -lR "$1" | wc -c', [drive], { deadlineMs: STEP_MS });
        expect(found.split("\n")[0]).toBe("500000");
      }
      const replica = await onMount('du -cb "$1"/mounts/*/replica.sqlite | tail -1 | cut -f1', [device.home]);
      console.log(`replica: ${Math.round(Number(replica) / 500_500)} bytes an entry`);
      expect(Number(replica) / 500_500).toBeLessThan(300);
      expectSmall(memory.end());
    },
    TEST_MS,
  );
});
