// 20,000 files read and written through an agent that may have 256 files open.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox, withFewDescriptors, writtenIn } from "../src/harness/index.ts";

const LIMIT = 256;
const FILES = 20_000;
const LASTS_MS = 60 * 60_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox(LASTS_MS);
});

afterEach(() => sandbox.cleanup(), 1_260_000);

test(
  "tens of thousands of files are read and written",
  async () => {
    const place = await withFewDescriptors(sandbox, { limit: LIMIT, files: FILES, openFiles: 400, readyMs: 600_000 });
    expect(await place.useAll(LASTS_MS)).toBe("done\n");
    await place.device.flush(place.drive, { up: true, deadlineMs: 600_000 });
    expect(writtenIn(place.served, FILES)).toBe(FILES);
    expect(await place.device.status()).toMatchObject({ mounts: [{ unsentFiles: 0, problems: [] }] });
    expect(place.open()).toBeLessThan(LIMIT / 2);
  },
  LASTS_MS,
);
