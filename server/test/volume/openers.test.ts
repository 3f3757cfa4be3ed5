// Openers of a volume, a folder or a file: from what clients follow, hold leases on and have read.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { openersOf } from "../../src/volume/openers.ts";
import { ServerRig, instanceOf } from "../wire/server-rig.ts";

let server: ServerRig;

beforeEach(async () => {
  server = await ServerRig.open();
});

afterEach(() => server.close());

test("they are those who follow it, since when, under which lease, and who had the file open", async () => {
  const { volume, clock } = server.rig;
  const [first, second] = [await server.greeted(), await server.greeted()];
  const writer = await first.attach(instanceOf("1"));
  const folder = await writer.make(ROOT_NODE, "reports", "folder");
  const file = await writer.make(folder, "one.txt");
  const sinceMs = Number(clock.wallNs() / 1_000_000n);
  const reader = await second.attach(instanceOf("2"), { epoch: volume.epoch, seq: volume.seq, follows: [folder] });
  const openers = async (path: string): Promise<[string, boolean][]> => {
    const all = await server.rig.run(openersOf(volume, clock, path));
    return all.map(({ folders, hasRead }) => [`follows ${folders}`, hasRead]);
  };
  expect(await openers("")).toEqual([
    ["follows 0", false],
    ["follows 1", false],
  ]);
  expect(await openers("reports/one.txt")).toEqual([["follows 1", false]]);
  reader.channel.send(["want", [[file, volume.seq]]]);
  await clock.advance(1_000);
  expect(await openers("/reports/one.txt")).toEqual([["follows 1", true]]);
  expect(await openers("reports")).toEqual([["follows 1", false]]);
  const [opener] = await server.rig.run(openersOf(volume, clock, "reports"));
  expect(opener).toMatchObject({ who: "test client", device: "", isConnected: true });
  expect(opener?.leaseMs).toBeLessThanOrEqual(volume.feed.termMs);
  expect(opener?.sinceMs).toBeGreaterThanOrEqual(sinceMs);
  await expect(server.rig.run(openersOf(volume, clock, "reports/two.txt"))).rejects.toMatchObject({ kind: "NotFound" });
});
