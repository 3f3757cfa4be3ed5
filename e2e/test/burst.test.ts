// A program changes more in the served folder than the system reports: status says that it is looked through, then
// every drive shows it.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { BurstPlace } from "../src/burst/index.ts";
import { differences } from "../src/harness/index.ts";

describe("a burst of changes in the served folder", () => {
  let place: BurstPlace;

  beforeEach(async () => {
    place = new BurstPlace();
    await place.start(1);
  }, 180_000);
  afterEach(() => place.cleanup(), 60_000);

  test("that the system's queue cannot hold is found whole, once status says no more that it looks", async () => {
    place.server.pause();
    await place.burst(8000, 1);
    const looked = place.looked();
    place.server.goOn();
    expect(await looked).toContain("missed");
    const [folder, drive] = await place.pictures();
    expect(Object.keys(folder).length).toBeGreaterThan(1000);
    expect(differences(folder, drive ?? {})).toEqual([]);
    expect(await place.conflicts()).toEqual([]);
  }, 120_000);
});
