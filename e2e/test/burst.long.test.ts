// 50,000 changes in the served folder at once, two drives on it: with a server that is too slow for the system's queue,
// and with programs at work on a drive.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { BurstPlace } from "../src/burst/index.ts";
import { differences } from "../src/harness/index.ts";

const CHANGES = 50_000;

describe("50,000 changes in the served folder", () => {
  let place: BurstPlace;

  beforeEach(async () => {
    place = new BurstPlace();
    await place.start(2);
  }, 180_000);
  afterEach(() => place.cleanup(), 60_000);

  async function expectShown(): Promise<void> {
    const [folder, ...drives] = await place.pictures();
    expect(Object.keys(folder).length).toBeGreaterThan(5000);
    expect(drives.map((drive) => differences(folder, drive))).toEqual([[], []]);
    expect(await place.conflicts()).toEqual([]);
  }

  test("in more events than the system's queue holds show on every drive, once status says no more that it looks", async () => {
    place.server.pause();
    await place.burst(CHANGES, 1);
    const looked = place.looked();
    place.server.goOn();
    expect(await looked).toContain("missed");
    await expectShown();
  }, 600_000);

  test("show on every drive while programs save on one of them, whose files stay theirs", async () => {
    const [wanted] = await Promise.all([place.save(300), place.burst(CHANGES, 2)]);
    await place.looked();
    expect(await place.saved()).toEqual(wanted);
    await expectShown();
  }, 600_000);
});
