// An agent that may have few files open at once: programs use as many as they like, and it can be talked to throughout.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox, withFewDescriptors, writtenIn } from "../src/harness/index.ts";

const LIMIT = 256;
const FILES = 300;
/** The most that a program has open at a time, more than the agent could have. */
const OPEN_FILES = 300;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("files are read and written whatever number of them programs have open, and the agent answers", async () => {
  const place = await withFewDescriptors(sandbox, { limit: LIMIT, files: FILES, openFiles: OPEN_FILES });
  expect(await place.useAll(60_000)).toBe("done\n");
  await place.device.flush(place.drive, { up: true });
  expect(writtenIn(place.served, FILES)).toBe(FILES);
  expect(await place.device.status()).toMatchObject({ mounts: [{ state: "connected", unsentFiles: 0, problems: [] }] });
  expect(place.open()).toBeLessThan(LIMIT / 2);
}, 120_000);
