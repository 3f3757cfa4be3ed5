// A full disk, wherever it is: programs are told, what was there stays, status says what is full, and work goes on when
// there is room, all without a restart.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SmallDisk } from "../src/crash/index.ts";
import { type Device, Sandbox, type ServerProcess, noise, onMount, run, waitFor } from "../src/harness/index.ts";

/** Enough for a few small records, and nothing at all. */
const LEFT_KIB = [300, 0];
/** Fits, and more than fits: also where old versions give way. */
const BIG_BYTES = 4_000_000;
const HUGE_BYTES = 12_000_000;
/** Than the small disk. */
const LARGER_BYTES = 60_000_000;

const TRY = 'mkdir -p "$1/tried" && rmdir "$1/tried"';

/** A program that has a file open over a save that fails and one that does not. */
const HOLDER = `
import os, sys, time
here = sys.argv[1] + "/.."
held = os.open(sys.argv[1] + "/appended", os.O_RDWR)
os.ftruncate(held, 0)
os.pwrite(held, b"one " * 10000, 0)
try:
    os.fsync(held)
except OSError as error:
    print(os.strerror(error.errno))
open(here + "/failed", "w").close()
while not os.path.exists(here + "/go"):
    time.sleep(0.1)
os.pwrite(held, b"two ", 0)
os.pwrite(held, b"end", 40000)
os.fsync(held)
os.close(held)
print("saved")
`;

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;
let drive: string;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

/** Starts all with one place on a small disk. */
async function start(place: "served" | "data" | "home" | "cache"): Promise<SmallDisk> {
  const disk = await SmallDisk.make(sandbox, ...(place === "home" ? ["home", "a"] : [place]));
  server = await sandbox.startServer(volumes());
  device = sandbox.device("a");
  drive = sandbox.makeFolder("drive");
  writeFileSync(sandbox.path("served", "unread"), noise(BIG_BYTES, 2));
  await device.mount(`${server.url}/docs`, drive, place === "cache" ? ["--cache", disk.folder] : []);
  writeFileSync(sandbox.path("small"), noise(100_000, 3));
  writeFileSync(sandbox.path("big"), noise(BIG_BYTES, 4));
  writeFileSync(sandbox.path("huge"), noise(HUGE_BYTES, 5));
  await on(
    'echo old > "$1/old"; echo base > "$1/appended"; cp "$1/../small" "$1/kept"; cat "$1/old" "$1/kept" > /dev/null',
  );
  await device.flush(drive, { up: true });
  await settled();
  return disk;
}

/** Waits until the cache has what was saved: the agent has let go of its own copies then. */
async function settled(): Promise<void> {
  const mounts = join(device.home, "mounts");
  const copies = (): string[] => readdirSync(mounts).flatMap((mount) => readdirSync(join(mounts, mount, "data")));
  await waitFor(() => copies().length === 0, 20_000, "what was saved to be in the cache");
}

function volumes(): { volumes: Record<string, string>; data: string } {
  return { volumes: { docs: sandbox.makeFolder("served") }, data: sandbox.makeFolder("data") };
}

function on(script: string): Promise<string> {
  return onMount(script, [drive]);
}

async function problems(): Promise<string> {
  const [mount] = (await device.status())["mounts"] as { problems: string[] }[];
  return (mount?.problems ?? []).join("\n");
}

/** Runs a script, which must come to an end, and returns what its program is told. */
async function told(script: string): Promise<string> {
  const { code, stderr, isOverdue } = await run("bash", ["-c", script, "bash", drive], { deadlineMs: 40_000 });
  expect(isOverdue).toBe(false);
  return code === 0 ? "" : stderr;
}

/** After all: everything is on the server, the same here and there, nothing besides, and nobody complains any more. */
async function checkWorksAgain(round: number): Promise<void> {
  await on(
    `cp "$1/../big" "$1/old"; cmp "$1/old" "$1/../big"; mkdir "$1/made-${round}"; echo again > "$1/made-${round}/again"`,
  );
  await device.flush(drive, { up: true });
  expect(readFileSync(join(sandbox.path("served"), "old")).equals(readFileSync(sandbox.path("big")))).toBe(true);
  expect(readFileSync(join(sandbox.path("served"), `made-${round}`, "again"), "utf8")).toBe("again\n");
  expect(await on('ls "$1"; cat "$1/made-0/again"; cmp "$1/kept" "$1/../small"')).not.toContain("unsent");
  expect(await problems()).not.toMatch(/is full|not saved/);
  await on('echo old > "$1/old"');
  await device.flush(drive, { up: true });
}

describe("a full disk", () => {
  test.each([
    ["of the served folder", "served", "The server's disk with the volume's folder is full."],
    ["of the server's log and index", "data", "The server's disk with its log and index is full."],
    ["of the agent's journal, replica and cache", "home", "The disk of this computer with unsent changes is full"],
  ] as const)(
    "%s: programs get ENOSPC, the old content stays on the server, status names it, and it goes on when there is room",
    async (_title, place, sentence) => {
      const disk = await start(place);
      const pid = device.agentPid();
      for (const [round, leftKiB] of LEFT_KIB.entries()) {
        await disk.fill(leftKiB);
        // The server looks at the room of its own disk now and then.
        if (place === "data") await waitFor(async () => (await told(TRY)) !== "", 10_000, "the server to see it");
        // A disk that has just become full can take seconds to say so, and a server that says nothing for two of them
        // counts as away.
        const refused = async (): Promise<boolean> =>
          (await told('cp "$1/../huge" "$1/old"')).includes("No space left on device");
        await waitFor(refused, 20_000, "the disk to be full for programs");
        expect(await problems()).toContain(sentence);
        // Writes in place, and syncs: whatever call it is, one of them says so.
        expect(await told('dd if="$1/../huge" of="$1/old" bs=100k conv=notrunc,fsync status=none')).toContain(
          "No space left",
        );
        expect(await told('cp "$1/../huge" "$1/new"')).toContain("No space left on device");
        // Content that the server refused is kept, and shown here.
        expect(await on(place === "home" ? 'cat "$1/old"' : 'cmp "$1/old" "$1/../huge" && echo old')).toBe("old\n");
        // Cached content may have given way, and then there is no space to fetch it.
        expect(await told('cmp "$1/kept" "$1/../small"')).toMatch(place === "home" ? /^$|No space left/ : /^$/);
        expect(readFileSync(join(sandbox.path("served"), "old"), "utf8")).toBe("old\n");
        // Whatever it says, the agent lives on: what it would say of this stands on the same disk.
        if (place === "home") for (let time = 0; time < 3; time++) await told('cat "$1/unread" > /dev/null');
        disk.empty();
        expect(device.agentPid()).toBe(pid);
        if (place === "data")
          await waitFor(async () => (await told(TRY)) === "", 20_000, "the server to see that there is room");
        await on('rm -f "$1/new"');
        await checkWorksAgain(round);
        expect(await on('ls "$1"')).not.toContain("new");
      }
    },
    240_000,
  );

  test("of the log and index: a program whose save failed keeps its file open, what it saved is sent meanwhile, and it saves on", async () => {
    const disk = await start("data");
    writeFileSync(sandbox.path("program.py"), HOLDER);
    await disk.fill(0);
    await waitFor(async () => (await told(TRY)) !== "", 10_000, "the server to see it");
    const program = run("python3", [sandbox.path("program.py"), drive], { deadlineMs: 60_000 });
    await waitFor(async () => existsSync(sandbox.path("failed")), 20_000, "the program to be refused");
    await server.kill();
    disk.empty();
    server = await sandbox.startServer({ ...volumes(), listen: `127.0.0.1:${server.port}` });
    // Waits for the agent itself: a flush would have saved what the program has open.
    const isApplied = (): boolean =>
      readFileSync(join(sandbox.path("served"), "appended"), "utf8") === "one ".repeat(10_000);
    await waitFor(async () => isApplied(), 20_000, "what could not be saved to be sent");
    // The journal has let go by then of what it lets go of.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    writeFileSync(sandbox.path("go"), "");
    expect(await program).toMatchObject({ code: 0, stdout: "No space left on device\nsaved\n" });
    await device.flush(drive, { up: true });
    expect(readFileSync(join(sandbox.path("served"), "appended"), "utf8")).toBe(`two ${"one ".repeat(9_999)}end`);
    expect(await problems()).toBe("");
    expect(await on('ls "$1"')).not.toContain("unsent");
  }, 120_000);

  test("of the cache: programs go on, reading what they wrote, and status names it", async () => {
    const disk = await start("cache");
    await disk.fill(0);
    await on(
      'cp "$1/../small" "$1/old"; cmp "$1/old" "$1/../small"; echo more >> "$1/appended"; cat "$1/kept" | cmp - "$1/../small"',
    );
    expect(await on('cat "$1/appended"')).toBe("base\nmore\n");
    expect(await problems()).toContain("The disk of this computer with the cache is full");
    expect(await told('cat "$1/unread" > /dev/null')).toContain("No space left on device");
    expect(await problems()).toContain("has no room for what a program reads");
    disk.empty();
    await on('cmp "$1/unread" "$1/../served/unread"');
    expect(await problems()).not.toContain("has no room");
    await checkWorksAgain(0);
  }, 120_000);

  test("of the cache: a file that is larger than the disk is read from end to end, by several programs at once, and status names the disk", async () => {
    writeFileSync(join(sandbox.makeFolder("served"), "larger"), noise(LARGER_BYTES, 6));
    await start("cache");
    const compare = 'cmp "$1/larger" "$1/../served/larger"';
    await on(compare);
    expect(await problems()).toContain("has no room for what a program reads");
    await on(`${compare} & first=$!; ${compare} -i 20M & second=$!; ${compare}; wait $first && wait $second`);
    // Content that was read of it before is gone, for what comes last: that is here.
    await on('cmp "$1/kept" "$1/../small"; echo more >> "$1/larger"; tail -c 5 "$1/larger" | grep -q more');
  }, 120_000);

  test("what another program changes in the folder meanwhile is shown once there is room for the log", async () => {
    const disk = await start("data");
    await disk.fill(0);
    writeFileSync(join(sandbox.path("served"), "outside"), "written meanwhile");
    expect(await told('mkdir "$1/refused"')).toContain("No space left on device");
    disk.empty();
    await on(
      'for i in $(seq 600); do [ "$(cat "$1/outside" 2>/dev/null)" = "written meanwhile" ] && exit 0; sleep 0.05; done; exit 1',
    );
  }, 120_000);
});
