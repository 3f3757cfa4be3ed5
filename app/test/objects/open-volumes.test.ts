// Volumes that no drive shows are opened when they are needed, for those servers alone that know this device.
import { expect, test } from "@jest/globals";
import { RunnelError, SimulatedClock } from "@runnel/shared";
import type { Mount } from "../../src/agent/mount.ts";
import { OpenVolumes } from "../../src/agent/objects/open-volumes.ts";
import { FakeMount } from "../control/fake-mount.ts";

const URL = "wss://127.0.0.1:7473/docs";

function makeRig(drives: Mount[] = []) {
  const clock = new SimulatedClock();
  const opened: string[] = [];
  const ended: string[] = [];
  const idle: number[] = [];
  const volumes = new OpenVolumes({
    clock,
    mounts: () => drives,
    idle: () => void idle.push(clock.bootMs()),
    servers: async () => [{ server: "127.0.0.1:7473" }],
    open: async (url) => {
      opened.push(url);
      if (url.endsWith("/refused")) throw new RunnelError("Denied", "mount", "The server refuses.");
      const mount = mountOf(url);
      void mount.ended.then(() => ended.push(url));
      return mount;
    },
  });
  return { clock, opened, ended, idle, volumes };
}

function mountOf(url: string): FakeMount {
  const folders = { mountpoint: "/drive", cacheFolder: "/cache", stateFolder: "/state" };
  return new FakeMount({ url, ...folders, cacheBytes: 1, mapOwner: false, isAsync: false });
}

test("one that is used by several is opened once, and closed a while after the last", async () => {
  const { clock, opened, ended, idle, volumes } = makeRig();
  const [one, two] = [await volumes.use(URL), await volumes.use(URL)];
  one[Symbol.dispose]();
  await clock.advance(60_000);
  expect({ opened, ended }).toEqual({ opened: [URL], ended: [] });
  two[Symbol.dispose]();
  await clock.advance(10_000);
  (await volumes.use(URL))[Symbol.dispose]();
  await clock.advance(15_000);
  expect(ended).toEqual([]);
  expect(idle).toEqual([]);
  await clock.advance(10_000);
  expect({ opened, ended, isIdle: volumes.isIdle }).toEqual({ opened: [URL], ended: [URL], isIdle: true });
  expect(idle).toHaveLength(1);
});

test("that of a drive is not opened again", async () => {
  const drive = mountOf(URL);
  const { opened, volumes } = makeRig([drive, mountOf(URL)]);
  expect((await volumes.use(URL)).files.url).toBe(URL);
  expect(volumes.mounted()).toHaveLength(1);
  expect(opened).toEqual([]);
});

test("a server that does not know this device is not asked, whatever a hint says", async () => {
  const { opened, volumes } = makeRig();
  await expect(volumes.use("wss://evil.example.org:7473/docs")).rejects.toMatchObject({ kind: "Denied" });
  expect(opened).toEqual([]);
});

test("one that could not be opened is tried anew; no more than a few are open, and all are closed at the end", async () => {
  const { opened, ended, volumes } = makeRig();
  const refused = `${URL.slice(0, -4)}refused`;
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(volumes.use(refused)).rejects.toMatchObject({ kind: "Denied", message: "The server refuses." });
  expect(opened.splice(0)).toEqual([refused, refused]);
  expect(volumes.isIdle).toBe(true);
  for (let index = 0; index < 16; index++) await volumes.use(`${URL}${index}`);
  await expect(volumes.use(URL)).rejects.toMatchObject({ kind: "Busy" });
  await volumes.close();
  expect(ended).toHaveLength(16);
  expect(volumes.isIdle).toBe(true);
});
