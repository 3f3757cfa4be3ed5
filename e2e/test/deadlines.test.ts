// Nothing hangs: a sample of the matrix of operations and conditions, programs that are interrupted, and verbs while
// nothing is heard of the server.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  CONDITIONS,
  KIND_NAMES,
  Matrix,
  READY_MS,
  SilentPlace,
  UNAWAITED,
  allCases,
  endBy,
  fuseOperations,
  listProbes,
  ownProbes,
  output,
  waitsInKernel,
} from "../src/deadlines/index.ts";
import { Sandbox, isMounted, noise, onMount, waitFor, waitForMount } from "../src/harness/index.ts";

describe("the probes", () => {
  test("there is one for each operation of the drive that a program waits for, and each has its row in the table", async () => {
    const probes = await listProbes();
    const probed = new Set(probes.map(({ operation }) => operation));
    const operations = fuseOperations();
    expect(operations.length).toBeGreaterThan(25);
    expect(operations.filter((name) => !probed.has(name) && !UNAWAITED.includes(name))).toEqual([]);
    expect(probes.filter(({ kind }) => !KIND_NAMES.includes(kind))).toEqual([]);
  });
});

const SAMPLE_PROBES = 14;
const seed = Number(process.env["RUNNEL_SEED"] ?? Date.now() % 100_000);

/** A few, others in every run. */
function sample<T>(all: readonly T[], count: number): T[] {
  const order = noise(all.length * 4, seed);
  const keyed = all.map((one, index) => ({ one, key: Buffer.from(order).readUInt32LE(index * 4) }));
  return keyed
    .toSorted((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ one }) => one);
}

test(`some operations under one condition answer or fail in time (all of them: test:long; this sample: RUNNEL_SEED=${seed})`, async () => {
  const [condition] = sample(CONDITIONS, 1);
  if (condition === undefined) throw new Error("There is no condition.");
  const probes = sample(
    (await ownProbes()).filter(({ isCold }) => !isCold),
    SAMPLE_PROBES,
  );
  const matrix = new Matrix(allCases([condition], probes));
  try {
    await matrix.start();
    expect(await matrix.run(condition)).toEqual([]);
  } finally {
    await matrix.cleanup();
  }
}, 180_000);

/** The promised time, and more for a loaded machine. */
const GONE_MS = 1_000 + 1_500;
const INSERT = "insert into t values (1)";

/** Ctrl-C too in the long run. */
const SIGNALS: NodeJS.Signals[] = process.env["RUNNEL_LONG"] ? ["SIGINT", "SIGKILL"] : ["SIGKILL"];

/** Holds a lock, then has bytes in its file that nobody has saved. */
const HOLDER = `
import fcntl, os, sys, time
held = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(held, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.readline()
os.pwrite(held, b"changed\\n", 0)
print("changed", flush=True)
time.sleep(1000)
`;

describe("while nothing is heard of the server", () => {
  let place: SilentPlace;

  beforeEach(async () => {
    place = new SilentPlace();
    await place.start();
  }, 60_000);
  afterEach(() => place.sandbox.cleanup(), 120_000);

  test.each(SIGNALS)(
    "%s ends cat, cp, mv, flock, sqlite3 and whoever has a changed file open, and wakes who waits for its lock",
    async (signal) => {
      const { sandbox, link, served, drive } = place;
      // A folder for each: in one, a change that waits holds up the others (the kernel's lock of the folder, which no
      // signal interrupts).
      const prepare =
        'cd "$1"; mkdir s m c; sqlite3 s/base "create table t (x)"; echo old > m/old; echo locked > locked';
      await onMount(prepare, [drive]);
      writeFileSync(sandbox.path("source"), noise(200_000, 5));
      const holder = place.program("python3", "-c", HOLDER, join(drive, "locked"));
      await output(holder);
      const waiter = place.program("flock", join(drive, "locked"), "true");
      await waitsInKernel(waiter);
      await link.blackHole();
      const programs = {
        cat: place.program("cat", join(drive, "unseen")),
        cp: place.program("cp", sandbox.path("source"), join(drive, "c", "copy")),
        mv: place.program("mv", join(drive, "m", "old"), join(drive, "m", "new")),
        // It catches SIGINT, and goes on to undo what it did.
        sqlite3: place.program("sqlite3", join(drive, "s", "base"), INSERT),
        flock: place.program("flock", join(drive, "locked"), "false"),
      };
      await Promise.all(Object.values(programs).map(waitsInKernel));
      holder.stdin?.write("change it\n");
      await output(holder);
      const ends = Object.entries(programs).map(async ([name, child]) => ({
        name,
        tookMs: await endBy(child, signal),
      }));
      expect((await Promise.all(ends)).filter(({ tookMs }) => tookMs > GONE_MS)).toEqual([]);
      const woken = once(waiter, "exit");
      const startMs = performance.now();
      expect(await endBy(holder, signal)).toBeLessThan(GONE_MS);
      expect(await woken).toEqual([0, null]);
      expect(performance.now() - startMs).toBeLessThan(GONE_MS);
      // Bytes that were written are not lost with their program.
      await link.restore();
      await place.waitForStatus((status) => status.state === "connected", "the link");
      await waitFor(() => readFileSync(join(served, "locked"), "utf8") === "changed\n", READY_MS, "what was written");
    },
    120_000,
  );

  test("unmount --force ends the drive in seconds, whatever programs wait for, and keeps what they wrote", async () => {
    const { sandbox, link, served, drive } = place;
    await link.blackHole();
    writeFileSync(sandbox.path("source"), "mine\n");
    const writer = place.program("cp", sandbox.path("source"), join(drive, "held"));
    await waitsInKernel(writer);
    const mover = place.program("mv", join(drive, "unseen"), join(drive, "moved"));
    await waitsInKernel(mover);
    const ended = [once(writer, "exit"), once(mover, "exit")];
    const { tookMs, text } = await place.timed(["unmount", "--force", drive]);
    expect(tookMs).toBeLessThan(8_000);
    expect(text).toContain("1 file was not sent");
    await Promise.all(ended);
    expect(isMounted(drive)).toBe(false);
    await link.restore();
    await place.mount();
    await waitFor(() => readFileSync(join(served, "held"), "utf8") === "mine\n", READY_MS, "what was unsent");
  }, 120_000);
});

describe("a machine that sleeps", () => {
  let sandbox: Sandbox;

  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.cleanup(), 120_000);

  test("does not trust what it knew before: what was changed meanwhile is shown at once", async () => {
    const served = sandbox.makeFolder("served");
    writeFileSync(join(served, "shared"), "before");
    const server = await sandbox.startServer({ volumes: { docs: served }, leaseTerm: 2 });
    const drive = sandbox.makeFolder("drive");
    const elsewhere = sandbox.makeFolder("elsewhere");
    const device = sandbox.device("sleeper");
    const other = sandbox.device("other");
    await device.mount(`${server.url}/docs`, drive);
    await other.mount(`${server.url}/docs`, elsewhere);
    await waitForMount(device, ({ state }) => state === "connected", READY_MS, "the whole tree");
    expect(await onMount('cat "$1/shared"', [drive])).toBe("before");
    const pid = device.agentPid();
    // Stops the agent as suspend does: nothing runs, and the boot clock goes on. The commit waits for the sleeper's
    // lease to run out.
    process.kill(pid, "SIGSTOP");
    try {
      await onMount('echo after > "$1/shared"; echo new > "$1/new"; rm "$1/shared"; echo again > "$1/shared"', [
        elsewhere,
      ]);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    expect(await onMount('cat "$1/shared" "$1/new"', [drive])).toBe("again\nnew\n");
  }, 120_000);
});
