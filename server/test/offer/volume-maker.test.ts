// Volumes that are made while a server runs: one after another, durable before they are answered, and gone whole where
// that fails.
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { realDisk } from "@runnel/native";
import { type DiskRoot, RealClock, RunnelError } from "@runnel/shared";
import { type NewEntry, SERVER } from "../../src/audit/audit-entry.ts";
import { Traffic } from "../../src/live/traffic.ts";
import { OfferedFolders } from "../../src/offer/offered-folders.ts";
import { type ListedVolume, readVolumeList } from "../../src/offer/volume-list.ts";
import { VolumeMaker, checkListed } from "../../src/offer/volume-maker.ts";
import type { Offer } from "../../src/served-volume.ts";
import { ServedVolumes } from "../../src/served-volumes.ts";

let base: string;
let root: DiskRoot;
let served: ServedVolumes;
let maker: VolumeMaker;
let acts: string[];
/** Faults of opening, by the name of the volume. */
let faults: Map<string, RunnelError>;
let ended: string[];
/** Names of volumes on which all rights were ended. */
let forgotten: string[];

function offerOf({ name, folder }: { name: string; folder: string }): Offer {
  const volume = {
    name,
    isNew: false,
    traffic: new Traffic(),
    close: async () => undefined,
    content: { checkRoot: async () => undefined },
  };
  return {
    name,
    folder,
    probe: async () => undefined,
    open: async () => {
      const fault = faults.get(name);
      if (fault !== undefined) throw fault;
      return { volume, folder, release: async () => undefined } as never;
    },
  };
}

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "runnel-make-")));
  for (const folder of ["srv/docs/inner", "srv/photos", "srv/plans", "data/_server"])
    await mkdir(join(base, folder), { recursive: true });
  root = await realDisk().openRoot(join(base, "data/_server"));
  acts = [];
  ended = [];
  forgotten = [];
  faults = new Map();
  await start([]);
});

afterEach(async () => {
  await served.close();
  await root.close();
  await rm(base, { recursive: true, force: true });
});

async function start(listed: readonly ListedVolume[]): Promise<void> {
  served = new ServedVolumes([offerOf({ name: "named", folder: join(base, "srv/plans") })], {
    clock: new RealClock(),
    ended: (volume) => void ended.push(volume.name),
    warn: () => undefined,
  });
  await served.start();
  const perform = async <T>(act: Omit<NewEntry, "result">, work: () => Promise<T>): Promise<T> => {
    try {
      const done = await work();
      acts.push(`${act.act} ${act.object} done`);
      return done;
    } catch (error) {
      acts.push(`${act.act} ${act.object} ${(error as RunnelError).kind}`);
      throw error;
    }
  };
  maker = new VolumeMaker({
    clock: new RealClock(),
    root,
    dataFolder: join(base, "data"),
    offered: await OfferedFolders.open(realDisk(), [join(base, "srv")]),
    served,
    listed,
    audit: { perform } as never,
    devices: { forgetVolume: async (volume) => void forgotten.push(volume) },
    offerOf,
  });
}

function make(name: string, folder: string): Promise<void> {
  return maker.create(SERVER, { name, folder: join(base, folder) });
}

function names(): string[] {
  return served.list.map(({ name }) => name);
}

describe("a volume that is made", () => {
  test("is served at once, listed on disk, and in the audit log", async () => {
    await make("docs", "srv/docs");
    expect(served.get("docs")?.volume).toBeDefined();
    expect(await readVolumeList(root)).toMatchObject([
      { name: "docs", folder: join(base, "srv/docs"), isStopped: false },
    ]);
    expect(acts).toEqual(["volumeMake docs done"]);
    expect([maker.isListed("docs"), maker.isListed("named")]).toEqual([true, false]);
  });

  test("at the same time as another of the name, or of the folder, is one volume", async () => {
    const asked = [make("docs", "srv/docs"), make("docs", "srv/photos"), make("other", "srv/docs")];
    const kinds = (await Promise.allSettled(asked)).map((outcome) =>
      outcome.status === "fulfilled" ? "made" : (outcome.reason as RunnelError).kind,
    );
    expect(kinds).toEqual(["made", "Exists", "Invalid"]);
    expect(names()).toEqual(["named", "docs"]);
    expect(acts).toEqual(["volumeMake docs done", "volumeMake docs Exists", "volumeMake other Invalid"]);
  });

  test.each([
    ["a name with a slash", "../docs", "srv/docs", "Invalid"],
    ["an empty name", "", "srv/docs", "Invalid"],
    ["a name that is the server's own", "_server", "srv/docs", "Invalid"],
    ["a name of 101 letters", "x".repeat(101), "srv/docs", "Invalid"],
    ["a line break in the name", "do\ncs", "srv/docs", "Invalid"],
    ["a name of the command line", "named", "srv/docs", "Exists"],
    ["a folder of the command line", "docs", "srv/plans", "Invalid"],
    ["a folder outside", "docs", "data", "Denied"],
    ["a folder that is not there", "docs", "srv/nothing", "NotFound"],
  ])("with %s is refused, and nothing is left of it", async (_title, name, folder, kind) => {
    await expect(make(name, folder)).rejects.toMatchObject({ kind });
    expect(names()).toEqual(["named"]);
    expect(await readVolumeList(root)).toEqual([]);
  });

  test.each([
    ["inside", "srv/docs", "srv/docs/inner"],
    ["around", "srv/docs/inner", "srv/docs"],
  ])("of a folder that lies %s another volume is refused", async (_title, first, second) => {
    await make("first", first);
    await expect(make("second", second)).rejects.toMatchObject({ kind: "Invalid" });
    expect(names()).toEqual(["named", "first"]);
  });

  test("that cannot be opened is not listed, and its name is free", async () => {
    faults.set("docs", new RunnelError("NoSpace", "serve", "The disk is full."));
    await expect(make("docs", "srv/docs")).rejects.toMatchObject({ kind: "NoSpace" });
    expect(names()).toEqual(["named"]);
    expect(await readVolumeList(root)).toEqual([]);
    faults.clear();
    await make("docs", "srv/docs");
    expect(names()).toEqual(["named", "docs"]);
  });

  test("that cannot be listed is not served", async () => {
    await mkdir(join(base, "data/_server/volumes.json/in-the-way"), { recursive: true });
    await expect(make("docs", "srv/docs")).rejects.toMatchObject({
      message: expect.stringContaining("Nothing was changed"),
    });
    expect(names()).toEqual(["named"]);
    expect(ended).toEqual(["docs"]);
    expect(acts.at(-1)).not.toBe("volumeMake docs done");
  });
});

describe("a volume that is stopped", () => {
  test("ends for those who have it, stays stopped by the list, and is served again", async () => {
    await make("docs", "srv/docs");
    await maker.setServed(SERVER, "docs", false);
    expect(ended).toEqual(["docs"]);
    expect(() => served.get("docs")?.mustBeOpen()).toThrow(/stopped/);
    expect(await readVolumeList(root)).toMatchObject([{ name: "docs", isStopped: true }]);
    await maker.setServed(SERVER, "docs", true);
    await expect(untilOpen("docs")).resolves.toBe("docs");
    expect(await readVolumeList(root)).toMatchObject([{ name: "docs", isStopped: false }]);
    expect(acts.slice(1)).toEqual(["volumeStop docs done", "volumeResume docs done"]);
  });

  test("is none of the command line, and none that is not there", async () => {
    await expect(maker.setServed(SERVER, "named", false)).rejects.toMatchObject({ kind: "Invalid" });
    await expect(maker.setServed(SERVER, "nothing", false)).rejects.toMatchObject({ kind: "NotFound" });
    expect(served.get("named")?.volume).toBeDefined();
  });
});

describe("a volume that is removed", () => {
  test("was stopped, ends the rights on it first, and its name and folder are free", async () => {
    await make("docs", "srv/docs");
    await expect(maker.remove(SERVER, "docs")).rejects.toMatchObject({ kind: "Invalid" });
    expect(forgotten).toEqual([]);
    await maker.setServed(SERVER, "docs", false);
    await maker.remove(SERVER, "docs");
    expect([names(), forgotten, await readVolumeList(root)]).toEqual([["named"], ["docs"], []]);
    expect(acts.slice(-3)).toEqual(["volumeRemove docs Invalid", "volumeStop docs done", "volumeRemove docs done"]);
    await make("other", "srv/docs");
    expect(names()).toEqual(["named", "other"]);
  });

  test("stays in the list when the list cannot be written, without its rights", async () => {
    await make("docs", "srv/docs");
    await maker.setServed(SERVER, "docs", false);
    await rm(join(base, "data/_server/volumes.json"));
    await mkdir(join(base, "data/_server/volumes.json/in-the-way"), { recursive: true });
    await expect(maker.remove(SERVER, "docs")).rejects.toThrow("Nothing was changed");
    expect([names(), maker.isListed("docs"), forgotten]).toEqual([["named", "docs"], true, ["docs"]]);
  });

  test("is none of the command line, and none that is not there", async () => {
    await expect(maker.remove(SERVER, "named")).rejects.toMatchObject({ kind: "Invalid" });
    await expect(maker.remove(SERVER, "nothing")).rejects.toMatchObject({ kind: "NotFound" });
    expect([names(), forgotten]).toEqual([["named"], []]);
  });
});

test("a volume of the list and of the command line are not silently one", () => {
  const listed = [{ name: "docs", folder: "/srv/docs", madeMs: 0, isStopped: false }];
  expect(() => checkListed(listed, [{ name: "docs", folder: "/srv/other" }])).toThrow(/console/);
  expect(() => checkListed(listed, [{ name: "docs", folder: "/srv/docs" }])).toThrow(/console/);
  expect(() => checkListed(listed, [{ name: "plans", folder: "/srv/plans" }])).not.toThrow();
});

async function untilOpen(name: string): Promise<string | undefined> {
  for (;;) {
    const volume = served.get(name)?.volume;
    if (volume !== undefined) return volume.name;
    await new Promise<void>(setImmediate);
  }
}
