// Begins and ends mounts whose server cannot be reached.
import { expect, test } from "@jest/globals";
import type { Drive, DriveEntry, DriveNotice, DriveRequest } from "@runnel/native/drive";
import { inlineExecutor } from "@runnel/native";
import { ROOT_NODE, RunnelError } from "@runnel/shared";
import { openCache } from "../../src/agent/cache/content-cache.ts";
import { MountedVolume } from "../../src/agent/mounted-volume/mounted-volume.ts";
import type { MountDeps } from "../../src/agent/mounted-volume/mount-deps.ts";
import { PinList } from "../../src/agent/pins/pin-list.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { EPOCH, JournalMachine } from "../journal/journal-machine.ts";
import { makeState } from "../replica/model-tree.ts";

interface Rig {
  deps: MountDeps;
  machine: JournalMachine;
  calls: string[];
  notice(notice: DriveNotice): void;
  requests(batch: readonly DriveRequest[]): void;
}

async function makeRig(): Promise<Rig> {
  const machine = new JournalMachine();
  const journal = await machine.open();
  const { clock, root } = machine;
  const executor = inlineExecutor();
  const calls: string[] = [];
  const rig: Partial<Rig> = { machine, calls };
  const drive = {
    start: async ({ notice, requests }: Pick<Rig, "notice" | "requests">) => {
      [rig.notice, rig.requests] = [notice, requests];
      calls.push("start");
    },
    close: async () => void calls.push("close"),
    commitDirty: async () => undefined,
    statistics: () => ({ native: {}, bytesRead: 0, bytesWritten: 0 }),
    putNode: () => undefined,
    putEntries: (entries: readonly { name: string; entry: DriveEntry | undefined }[]) => {
      for (const { name, entry } of entries) calls.push(`${name} is ${entry?.node}`);
    },
    done: () => undefined,
    heartbeat: () => undefined,
    setLease: () => undefined,
    setDeadlineMin: () => undefined,
  };
  rig.deps = {
    settings: {
      url: "ws://127.0.0.1:1/docs",
      mountpoint: "/drive",
      cacheFolder: "/state",
      cacheBytes: 1_000_000,
      stateFolder: "/state",
      mapOwner: false,
      isAsync: false,
    },
    volume: "docs",
    clock,
    dialer: {
      dial: async () => {
        throw new RunnelError("Unreachable", "dial", "Nobody answers there.");
      },
    },
    executor,
    drive: drive as unknown as Drive,
    replica: openReplica(":memory:", "boot 1"),
    cache: await openCache({ root, path: ":memory:", executor, clock, boot: "boot 1" }),
    journal,
    pinList: await PinList.open(root),
    earlyLog: { path: "/nowhere/early", boot: "", left: { requests: [], last: 0 } },
    data: root,
    cacheRoot: root,
    software: "Runnel test",
    isReadOnly: false,
    openFolder: async () => root,
    release: async () => void calls.push("release"),
    log: () => undefined,
  };
  return rig as Rig;
}

test("that was never mounted and finds no server is none: what was opened is released, and the drive is not started", async () => {
  const { deps, machine, calls } = await makeRig();
  let error: unknown;
  const opening = MountedVolume.open(deps).catch((reason: unknown) => {
    error = reason;
  });
  await machine.clock.runUntil(() => error !== undefined, 60_000);
  await opening;
  expect(error).toMatchObject({ kind: "Unreachable" });
  expect(calls).toEqual(["release"]);
});

test("that was mounted before begins offline; who asks first says why it ends, and it is released once", async () => {
  const rig = await makeRig();
  const { deps, calls } = rig;
  deps.replica.reset(EPOCH, { ...makeState(ROOT_NODE, "folder", 1), nlink: 1 });
  deps.replica.putListing(ROOT_NODE, 1, [], true);
  const mount = await MountedVolume.open(deps);
  expect(await mount.status(true)).toMatchObject({
    state: "offline",
    epoch: EPOCH,
    unsentFiles: 0,
    problems: [],
    server: null,
  });
  rig.notice({ op: "unmounted", reason: "another program" });
  expect(await mount.unmount(false)).toEqual({ unsentFiles: 0, unsentNames: 0 });
  expect(await mount.ended).toBe("another program");
  expect(calls).toEqual(["start", "release"]);
});

test("shows what waits to be in a folder that was there already in that one, also after a restart", async () => {
  const rig = await makeRig();
  const { deps, calls } = rig;
  const { journal, replica } = deps;
  const [made, file, theirs] = [2 ** 40, 2 ** 40 + 1, 5];
  replica.reset(EPOCH, { ...makeState(ROOT_NODE, "folder", 1), nlink: 1 });
  replica.putListing(ROOT_NODE, 1, [{ name: "folder", state: makeState(theirs, "folder", 1) }], true);
  replica.putListing(theirs, 1, [], true);
  await journal.bind(EPOCH, made, theirs);
  const attributes = { type: "file", mode: 0o644, uid: 0, gid: 0, mtimeNs: 1n, rdev: 0, target: "" } as const;
  const operation = { op: "make", folder: made, name: "file", node: file, attributes } as const;
  const n = journal.nextNumber();
  const { instance } = journal;
  await journal.putOperation({ n, instance, epoch: EPOCH, timeNs: 1n, operation, path: "folder/file" });
  const mount = await MountedVolume.open(deps);
  rig.requests([{ op: "lookup", id: 1, folder: theirs, name: "file" } as DriveRequest]);
  await rig.machine.clock.runUntil(() => calls.length > 1, 60_000);
  expect(calls).toEqual(["start", `file is ${file}`]);
  await mount.unmount(true);
});
