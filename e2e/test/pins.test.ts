// Pinned files are here without the server, stay when the cache is cleaned, and follow what others do; evicted ones are
// gone from this computer only. Each test looks at the drive and at the cache's files.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Device, Sandbox, type ServerProcess, cachedBytes, onMount, run, waitFor } from "../src/harness/index.ts";

const HERE_MS = 60_000;
const KiB = 1024;
const BIG_BYTES = 3 * 1024 * KiB;

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;
let served: string;
let drive: string;
let cache: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  mkdirSync(join(served, "reports", "old"), { recursive: true });
  mkdirSync(join(served, "videos"));
  for (let count = 0; count < 40; count++)
    writeFileSync(join(served, "reports", "old", `${count}.txt`), `old ${count}`);
  writeFileSync(join(served, "reports", "big"), randomBytes(BIG_BYTES));
  writeFileSync(join(served, "videos", "film"), randomBytes(BIG_BYTES));
  server = await sandbox.startServer({ volumes: { docs: served } });
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  cache = sandbox.makeFolder("cache");
  await mount();
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

function mount(...args: string[]): Promise<unknown> {
  return device.mount(`${server.url}/docs`, drive, ["--cache", cache, ...args]);
}

interface Pin {
  path: string;
  isThere: boolean;
  all: { files: number; bytes: number };
  here: { files: number; bytes: number };
  isComplete: boolean;
}

async function status(): Promise<{ pins: Pin[]; problems: string[] }> {
  const [found] = (await device.status())["mounts"] as { pins: Pin[]; problems: string[] }[];
  if (found === undefined) throw new Error("Nothing is mounted.");
  return found;
}

async function whenPinned(files: number): Promise<void> {
  const isHere = async (): Promise<boolean> => {
    const { pins } = await status();
    return pins.length > 0 && pins.every((pin) => pin.isComplete) && pins[0]?.here.files === files;
  };
  await waitFor(isHere, HERE_MS, `${files} pinned files`);
}

async function digestOf(path: string): Promise<string> {
  return (await onMount('sha256sum < "$1"', [join(drive, path)])).trim();
}

async function digestAtServer(path: string): Promise<string> {
  return (await run("sh", ["-c", 'sha256sum < "$1"', "sh", join(served, path)])).stdout.trim();
}

test(
  "a pinned folder is here without the server, with what came into it since; and after the agent was killed",
  async () => {
    const { pin } = (await device.ask(["pin", join(drive, "reports")])) as { pin: Pin };
    expect(pin).toMatchObject({ path: "reports", isThere: true, all: { files: 41 }, isComplete: false });
    await whenPinned(41);
    writeFileSync(join(served, "reports", "new.txt"), "came later");
    writeFileSync(join(served, "reports", "old", "7.txt"), "changed there");
    mkdirSync(join(sandbox.folder, "moved"));
    writeFileSync(join(sandbox.folder, "moved", "in.txt"), "moved in");
    renameSync(join(sandbox.folder, "moved"), join(served, "reports", "moved"));
    await whenPinned(43);

    const { pid } = (await device.status())["agent"] as { pid: number };
    process.kill(pid, "SIGKILL");
    await waitFor(() => !existsSync(`/proc/${pid}`), HERE_MS, "its end");
    await mount();
    await whenPinned(43);
    const expected = await digestAtServer("reports/big");
    await server.kill();
    expect(await digestOf("reports/big")).toBe(expected);
    const seen = await onMount('cat "$1/reports/new.txt" "$1/reports/old/7.txt" "$1/reports/moved/in.txt"', [drive]);
    expect(seen).toBe("came laterchanged theremoved in");
    const unseen = await run("cat", [join(drive, "videos", "film")], { deadlineMs: 30_000 });
    expect(unseen.code).toBe(1);
  },
  3 * HERE_MS,
);

test(
  "evicting frees the disk of what is not pinned, in use or unsent; what is pinned stays when the cache is cleaned",
  async () => {
    await device.unmount(drive);
    await mount("--cache-size", "4M");
    await device.ask(["pin", join(drive, "reports")]);
    await whenPinned(41);
    await digestOf("videos/film");
    // Both are more than the cache may take: the film goes.
    await waitFor(async () => cachedBytes(cache) <= 4 * 1024 * KiB, HERE_MS, "a clean cache");
    expect((await status()).pins[0]?.isComplete).toBe(true);
    await server.kill();
    expect(await digestOf("reports/big")).toBe(await digestAtServer("reports/big"));
    await server.stop();
    server = await sandbox.startServer({ volumes: { docs: served }, listen: new URL(server.url).host });
    await waitFor(async () => (await device.ask(["status"])) !== undefined, HERE_MS, "status");

    const refused = await device.runnel(["evict", join(drive, "reports", "big")]);
    expect(refused.stderr).toContain("reports/big is pinned with reports. Unpin that first.");
    const whole = (await device.ask(["evict", drive])) as { evicted: { filesPinned: number } };
    expect(whole.evicted.filesPinned).toBe(41);
    expect((await device.runnel(["unpin", join(drive, "reports", "big")])).stderr).toContain("pinned with reports");
    await device.ask(["unpin", join(drive, "reports")]);
    expect((await status()).pins).toEqual([]);
    const before = cachedBytes(cache);
    const { evicted } = (await device.ask(["evict", join(drive, "reports")])) as {
      evicted: { files: number; bytes: number };
    };
    expect(evicted.files).toBe(41);
    expect(evicted.bytes).toBeGreaterThan(BIG_BYTES);
    expect(before - cachedBytes(cache)).toBeGreaterThan(BIG_BYTES - 64 * KiB);
  },
  3 * HERE_MS,
);

test(
  "a pin beyond the cache's budget is refused with what lacks; one that grows beyond it says so, and saves go on",
  async () => {
    await device.unmount(drive);
    await mount("--cache-size", "4M");
    await device.ask(["pin", join(drive, "reports")]);
    const refused = await device.runnel(["pin", join(drive, "videos")]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      "videos (3 MiB) is not pinned: it needs 2 MiB more than the cache may take (4 MiB)",
    );
    expect((await device.runnel(["pin", join(drive, "nothing")])).stderr).toContain(
      "There is no nothing in the drive.",
    );
    writeFileSync(join(served, "reports", "more"), randomBytes(BIG_BYTES));
    await waitFor(
      async () => (await status()).problems.some((each) => each.includes("needs 2 MiB more than the cache may take")),
      HERE_MS,
      "the problem",
    );
    await onMount('printf saved > "$1/reports/mine.txt"', [drive]);
    await device.flush(drive, { up: true });
    expect(readFileSync(join(served, "reports", "mine.txt"), "utf8")).toBe("saved");
    rmSync(join(served, "reports", "more"));
    await whenPinned(42);
    expect((await status()).problems).toEqual([]);
  },
  3 * HERE_MS,
);

test(
  "a pin goes with its folder when that is renamed, and with its path when an editor replaces the file",
  async () => {
    await device.ask(["pin", join(drive, "reports", "old")]);
    await device.ask(["pin", join(drive, "videos", "film")]);
    await onMount('mv "$1/reports/old" "$1/archive"', [drive]);
    await waitFor(async () => (await status()).pins.some(({ path }) => path === "archive"), HERE_MS, "the new path");
    writeFileSync(join(served, "film.tmp"), randomBytes(BIG_BYTES));
    renameSync(join(served, "film.tmp"), join(served, "videos", "film"));
    const expected = await digestAtServer("videos/film");
    await waitFor(async () => (await digestOf("videos/film")) === expected, HERE_MS, "the new film");
    await device.ask(["evict", join(drive, "reports")]);
    rmSync(join(served, "videos", "film"));
    await waitFor(async () => (await status()).pins.some(({ isThere }) => !isThere), HERE_MS, "nothing at the path");
    writeFileSync(join(served, "videos", "film"), randomBytes(BIG_BYTES));
    await waitFor(async () => (await status()).pins.every((pin) => pin.isComplete), HERE_MS, "the last film");
    const last = await digestAtServer("videos/film");
    await server.kill();
    expect(await digestOf("videos/film")).toBe(last);
    expect(await onMount('cat "$1/archive/39.txt"', [drive])).toBe("old 39");
    // It need not be there to be unpinned.
    await device.ask(["unpin", join(drive, "archive")]);
    expect((await status()).pins.map(({ path }) => path)).toEqual(["videos/film"]);
  },
  3 * HERE_MS,
);
