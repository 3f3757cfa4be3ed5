// Runs the racer on a drive of a server and an agent of its own.
import { fileURLToPath } from "node:url";
import { Sandbox, run } from "../harness/index.ts";
import type { RaceReport, RaceSettings } from "./racer.ts";

const RACER = fileURLToPath(new URL("racer.ts", import.meta.url));
/** Blocked calls of the system each take a thread. */
const THREADS = 64;

/** @returns what the racer found, and what status says then. */
export async function runRaces(
  settings: RaceSettings,
  deadlineMs: number,
): Promise<RaceReport & { incomplete: unknown[]; lost: unknown[]; problems: string[] }> {
  const sandbox = new Sandbox();
  try {
    const served = sandbox.makeFolder("served");
    const drive = sandbox.makeFolder("drive");
    const server = await sandbox.startServer({ volumes: { docs: served } });
    const device = sandbox.device();
    await device.mount(`${server.url}/docs`, drive);
    const env = { ...process.env, UV_THREADPOOL_SIZE: String(THREADS) };
    const { stdout, stderr, code } = await run(process.execPath, [RACER, drive, served, JSON.stringify(settings)], {
      deadlineMs,
      env,
    });
    if (code !== 0) throw new Error(`The racer ended with ${code}: ${stderr}`);
    const status = (await device.status()) as {
      mounts: { problems: string[]; server: { incomplete: unknown[]; lost: unknown[] } }[];
    };
    const [mount] = status.mounts;
    const { incomplete = [], lost = [] } = mount?.server ?? {};
    return { ...(JSON.parse(stdout) as RaceReport), incomplete, lost, problems: mount?.problems ?? [] };
  } finally {
    await sandbox.cleanup();
  }
}
