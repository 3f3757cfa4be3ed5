// Engines behind the console, at a real server with real drives: volumes that are made while it runs, who waits for
// whom, what is open, and connections that are ended. Looked at over the console's own calls, and on the disk.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConnectionRow, LeaseRow, OpenFileRow, Overview, RecallRow, ViewList } from "@runnel/server/internals";
import { type ConsolePage, openConsolePage } from "../src/harness/clients/console-page.ts";
import {
  type Device,
  type RunResult,
  Sandbox,
  type ServerProcess,
  refusalOf,
  run,
  waitFor,
} from "../src/harness/index.ts";

/** Long enough to look at a change that waits. */
const LEASE_TERM_S = 15;

let sandbox: Sandbox;
let server: ServerProcess;
let one: Device;
let other: Device;
const opened: ConsolePage[] = [];

beforeEach(async () => {
  sandbox = new Sandbox();
  sandbox.makeFolder("srv", "photos", "inner");
  sandbox.makeFolder("outside");
  symlinkSync(sandbox.path("outside"), sandbox.path("srv", "link"));
  writeFileSync(sandbox.path("srv", "photos", "one.txt"), "one\n");
  server = await start("127.0.0.1:0");
  [one, other] = [sandbox.device("a"), sandbox.device("b")];
}, 60_000);

afterEach(async () => {
  for (const page of opened.splice(0)) page.close();
  await sandbox.cleanup();
}, 60_000);

function start(listen: string): Promise<ServerProcess> {
  const volumes = { docs: sandbox.makeFolder("served") };
  return sandbox.startServer({ volumes, listen, leaseTerm: LEASE_TERM_S, args: ["--offer", sandbox.path("srv")] });
}

async function openConsole(): Promise<ConsolePage> {
  const page = await openConsolePage(one, sandbox.path("data"));
  opened.push(page);
  return page;
}

function sh(folder: string, script: string): Promise<RunResult> {
  return run("sh", ["-c", script], { cwd: folder });
}

async function mounted(device: Device): Promise<string[]> {
  const { mounts } = (await device.status()) as unknown as { mounts: { state: string }[] };
  return mounts.map(({ state }) => state);
}

/** State of the server, as a page is shown it first. */
async function shown(page: ConsolePage, ...wants: ViewList[]): Promise<Shown> {
  const ending = new AbortController();
  let state: Shown | undefined;
  const take = (part: object): void => {
    if ("snapshot" in part) state = part.snapshot as Shown;
    ending.abort();
  };
  await page.ask("view", { wants }, take, ending.signal);
  if (state === undefined) throw new Error("The view began without a state.");
  return state;
}

interface Shown {
  head: Overview;
  lists: {
    connections: ConnectionRow[];
    openFiles: OpenFileRow[];
    leases: LeaseRow[];
    recalls: RecallRow[];
  };
}

async function kindOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => "done",
    (error: unknown) => (error as { kind: string }).kind,
  );
}

test("a volume is made of an offered folder, mounted at once, there after a kill, stopped and served again", async () => {
  const page = await openConsole();
  const path = (...parts: string[]): string => sandbox.path("srv", ...parts);
  const { folders } = await page.ask("offered", { path: sandbox.path("srv") });
  expect(folders).toEqual([{ name: "photos", path: path("photos"), volume: null }]);
  for (const [name, folder, kind] of [
    ["photos", path("link"), "NotFolder"],
    ["photos", `${path("photos")}/../../outside`, "Invalid"],
    ["photos", sandbox.path("outside"), "Denied"],
    ["photos", sandbox.path("data"), "Denied"],
    ["photos", path("nothing"), "NotFound"],
    ["../photos", path("photos"), "Invalid"],
    ["docs", path("photos"), "Exists"],
  ] as const)
    expect([name, folder, await kindOf(page.ask("createVolume", { name, folder }))]).toEqual([name, folder, kind]);

  const asked = [
    page.ask("createVolume", { name: "photos", folder: path("photos") }),
    page.ask("createVolume", { name: "again", folder: path("photos") }),
  ];
  expect(await Promise.all(asked.map(kindOf))).toEqual(["done", "Invalid"]);
  expect(await kindOf(page.ask("createVolume", { name: "inner", folder: path("photos", "inner") }))).toBe("Invalid");
  const drive = sandbox.makeFolder("drive");
  await one.mount(`${server.url}/photos`, drive);
  expect((await sh(drive, "cat one.txt && echo two > two.txt")).stdout).toBe("one\n");
  await one.flush(drive, { up: true });
  expect(readFileSync(path("photos", "two.txt"), "utf8")).toBe("two\n");

  await server.kill();
  const { port } = server;
  const clash = ["serve", "--volume", `photos=${sandbox.path("outside")}`, "--data", sandbox.path("data"), "--json"];
  expect(refusalOf(await one.runnel(clash))).toMatchObject({ code: 2, kind: "Invalid" });
  server = await start(`127.0.0.1:${port}`);
  const after = await openConsole();
  const { volumes } = await after.ask("volumes", {});
  expect(volumes.map(({ name, isMade, isStopped }) => [name, isMade, isStopped])).toEqual([
    ["docs", false, false],
    ["photos", true, false],
  ]);
  await waitFor(async () => (await mounted(one))[0] === "connected", 20_000, "the drive to be connected again");
  expect((await sh(drive, "cat two.txt")).stdout).toBe("two\n");

  const { entries, isWhole } = await after.ask("browse", { volume: "photos", path: "" });
  expect([entries.map(({ name, kind }) => `${kind} ${name}`), isWhole]).toEqual([
    ["folder inner", "file one.txt", "file two.txt"],
    true,
  ]);
  expect(await kindOf(after.ask("browse", { volume: "photos", path: "../.." }))).toBe("NotFound");
  await waitFor(
    async () => (await after.ask("volumes", {})).volumes[1]?.files === 2,
    10_000,
    "the files of the volume to be counted",
  );
  expect(await kindOf(after.ask("setVolume", { name: "docs", isServed: false }))).toBe("Invalid");
  await after.ask("setVolume", { name: "photos", isServed: false });
  await waitFor(async () => (await mounted(one))[0] === "offline", 10_000, "the drive to be offline");
  await after.ask("setVolume", { name: "photos", isServed: true });
  await waitFor(async () => (await mounted(one))[0] === "connected", 30_000, "the drive to be connected once more");
  expect((await sh(drive, "echo three > three.txt")).code).toBe(0);
  expect((await shown(after)).head).toMatchObject({ devices: 0, connections: 1, people: 0 });
  await one.unmount(drive);
  expect(await kindOf(after.ask("removeVolume", { name: "photos" }))).toBe("Invalid");
  await after.ask("setVolume", { name: "photos", isServed: false });
  await after.ask("removeVolume", { name: "photos" });
  expect((await after.ask("volumes", {})).volumes.map(({ name }) => name)).toEqual(["docs"]);
  expect(readFileSync(path("photos", "three.txt"), "utf8")).toBe("three\n");
  // Made again of the same folder, it goes on where it was.
  await after.ask("createVolume", { name: "photos", folder: path("photos") });
  await one.mount(`${server.url}/photos`, drive);
  expect((await sh(drive, "cat three.txt")).stdout).toBe("three\n");
  const log = (await one.ask(["audit", "--data", sandbox.path("data")])) as {
    entries: { act: string; result: string }[];
  };
  const acts = log.entries.map(({ act, result }) => `${act} ${result}`);
  for (const act of [
    "volumeMake done",
    "volumeMake NotFolder",
    "volumeMake Exists",
    "volumeStop done",
    "volumeResume done",
    "volumeRemove Invalid",
    "volumeRemove done",
  ])
    expect(acts).toContain(act);
}, 120_000);

test("who waits for whom is shown while it lasts, with what is open; a connection that is ended comes back", async () => {
  const page = await openConsole();
  const [here, there] = [sandbox.makeFolder("here"), sandbox.makeFolder("there")];
  await one.mount(`${server.url}/docs`, here);
  await other.mount(`${server.url}/docs`, there);
  await sh(here, "echo first > report.txt");
  // Both follow its folder now. A file that was made here and not opened since is none that is open.
  for (const drive of [here, there]) expect((await sh(drive, "ls; cat report.txt")).stdout).toContain("first");
  await waitFor(
    async () => (await shown(page, "openFiles")).lists.openFiles.some(({ path }) => path === "report.txt"),
    10_000,
    "the file to be open",
  );
  const { connections } = (await shown(page, "connections")).lists;
  expect(connections.map(({ volumes, address }) => [volumes, address])).toEqual([
    [["docs"], "127.0.0.1"],
    [["docs"], "127.0.0.1"],
  ]);

  const asleep = other.agentPid();
  process.kill(asleep, "SIGSTOP");
  try {
    const saving = sh(here, "echo second > report.txt");
    const [recall] = await waitFor(
      async () => {
        const { recalls } = (await shown(page, "recalls")).lists;
        return recalls.length > 0 ? recalls : undefined;
      },
      10_000,
      "the save to wait",
    );
    expect(recall).toMatchObject({ volume: "docs", path: "report.txt" });
    expect(recall?.holders).toHaveLength(1);
    const waits = async (): Promise<number[]> =>
      (await shown(page, "leases")).lists.leases.map(({ waits: names }) => names.length);
    // The list may be that of a second ago.
    await waitFor(async () => (await waits()).join() === "0,1", 10_000, "the holder to be named");
    process.kill(asleep, "SIGCONT");
    expect((await saving).code).toBe(0);
  } finally {
    process.kill(asleep, "SIGCONT");
  }
  await waitFor(
    async () => (await shown(page, "recalls")).lists.recalls.length === 0,
    10_000,
    "nobody to wait any more",
  );

  const [first] = connections;
  await page.ask("disconnect", { connection: first?.key ?? "" });
  await waitFor(
    async () => {
      const now = (await shown(page, "connections")).lists.connections;
      return now.length === 2 && now.every(({ key }) => key !== first?.key);
    },
    20_000,
    "the client to connect again",
  );
  expect(await kindOf(page.ask("disconnect", { connection: first?.key ?? "" }))).toBe("NotFound");
  expect((await sh(here, "cat report.txt && echo third > report.txt")).stdout).toBe("second\n");
}, 120_000);

test("a file that a program has open is shown so again when its client was stalled and cut off, also once it is saved", async () => {
  const page = await openConsole();
  const drive = sandbox.makeFolder("here");
  writeFileSync(sandbox.path("served", "minutes.txt"), "first\n");
  await one.mount(`${server.url}/docs`, drive);
  expect((await sh(drive, "until cat minutes.txt; do sleep 0.1; done")).stdout).toBe("first\n");
  const holder = spawn("bash", ["-c", 'exec 3<> "$1"; cat; echo >&3', "bash", join(drive, "minutes.txt")]);
  try {
    const isOpen = async (): Promise<boolean> =>
      (await shown(page, "openFiles")).lists.openFiles.some((row) => row.path === "minutes.txt");
    await waitFor(isOpen, 20_000, "the file to be open");
    const cutOff = async (): Promise<void> => {
      const [connection] = (await shown(page, "connections")).lists.connections;
      const stalled = one.agentPid();
      process.kill(stalled, "SIGSTOP");
      try {
        await page.ask("disconnect", { connection: connection?.key ?? "" });
        await waitFor(async () => !(await isOpen()), 20_000, "nothing to be open");
      } finally {
        process.kill(stalled, "SIGCONT");
      }
    };
    await cutOff();
    await waitFor(isOpen, 30_000, "the file to be open again");
    await cutOff();
    expect((await sh(drive, "echo second > minutes.txt")).code).toBe(0);
    await waitFor(isOpen, 30_000, "the file that was saved to be open again");
    expect(readFileSync(sandbox.path("served", "minutes.txt"), "utf8")).toBe("second\n");
  } finally {
    holder.kill();
  }
}, 180_000);
