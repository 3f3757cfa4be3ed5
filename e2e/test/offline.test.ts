// A drive without its server: it answers within its deadlines, keeps what was written, and goes on when the server is
// back.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { randomFillSync } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, onMount, run, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const RESUME_MS = 30_000;
/** Silence of 2 s makes an answer; the rest is a slow machine. */
const ANSWER_MS = 8_000;

let sandbox: Sandbox;
let server: ServerProcess;
let link: LinkEmulator;
let device: Device;
let served: string;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  writeFileSync(join(served, "cached.txt"), "seen before");
  writeFileSync(join(served, "unseen.txt"), "never read");
  server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await waitForState("connected");
  await onMount('cat "$1/cached.txt"', [drive]);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

interface Status {
  state: string;
  unsentFiles: number;
  sentence: string;
}

async function status(): Promise<Status> {
  const [mount] = (await device.status())["mounts"] as Status[];
  if (mount === undefined) throw new Error("Nothing is mounted.");
  return mount;
}

async function waitForState(state: string): Promise<void> {
  await waitFor(async () => (await status()).state === state, RESUME_MS, `the state ${state}`);
}

/** Exit code and words of a program on the drive. */
async function attempt(script: string): Promise<{ code: number | null; text: string }> {
  const { code, stdout, stderr, isOverdue } = await run("bash", ["-c", script, "bash", drive], { deadlineMs: 40_000 });
  if (isOverdue) throw new Error(`It hung: ${script}`);
  return { code, text: stdout + stderr };
}

describe("a cut link", () => {
  test("leaves cached files readable and the tree listed; changes are refused; all goes on afterwards", async () => {
    await link.cut("refuse");
    await waitForState("offline");
    expect((await attempt('ls "$1"; cat "$1/cached.txt"')).text).toBe("cached.txt\nunseen.txt\nseen before");
    expect((await attempt('cat "$1/unseen.txt"')).text).toContain("Input/output error");
    for (const change of [
      'echo x > "$1/new"',
      'mkdir "$1/folder"',
      'rm "$1/cached.txt"',
      'mv "$1/cached.txt" "$1/moved"',
    ]) {
      expect((await attempt(change)).text).toContain("Read-only file system");
    }
    expect((await status()).sentence).toContain("Offline");
    // Changes that another client makes meanwhile come in one batch.
    const other = sandbox.makeFolder("elsewhere");
    await sandbox.device("other").mount(`${server.url}/docs`, other);
    await onMount('echo content > "$1/made"; mkdir "$1/folder"; echo more > "$1/folder/made"', [other]);
    await link.restore();
    await waitForState("connected");
    await waitFor(async () => (await attempt('ls "$1"')).text.includes("made"), RESUME_MS, "what was made elsewhere");
    expect((await attempt('cat "$1/made" "$1/folder/made"; stat -c %s "$1/made"')).text).toBe("content\nmore\n8\n");
    expect((await attempt('cat "$1/unseen.txt"; echo again > "$1/new"; cat "$1/new"')).text).toBe("never readagain\n");
  }, 120_000);

  test("in the middle of an upload repeats at most what was under way", async () => {
    const source = sandbox.path("source");
    const bytes = Buffer.alloc(6_000_000);
    randomFillSync(bytes);
    writeFileSync(source, bytes);
    await link.setShape({ upBitsPerSecond: 16e6, downBitsPerSecond: 16e6, rttMs: 20 });
    await link.resetCounts();
    const copying = run("cp", [source, join(drive, "big")], { deadlineMs: 60_000 });
    await waitFor(async () => (await link.counts()).up.sentBytes > 3_000_000, 30_000, "half of it to be sent");
    await link.cut("accept");
    const copied = await copying;
    expect(copied.stderr).toBe("");
    await device.flush(drive, { up: true });
    const spent = (await link.counts()).up.sentBytes;
    expect(readFileSync(join(served, "big")).equals(bytes)).toBe(true);
    // Runs of 1 MiB: the one being received and those being sent ahead.
    expect(spent).toBeLessThan(6_000_000 + 4 * 1_048_576);
  }, 120_000);
});

describe("a black hole", () => {
  test("makes what reads metadata answer in time, and a close fail with an error while its bytes are kept and sent later", async () => {
    await onMount('echo one > "$1/kept.txt"', [drive]);
    await link.blackHole();
    const startedMs = Date.now();
    const written = await attempt('printf "two\\n" > "$1/../two"; cp "$1/../two" "$1/kept.txt"');
    expect(Date.now() - startedMs).toBeLessThan(10_000 + 20_000);
    expect(written.code).not.toBe(0);
    const listedMs = Date.now();
    await attempt('ls -l "$1"');
    expect(Date.now() - listedMs).toBeLessThan(ANSWER_MS);
    await waitForState("offline");
    expect((await attempt('cat "$1/kept.txt"')).text).toBe("two\n");
    const [unsent] = (await device.ask(["unsent", join(drive, "kept.txt")]))["unsent"] as { path: string }[];
    expect(unsent).toMatchObject({ path: "kept.txt", sizeBytes: 4, isDiscarded: false });
    const rescued = sandbox.path("rescued");
    await device.ask(["unsent", drive, "--export", rescued]);
    expect(readFileSync(join(rescued, "kept.txt"), "utf8")).toBe("two\n");
    await link.restore();
    await waitForState("connected");
    await waitFor(
      () => readFileSync(join(served, "kept.txt"), "utf8") === "two\n",
      RESUME_MS,
      "the unsent file to arrive",
    );
    // The agent hears of it a moment later.
    await waitFor(async () => (await status()).unsentFiles === 0, RESUME_MS, "nothing to be unsent");
  }, 180_000);
});

describe("a server that is stopped and started", () => {
  test("is found again, and a file changed meanwhile by a program there is shown", async () => {
    const { port } = server;
    await server.stop();
    await waitForState("offline");
    writeFileSync(join(served, "cached.txt"), "changed while nobody looked");
    writeFileSync(join(served, "added.txt"), "added");
    server = await sandbox.startServer({
      volumes: { docs: served },
      data: sandbox.path("data"),
      listen: `127.0.0.1:${port}`,
    });
    await waitForState("connected");
    const isShown = async (): Promise<boolean> =>
      (await attempt('cat "$1/cached.txt" "$1/added.txt"')).text === "changed while nobody lookedadded";
    await waitFor(isShown, RESUME_MS, "the changes");
    expect(readdirSync(served)).not.toContain("cached (conflict");
  }, 120_000);
});
