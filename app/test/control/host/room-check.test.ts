// The room of a disk, as `runnel doctor` tells it.
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { checkRoom } from "../../../src/agent/control/host/room-check.ts";
import { makeFolder } from "../processes.ts";

test("the room of a disk is told; a folder that is gone is what to look at", async () => {
  const folder = makeFolder();
  expect(await checkRoom(folder, "the cache")).toMatchObject({
    about: "Disk with the cache",
    sentence: expect.stringContaining(`are free at ${folder}.`),
  });
  expect(await checkRoom(join(folder, "none"), "the cache")).toMatchObject({ isFine: false });
});
