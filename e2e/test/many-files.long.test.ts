// 200,000 files with real processes and disks: all found by an agent that gets a fifth of a processor, from its first
// moment with them on; then removed.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Sandbox, onMount, removeMany, serveMany, slowedDown } from "../src/harness/index.ts";

const FILES = 200_000;
const READY_MS = 1_200_000;
const LASTS_MS = 60 * 60_000;
const SHARE = 0.2;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox(LASTS_MS);
});

afterEach(() => sandbox.cleanup(), 1_260_000);

test(
  "[W120] are found, and go with the folder that they are in",
  async () => {
    let slow: ReturnType<typeof slowedDown> | undefined;
    const place = await serveMany(sandbox, FILES, READY_MS, (agentPid) => {
      slow = slowedDown(agentPid, SHARE);
    });
    const found = onMount('find "$1" -type f | wc -l', [place.drive], { deadlineMs: READY_MS });
    await found.finally(() => slow?.end());
    expect(await found).toBe(`${FILES + 1}\n`);
    const left = await removeMany(place, READY_MS);
    expect(left).toMatchObject({ removed: { path: "many" }, drive: "kept\n", served: "kept\n" });
  },
  LASTS_MS,
);
