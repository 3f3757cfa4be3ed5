// Mode async on a real drive: programs do not wait for the line, what they were told outlives the agent's death, the
// server has it afterwards, and others see it when they look.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Sandbox,
  asServed,
  differences,
  mustRun,
  noise,
  onMount,
  pictureOf,
  waitFor,
  waitForMount,
} from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const RESUME_MS = 30_000;
/** Far less than the line takes for a content; with margin. */
const AT_ONCE_MS = 5_000;

let sandbox: Sandbox;
let server: ServerProcess;
let link: LinkEmulator;
let device: Device;
let served: string;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  for (const name of ["cached", "linked", "moved", "removed"]) writeFileSync(join(served, name), `${name} before\n`);
  mkdirSync(join(served, "folder"));
  server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await mount();
  await waitForState("connected");
  await onMount('cat "$1"/* 2>/dev/null || true', [drive]);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

async function mount(): Promise<void> {
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive, ["--mode", "async"]);
}

interface Status {
  state: string;
  mode: string;
  unsentFiles: number;
  unsentNames: number;
  sentence: string;
  problems: string[];
}

async function status(): Promise<Status> {
  const [found] = (await device.status())["mounts"] as Status[];
  if (found === undefined) throw new Error("Nothing is mounted.");
  return found;
}

async function waitForState(wanted: string): Promise<void> {
  await waitForMount(device, ({ state }) => state === wanted, RESUME_MS, `the state ${wanted}`);
}

/** All that a program does to files, in a folder that it makes. */
const WORK = `
set -e
cd "$1"
mkdir "$2" "$2/below" "$2/gone"
for n in $(seq 1 40); do echo "content $n" > "$2/file-$n"; done
for n in $(seq 1 10); do mv "$2/file-$n" "$2/below/moved-$n"; done
for n in $(seq 11 20); do rm "$2/file-$n"; done
ln "$2/file-21" "$2/below/second-name"
ln -s file-22 "$2/link"
chmod 640 "$2/file-23"
touch -d 2001-02-03T04:05:06Z "$2/file-24"
echo more >> "$2/file-25"
echo more >> "$2/file-25"
truncate -s 3 "$2/file-26"
head -c 300000 /dev/urandom > "$2/large"
rmdir "$2/gone"
mv "$2/below" "$2/renamed"
`;

async function work(name: string): Promise<void> {
  await onMount(WORK, [drive, name], { deadlineMs: 60_000 });
}

test("without a line programs go on, a killed agent included, and the server has it all once the line is back", async () => {
  expect(await status()).toMatchObject({ mode: "async", unsentFiles: 0, unsentNames: 0 });
  await work("online");
  await device.flush(drive);
  await link.cut("refuse");
  await waitForState("offline");
  await work("offline");
  await onMount(
    'cd "$1"; rm removed; mv moved folder/; echo more >> cached; ln linked "second name"; mv online renamed; mkdir -p a/b/c',
    [drive],
  );
  const before = await pictureOf(drive);
  const { unsentFiles, unsentNames, sentence } = await status();
  expect(Math.min(unsentFiles, unsentNames)).toBeGreaterThan(20);
  expect(sentence).toBe(`Offline. ${unsentFiles + unsentNames} changes wait and will be sent.`);
  for (let time = 1; time <= 2; time++) {
    await device.killAgent();
    await mount();
    expect(differences(await pictureOf(drive), before)).toEqual([]);
  }
  // Ids for what is made now were in reserve.
  await work("after the kill");
  const after = await pictureOf(drive);
  await link.restore();
  await waitForState("connected");
  await device.flush(drive, { up: true });
  expect(await status()).toMatchObject({ unsentFiles: 0, unsentNames: 0, problems: [] });
  expect(differences(await pictureOf(drive), after)).toEqual([]);
  expect(differences(asServed(await pictureOf(served)), asServed(after))).toEqual([]);
}, 180_000);

test("another client that looks is shown what programs here were told, and this one what that one did then", async () => {
  const other = sandbox.makeFolder("elsewhere");
  await sandbox.device("other").mount(`${server.url}/docs`, other);
  await link.setShape({ rttMs: 200 });
  for (let time = 1; time <= 4; time++) {
    await onMount('mkdir "$1/$2"; echo "said $2" > "$1/$2/file"; mv "$1/$2/file" "$1/$2/moved"', [
      drive,
      `here-${time}`,
    ]);
    expect(await onMount('cat "$1/$2/moved"; ls "$1/$2"', [other, `here-${time}`])).toBe(`said here-${time}\nmoved\n`);
    await onMount('echo answer >> "$1/$2/moved"; mkdir "$1/$2/there"', [other, `here-${time}`]);
    expect(await onMount('cat "$1/$2/moved"; ls "$1/$2"', [drive, `here-${time}`])).toBe(
      `said here-${time}\nanswer\nmoved\nthere\n`,
    );
  }
  expect(readFileSync(join(served, "cached"), "utf8")).toBe("cached before\n");
}, 120_000);

test("what a program syncs again and again of a file that it has open is all there", async () => {
  const blocks = 40;
  await link.setShape({ rttMs: 300 });
  const program = `
import os, sys, time
file = open(sys.argv[1], "w+b")
for n in range(int(sys.argv[2])):
    file.seek(((n * 7) % 40) * 1000)
    file.write(bytes([n]) * 1000)
    file.flush()
    os.fsync(file.fileno())
    time.sleep(1.2 if n % 8 == 0 else 0.05)`;
  await mustRun("python3", ["-c", program, join(drive, "base"), String(blocks)], { deadlineMs: 60_000 });
  await device.flush(drive, { up: true });
  const expected = Buffer.alloc(blocks * 1000);
  for (let n = 0; n < blocks; n++) expected.fill(n, ((n * 7) % blocks) * 1000, (((n * 7) % blocks) + 1) * 1000);
  expect(readFileSync(join(served, "base")).equals(expected)).toBe(true);
}, 120_000);

/** Writes to a file and syncs it each time, says how often it could, and what the agent has open; may kill that. */
const SYNCS = `
import os, subprocess, sys
path, times, agent, kill_at = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
descriptors = lambda: len(os.listdir(f"/proc/{agent}/fd"))
file = os.open(path, os.O_WRONLY | os.O_CREAT)
saved, before = 0, descriptors()
try:
    for n in range(times):
        if n == kill_at: subprocess.Popen(["kill", "-9", agent])
        os.pwrite(file, bytes([n % 251]) * 4096, n * 4096)
        os.pwrite(file, bytes([n % 251]) * 4096, 0)
        os.fsync(file)
        saved = n + 1
except OSError: pass
print(saved, descriptors() - before if kill_at < 0 else 0)
`;
const SYNCED_BYTES = 4096;

/** Content of a file that was written to and synced so often. */
function synced(times: number): Buffer {
  const blocks = Array.from({ length: times }, (_, n) => Buffer.alloc(SYNCED_BYTES, n % 251));
  if (times > 0) blocks[0] = Buffer.alloc(SYNCED_BYTES, (times - 1) % 251);
  return Buffer.concat(blocks);
}

async function sync(name: string, times: number, killAt = -1): Promise<number[]> {
  const args = [join(drive, name), String(times), String(device.agentPid()), String(killAt)];
  const { stdout } = await mustRun("python3", ["-c", SYNCS, ...args], { deadlineMs: 120_000 });
  return stdout.trim().split(" ").map(Number);
}

test("a file that is synced again and again without a line takes few descriptors, and a killed agent leaves what was synced last", async () => {
  await link.cut("refuse");
  await waitForState("offline");
  const [saved, descriptors] = await sync("often", 200);
  expect(saved).toBe(200);
  expect(descriptors).toBeLessThan(40);
  const [last = 0] = await sync("killed", 10_000, 60);
  expect(last).toBeGreaterThan(59);
  await mount();
  for (const [name, times] of [
    ["often", 200],
    ["killed", last],
  ] as const) {
    const copy = sandbox.path(`copy-${name}`);
    await onMount('cp "$1/$2" "$3"', [drive, name, copy]);
    const kept = readFileSync(copy);
    // The last sync that was answered is there, or the one that was about to be.
    expect([synced(times), synced(times + 1)].some((each) => each.equals(kept))).toBe(true);
  }
  await link.restore();
  await waitForState("connected");
  await device.flush(drive, { up: true });
  for (const name of ["often", "killed"])
    expect(readFileSync(join(served, name)).equals(readFileSync(sandbox.path(`copy-${name}`)))).toBe(true);
  expect(await status()).toMatchObject({ unsentFiles: 0, problems: [] });
}, 180_000);

test("a save of what is on its way waits for nothing, and what is saved of other files passes it", async () => {
  // 20 seconds for the content, and no less: noise.
  await link.setShape({ upBitsPerSecond: 1_000_000, rttMs: 50 });
  const content = noise(2_500_000, 5);
  writeFileSync(sandbox.path("content"), content);
  await onMount('cp "$2" "$1/log"', [drive, sandbox.path("content")]);
  await waitFor(async () => (await link.counts()).up.sentBytes > 200_000, RESUME_MS, "the upload to begin");
  const took = await onMount(
    'cd "$1"; s=$(date +%s%N); for n in 1 2 3; do echo "line $n" >> log; echo "$n" > "other-$n"; done; echo $((($(date +%s%N) - s) / 1000000))',
    [drive],
  );
  expect(Number(took)).toBeLessThan(AT_ONCE_MS);
  await waitFor(() => existsSync(join(served, "other-3")), RESUME_MS, "what passes the content");
  expect(existsSync(join(served, "log")) && statSync(join(served, "log")).size > 0).toBe(false);
  await link.setShape({ upBitsPerSecond: Infinity });
  await device.flush(drive, { up: true });
  const expected = Buffer.concat([content, Buffer.from("line 1\nline 2\nline 3\n")]);
  expect(readFileSync(join(served, "log")).equals(expected)).toBe(true);
  expect(await status()).toMatchObject({ unsentFiles: 0, problems: [] });
}, 120_000);

test("nothing that a program changes waits for the line, whatever it saves again", async () => {
  await onMount(
    'cd "$1"; mkdir again; for n in $(seq 1 24); do (yes "content $n" || true) | head -c 5000 > again/$n; done',
    [drive],
  );
  await device.flush(drive);
  await link.setShape({ rttMs: 700 });
  const startedMs = performance.now();
  await onMount(
    'cd "$1/again"; for n in $(seq 1 24); do (yes "content $n" || true) | head -c 5000 > $n; chmod 600 $n; mv $n moved-$n; mkdir made-$n; done',
    [drive],
  );
  // Each file is saved, changed and moved: with one wait for the server a file it would take 17 seconds.
  expect(performance.now() - startedMs).toBeLessThan(11_000);
  await link.setShape({ rttMs: 0 });
  await device.flush(drive, { up: true });
  expect(differences(asServed(await pictureOf(served)), asServed(await pictureOf(drive)))).toEqual([]);
}, 120_000);

test("a drive that ends before all is sent says so, and sends the rest when it is there again, in whatever mode", async () => {
  await link.setShape({ upBitsPerSecond: 100_000, rttMs: 100 });
  await onMount('mkdir "$1/made"; head -c 400000 /dev/urandom > "$1/made/large"; mv "$1/made" "$1/renamed"', [drive]);
  const before = await pictureOf(drive);
  expect(await device.unmount(drive)).toMatchObject({ unsentFiles: 1, unsentNames: 1 });
  await link.setShape({ upBitsPerSecond: 0, rttMs: 0 });
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  expect(await status()).toMatchObject({ mode: "sync" });
  await device.flush(drive, { up: true });
  expect(differences(await pictureOf(drive), before)).toEqual([]);
  expect(differences(asServed(await pictureOf(served)), asServed(before))).toEqual([]);
}, 120_000);

test("what was saved just before somebody unmounted the drive is sent", async () => {
  await onMount('for n in $(seq 50); do echo "$n" > "$1/new-$n"; done; cd /; fusermount3 -u "$1"', [drive]);
  await waitFor(() => existsSync(join(served, "new-50")), RESUME_MS, "the last file on the server");
  await mount();
  // Mapped again at once, it takes the place of one that still sends.
  await link.setShape({ upBitsPerSecond: 1_000_000 });
  await onMount('head -c 300000 /dev/urandom > "$1/last"; cd /; fusermount3 -u "$1"', [drive]);
  await mount();
  expect(statSync(join(served, "last")).size).toBe(300_000);
}, 120_000);

test("without a line no more waits than the budget allows; what a program could not save then is kept all the same", async () => {
  await device.unmount(drive);
  const size = ["--mode", "async", "--unsent-size", "1M"];
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive, size);
  await waitForState("connected");
  await link.cut("refuse");
  await waitForState("offline");
  const save = 'head -c 400000 /dev/urandom > "$1/$2"';
  for (const name of ["one", "two"]) await onMount(save, [drive, name]);
  expect((await status()).problems).toEqual([]);
  const copy = 'import sys; f = open(sys.argv[1] + "/three", "wb"); f.write(bytes(400000)); f.close()';
  const refused = await onMount('python3 -c "$2" "$1" 2>&1 || true', [drive, copy]);
  expect(refused).toMatch(/No space left on device/);
  const [problem] = (await status()).problems;
  expect(problem).toMatch(
    /^What waits to be sent takes .* of the 1 MiB that it may take here; then nothing more can be/,
  );
  await link.restore();
  await waitForState("connected");
  // Programs that go beyond it wait, as in mode sync, now that there is a server.
  for (const name of ["four", "five", "six"]) await onMount(save, [drive, name]);
  await device.flush(drive, { up: true });
  expect(await status()).toMatchObject({ unsentFiles: 0, problems: [] });
  for (const name of ["one", "two", "three", "four", "five", "six"])
    expect(readFileSync(join(served, name))).toHaveLength(400_000);
}, 120_000);

/** Sets, replaces and removes extended attributes, and prints what there is. */
const ATTRIBUTES = `
import os, sys
def show(name):
    path = os.path.join(sys.argv[1], name)
    try: print(name, [(key, os.getxattr(path, key).decode()) for key in sorted(os.listxattr(path))])
    except OSError as error: print(name, error.strerror)
def refused(act, *args):
    try: act(*args)
    except OSError as error: print(error.strerror)
path = lambda name: os.path.join(sys.argv[1], name)
if sys.argv[2] == "change":
    open(path("fresh"), "w").close()
    for name in ["fresh", "cached", "folder"]:
        os.setxattr(path(name), "user.one", b"1")
        os.setxattr(path(name), "user.two", b"2")
        os.setxattr(path(name), "user.one", b"other", os.XATTR_REPLACE)
        os.removexattr(path(name), "user.two")
        refused(os.setxattr, path(name), "user.one", b"", os.XATTR_CREATE)
        refused(os.removexattr, path(name), "user.none")
    os.setxattr(path("linked"), "user.gone", b"x")
    os.removexattr(path("linked"), "user.gone")
for name in ["fresh", "cached", "folder", "linked", "moved"]: show(name)
`;

test("extended attributes are changed without a line, too", async () => {
  const attributes = (at: string, act: string): Promise<string> =>
    onMount('python3 -c "$3" "$1" "$2"', [at, act, ATTRIBUTES]);
  await onMount("python3 -c \"import os, sys; os.setxattr(sys.argv[1] + '/moved', 'user.old', b'before')\" \"$1\"", [
    drive,
  ]);
  await device.flush(drive);
  await attributes(drive, "show");
  await link.cut("refuse");
  await waitForState("offline");
  const refusals = "File exists\nNo data available\n";
  const shown = `fresh [('user.one', 'other')]
cached [('user.one', 'other')]
folder [('user.one', 'other')]
linked []
moved [('user.old', 'before')]
`;
  expect(await attributes(drive, "change")).toBe(refusals.repeat(3) + shown);
  await device.killAgent();
  await mount();
  // The agent has forgotten what the server told it.
  const unknown = shown.replace(/moved .*/, "moved Input/output error");
  expect(await attributes(drive, "show")).toBe(unknown);
  await link.restore();
  await waitForState("connected");
  await device.flush(drive, { up: true });
  expect(await status()).toMatchObject({ unsentNames: 0, problems: [] });
  for (const at of [drive, served]) expect(await attributes(at, "show")).toBe(shown);
}, 120_000);
