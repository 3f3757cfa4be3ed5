// runnel pause on real drives: what runs stops on the wire, what is changed waits or is refused, others do not wait,
// and a killed agent does not end it.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Control,
  Sandbox,
  asServed,
  differences,
  killGroup,
  onMount,
  pictureOf,
  quiet,
  waitFor,
  waitForMount,
} from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const LINE = { upBitsPerSecond: 4_000_000, downBitsPerSecond: 4_000_000, rttMs: 30 };
const FAST = { ...LINE, upBitsPerSecond: 100_000_000, downBitsPerSecond: 100_000_000 };
const UPLOAD_BYTES = 4_000_000;
const UNDER_WAY_BYTES = 300_000;
const DEADLINE_MS = 60_000;
const WATCHED_MS = 3_000;
/** The drive stays connected meanwhile. */
const LEASE_BYTES = 2_000;

let sandbox: Sandbox;
let served: string;
let server: ServerProcess;
let link: LinkEmulator;
let device: Device;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  writeFileSync(join(served, "cached"), "kept here\n");
  writeFileSync(join(served, "absent"), "only there\n");
  mkdirSync(join(served, "films"));
  writeFileSync(join(served, "films/cached"), "kept here\n");
  writeFileSync(join(served, "films/absent"), "only there\n");
  server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

async function mount(mode: string): Promise<void> {
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive, ["--mode", mode]);
  await waitForMount(device, ({ state }) => state === "connected", DEADLINE_MS, "the listing");
  await onMount('cat "$1/cached" "$1/films/cached"', [drive]);
}

interface Status {
  head: { state: string; sentence: string };
  mounts: {
    state: string;
    sentence: string;
    pause: { until: string } | null;
    pausedFolders: { path: string; until: string }[];
    unsentFiles: number;
    unsentNames: number;
    mode: string;
  }[];
}

async function status(): Promise<Status & { mount: Status["mounts"][number] }> {
  const found = (await device.status()) as unknown as Status;
  const [first] = found.mounts;
  if (first === undefined) throw new Error("Nothing is mounted.");
  return { ...found, mount: first };
}

/** Starts a program that writes a file, and returns when its bytes are on the line. */
async function upload(name = "large"): Promise<() => void> {
  await link.setShape(LINE);
  await link.resetCounts();
  const script = 'head -c "$2" /dev/urandom > "$1/$3"';
  const { env } = sandbox;
  const args = ["-c", script, "bash", drive, `${UPLOAD_BYTES}`, name];
  const writer = spawn("bash", args, { cwd: "/", env, detached: true, stdio: "ignore" });
  await waitFor(async () => (await link.counts()).up.sentBytes > UNDER_WAY_BYTES, DEADLINE_MS, "the upload");
  return () => killGroup(writer);
}

/** Starts a program that has a file open to read. */
function holdOpen(name: string): () => void {
  const script = 'exec 3< "$1/$2"; echo > "$3"; sleep 600';
  const { env } = sandbox;
  const args = ["-c", script, "bash", drive, name, sandbox.path("open")];
  const reader = spawn("bash", args, { cwd: "/", env, detached: true, stdio: "ignore" });
  return () => killGroup(reader);
}

/** Bytes that cross the line while nobody does anything, once the last ones of a connection that ended have come. */
async function crossing(): Promise<number> {
  await quiet(link);
  await link.resetCounts();
  await new Promise((resolve) => setTimeout(resolve, WATCHED_MS));
  const { up, down } = await link.counts();
  return up.sentBytes + down.sentBytes;
}

test("in mode async what runs stops, changes wait over a killed agent, others do not wait, and all is sent when it ends", async () => {
  const [other, theirs] = [sandbox.device("other"), sandbox.makeFolder("theirs")];
  await mount("async");
  await other.mount(`${server.url}/docs`, theirs);
  const stop = await upload();
  try {
    const { paused } = (await device.ask(["pause", "--for", "1h"])) as { paused: { mountpoint: string }[] };
    expect(paused.map(({ mountpoint }) => mountpoint)).toEqual([drive]);
    expect(await crossing()).toBe(0);
    const { head, mount: shown } = await status();
    expect([head.state, shown.state, shown.mode]).toEqual(["paused", "offline", "async"]);
    expect(shown.sentence).toMatch(
      /^Paused until .*\d\. 1 change waits here\. Files that are here can be read and changed\.$/,
    );
    await onMount(
      'set -e; cat "$1/cached"; mkdir "$1/made"; echo new > "$1/made/file"; mv "$1/cached" "$1/made/moved"',
      [drive],
    );
    const unread = await onMount('cat "$1/absent"', [drive]).catch((error: unknown) => String(error));
    expect(unread).toMatch(/Input\/output error/);
    // The leases of this client went first: nobody waits for it.
    await onMount('mkdir "$1/theirs"; echo theirs > "$1/theirs/file"', [theirs], { deadlineMs: 5_000 });
    const before = await pictureOf(join(drive, "made"));
    await device.killAgent();
    await link.resetCounts();
    expect(await device.ask(["reconnect"])).toMatchObject({ mapped: [{ mountpoint: drive }], failed: [] });
    expect((await status()).mount).toMatchObject({ mode: "async", pause: { until: shown.pause?.until } });
    expect(differences(await pictureOf(join(drive, "made")), before)).toEqual([]);
    expect(await crossing()).toBe(0);
    await link.setShape(FAST);
    expect(await device.ask(["resume"])).toMatchObject({ resumed: [{ mountpoint: drive }] });
    await waitForMount(device, ({ state }) => state === "connected", DEADLINE_MS, "the end of the pause");
    await device.flush(drive, { up: true });
    expect(differences(asServed(await pictureOf(served)), asServed(await pictureOf(drive)))).toEqual([]);
    expect(readFileSync(join(served, "large"))).toHaveLength(UPLOAD_BYTES);
    expect(readFileSync(join(served, "made/moved"), "utf8")).toBe("kept here\n");
    expect((await status()).mount).toMatchObject({ pause: null, sentence: "Everything is saved on the server." });
    const events = ((await device.activity()) as { activity: { sentence: string }[] }).activity;
    expect(events.map(({ sentence }) => sentence)).toEqual(
      expect.arrayContaining([`Paused ${shown.pause?.until}.`, "Resumed."]),
    );
  } finally {
    stop();
  }
}, 180_000);

test.each([
  ["is removed", 'rm "$1/cached"'],
  ["is open and removed", 'rm "$1/cached"'],
  ["is open and replaced", 'echo mine > "$1/new"; mv "$1/new" "$1/cached"'],
])(
  "a file that %s here, and was changed there, is back, and what is saved to it then comes to the server",
  async (how, script) => {
    await mount("async");
    await device.ask(["pause", drive]);
    const end = how.includes("open") ? holdOpen("cached") : () => undefined;
    try {
      await waitFor(
        async () => !how.includes("open") || existsSync(sandbox.path("open")),
        DEADLINE_MS,
        "it to be open",
      );
      await onMount(script, [drive]);
      writeFileSync(join(served, "cached"), "changed there\n");
      await device.ask(["resume", drive]);
      await waitFor(
        async () => (await onMount('cat "$1/cached" 2>/dev/null || true', [drive])) === "changed there\n",
        DEADLINE_MS,
        "the file to be back",
      );
      await onMount('echo edited here >> "$1/cached"', [drive]);
      await device.flush(drive, { up: true });
      expect(readFileSync(join(served, "cached"), "utf8")).toBe("changed there\nedited here\n");
    } finally {
      end();
    }
  },
  120_000,
);

test("in mode sync changes are refused in one sentence, what was on its way is kept, and it ends by itself", async () => {
  await mount("sync");
  const stop = await upload();
  try {
    await device.ask(["pause", drive]);
    expect(await crossing()).toBe(0);
    const refused = await onMount('cat "$1/cached" >&2; mkdir "$1/made" 2>&1 || true', [drive]);
    expect(refused).toMatch(/Read-only file system/);
    const { mount: shown } = await status();
    expect(shown.sentence).toMatch(/^Paused until .*\. Files that are here can be read, and nothing can be changed\.$/);
    expect(shown.unsentFiles).toBe(1);
    const flushed = await device.runnel(["flush", drive]);
    expect(flushed.stderr).toContain(`Paused ${shown.pause?.until}: nothing is sent or fetched.`);
    await link.setShape(FAST);
    const control = await Control.of(device);
    const untilMs = Date.now() + 1_500;
    await control.ask({ verb: "pause", path: drive, untilMs });
    control.close();
    await waitForMount(device, ({ state }) => state === "connected", DEADLINE_MS, "the end of the pause");
    expect(Date.now()).toBeGreaterThanOrEqual(untilMs);
    await device.flush(drive, { up: true });
    expect(readFileSync(join(served, "large"))).toHaveLength(UPLOAD_BYTES);
  } finally {
    stop();
  }
}, 120_000);

describe("a folder", () => {
  test("in mode async stops by itself, what depends on it waits over a killed agent, and the rest of the drive goes on", async () => {
    const [other, theirs] = [sandbox.device("other"), sandbox.makeFolder("theirs")];
    await mount("async");
    await other.mount(`${server.url}/docs`, theirs);
    const stop = await upload("films/large");
    try {
      const films = join(drive, "films");
      const { paused } = (await device.ask(["pause", films, "--for", "1h"])) as { paused: { path: string }[] };
      expect(paused.map(({ path }) => path)).toEqual(["films"]);
      expect(await crossing()).toBeLessThan(LEASE_BYTES);
      await onMount(
        'set -e; cat "$1/cached"; echo new > "$1/new"; mkdir "$1/made"; mv "$1/cached" "$1/../moved"; echo more >> "$1/../moved"',
        [films],
      );
      const unread = await onMount('cat "$1/absent"', [films]).catch((error: unknown) => String(error));
      expect(unread).toMatch(/Input\/output error/);
      expect(await crossing()).toBeLessThan(LEASE_BYTES);
      // The rest goes on, for this client and for others, whose changes of the folder are seen.
      await link.setShape(FAST);
      await onMount('cat "$1/absent"; echo aside > "$1/aside"', [drive]);
      const flushed = await device.runnel(["flush", "--applied", drive]);
      expect(flushed.stderr).toMatch(/\d changes wait\. Paused until .*: nothing of films is sent or fetched\./);
      expect(readFileSync(join(served, "aside"), "utf8")).toBe("aside\n");
      await onMount('set -e; echo theirs > "$1/films/theirs"; echo theirs > "$1/theirs"', [theirs], {
        deadlineMs: 10_000,
      });
      await waitFor(
        async () => (await onMount('ls "$1"', [films])).includes("theirs"),
        DEADLINE_MS,
        "the other one's file",
      );
      expect([existsSync(join(served, "moved")), existsSync(join(served, "films/new"))]).toEqual([false, false]);
      const { mount: shown } = await status();
      expect(shown.sentence).toMatch(/^Connected\. \d+ changes wait and will be sent\. films is paused until /);
      await device.killAgent();
      await device.ask(["reconnect"]);
      await waitForMount(device, ({ state }) => state === "connected", DEADLINE_MS, "the listing");
      expect((await status()).mount.pausedFolders).toMatchObject([{ path: "films" }]);
      await link.resetCounts();
      await onMount('echo again > "$1/aside"', [drive]);
      await device.runnel(["flush", "--applied", drive]);
      expect(readFileSync(join(served, "aside"), "utf8")).toBe("again\n");
      expect([existsSync(join(served, "moved")), existsSync(join(served, "films/new"))]).toEqual([false, false]);
      expect(await device.ask(["resume", films])).toMatchObject({ resumed: [{ mountpoint: drive, path: "films" }] });
      await device.flush(drive, { up: true });
      expect(differences(asServed(await pictureOf(served)), asServed(await pictureOf(drive)))).toEqual([]);
      expect(readFileSync(join(served, "films/large"))).toHaveLength(UPLOAD_BYTES);
      expect(readFileSync(join(served, "moved"), "utf8")).toBe("kept here\nmore\n");
      expect((await status()).mount).toMatchObject({ pausedFolders: [], unsentFiles: 0, unsentNames: 0 });
    } finally {
      stop();
    }
  }, 180_000);

  test("in mode sync cannot be changed, what was on its way is kept, and the rest of the drive can", async () => {
    await mount("sync");
    const stop = await upload("films/large");
    try {
      await device.ask(["pause", join(drive, "films")]);
      expect(await crossing()).toBeLessThan(LEASE_BYTES);
      const refused = await onMount(
        'cat "$1/films/cached" >&2; mkdir "$1/films/made" 2>&1 || true; mv "$1/films/cached" "$1/out" 2>&1 || true; cp "$1/cached" "$1/films/cached" 2>&1 || true',
        [drive],
      );
      expect(refused.match(/Read-only file system/g)).toHaveLength(3);
      const removed = await device.runnel(["remove", join(drive, "films")]);
      expect(removed.stderr).toMatch(/Paused until you resume it: nothing of films is sent or fetched\. Resume it: /);
      await link.setShape(FAST);
      await onMount('echo aside > "$1/aside"', [drive]);
      await device.runnel(["flush", "--applied", drive]);
      expect(readFileSync(join(served, "aside"), "utf8")).toBe("aside\n");
      expect(await device.ask(["resume"])).toMatchObject({ resumed: [{ path: "films" }] });
      await device.flush(drive, { up: true });
      expect(readFileSync(join(served, "films/large"))).toHaveLength(UPLOAD_BYTES);
      expect(existsSync(join(served, "films/made"))).toBe(false);
    } finally {
      stop();
    }
  }, 120_000);
});
