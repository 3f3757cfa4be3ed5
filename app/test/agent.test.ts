import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { RealClock } from "@runnel/shared";
import { pino } from "pino";
import { Agent } from "../src/agent/agent.ts";
import { MemoryCost } from "../src/agent/control/host/line-cost/memory-cost.ts";
import { AgentHome } from "../src/agent/control/host/agent-home.ts";
import { systemFolders } from "../src/agent/control/host/folder-view.ts";
import { MemorySystem } from "../src/agent/control/host/memory/system.ts";
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

test("a drive that cannot be watched over is mounted all the same, and forgotten when it has ended", async () => {
  const log = pino({ level: "silent" });
  const opened: Mount[] = [];
  const clock = new RealClock();
  const home = new AgentHome(join(folder, "home"));
  await mkdir(home.folder);
  const { mounts } = new MemorySystem();
  mounts.watchFailure = new Error("EMFILE: too many open files");
  const agent = new Agent({
    ...fakeEngines,
    version: "0.0.0",
    home,
    clock,
    log,
    mountTable: mounts,
    folders: systemFolders,
    lineCost: new MemoryCost().cost,
    openMount: async (settings) => {
      const mount = new FakeMount(settings);
      opened.push(mount);
      return mount;
    },
    openHistory: async () => openHistoryStore(home.historyPath),
    pages: new LocalPages<void>({ ...NO_PAGES, clock, entryFolder: home.pageFolder }, () => undefined),
    stopped: () => undefined,
  });
  const mountpoint = join(folder, "drive");
  await mkdir(mountpoint);
  const url = "ws://127.0.0.1/docs";
  const own = { cacheFolder: join(folder, "cache"), cacheBytes: 1000, mapOwner: false, isAsync: false };
  const mount = await agent.mount({ url, mountpoint, ...own });
  expect(agent.drives).toEqual([{ url, mountpoint, options: own }]);
  await opened[0]?.unmount(true);
  await mount.ended;
  await new Promise(setImmediate);
  expect(agent.drives).toEqual([]);
  await agent.history.close();
});
