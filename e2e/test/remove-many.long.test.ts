// `runnel remove` of 200,000 files, with real processes and disks.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox, removeMany } from "../src/harness/index.ts";

const LASTS_MS = 60 * 60_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox(LASTS_MS);
});

afterEach(() => sandbox.cleanup(), 300_000);

test(
  "[W120] 200,000 files go with the folder that they are in",
  async () => {
    const left = await removeMany(sandbox, 200_000, { readyMs: 1_200_000, deadlineMs: 1_200_000 });
    expect(left).toMatchObject({ removed: { path: "many" }, drive: "kept\n", served: "kept\n" });
  },
  LASTS_MS,
);
