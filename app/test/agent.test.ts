import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { pino } from "pino";
import { Agent } from "../src/agent/agent.ts";
import { MemoryCost } from "../src/agent/control/host/line-cost/memory-cost.ts";
import { AgentHome } from "../src/agent/control/host/agent-home.ts";
import { systemFolders } from "../src/agent/control/host/folder-view.ts";
import { MemorySystem } from "../src/agent/control/host/memory/system.ts";
import type { MemoryMountTable } from "../src/agent/control/host/memory/mount-table.ts";
import type { Mount } from "../src/agent/mount.ts";
import { LocalPages } from "@runnel/shared/page";
import { openHistoryStore } from "../src/agent/view/history-store.ts";
import { FakeMount, fakeEngines } from "./control/fake-mount.ts";

const NO_PAGES = {
  command: "runnel ui",
  sessions: () => {
    throw new Error("There are no pages.");
  },
  version: "0.0.0",
  builtFolder: "",
  table: {},
  handle: async () => undefined,
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "runnel-agent-"));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

let opened: Mount[];
let clock: SimulatedClock;
let mountpoint: string;
let mounts: MemoryMountTable;
const url = "ws://127.0.0.1/docs";

async function makeAgent(): Promise<Agent> {
  const home = new AgentHome(join(folder, "home"));
  mountpoint = join(folder, "drive");
  await mkdir(home.folder);
  await mkdir(mountpoint);
  opened = [];
  clock = new SimulatedClock();
  mounts = new MemorySystem().mounts;
  own.cacheFolder = join(folder, "cache");
  return new Agent({
    ...fakeEngines,
    version: "0.0.0",
    home,
    clock,
    log: pino({ level: "silent" }),
    mountTable: mounts,
    folders: systemFolders,
    lineCost: new MemoryCost().cost,
    openMount: async (settings) => {
      const mount = new FakeMount(settings);
      opened.push(mount);
      mounts.mount(mountpoint);
      return mount;
    },
    openHistory: async () => openHistoryStore(home.historyPath),
    pages: new LocalPages<void>({ ...NO_PAGES, clock, entryFolder: home.pageFolder }, () => undefined),
    stopped: () => undefined,
  });
}

const own = { cacheFolder: "", cacheBytes: 1000, mapOwner: false, isAsync: false };

test("a drive that cannot be watched over is mounted all the same, and forgotten when it has ended", async () => {
  const agent = await makeAgent();
  mounts.watchFailure = new Error("EMFILE: too many open files");
  const mount = await agent.mount({ ...own, url, mountpoint });
  expect(agent.drives).toEqual([{ url, mountpoint, options: own }]);
  await opened[0]?.unmount(true);
  await mount.ended;
  await new Promise(setImmediate);
  expect(agent.drives).toEqual([]);
  await agent.history.close();
});

describe("a drive that the system unmounted, and that has not ended yet", () => {
  let agent: Agent;
  let former: Mount;
  let timers: number;
  beforeEach(async () => {
    agent = await makeAgent();
    former = await agent.mount({ ...own, url, mountpoint });
    timers = clock.pendingTimers;
    mounts.unmount(mountpoint);
  });
  afterEach(() => agent.history.close());

  async function untilWaiting(): Promise<void> {
    while (clock.pendingTimers === timers) await new Promise(setImmediate);
  }

  test("gives way to the same drive when it has", async () => {
    const again = agent.mount({ ...own, url, mountpoint });
    await untilWaiting();
    await opened[0]?.unmount(true);
    const mount = await again;
    expect(mount).not.toBe(former);
    expect(agent.drives).toEqual([{ url, mountpoint, options: own }]);
    expect(clock.pendingTimers).toBe(timers);
  });

  test("is Busy while programs keep it", async () => {
    const again = expect(agent.mount({ ...own, url, mountpoint })).rejects.toMatchObject({
      kind: "Busy",
      message: `The drive at ${mountpoint} was unmounted, and has not ended yet: programs have files of it open.`,
    });
    await untilWaiting();
    await clock.advance(10_000);
    await again;
    expect(agent.drives).toEqual([{ url, mountpoint, options: own }]);
  });

  test("is not waited for while it is there", async () => {
    mounts.mount(mountpoint);
    await expect(agent.mount({ ...own, url, mountpoint })).rejects.toMatchObject({ kind: "Exists" });
  });
});
