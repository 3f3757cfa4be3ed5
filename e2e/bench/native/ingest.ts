// A server's volume that finds files in its folder, with its event loop in this process: how fast it cuts and digests
// them, and how long the loop keeps others waiting meanwhile.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Histogram, monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { realDisk, threadExecutor } from "@runnel/native";
import { type OpenedVolume, openSqliteMetaStore, openVolume } from "@runnel/server/internals";
import { RealClock } from "@runnel/shared";
import { randomBytes } from "./contents.ts";

export interface Files {
  count: number;
  /** Bytes of all files together. */
  bytes: number;
}

export interface IngestFigures extends Files {
  seconds: number;
  cpuMs: number;
  /** Delay of the event loop, beyond what it asked for. */
  delayP50Ms: number;
  delayP99Ms: number;
  delayMaxMs: number;
  /** The same without any work. */
  idleP99Ms: number;
}

const RESOLUTION_MS = 1;
const IDLE_MS = 2000;
const POLL_MS = 20;
const DEADLINE_MS = 10 * 60_000;

const lateMs = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);

async function watched(work: () => Promise<void>): Promise<Histogram> {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  await work();
  delay.disable();
  return delay;
}

export async function measureIngest({ count, bytes }: Files): Promise<IngestFigures> {
  const folder = await mkdtemp(join(tmpdir(), "runnel-bench-"));
  const [served, dataFolder] = [join(folder, "served"), join(folder, "data")];
  try {
    await mkdir(served);
    for (let index = 0; index < count; index++) {
      await writeFile(join(served, `${index}`), randomBytes(Math.ceil(bytes / count), 10 + index));
    }
    const idle = await watched(() => sleep(IDLE_MS));
    const opened = await open(served, dataFolder);
    try {
      const cpu = process.cpuUsage();
      const startMs = performance.now();
      const busy = await watched(() => untilCut(opened, startMs + DEADLINE_MS));
      const { user, system } = process.cpuUsage(cpu);
      return {
        count,
        bytes,
        seconds: (performance.now() - startMs) / 1000,
        cpuMs: (user + system) / 1000,
        delayP50Ms: lateMs(busy.percentile(50)),
        delayP99Ms: lateMs(busy.percentile(99)),
        delayMaxMs: lateMs(busy.max),
        idleP99Ms: lateMs(idle.percentile(99)),
      };
    } finally {
      await opened.volume.close();
      await opened.release();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** When it resolves, the files have been seen and not been cut. */
async function open(folder: string, dataFolder: string): Promise<OpenedVolume> {
  const opened = await openVolume(
    { name: "files", folder },
    {
      clock: new RealClock(),
      executor: threadExecutor(),
      disk: realDisk(),
      dataFolder,
      openMeta: async (metaFolder, create) => {
        await mkdir(metaFolder, { recursive: true });
        return openSqliteMetaStore(metaFolder, create === undefined ? {} : { create });
      },
      warn: (message, error) => console.error(message, error ?? ""),
    },
  );
  await opened.volume.firstScan;
  return opened;
}

async function untilCut({ volume }: OpenedVolume, deadlineMs: number): Promise<void> {
  while ((await volume.meta.withoutRecipe(1)).length > 0) {
    if (performance.now() > deadlineMs) throw new Error("The server did not cut the files in time.");
    await sleep(POLL_MS);
  }
}
