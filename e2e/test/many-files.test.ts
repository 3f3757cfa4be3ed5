// More files than one operation removes; many-files.long.test.ts has more than the journal has numbers ready for.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox, removeMany, serveMany } from "../src/harness/index.ts";

const FILES = 4_500;
const READY_MS = 120_000;
const REMOVED_MS = 240_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("[W120] a folder goes with all that is in it", async () => {
  const left = await removeMany(await serveMany(sandbox, FILES, READY_MS), REMOVED_MS);
  expect(left).toMatchObject({ removed: { path: "many" }, drive: "kept\n", served: "kept\n" });
}, 600_000);
