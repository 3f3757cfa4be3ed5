// Two clients at work in one folder: what one changes meets what the other is just doing, and neither waits for the
// other longer than the wire makes it.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Sandbox, mustRun, onMount } from "../src/harness/index.ts";

const PROGRAM = fileURLToPath(new URL("../src/deadlines/busy-folder.py", import.meta.url));
const RTT_MS = 200;
/** A minute in the long run. */
const SECONDS = process.env["RUNNEL_LONG"] ? 60 : 8;
/** Ten round trips, and a margin for processes that wait for a processor beside other tests. */
const LONGEST_MS = 10 * RTT_MS + 2_000;

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => sandbox.cleanup(), 120_000);

type Took = [operation: string, from: number, to: number];

/**
 * Returns true when a change by one client reached the other while that was in the middle of something: it was there
 * one round trip after it began at the earliest, and one before it ended at the latest, since its answer waited for the
 * other's acknowledgement.
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

/** Saves a file that stays open, each time when it is told what to add. */
const SAVER = `
import os, sys
held = os.open(sys.argv[1], os.O_RDWR)
for line in sys.stdin:
    os.write(held, line.encode())
    os.fsync(held)
    print("saved", flush=True)
`;

test("an open file whose name another client gave to a new one is kept beside, once, however often it is saved", async () => {
  const server = await sandbox.startServer();
  const [one = "", two = ""] = await Promise.all(
    ["one", "two"].map(async (name) => {
      const drive = sandbox.makeFolder(`drive-${name}`);
      await sandbox.device(name).mount(`${server.url}/docs`, drive);
      return drive;
    }),
  );
  await onMount('seq 20000 > "$1/file"', [one]);
  const saver = spawn("python3", ["-c", SAVER, `${one}/file`], { cwd: "/", stdio: ["pipe", "pipe", "inherit"] });
  try {
    const save = async (line: string): Promise<void> => {
      const saved = once(saver.stdout, "data");
      saver.stdin.write(`${line}\n`);
      await saved;
    };
    await save("first ");
    await onMount('echo new > "$1/.file"; mv "$1/.file" "$1/file"', [two]);
    await save("second");
    await save("third ");
    const ended = once(saver, "exit");
    saver.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect(await onMount('cat "$1/file"', [one])).toBe("new\n");
    const listed = (await onMount('ls "$1"', [two])).trim().split("\n");
    expect(listed).toHaveLength(2);
    const beside = listed.find((name) => name !== "file") ?? "";
    expect(await onMount('head -c 21 "$1/$2"', [two, beside])).toBe("first \nsecond\nthird \n".slice(0, 21));
    const kept = await onMount('wc -c < "$1/$2"; tail -n 1 "$1/$2"', [two, beside]);
    expect(kept.split(/\s+/)).toEqual(["108894", "20000", ""]);
  } finally {
    saver.kill("SIGKILL");
  }
}, 120_000);
