// `runnel remove` of more than one operation takes.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import { Sandbox, removeMany } from "../src/harness/index.ts";

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 60_000);

test("[W120] a folder goes with all that is in it", async () => {
  const left = await removeMany(sandbox, LIMITS.removeAllNodes + 304, { readyMs: 60_000, deadlineMs: 60_000 });
  expect(left).toMatchObject({ removed: { path: "many" }, drive: "kept\n", served: "kept\n" });
}, 120_000);
