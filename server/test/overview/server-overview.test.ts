// Rows of volumes as the console has them: what is not known is null, and never a figure.
import { afterEach, expect, test } from "@jest/globals";
import { VolumeRow } from "../../src/live/rows.ts";
import { ServerOverview } from "../../src/overview/server-overview.ts";
import { ServedVolumes } from "../../src/served-volumes.ts";
import { FOLDER, VolumeRig } from "../volume/volume-rig.ts";

const NAMES = ["open", "stopped"];

const UNKNOWN = { files: null, bytes: null, countedMs: null };
const NO_ROOM = { freeBytes: null, totalBytes: null };

let rig: VolumeRig;
let served: ServedVolumes;

async function overviewOf(): Promise<ServerOverview> {
  rig = await VolumeRig.open();
  const { clock, volume } = rig;
  const opened = { volume, folder: FOLDER, release: async () => undefined };
  const probe = async (): Promise<void> => undefined;
  const offers = NAMES.map((name) => ({ name, folder: FOLDER, probe, open: async () => opened }));
  served = new ServedVolumes(
    offers.map((offer) => ({ ...offer, isStopped: offer.name === "stopped" })),
    { clock, ended: () => undefined, warn: () => undefined },
  );
  const starting = served.start();
  await clock.advance(1);
  await starting;
  return new ServerOverview({
    clock,
    server: { served, url: "wss://files", carried: () => ({ sentBytes: 0, receivedBytes: 0 }) },
    devices: { list: () => [] },
    live: { devicesOn: () => new Set(), transferCount: 0, connectionCount: 0 } as never,
    root: { space: () => Promise.reject(new Error("It does not say.")) },
    hostname: "files",
    isMade: () => true,
  });
}

afterEach(async () => {
  const closing = served.close();
  await rig.clock.advance(10_000);
  await closing;
});

test("files that are being counted, and all of a stopped volume, are not known; nothing counted is 0", async () => {
  const overview = await overviewOf();
  const before = await overview.volumes();
  expect(before.map((row) => VolumeRow.parse(row))).toMatchObject([
    { name: "open", ...UNKNOWN, freeBytes: expect.any(Number), totalBytes: expect.any(Number) },
    { name: "stopped", isStopped: true, ...UNKNOWN, ...NO_ROOM },
  ]);
  await rig.run(rig.volume.usage.whenCounted());
  expect((await overview.volumes()).map(({ files, bytes }) => [files, bytes])).toEqual([
    [0, 0],
    [null, null],
  ]);
});

test("a disk that does not say how full it is, and that of a stopped volume, are no full disks", async () => {
  const overview = await overviewOf();
  const shown = await overview.overview(await overview.volumes());
  expect(shown).toMatchObject({ dataFreeBytes: null, dataTotalBytes: null });
  expect(shown.sentence).not.toContain("disk");
});
