// The place where a suite runs: a drive, or the file system that drives are compared with.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Device, Sandbox, type ServerProcess, isAlive, isMounted, mustRun } from "../src/harness/index.ts";
import { waitFor } from "../src/harness/index.ts";
import { differences } from "./tree-list.ts";

export interface Place {
  /** An empty folder on the file system under test. */
  folder: string;
  env: NodeJS.ProcessEnv;
  /** Sentences about what is wrong after a suite; empty when all is well. */
  complaints(): Promise<string[]>;
  /** Takes it away, whatever state it is in. */
  close(): Promise<void>;
}

const BUILD_PASSTHROUGH = fileURLToPath(new URL("build-passthrough.sh", import.meta.url));
/** Fetching a source package and compiling it. */
const BUILD_MS = 300_000;
const MOUNTED_MS = 10_000;
/** Time in which what a suite left is applied to the folder and compared. */
const SETTLE_MS = 120_000;
/** Words in a log that no outside program can be the reason for. */
const SUSPICIOUS = /unexpected|assert|unhandled|uncaught|TypeError|RangeError|ReferenceError/i;

/** A place in a sandbox of its own, which outlives a suite's deadline. */
async function open(deadlineMs: number, make: (sandbox: Sandbox) => Promise<Place>): Promise<Place> {
  const sandbox = new Sandbox(deadlineMs + 4 * SETTLE_MS);
  try {
    return await make(sandbox);
  } catch (error) {
    await sandbox.cleanup();
    throw error;
  }
}

/** A drive with a server and an agent of its own. */
export function openDrive(deadlineMs: number): Promise<Place> {
  return open(deadlineMs, makeDrive);
}

async function makeDrive(sandbox: Sandbox): Promise<Place> {
  const served = sandbox.makeFolder("served");
  const server = await sandbox.startServer({ volumes: { docs: served } });
  const device = sandbox.device();
  const folder = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, folder);
  const agent = device.agentPid();
  return {
    folder,
    env: sandbox.env,
    complaints: () => complaintsOf({ server, device, agent, folder, served }),
    close: async () => void (await sandbox.cleanup()),
  };
}

interface DriveParts {
  server: ServerProcess;
  device: Device;
  agent: number;
  folder: string;
  served: string;
}

/**
 * Both processes lived, nothing odd is in their logs, nothing is unsent, and the served folder shows what the drive
 * shows.
 */
async function complaintsOf({ server, device, agent, folder, served }: DriveParts): Promise<string[]> {
  const said = (who: string, log: string): string[] =>
    log
      .split("\n")
      .filter((line) => SUSPICIOUS.test(line))
      .map((line) => `${who} said: ${line}`);
  const complaints = [...said("the server", server.stderr), ...said("the agent", readFileSync(device.logPath, "utf8"))];
  if (server.hasEnded) return [...complaints, "the server has ended"];
  if (!isAlive(agent)) return [...complaints, "the agent has ended"];
  try {
    await device.flush(folder, { up: true, deadlineMs: SETTLE_MS });
    complaints.push(...(await differences(folder, served, SETTLE_MS)));
    const [mount] = (await device.status())["mounts"] as { problems: string[]; unsentFiles: number }[];
    complaints.push(...(mount?.problems ?? ["the drive is gone"]));
    if ((mount?.unsentFiles ?? 0) > 0) complaints.push(`${mount?.unsentFiles} files are unsent`);
  } catch (error) {
    complaints.push((error as Error).message);
  }
  return complaints;
}

/** Builds libfuse's passthrough_hp as `program`, and returns that. */
export async function buildPassthrough(program: string): Promise<string> {
  await mustRun("bash", [BUILD_PASSTHROUGH, program], { deadlineMs: BUILD_MS });
  return program;
}

/** A folder of the local disk, seen through passthrough_hp. */
export function openPassthrough(program: string, deadlineMs: number): Promise<Place> {
  return open(deadlineMs, async (sandbox) => {
    const source = sandbox.makeFolder("source");
    const folder = sandbox.makeFolder("passthrough");
    spawn(program, ["--foreground", source, folder], { cwd: "/", env: sandbox.env, stdio: "ignore" });
    await waitFor(() => isMounted(folder), MOUNTED_MS, "passthrough_hp to be mounted");
    return {
      folder,
      env: sandbox.env,
      complaints: async () => [],
      close: async () => void (await sandbox.cleanup()),
    };
  });
}
