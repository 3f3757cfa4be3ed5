// What hangs nobody: a sample of the matrix of operations and conditions, programs that are interrupted, and verbs while nothing is heard of the server.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  CONDITIONS,
  KIND_NAMES,
  Matrix,
  UNAWAITED,
  allCases,
  fuseOperations,
  listProbes,
  ownProbes,
} from "../src/deadlines/index.ts";
import {
  type Device,
  type LinkEmulator,
  Sandbox,
  type ServerProcess,
  isMounted,
  noise,
  onMount,
  waitFor,
  waitForMount,
} from "../src/harness/index.ts";

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

const READY_MS = 30_000;
/** What is promised, and a loaded machine. */
const GONE_MS = 1_000 + 1_500;
/** A program in the kernel that waits for the drive, for its pages or for a lock (proc(5), wchan). */
const WAITS = /fuse|request_wait|folio|lock/;

let sandbox: Sandbox;
let server: ServerProcess;
let link: LinkEmulator;
let device: Device;
let served: string;
let drive: string;

async function setUp(): Promise<void> {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  writeFileSync(join(served, "held"), "seen before");
  writeFileSync(join(served, "unseen"), noise(5_000_000, 3));
  // Long, so that no renewal finds out by itself that the server is silent.
  server = await sandbox.startServer({ volumes: { docs: served }, leaseTerm: 120 });
  link = await sandbox.startEmulator(server.port);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await waitForMount(device, ({ state }) => state === "connected", READY_MS, "the whole tree");
  await onMount('cat "$1/held" > /dev/null', [drive]);
}

function program(command: string, ...args: string[]): ChildProcess {
  return spawn(command, args, { cwd: "/", env: sandbox.env, stdio: ["pipe", "pipe", "inherit"] });
}

async function waitsInKernel(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) throw new Error("It was not started.");
  const isWaiting = (): boolean => {
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode} instead of waiting.`);
    return WAITS.test(readFileSync(`/proc/${pid}/wchan`, "utf8"));
  };
  await waitFor(isWaiting, READY_MS, "the program to wait");
}

/** Milliseconds from the signal until the program is gone. */
async function endBy(child: ChildProcess, signal: NodeJS.Signals): Promise<number> {
  const exit = once(child, "exit");
  const startMs = performance.now();
  child.kill(signal);
  await exit;
  return performance.now() - startMs;
}

const INSERT = "insert into t values (1)";

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
  beforeEach(setUp, 60_000);
  afterEach(() => sandbox.cleanup(), 60_000);

  test.each(["SIGINT", "SIGKILL"] as const)(
    "%s ends cat, cp, mv, flock, sqlite3 and whoever has a changed file open, and wakes who waits for its lock",
    async (signal) => {
      // A folder for each: in one, a change that waits holds up the others (the kernel's lock of the folder, which no signal interrupts).
      const prepare =
        'cd "$1"; mkdir s m c; sqlite3 s/base "create table t (x)"; echo old > m/old; echo locked > locked';
      await onMount(prepare, [drive]);
      writeFileSync(sandbox.path("source"), noise(200_000, 5));
      const holder = program("python3", "-c", HOLDER, join(drive, "locked"));
      if (holder.stdout === null) throw new Error("Its output is not read.");
      await once(holder.stdout, "data");
      const waiter = program("flock", join(drive, "locked"), "true");
      await waitsInKernel(waiter);
      await link.blackHole();
      const programs = {
        cat: program("cat", join(drive, "unseen")),
        cp: program("cp", sandbox.path("source"), join(drive, "c", "copy")),
        mv: program("mv", join(drive, "m", "old"), join(drive, "m", "new")),
        // It catches SIGINT, and goes on to undo what it did.
        ...(signal === "SIGKILL" ? { sqlite3: program("sqlite3", join(drive, "s", "base"), INSERT) } : {}),
        flock: program("flock", join(drive, "locked"), "false"),
      };
      await Promise.all(Object.values(programs).map(waitsInKernel));
      holder.stdin?.write("change it\n");
      await once(holder.stdout, "data");
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
      // What was written is not lost with its program.
      await link.restore();
      await waitForMount(device, (status) => status.state === "connected", READY_MS, "the link");
      await waitFor(() => readFileSync(join(served, "locked"), "utf8") === "changed\n", READY_MS, "what was written");
    },
    120_000,
  );

  test.each(["cut", "black hole", "stopped server"])(
    "%s: status, flush and unmount answer; what is unsent is kept, said, and sent by the next mount",
    async (how) => {
      const writer = program("bash", "-c", 'exec 3> "$1/held"; echo ready; read -r; echo mine >&3', "bash", drive);
      if (writer.stdout === null) throw new Error("Its output is not read.");
      await once(writer.stdout, "data");
      const written = once(writer, "exit");
      if (how === "cut") await link.cut("refuse");
      else if (how === "black hole") await link.blackHole();
      else server.pause();
      writer.stdin?.end("go\n");
      await written;
      expect((await timed(["status", "--json"])).tookMs).toBeLessThan(5_000);
      const flushed = await timed(["flush", drive]);
      expect(flushed.text).toContain("could not be sent");
      expect(flushed.tookMs).toBeLessThan(20_000);
      const unmounted = await timed(["unmount", drive]);
      expect(unmounted.text).toContain("1 file was not sent; kept here");
      expect(unmounted.tookMs).toBeLessThan(15_000);
      expect(isMounted(drive)).toBe(false);
      // Not reachable: shown as it was.
      await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
      expect(await onMount('ls "$1"; cat "$1/held"', [drive])).toContain("held\nunseen\n");
      await waitForMount(device, ({ state, unsentFiles }) => state === "offline" && unsentFiles === 1, READY_MS, "it");
      server.goOn();
      await link.restore();
      await waitForMount(
        device,
        ({ state, unsentFiles }) => state === "connected" && unsentFiles === 0,
        READY_MS,
        "what was unsent",
      );
      await onMount('echo again > "$1/new"; mkdir "$1/folder"', [drive]);
      await device.flush(drive, { up: true });
      expect(readFileSync(join(served, "held"), "utf8")).toBe("mine\n");
    },
    180_000,
  );

  test("unmount --force ends the drive in seconds, whatever programs wait for, and keeps what they wrote", async () => {
    await link.blackHole();
    writeFileSync(sandbox.path("source"), "mine\n");
    const writer = program("cp", sandbox.path("source"), join(drive, "held"));
    await waitsInKernel(writer);
    const mover = program("mv", join(drive, "unseen"), join(drive, "moved"));
    await waitsInKernel(mover);
    const ended = [once(writer, "exit"), once(mover, "exit")];
    const { tookMs, text } = await timed(["unmount", "--force", drive]);
    expect(tookMs).toBeLessThan(8_000);
    expect(text).toContain("1 file was not sent");
    await Promise.all(ended);
    expect(isMounted(drive)).toBe(false);
    await link.restore();
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    await waitFor(() => readFileSync(join(served, "held"), "utf8") === "mine\n", READY_MS, "what was unsent");
  }, 120_000);

  test("the first mount of a server that is silent fails with one sentence, and status answers meanwhile", async () => {
    await link.blackHole();
    const other = sandbox.makeFolder("other");
    const mounting = timed(["mount", `ws://127.0.0.1:${link.port}/docs`, other]);
    expect((await timed(["status", "--json"])).tookMs).toBeLessThan(5_000);
    const { tookMs, text, code } = await mounting;
    expect(code).toBe(3);
    expect(text.trim().split("\n")).toHaveLength(1);
    expect(tookMs).toBeLessThan(25_000);
    expect(isMounted(other)).toBe(false);
  }, 120_000);
});

async function timed(args: string[]): Promise<{ tookMs: number; text: string; code: number | null }> {
  const { durationMs, stdout, stderr, code } = await device.runnel(args, { deadlineMs: 60_000 });
  return { tookMs: durationMs, text: stdout + stderr, code };
}

describe("a machine that sleeps", () => {
  beforeEach(() => {
    sandbox = new Sandbox();
  });
  afterEach(() => sandbox.cleanup(), 60_000);

  test("does not trust what it knew before: what was changed meanwhile is shown at once", async () => {
    served = sandbox.makeFolder("served");
    writeFileSync(join(served, "shared"), "before");
    server = await sandbox.startServer({ volumes: { docs: served }, leaseTerm: 2 });
    drive = sandbox.makeFolder("drive");
    const elsewhere = sandbox.makeFolder("elsewhere");
    device = sandbox.device("sleeper");
    const other = sandbox.device("other");
    await device.mount(`${server.url}/docs`, drive);
    await other.mount(`${server.url}/docs`, elsewhere);
    await waitForMount(device, ({ state }) => state === "connected", READY_MS, "the whole tree");
    expect(await onMount('cat "$1/shared"', [drive])).toBe("before");
    const pid = device.agentPid();
    // As suspend does: nothing runs, and the boot clock goes on. The commit waits for the sleeper's lease to run out.
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
