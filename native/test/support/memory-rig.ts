// The memory drive as the contract's engine, on the machine's own clock.
import { constants } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@runnel/shared";
import { memoryDrive, type MemoryDrive } from "../../drive.ts";
import { FakeAgent } from "./fake-agent.ts";
import { RIG_SETTINGS, waitUntil, agentOf, type DriveRig, type RigSettings } from "./drive-rig.ts";

/** The first node that the drive makes early; the agent's own are below it. */
const EARLY_NODES = 1_000_000;

/** The clock of this process. */
export const processClock: Clock = {
  bootMs: () => performance.now(),
  wallNs: () => BigInt(Date.now()) * 1_000_000n,
  after: (delayMs, fire) => {
    const timer = setTimeout(fire, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

export interface MemoryRig extends DriveRig {
  drive: MemoryDrive;
  fake: FakeAgent;
  /** The clock of drive and agent is ahead by so much more. */
  passTime(ms: number): void;
  /** From the first call on the kernel's clock goes on by these calls only. */
  passKernelTime(ms: number): void;
  /** Path of the log of early answers; they are allowed from here on. */
  allowEarly(): string;
}

export async function memoryRig(changes: Partial<RigSettings> = {}, isReadOnly = false): Promise<MemoryRig> {
  const folder = await mkdtemp(join(tmpdir(), "runnel-drive-"));
  const overlayFolder = join(folder, "overlay");
  await mkdir(overlayFolder);
  const settings = { ...RIG_SETTINGS, ...changes };
  let passedMs = 0;
  const clock: Clock = { ...processClock, bootMs: () => processClock.bootMs() + passedMs };
  let kernelMs: number | undefined;
  const drive = memoryDrive(
    { mountpoint: "", source: "runnel:test", overlayFolder, overlayPrefix: "test", isReadOnly, ...settings },
    clock,
    () => kernelMs ?? clock.bootMs(),
  );
  const fake = new FakeAgent(drive, join(folder, "cache"), () => clock.bootMs());
  await fake.start();
  const agent = agentOf(fake);
  const program = drive.program();
  return {
    drive,
    fake,
    agent,
    program,
    passKernelTime: (ms) => {
      kernelMs = (kernelMs ?? clock.bootMs()) + ms;
    },
    passTime: (ms) => {
      passedMs += ms;
    },
    allowEarly: () => {
      const path = join(folder, "early");
      if (!drive.openEarlyLog(path, "boot", 1)) throw new Error("There can be no log of early answers.");
      drive.giveNodes(EARLY_NODES, 1_000);
      drive.allowEarly(true);
      return path;
    },
    until: waitUntil,
    openInterrupted: async (path) => {
      const controller = new AbortController();
      const opening = program.open(path, constants.O_RDONLY, 0, controller.signal);
      const outcome = opening.then(
        () => "opened",
        (error: { errno?: number }) => error.errno,
      );
      await waitUntil(async () => fake.heldCount() > 0);
      controller.abort();
      const got = await outcome;
      if (got !== 4) throw new Error(`an interrupted open ended with ${got}, not with EINTR`);
    },
    close: async () => {
      await drive.close(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs with a rig of its own, which is closed whatever comes of it. */
export async function withRig(run: (rig: MemoryRig) => Promise<void>): Promise<void> {
  const rig = await memoryRig();
  try {
    await run(rig);
  } finally {
    await rig.close();
  }
}
