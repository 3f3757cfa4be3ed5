// A process that ends, or ends its worker threads, while the addons are at work. Arguments: what is at work ("core" or
// "drive"), how it ends ("exit" or "terminate"), how many milliseconds after it is under way, and a folder.
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { Worker, isMainThread, parentPort, workerData, type MessagePort } from "node:worker_threads";
import { keepCoreBusy, keepDriveBusy } from "./busy-addons.ts";

const TERMINATIONS = 4;

interface Work {
  what: string;
  folder: string;
}

const begin = ({ what, folder }: Work): Promise<void> => (what === "core" ? keepCoreBusy : keepDriveBusy)(folder);
const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Descriptors but those of files that JavaScript opened in the folder, which are JavaScript's to close. */
function countDescriptors(folder: string): number {
  const leadsElsewhere = (fd: string): boolean => {
    try {
      return !readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  };
  return readdirSync("/proc/self/fd").filter(leadsElsewhere).length;
}

const isMounted = (folder: string): boolean =>
  readFileSync("/proc/self/mountinfo", "utf8").includes(` ${join(folder, "mount")} `);

/** Threads and descriptors: what a worker thread must give back. */
const held = (folder: string): string => `${readdirSync("/proc/self/task").length} ${countDescriptors(folder)}`;

async function terminateOften(work: Work, afterMs: number): Promise<void> {
  let atFirst: string | undefined;
  for (let i = 0; i < TERMINATIONS; i++) {
    const worker = new Worker(new URL(import.meta.url), { workerData: work });
    worker.on("error", (error) => console.error(error));
    await new Promise((resolve) => {
      worker.once("message", resolve);
      worker.once("exit", resolve);
    });
    await after(afterMs);
    await worker.terminate();
    if (isMounted(work.folder)) throw new Error("the mount was left behind");
    atFirst ??= held(work.folder);
    // A thread that has been joined is listed for a moment more. The whole process has a deadline.
    while (held(work.folder) !== atFirst) await after(5);
  }
}

if (isMainThread) {
  const [what = "", how = "", afterMs = "", folder = ""] = process.argv.slice(2);
  if (how === "terminate") {
    await terminateOften({ what, folder }, Number(afterMs));
  } else {
    await begin({ what, folder });
    await after(Number(afterMs));
    process.exit(0);
  }
} else {
  await begin(workerData as Work);
  const port = parentPort as MessagePort;
  port.postMessage("under way");
}
