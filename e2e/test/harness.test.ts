import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Sandbox, isAlive, isMounted, mustRun, onMount, onMountInNode, run, waitFor } from "../src/harness/index.ts";
import { mountsBelow, parseMountInfo } from "../src/harness/index.ts";
import { markedProcesses } from "../src/harness/cleanup/sweep.ts";

/** A watchdog starts as a program of its own, and may do so on a busy machine. */
const SWEPT_MS = 30_000;

describe("run", () => {
  test("returns what a command says and how it ended", async () => {
    const result = await run("bash", ["-c", "cat; echo oops >&2; exit 3"], { input: "in" });
    expect(result).toMatchObject({ code: 3, signal: null, isOverdue: false, stdout: "in", stderr: "oops\n" });
    await expect(run("/nowhere/to/be/found", [])).rejects.toThrow("ENOENT");
  });

  test("kills a command with all that it started at its deadline", async () => {
    const result = await run("bash", ["-c", "sleep 60 & echo $!; wait"], { deadlineMs: 300 });
    expect(result).toMatchObject({ code: null, signal: "SIGKILL", isOverdue: true });
    await waitFor(() => !isAlive(Number(result.stdout)), 15_000, "the grandchild to end");
    await expect(mustRun("sleep", ["60"], { deadlineMs: 100 })).rejects.toThrow(/^sleep 60 was still running after/);
    await expect(mustRun("bash", ["-c", "echo why >&2; exit 1"])).rejects.toThrow("ended with code 1\nwhy");
  });

  test("runs shell scripts and functions elsewhere", async () => {
    expect(await onMount('printf "%s." "$@"', ["a b", "c"])).toBe("a b.c.");
    const answer = await onMountInNode(
      async ({ text }) => {
        const { createHash } = await import("node:crypto");
        return { pid: process.pid, digest: createHash("sha256").update(text).digest("hex").slice(0, 8) };
      },
      { text: "abc" },
    );
    expect(answer.digest).toBe("ba7816bf");
    expect(answer.pid).not.toBe(process.pid);
  });
});

test("waitFor names what it waited for in vain", async () => {
  await expect(waitFor(() => false, 30, "rain")).rejects.toThrow("Waited 30 ms in vain for rain.");
  expect(await waitFor(async () => "dry", 30)).toBe("dry");
});

test("mountinfo lines yield mount point, minor number, type and source, unescaped", () => {
  const text = String.raw`36 35 0:57 / /mnt/my\040drive rw,noatime shared:1 - fuse.runnel runnel:docs rw,user_id=0
22 1 8:1 / / rw - ext4 /dev/root rw
`;
  expect(parseMountInfo(text)).toEqual([
    { mountpoint: "/mnt/my drive", minor: 57, type: "fuse.runnel", source: "runnel:docs" },
    { mountpoint: "/", minor: 1, type: "ext4", source: "/dev/root" },
  ]);
});

describe("a sandbox", () => {
  let built: string;
  let drive: string;
  let sandbox: Sandbox;

  beforeAll(async () => {
    built = mkdtempSync(join(tmpdir(), "rnl-drive-"));
    drive = join(built, "stuck_drive");
    const source = fileURLToPath(new URL("fixtures/stuck_drive.cc", import.meta.url));
    await onMount('c++ -std=c++20 -O1 -o "$1" "$2" $(pkg-config --cflags --libs fuse3)', [drive, source], {
      deadlineMs: 60_000,
    });
  }, 70_000);

  afterAll(() => rmSync(built, { recursive: true, force: true }));

  beforeEach(() => {
    sandbox = new Sandbox();
  });

  afterEach(() => sandbox.cleanup());

  test("takes away processes, files and a drive that never answers", async () => {
    const mountpoint = sandbox.makeFolder("my drive");
    await mustRun(drive, [mountpoint], { env: sandbox.env });
    expect(isMounted(mountpoint)).toBe(true);
    expect(await onMount('cat "$1/text"', [mountpoint])).toBe("hello\n");
    const stuck = await run("cat", [join(mountpoint, "stuck")], { deadlineMs: 300, env: sandbox.env });
    expect(stuck.isOverdue).toBe(true);
    const sleeper = spawn("sleep", ["60"], { env: sandbox.env });
    await waitFor(() => markedProcesses(sandbox.folder).includes(sleeper.pid ?? 0), 15_000, "the sleeper");

    const swept = await sandbox.cleanup();
    expect(swept).toMatchObject({ mounts: [mountpoint], left: [] });
    expect(swept.processes).toContain(sleeper.pid);
    expect(isMounted(mountpoint)).toBe(false);
    expect(markedProcesses(sandbox.folder)).toEqual([]);
    expect(existsSync(sandbox.folder)).toBe(false);
  });

  test("outlasts a program without its mark that still writes for a moment", async () => {
    const busy = sandbox.makeFolder("busy");
    const script = 'for i in {1..100000}; do : > "$0/$i" || exit; (( SECONDS < 2 )) || exit 0; done';
    spawn("bash", ["-c", script, busy], { env: { PATH: process.env["PATH"] }, stdio: "ignore" });
    await waitFor(() => existsSync(join(busy, "500")), 15_000, "files");
    expect(await sandbox.cleanup()).toMatchObject({ left: [] });
    expect(existsSync(sandbox.folder)).toBe(false);
  });

  test(
    "ends with the test process, whatever became of it",
    async () => {
      const abandon = fileURLToPath(new URL("fixtures/abandon.ts", import.meta.url));
      const child = spawn(process.execPath, [abandon, drive], { stdio: ["ignore", "pipe", "inherit"] });
      const [folder] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
      expect(mountsBelow(folder)).toHaveLength(1);
      child.kill("SIGKILL");
      await waitFor(() => !existsSync(folder) && mountsBelow(folder).length === 0, SWEPT_MS, "the watchdog");
      expect(markedProcesses(folder)).toEqual([]);
    },
    2 * SWEPT_MS,
  );

  test(
    "ends when its time is up",
    async () => {
      const late = new Sandbox(300);
      const sleeper = spawn("sleep", ["60"], { env: late.env });
      await waitFor(() => !isAlive(sleeper.pid ?? 0) && !existsSync(late.folder), SWEPT_MS, "the watchdog");
      await waitFor(() => late.hasBeenSwept, 15_000, "the watchdog to end");
      await expect(late.cleanup()).rejects.toThrow("the test took too long");
    },
    2 * SWEPT_MS,
  );

  test("starts emulators that end with it", async () => {
    const emulator = await sandbox.startEmulator(9, { rttMs: 10 });
    expect(await emulator.counts()).toMatchObject({ connections: 0 });
    await sandbox.cleanup();
    await expect(emulator.counts()).rejects.toThrow("ended");
  });
});
