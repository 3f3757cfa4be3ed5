// A folder that is taken in anew on purpose: what it needs, what is set aside, what is said, and what a kill in between
// leaves.
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { DiskRoot } from "@runnel/shared";
import { ROOT_NODE, RunnelError } from "@runnel/shared";
import { type Adoption, adoptFolder } from "../src/adopt-folder.ts";
import { openMemoryMetaStore } from "../src/meta/memory/meta-store.ts";
import { probeFolder } from "../src/open-volume.ts";
import { checkAdopted } from "../src/served-folders.ts";
import { knowVolumeId } from "../src/volume/volume-id.ts";
import { DATA, FOLDER, TERM_MS, VolumeRig } from "./volume/volume-rig.ts";

const DATA_FOLDER = "/var/runnel";
const SETTINGS = { name: "docs", folder: FOLDER };
const MARKER = ".runnel-store/volume";
const OTHER_MARKER = `{"format":1,"volume":"${"ab".repeat(16)}"}\n`;

let rig: VolumeRig;

/** Closed, known as served, with a file that is in the folder. */
beforeEach(async () => {
  rig = await VolumeRig.open();
  await rig.run(rig.file(ROOT_NODE, "kept", "content"));
  await rig.settle();
  await rig.close();
  await knowVolumeId(await rig.disk.openRoot(DATA));
});

function host(): Parameters<typeof adoptFolder>[1] {
  const { clock, disk } = rig;
  const openMeta = async (): ReturnType<typeof openMemoryMetaStore> => openMemoryMetaStore(rig.image);
  return { clock, disk, dataFolder: DATA_FOLDER, openMeta };
}

function adopt(): Promise<Adoption> {
  return rig.run(adoptFolder(SETTINGS, host()));
}

/** Returns true when the folder can be served with the data that are there now. */
async function isFit(): Promise<boolean> {
  return probeFolder(SETTINGS, host()).then(
    () => true,
    () => false,
  );
}

/** Loses the data: what they were goes away, and the index with them. */
async function loseData(): Promise<void> {
  await (await rig.disk.openRoot("/var/runnel")).rename("docs", "elsewhere", "keep");
  rig.loseMeta();
}

async function put(root: DiskRoot, path: string, text: string): Promise<void> {
  const file = await root.open(path, "create", 0o600);
  await file.truncate(0);
  await file.write(0, Buffer.from(text));
  await file.close();
}

async function names(path: string): Promise<string[]> {
  const found: string[] = [];
  const root = await rig.disk.openRoot(path);
  await root.list("", (entries) => void found.push(...entries.map(({ name }) => name ?? "")));
  await root.close();
  return found.toSorted();
}

/** Opened anew; the index of before is gone with the data. */
async function openAgain(): Promise<string> {
  rig.loseMeta();
  await rig.open();
  await rig.settle();
  return rig.volume.epoch;
}

describe("[F113] a folder that is taken in anew", () => {
  test("is left alone where the marker fits", async () => {
    const before = await names(DATA);
    expect(await adopt()).toEqual({ isAdopted: false, sentence: expect.stringContaining("needs no --adopt") });
    expect(await names(DATA)).toEqual(before);
    expect(await names(DATA_FOLDER)).toEqual(["docs"]);
  });

  test("that was never served is served as any other", async () => {
    rig = new VolumeRig();
    await rig.disk.openRoot(FOLDER, { permissions: 0o755 });
    expect((await adopt()).isAdopted).toBe(false);
  });

  test.each<[string, () => Promise<void>]>([
    ["has another volume's marker", () => put(rig.other, MARKER, OTHER_MARKER)],
    ["has a damaged marker", () => put(rig.other, MARKER, "{")],
    ["has no marker, and the data know one", () => rig.other.removeFile(MARKER)],
  ])("that %s gets a new epoch, all that is in it, and its data aside", async (_title, change) => {
    const { epoch } = rig.volume;
    await change();
    expect(await isFit()).toBe(false);
    const { isAdopted, sentence } = await adopt();
    expect(isAdopted).toBe(true);
    expect(sentence).toContain("All that was acknowledged had come into the folder");
    expect(await isFit()).toBe(true);
    const [time] = await names(`${DATA_FOLDER}/_set-aside`);
    expect(sentence).toContain(`${DATA_FOLDER}/_set-aside/${time}/docs`);
    expect(await names(`${DATA_FOLDER}/_set-aside/${time}/docs`)).toEqual(["log", "volume"]);
    expect(await openAgain()).not.toBe(epoch);
    expect(await rig.tree()).toEqual(new Map([["kept", "file content"]]));
    // The next start finds one volume.
    expect((await adopt()).isAdopted).toBe(false);
  });

  test("that fits, but lies on another device than the one recorded, gets a new epoch too", async () => {
    const openMeta = async (): ReturnType<typeof openMemoryMetaStore> => {
      const meta = await openMemoryMetaStore(rig.image);
      const { diskRow } = meta;
      meta.diskRow = async (folder, name) => {
        const row = await diskRow.call(meta, folder, name);
        return row && { ...row, handle: Buffer.from("another"), stat: { ...row.stat, dev: row.stat.dev + 1 } };
      };
      return meta;
    };
    expect((await rig.run(adoptFolder(SETTINGS, { ...host(), openMeta }))).isAdopted).toBe(true);
    await openAgain();
    expect(await rig.tree()).toEqual(new Map([["kept", "file content"]]));
  });

  test("may be on drives of before for one lease term more: the first change waits for it", async () => {
    await put(rig.other, MARKER, OTHER_MARKER);
    await adopt();
    rig.loseMeta();
    rig.options.hadClients = true;
    await rig.open();
    const startMs = rig.clock.bootMs();
    await rig.run(rig.make(ROOT_NODE, "new"));
    expect(rig.clock.bootMs() - startMs).toBeGreaterThanOrEqual(TERM_MS - 1_000);
  });

  test("whose data are gone is said to have lost what only they had", async () => {
    await loseData();
    expect(await isFit()).toBe(false);
    expect((await adopt()).sentence).toContain("There were no data of before");
    await openAgain();
    expect(await rig.tree()).toEqual(new Map([["kept", "file content"]]));
  });

  test.each([true, false])(
    "is said to lack what was acknowledged and is not in it, and that is kept (the index is there: %s)",
    async (hasIndex) => {
      await rig.open();
      await rig.settle();
      const node = await rig.run(rig.make(ROOT_NODE, "half"));
      await rig.settle();
      rig.disk.fault = (call) => (call === "rename" || call === "open" ? "Io" : undefined);
      await rig.run(rig.write(node, Buffer.from("acknowledged")));
      await rig.kill();
      await put(rig.other, MARKER, OTHER_MARKER);
      await put(rig.other, ".runnel-store/temp/staged-1", "acknowledged");
      if (!hasIndex) rig.loseMeta();
      const { sentence } = await adopt();
      expect(sentence).toContain("1 change was acknowledged and had not come into the folder: half.");
      const aside = /\/srv\/docs\/(\.runnel-store\/set-aside-\S+)/.exec(sentence)?.[1] ?? "";
      await openAgain();
      expect(await names(`${FOLDER}/${aside}`)).toContain("staged-1");
      expect(await rig.tree()).toEqual(
        new Map([
          ["half", "file "],
          ["kept", "file content"],
        ]),
      );
    },
  );

  test("that is empty and without a marker is refused when it was served before: its disk may not be mounted", async () => {
    await rig.other.rename(".runnel-store", "moved", "keep");
    await rig.disk.openRoot("/srv/elsewhere", { permissions: 0o755 });
    const srv = await rig.disk.openRoot("/srv");
    await srv.rename("docs", "elsewhere", "exchange");
    await expect(adopt()).rejects.toMatchObject({
      kind: "Invalid",
      message: expect.stringContaining("Mount its disk"),
    });
    expect(await names(DATA_FOLDER)).toEqual(["docs"]);
  });

  test("that is not there is refused for good: nobody waits to take in something later", async () => {
    const srv = await rig.disk.openRoot("/srv");
    await srv.rename("docs", "elsewhere", "keep");
    await expect(adopt()).rejects.toMatchObject({ kind: "Invalid", message: expect.stringContaining("is not there") });
  });

  test("can be taken in again whenever the first time was ended", async () => {
    await put(rig.other, MARKER, OTHER_MARKER);
    await put(rig.other, ".runnel-store/temp/staged-1", "acknowledged");
    let isDone = false;
    for (let last = 0; !isDone; last++) {
      expect(last).toBeLessThan(200);
      let count = 0;
      rig.disk.fault = () => (count++ >= last ? "Io" : undefined);
      const attempt = rig.run(adoptFolder(SETTINGS, host()));
      isDone = await attempt.then(
        () => true,
        () => false,
      );
      rig.disk.fault = undefined;
      // Opening it would clear what is in temp.
      const inTemp: string[] = await names(`${FOLDER}/.runnel-store/temp`).catch(() => []);
      expect(inTemp.includes("staged-1") && (await isFit())).toBe(false);
    }
    const asides = await names(`${DATA_FOLDER}/_set-aside`);
    const volumes = await Promise.all(
      asides.map((time) => names(`${DATA_FOLDER}/_set-aside/${time}/docs`).catch(() => [])),
    );
    expect(volumes.flat()).toContain("log");
    const stores = (await names(`${FOLDER}/.runnel-store`)).filter((name) => name.startsWith("set-aside-"));
    const temps = await Promise.all(stores.map((name) => names(`${FOLDER}/.runnel-store/${name}`)));
    expect(temps.flat()).toContain("staged-1");
    expect(await isFit()).toBe(true);
  });
});

test("[F113] a name that is not served is refused with those that are", () => {
  const served = [SETTINGS, { name: "pictures", folder: "/srv/pictures" }];
  expect(() => checkAdopted(["docs", "music"], served)).toThrow(
    new RunnelError(
      "Invalid",
      "serve",
      "--adopt music is none of the volumes that are served: docs, pictures. Name one of them.",
    ),
  );
  checkAdopted(["docs"], served);
});

test("[F113] a folder that cannot be served for its marker is said how to be taken in anew", async () => {
  await put(rig.other, MARKER, OTHER_MARKER);
  await expect(probeFolder(SETTINGS, host())).rejects.toThrow('"runnel serve --adopt docs" takes it in anew');
  await rig.other.removeFile(MARKER);
  await expect(probeFolder(SETTINGS, host())).rejects.toThrow('"runnel serve --adopt docs" takes it in anew');
});
