// What a local disk does, the drive does: the same real system calls on both, and the same outcomes.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Sandbox, mustRun } from "../src/harness/index.ts";

const PROBE = fileURLToPath(new URL("fixtures/posix_probe.py", import.meta.url));
const PROBE_MS = 240_000;
/** Not yet alike: extended attributes, holes. */
const PENDING = new Set(["which_times_change", "attributes_extended", "attributes_extended_kept", "sparse"]);
const CASES = [...readFileSync(PROBE, "utf8").matchAll(/^@case\ndef (\w+)/gm)]
  .map(([, name = ""]) => name)
  .filter((name) => !PENDING.has(name));

let sandbox: Sandbox;
let onDisk: Record<string, unknown>;
let onDrive: Record<string, unknown>;

async function probe(folder: string): Promise<Record<string, unknown>> {
  const { stdout } = await mustRun("python3", [PROBE, folder], { deadlineMs: PROBE_MS });
  return JSON.parse(stdout) as Record<string, unknown>;
}

beforeAll(async () => {
  sandbox = new Sandbox();
  const server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") } });
  const drive = sandbox.makeFolder("drive");
  await sandbox.device().mount(`${server.url}/docs`, drive);
  onDisk = await probe(sandbox.makeFolder("disk"));
  onDrive = await probe(drive);
}, 2 * PROBE_MS);

afterAll(() => sandbox.cleanup(), 60_000);

describe("system calls on the drive and on a local disk have the same outcome:", () => {
  test.each(CASES)("%s", (name) => {
    expect(onDisk[name]).toBeDefined();
    expect(onDrive[name]).toEqual(onDisk[name]);
  });
});
