// Two clients at work in one folder: what one changes meets what the other is just doing, and neither waits for the other longer than the wire makes it.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { Sandbox, mustRun, onMount } from "../src/harness/index.ts";

const PROGRAM = fileURLToPath(new URL("../src/deadlines/busy-folder.py", import.meta.url));
const RTT_MS = 200;
/** A minute in the long run. */
const SECONDS = process.env["RUNNEL_LONG"] ? 60 : 8;
const LONGEST_MS = 10 * RTT_MS;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => sandbox.cleanup(), 60_000);

type Took = [operation: string, from: number, to: number];

/**
 * Whether a change by one client reached the other while that was in the middle of something: it was there one round trip after it began at the
 * earliest, and one before it ended at the latest, since its answer waited for the other's acknowledgement.
 */
function met([, from, to]: Took, other: Took): boolean {
  const [earliest, latest] = [from + RTT_MS, to - RTT_MS];
  return latest >= earliest && other[1] <= earliest && other[2] >= latest;
}

test(`two clients create, rename and open in one folder for ${SECONDS} s: nothing takes longer than ten round trips`, async () => {
  const server = await sandbox.startServer();
  const drives = await Promise.all(
    ["one", "two"].map(async (name) => {
      const link = await sandbox.startEmulator(server.port, { rttMs: RTT_MS });
      const drive = sandbox.makeFolder(`drive-${name}`);
      await sandbox.device(name).mount(`ws://127.0.0.1:${link.port}/docs`, drive);
      return { name, drive };
    }),
  );
  await onMount('mkdir "$1/shared"', [drives[0]?.drive ?? ""]);
  const works = drives.flatMap(({ name, drive }) =>
    ["a", "b"].map(async (worker) => {
      const others = `${name === "one" ? "two" : "one"}-${worker}`;
      const args = [PROGRAM, `${drive}/shared`, `${name}-${worker}`, others, String(SECONDS)];
      const { stdout } = await mustRun("python3", args, { deadlineMs: (SECONDS + 30) * 1000 });
      return { name, took: JSON.parse(stdout) as Took[] };
    }),
  );
  const done = await Promise.all(works);
  const all = done.flatMap(({ took }) => took);
  for (const operation of ["create", "rename", "open"]) expect(all.some((one) => one[0] === operation)).toBe(true);
  expect(all.filter(([, from, to]) => to - from > LONGEST_MS)).toEqual([]);
  const isChange = ([operation]: Took): boolean => operation === "create" || operation === "rename";
  const [one, two] = ["one", "two"].map((name) =>
    done.filter((each) => each.name === name).flatMap(({ took }) => took),
  );
  const meetings = (one ?? []).filter(isChange).filter((change) => two?.some((other) => met(change, other)));
  expect(meetings.length).toBeGreaterThan(0);
}, 180_000);
