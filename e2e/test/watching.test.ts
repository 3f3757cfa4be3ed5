// Drives as a person sees them: the ledger against the bytes that the emulator counts between the processes, and
// transfers while they go on.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Control, LAUNCHER, Sandbox, noise, onMount, quiet, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, LinkShape, ServerProcess } from "../src/harness/index.ts";

const MB = 1_000_000;

interface Savings {
  readBytes: number;
  writtenBytes: number;
  sentBytes: number;
  receivedBytes: number;
  saved: Record<"oldVersion" | "otherFile" | "compression" | "cache", number>;
}

interface Transfer {
  path: string;
  direction: string;
  doneBytes: number;
  totalBytes: number;
  bytesPerSecond: number;
  leftMs: number | null;
  waitsFor: string[];
}

let sandbox: Sandbox;
let server: ServerProcess;
let link: LinkEmulator;
let device: Device;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") } });
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

async function mountThrough(shape: Partial<LinkShape>): Promise<void> {
  link = await sandbox.startEmulator(server.port, shape);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
}

async function wireBytes(): Promise<number> {
  await quiet(link);
  const { up, down } = await link.counts();
  return up.sentBytes + down.sentBytes;
}

async function ledger(): Promise<{ total: Savings; rows: { folder: string; savings: Savings }[] }> {
  return (await device.savings("--by", "folder")) as unknown as Awaited<ReturnType<typeof ledger>>;
}

describe("the ledger", () => {
  test("counts the bytes that cross the wire as the emulator does, within 1 %, over mounts and a killed agent", async () => {
    await mountThrough({});
    const source = sandbox.path("source.bin");
    writeFileSync(source, noise(8 * MB, 1));
    await onMount('mkdir "$1/Photos" "$1/notes"; cp "$2" "$1/Photos/a.bin"', [drive, source]);
    writeFileSync(source, Buffer.concat([Buffer.alloc(100), noise(8 * MB, 1)]));
    await onMount(
      'cp "$2" "$1/Photos/a.bin"; cp "$1/Photos/a.bin" "$1/notes/b.bin"; cat "$1/Photos/a.bin" >"$1/../read"',
      [drive, source],
    );
    await device.flush(drive, { up: true });
    const crossed = await wireBytes();
    const { total, rows } = await ledger();
    expect(Math.abs(total.sentBytes + total.receivedBytes - crossed) / crossed).toBeLessThan(0.01);
    expect(total.writtenBytes).toBeGreaterThanOrEqual(24 * MB);
    expect(total.saved.oldVersion).toBeGreaterThan(7 * MB);
    expect(total.saved.otherFile).toBeGreaterThan(7 * MB);
    const photos = rows.find(({ folder }) => folder === "Photos")?.savings;
    expect(photos?.sentBytes).toBeGreaterThan(7.9 * MB);
    expect(photos?.writtenBytes).toBeGreaterThanOrEqual(16 * MB);

    await device.unmount(drive);
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    await onMount('cp "$2" "$1/notes/c.bin"', [drive, source]);
    await device.flush(drive);
    // Once it is in the ledger a kill takes nothing of it.
    await ledger();
    await device.killAgent();
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    const atLast = await wireBytes();
    const after = (await ledger()).total;
    expect(Math.abs(after.sentBytes + after.receivedBytes - atLast) / atLast).toBeLessThan(0.01);
    const { activity } = (await device.activity()) as unknown as { activity: { kind: string; sentence: string }[] };
    expect(activity.filter(({ kind }) => kind === "mounted").length).toBeGreaterThan(0);
    expect(activity.map(({ sentence }) => sentence)).toContain("Saved Photos/a.bin.");
  }, 180_000);

  test("knows what was fetched for a folder, and what compression spared", async () => {
    const served = sandbox.path("served");
    mkdirSync(`${served}/texts`);
    writeFileSync(`${served}/texts/long.txt`, "All work and no play makes Jack a dull boy.\n".repeat(100_000));
    await mountThrough({});
    await onMount('cat "$1/texts/long.txt" >"$1/../read"', [drive]);
    const crossed = await wireBytes();
    const { total, rows } = await ledger();
    expect(Math.abs(total.sentBytes + total.receivedBytes - crossed) / crossed).toBeLessThan(0.01);
    const texts = rows.find(({ folder }) => folder === "texts")?.savings;
    expect(texts?.readBytes).toBeGreaterThan(4 * MB);
    expect(texts?.saved.compression).toBeGreaterThan(3 * MB);
  }, 120_000);
});

describe("a transfer", () => {
  test("is in the view while it goes on, and gone after it", async () => {
    await mountThrough({ upBitsPerSecond: 8e6, downBitsPerSecond: 8e6, rttMs: 20 });
    const source = sandbox.path("source.bin");
    writeFileSync(source, noise(6 * MB, 1));
    const control = await Control.of(device);
    const transfers = async (): Promise<Transfer[]> => {
      const { snapshot } = (await control.firstPart({ verb: "view", wants: ["transfers"] })) as {
        snapshot: { head: { state: string; sentence: string }; lists: { transfers: Transfer[] } };
      };
      if (snapshot.lists.transfers.length > 0) expect(snapshot.head.state).toBe("working");
      return snapshot.lists.transfers;
    };
    const copying = onMount('cp "$2" "$1/big.bin"', [drive, source], { deadlineMs: 60_000 });
    await waitFor(
      async () => {
        const [one] = await transfers();
        return one !== undefined && one.doneBytes > MB && one.bytesPerSecond > 0 && one.leftMs !== null;
      },
      30_000,
      "an upload that is under way",
    );
    expect(await transfers()).toMatchObject([{ path: "big.bin", direction: "up", totalBytes: 6 * MB, waitsFor: [] }]);
    await copying;
    await waitFor(async () => (await transfers()).length === 0, 10_000, "no transfer");
    control.close();
  }, 120_000);

  test("is gone with a drive that is unmounted in the middle of it, and what crossed the wire is counted", async () => {
    await mountThrough({ upBitsPerSecond: 8e6, downBitsPerSecond: 8e6, rttMs: 20 });
    const source = sandbox.path("source.bin");
    writeFileSync(source, noise(20 * MB, 1));
    const copying = onMount('cp "$2" "$1/big.bin"', [drive, source], { deadlineMs: 60_000 });
    copying.catch(() => undefined);
    const control = await Control.of(device);
    const ask = async (): Promise<Transfer[]> => {
      const part = await control.firstPart({ verb: "view", wants: ["transfers"] });
      return (part as { snapshot: { lists: { transfers: Transfer[] } } }).snapshot.lists.transfers;
    };
    await waitFor(async () => ((await ask())[0]?.doneBytes ?? 0) > 0, 30_000, "an upload that is under way");
    await device.runnel(["unmount", "--force", drive]);
    await waitFor(async () => (await ask()).length === 0, 10_000, "no transfer");
    control.close();
    const crossed = await wireBytes();
    const { total } = await ledger();
    expect(Math.abs(total.sentBytes + total.receivedBytes - crossed) / crossed).toBeLessThan(0.01);
  }, 120_000);
});

describe("runnel status --watch", () => {
  /** Starts it in a pipe; `said` grows. */
  function watch(...args: string[]): { child: ChildProcess; said: () => string[] } {
    const child = spawn(process.execPath, [LAUNCHER, "status", "--watch", ...args], {
      env: device.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (more: string) => (text += more));
    return { child, said: () => text.split("\n").slice(0, -1) };
  }

  test("says each new sentence once, to programs the parts of the view, until Ctrl-C or the end of the agent", async () => {
    await mountThrough({});
    const [lines, parts] = [watch(), watch("--json")];
    const saved = "Everything is saved on the server.";
    const sentences = (): string[] =>
      parts.said().flatMap((line) => {
        const part = JSON.parse(line) as { snapshot?: View; changes?: Partial<View> };
        return [(part.snapshot ?? part.changes)?.head?.sentence ?? []].flat();
      });
    for (const said of [lines.said, sentences])
      await waitFor(() => said().includes(saved), 20_000, "the state of before");
    await server.kill();
    for (const said of [lines.said, sentences])
      await waitFor(() => said().at(-1)?.startsWith("Offline."), 20_000, "the outage");
    await server.stop();
    server = await sandbox.startServer({
      volumes: { docs: sandbox.path("served") },
      listen: new URL(server.url).host,
      data: sandbox.path("data"),
    });
    for (const said of [lines.said, sentences])
      await waitFor(() => said().at(-1) === saved, 20_000, "the line to be back");
    const all = lines.said();
    expect(all.filter((line, at) => line === all[at - 1])).toEqual([]);
    expect(parts.said()[0]).toContain(drive);

    const [first, second] = [once(lines.child, "exit"), once(parts.child, "exit")];
    lines.child.kill("SIGINT");
    expect(await first).toEqual([null, "SIGINT"]);
    await device.ask(["stop", "--force"]);
    expect(await second).toEqual([0, null]);
  }, 120_000);

  test("on a terminal draws one screen anew, in full where the width is not known: the sentence, the drive, what moves", async () => {
    await mountThrough({ upBitsPerSecond: 8e6, downBitsPerSecond: 8e6, rttMs: 20 });
    // This terminal says 0 for its width.
    const command = `${process.execPath} ${LAUNCHER} status --watch`;
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      env: device.env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => (text += more));
    await waitFor(() => text.includes(drive), 20_000, "the drive");
    writeFileSync(sandbox.path("big.bin"), noise(4 * MB, 1));
    const copying = onMount('cp "$2" "$1/big.bin"', [drive, sandbox.path("big.bin")], { deadlineMs: 30_000 });
    await waitFor(() => /up {4}big\.bin\r\n +\[#+ *\] \d+ %\r\n/.test(text), 20_000, "the file that is sent");
    await copying;
    // It goes back to the first line of the screen, and clears what was there.
    expect(text).toContain("\u001B[6A\r\u001B[J");
    const ended = once(child, "exit");
    child.stdin.end("\u0003");
    await ended;
  }, 120_000);
});

interface View {
  head: { sentence: string };
}
