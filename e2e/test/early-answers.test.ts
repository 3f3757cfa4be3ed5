// Changes that the drive answers before the agent has heard of them: an agent that is killed in the next moment has
// them, and the server gets them.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { systemBoot } from "@runnel/native";
import { leftEarly } from "@runnel/native/drive";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Device, Sandbox, type ServerProcess, isAlive, onMountInNode, waitFor } from "../src/harness/index.ts";

const FILES = 240;

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;
let device: Device;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  server = await sandbox.startServer({ volumes: { docs: served } });
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${server.port}/docs`, drive, ["--mode", "async"]);
}, 60_000);

afterEach(() => sandbox.cleanup(), 60_000);

/** Paths of the logs of early answers below a home. */
function logs(home: string): string[] {
  return readdirSync(home, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("/early"))
    .map((path) => join(home, path));
}

/** Counts what the logs have that the agent did not record. */
function left(): number {
  return logs(device.home).reduce((sum, path) => sum + leftEarly(path, systemBoot()).requests.length, 0);
}

const ASYNC = ["--mode", "async"];
/** An agent that keeps up has nothing in its log at the moment in which it is killed. */
const ROUNDS_MAX = 5;

/** Makes files, and has the server get them. */
async function makeFiles(folder: string): Promise<void> {
  await onMountInNode(
    async ({ path, files }: { path: string; files: number }) => {
      const { chmodSync, mkdirSync, writeFileSync } = await import("node:fs");
      mkdirSync(path);
      for (let n = 0; n < files; n++) writeFileSync(`${path}/${n}`, `content ${n}`);
      chmodSync(`${path}/0`, 0o600);
    },
    { path: join(drive, folder), files: FILES },
  );
  await device.flush(drive);
}

/** Changes modes and names, makes folders and files, saves, and kills the agent with the last of it. */
async function changeAndKill(folder: string): Promise<void> {
  await onMountInNode(
    async ({ path, files, pid }: { path: string; files: number; pid: number }) => {
      const { chmodSync, mkdirSync, renameSync, unlinkSync, writeFileSync } = await import("node:fs");
      for (let n = 0; n < files; n += 2) {
        chmodSync(`${path}/${n}`, 0o640);
        renameSync(`${path}/${n}`, `${path}/moved-${n}`);
        unlinkSync(`${path}/${n + 1}`);
        mkdirSync(`${path}/folder-${n}`, 0o750);
        writeFileSync(`${path}/folder-${n}/temporary`, `new content ${n}`, { mode: 0o640 });
        renameSync(`${path}/folder-${n}/temporary`, `${path}/folder-${n}/new`);
        writeFileSync(`${path}/moved-${n}`, `another content ${n}`);
      }
      process.kill(pid, "SIGKILL");
    },
    { path: join(drive, folder), files: FILES, pid: device.agentPid() },
  );
  await waitFor(() => !isAlive(device.agentPid()), 5000, "the agent to end");
}

test("a program changes, makes and saves, and the agent is killed in the same moment: nothing of it is lost", async () => {
  const numbers = Array.from({ length: FILES / 2 }, (_, n) => 2 * n);
  const names = numbers.flatMap((n) => [`moved-${n}`, `folder-${n}`]).toSorted();
  let wereLeft = 0;
  for (let round = 0; wereLeft === 0 && round < ROUNDS_MAX; round++) {
    const folder = `made-${round}`;
    await makeFiles(folder);
    await changeAndKill(folder);
    wereLeft = left();
    await device.mount(`ws://127.0.0.1:${server.port}/docs`, drive, ASYNC);
    await device.flush(drive, { up: true });
    expect(readdirSync(join(served, folder)).toSorted()).toEqual(names);
    for (const n of numbers) {
      const at = (name: string): string => join(served, folder, name);
      expect(statSync(at(`moved-${n}`)).mode & 0o777).toBe(0o640);
      expect(readFileSync(at(`moved-${n}`), "utf8")).toBe(`another content ${n}`);
      expect(statSync(at(`folder-${n}`)).mode & 0o777).toBe(0o750);
      expect(readdirSync(at(`folder-${n}`))).toEqual(["new"]);
      expect(readFileSync(at(`folder-${n}/new`), "utf8")).toBe(`new content ${n}`);
    }
  }
  expect(wereLeft).toBeGreaterThan(0);
  const [mount] = (await device.status())["mounts"] as { problems: string[] }[];
  expect(mount?.problems).toEqual([]);
  expect(left()).toBe(0);
}, 120_000);
