// Keeps the addons' threads at work until the process or the worker thread ends, for tests that end it at a bad moment.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { kernelDrive } from "../../drive.ts";
import { realDisk, threadExecutor } from "../../index.ts";
import { FakeAgent } from "./fake-agent.ts";
import { RIG_SETTINGS } from "./drive-rig.ts";

const FILES = 20;
/** A program that hangs on the mount is ended after this. */
const PROGRAM_S = "30";

async function forever(work: () => Promise<unknown>): Promise<never> {
  while (true) await work();
}

/** Watches that come and go, events, files and computations, all at once. Resolves when everything is under way. */
export async function keepCoreBusy(folder: string): Promise<void> {
  const root = await realDisk().openRoot(folder);
  const executor = threadExecutor();
  const bytes = new Uint8Array(1 << 20);
  const file = await root.open("file", "create");
  await file.write(0, bytes);
  await root.watch(() => {});
  void forever(async () => (await root.watch(() => {})).close());
  void forever(() => root.setStat("file", { mode: 0o600 }));
  void forever(() => file.write(0, bytes));
  void forever(() => file.sync());
  void forever(() => executor.digestFile(file, [{ offset: 0, length: bytes.length }]));
  void forever(() => executor.digestFiles(root, [{ path: "file", ranges: [{ offset: 0, length: 9 }] }], true));
  void forever(() => executor.chunkBytes(bytes));
  void forever(async () => executor.compress(new Uint8Array(100_000), 3));
}

/** CLOCK_BOOTTIME to a hundredth. */
const bootMs = (): number => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1000;

/** A drive of its own for the fake agent, mounted at `folder`/mount. */
export function driveAt(folder: string): FakeAgent {
  const mountpoint = join(folder, "mount");
  const overlayFolder = join(folder, "overlay");
  for (const each of [mountpoint, overlayFolder]) mkdirSync(each, { recursive: true });
  const drive = kernelDrive({
    ...RIG_SETTINGS,
    mountpoint,
    source: "runnel:test",
    overlayFolder,
    overlayPrefix: "test",
    isReadOnly: false,
  });
  return new FakeAgent(drive, join(folder, "cache"), bootMs);
}

/** A mount, and a program that lists, reads and writes on it until it fails. Resolves when it is mounted. */
export async function keepDriveBusy(folder: string): Promise<void> {
  const fake = driveAt(folder);
  await fake.start();
  fake.fill("folder", FILES);
  const use = 'cd "$0" && while ls -lR . && cat folder/* && echo more >> new; do :; done';
  spawn("timeout", ["-k", "1", PROGRAM_S, "sh", "-c", use, join(folder, "mount")], { cwd: "/", stdio: "ignore" });
  void forever(async () => {
    fake.remoteWrite("folder/f1", Buffer.from(String(Math.random())));
    await new Promise((resolve) => setImmediate(resolve));
  });
}
