// Processes killed at every change that they make to a disk, while programs work on the drive: what the programs were
// told is there, in the folder, on the drive mounted again and on a second one, and nothing is mixed. Real processes;
// an ordinary run stops at some of the changes, a long one at several times as many, and server and agent at once.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CrashRig, type Mode, type Stop, StopAt, type Work } from "../src/crash/index.ts";
import { isAlive, onMount, run, waitFor } from "../src/harness/index.ts";
import { mountsBelow } from "../src/harness/cleanup/mounts.ts";

const CLOSE_GUARD = fileURLToPath(new URL("../src/crash/close-guard.ts", import.meta.url));
const LONG = process.env["RUNNEL_LONG"] === "1";
/** Changes from one stop to the next: there are thousands, and each stop takes seconds. */
const STRIDES = { server: LONG ? 36 : 281, agent: LONG ? 4 : 151, both: 15 };
const inLongRun = LONG ? test : test.skip;
const ROUNDS_MS = LONG ? 3_600_000 : 300_000;
/** Time that a guard takes at the most, on a machine with much else to do. */
const GUARD_MS = 2_000;
/** Drives that are mapped again until one has the number of the one before. */
const ATTEMPTS_MAX = 30;
/** A program with a dead drive is told at once. */
const TOLD_MS = 20_000;

const folder = mkdtempSync(join(tmpdir(), "rnl-stop-"));
let library: string;
let rig: CrashRig;

beforeAll(async () => {
  library = await StopAt.build(folder);
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(async () => {
  rig = await CrashRig.start(library);
}, 120_000);

afterEach(() => rig.cleanup(), 60_000);

/** A process that is to end by a stop. */
interface Victim {
  start(stop: Stop): Promise<void>;
  kill(): Promise<void>;
  hasEnded(): boolean;
}

const server: Victim = {
  start: (stop) => rig.startServer(stop),
  kill: () => rig.server.kill(),
  hasEnded: () => rig.server.hasEnded,
};

const agent: Victim = {
  start: (stop) => rig.mount(stop),
  kill: () => rig.device.killAgent(),
  hasEnded: () => !isAlive(rig.device.agentPid()),
};

/**
 * Rounds of work, in each of which the victim stops once, at a later change each time, until a round ends before its
 * stop. `meanwhile` is done once the victim has gone. Returns how many rounds were cut.
 */
async function rounds(victim: Victim, stride: number, meanwhile: (work: Work) => Promise<void>): Promise<number> {
  const stopAt = (round: number): Stop => ({
    at: 1 + round * stride,
    isTorn: round % 3 === 0,
  });
  await victim.kill();
  await victim.start(stopAt(0));
  // Programs do not wait for a server that the agent has not found again yet.
  await rig.settle();
  for (let round = 0; ; round++) {
    const work = rig.work(`round-${round}`);
    rig.stop.arm();
    const performed = rig.perform(work);
    let isPerformed = false;
    void performed.then(() => (isPerformed = true));
    const isOver = (): boolean => (isPerformed && rig.isServed(work)) || victim.hasEnded();
    await waitFor(isOver, ROUNDS_MS, "the kill, or the end of all that the programs did");
    // The drive of a killed agent goes before the process does.
    if (victim !== server && !victim.hasEnded() && rig.cutShort(work).length > 0) {
      await waitFor(victim.hasEnded, TOLD_MS, "the end of the agent whose drive has gone");
    }
    const wasCut = victim.hasEnded();
    rig.stop.disarm();
    if (!wasCut) await victim.kill();
    await meanwhile(work);
    await victim.start(stopAt(round + 1));
    await performed;
    const trace = rig.stop.takeTrace();
    try {
      await rig.settle();
      await rig.check(work);
    } catch (error) {
      throw new Error(`Stopped before ${trace.at(-1)}: ${(error as Error).message}`, { cause: error });
    }
    if (!wasCut || victim === server) expect(rig.cutShort(work)).toEqual([]);
    if (!wasCut) return round;
  }
}

describe("killed at its n-th change to the disk", () => {
  test.each<Mode>(LONG ? ["sync", "async"] : ["sync"])(
    "a server has all it acknowledged, and the programs on the drive, in mode %s, notice nothing but a pause",
    async (mode) => {
      await rig.use(mode);
      expect(await rounds(server, STRIDES.server, async () => {})).toBeGreaterThan(2);
    },
    ROUNDS_MS,
  );

  test.each<Mode>(LONG ? ["sync", "async"] : ["async"])(
    "an agent in mode %s leaves all that was saved, and what was on its way is there whole or not at all when it is mounted again",
    async (mode) => {
      await rig.use(mode);
      expect(await rounds(agent, STRIDES.agent, async () => {})).toBeGreaterThan(2);
    },
    ROUNDS_MS,
  );

  inLongRun.each<Mode>(["sync", "async"])(
    "a server takes the agent, in mode %s, along, and all that was saved is there",
    async (mode) => {
      await rig.use(mode);
      const both: Victim = {
        start: async (stop) => {
          await server.start(stop);
          await rig.mount();
        },
        kill: async () => {
          await server.kill();
          await agent.kill();
        },
        hasEnded: server.hasEnded,
      };
      expect(await rounds(both, STRIDES.both, () => agent.kill())).toBeGreaterThan(2);
    },
    ROUNDS_MS,
  );
});

describe("programs that stand in a drive whose agent was killed", () => {
  test("are told ENOTCONN, before and after it is mounted again, and the new drive works beside them", async () => {
    const [log, go, gone] = ["told", "go", "gone"].map((name) => rig.sandbox.path(name));
    const standing = run("python3", ["-c", STANDING, rig.drive, log ?? "", go ?? "", gone ?? ""], {
      deadlineMs: 120_000,
      env: rig.sandbox.env,
    });
    const told = (): string[] => {
      try {
        return readFileSync(log ?? "", "utf8")
          .split("\n")
          .slice(0, -1);
      } catch {
        return [];
      }
    };
    await waitFor(() => told().length === 1, TOLD_MS, "the program to stand in the drive");
    await rig.device.killAgent();
    await run("touch", [go ?? ""]);
    await waitFor(() => told().length === 2, TOLD_MS, "the program to be told");
    await rig.mount();
    await run("touch", [gone ?? ""]);
    expect((await standing).code).toBe(0);
    // Requests that the kernel had already queued when the agent went are "aborted"; all after that is "not connected".
    expect(told()[1]).toMatch(
      /^read: (ENOTCONN|ECONNABORTED) list: (ENOTCONN|ECONNABORTED) make: (ENOTCONN|ECONNABORTED)$/,
    );
    expect(told()[2]).toBe("read: ENOTCONN list: ENOTCONN make: ENOTCONN");
    const work = rig.work("after");
    await rig.perform(work);
    await rig.settle();
    await rig.check(work);
    expect(rig.cutShort(work)).toEqual([]);
  }, 240_000);
});

describe("a killed agent whose connection to the kernel something keeps open", () => {
  // The holder stands for a thread of the agent that waits in the kernel for a folder, which a program has locked that
  // waits for the agent.
  test("ends its drives all the same, so that no program waits for ever and the drive can be mapped again", async () => {
    const holder = spawn("python3", ["-c", HOLDING, String(rig.device.agentPid())], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    try {
      await once(holder.stdout, "data");
      await rig.device.killAgent();
      const told = await run("stat", [join(rig.drive, "name")], { deadlineMs: TOLD_MS });
      expect(told.stderr).toMatch(/not connected|abort/);
      await rig.mount();
      const work = rig.work("after");
      await rig.perform(work);
      await rig.settle();
      await rig.check(work);
    } finally {
      holder.kill("SIGKILL");
    }
  }, 240_000);
});

describe("the guard of a drive", () => {
  test("ends it when its pipe ends without a word, before the kernel tells of the agent's death", async () => {
    const guarded = spawn(process.execPath, [CLOSE_GUARD, rig.drive], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      await once(guarded.stdout, "data");
      guarded.stdin.write("close\n");
      const told = async (): Promise<string> =>
        (await run("stat", [join(rig.drive, "name")], { deadlineMs: TOLD_MS })).stderr;
      await waitFor(async () => /not connected|abort/.test(await told()), TOLD_MS, "the drive to end");
    } finally {
      guarded.kill("SIGKILL");
    }
  }, 60_000);

  test("ends no other one, which has the number of a drive that has gone", async () => {
    for (let attempt = 0; ; attempt++) {
      const guarded = spawn(process.execPath, [CLOSE_GUARD, rig.drive], { stdio: ["pipe", "pipe", "inherit"] });
      try {
        await once(guarded.stdout, "data");
        const [gone] = mountsBelow(rig.drive);
        await rig.device.unmount(rig.drive);
        // The lowest number that is free is the next one's: ours, unless another test maps a drive in that moment.
        await rig.mount();
        const [now] = mountsBelow(rig.drive);
        if (now?.minor !== gone?.minor && attempt < ATTEMPTS_MAX) continue;
        const closed = once(guarded.stdout, "data");
        guarded.stdin.write("close\n");
        await closed;
        await sleep(GUARD_MS);
        expect(await onMount('ls "$1"; echo there', [rig.drive])).toContain("there");
        expect(now?.minor).toBe(gone?.minor);
        return;
      } finally {
        guarded.kill("SIGKILL");
      }
    }
  }, 120_000);
});

/** Takes a share in a process's connections to the kernel, until it is killed. argv: PID */
const HOLDING = `
import ctypes, os, sys, time
pid = int(sys.argv[1])
PIDFD_GETFD = 438
held = [ctypes.CDLL(None).syscall(PIDFD_GETFD, os.pidfd_open(pid), int(fd), 0)
        for fd in os.listdir(f"/proc/{pid}/fd") if os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/fuse"]
assert held and all(fd >= 0 for fd in held)
print("held", flush=True)
time.sleep(1000)
`;

/**
 * Stands in a folder of the drive with a file open, and says what each call is answered once a file has come to be.
 * argv: DRIVE LOG GO GONE
 */
const STANDING = `
import errno, os, sys, time
drive, log, *signs = sys.argv[1:]
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.mkdir(drive + "/stands")
os.chdir(drive + "/stands")
file = os.open("open", os.O_RDWR | os.O_CREAT)
os.write(file, b"never saved")
os.write(out, b"stands\\n")
def told(call):
    try:
        call()
        return "nothing"
    except OSError as error:
        return errno.errorcode[error.errno]
for sign in signs:
    while not os.path.exists(sign):
        time.sleep(0.02)
    calls = {"read": lambda: os.pread(file, 10, 0), "list": lambda: os.listdir("."), "make": lambda: os.mkdir("more")}
    os.write(out, (" ".join(name + ": " + told(call) for name, call in calls.items()) + "\\n").encode())
`;
