// Bytes that cross the wire, counted by the emulator between the processes (TCP payload both ways, headers and leases
// included).
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, VolumeForEach, costOf, mustRun, noise, onMount, quiet } from "../src/harness/index.ts";
import type { Device, LinkEmulator, LinkShape } from "../src/harness/index.ts";

const MB = 1_000_000;

/** Time that all tests together may take. */
const SANDBOX_MS = 15 * 60_000;
/** Each in a volume of its own: what a server knows of contents, it knows in one volume. */
const TESTS = 4;

let sandbox: Sandbox;
let volumes: VolumeForEach;
let device: Device;
/** Volume of the test, its folders, and the drive, behind a line of its own. */
let volume: string;
let place: string;
let served: string;
let link: LinkEmulator;
let drive: string;

beforeAll(async () => {
  sandbox = new Sandbox(SANDBOX_MS);
  volumes = await VolumeForEach.serve(sandbox, TESTS);
  device = sandbox.device();
}, 60_000);

beforeEach(() => {
  ({ name: volume, place, served } = volumes.next());
});

afterAll(() => sandbox.cleanup(), 120_000);

async function mountThrough(shape: Partial<LinkShape>): Promise<void> {
  link = await sandbox.startEmulator(volumes.server.port, shape);
  drive = sandbox.makeFolder(volume, "drive");
  await device.mount(`ws://127.0.0.1:${link.port}/${volume}`, drive);
}

function cost(script: string, ...args: string[]): Promise<number> {
  return costOf({ link, device, drive }, script, ...args);
}

describe("bytes on the wire", () => {
  test("an insertion at the front of 20 MB costs < 100 KB; the same content again < 1 KB; a copy within the drive < 100 KB", async () => {
    await mountThrough({});
    const source = join(place, "source.bin");
    const bytes = noise(20 * MB, 1);
    writeFileSync(source, bytes);
    const first = await cost('cp "$2" "$1/big.bin"', source);
    expect(first).toBeGreaterThan(19 * MB);
    expect(first).toBeLessThan(20.6 * MB);

    const edited = join(place, "edited.bin");
    writeFileSync(edited, Buffer.concat([Buffer.alloc(100), bytes]));
    const inserted = await cost('cp "$2" "$1/big.bin"', edited);
    expect(inserted).toBeLessThan(100_000);

    const again = await cost('cp "$2" "$1/big.bin"', edited);
    expect(again).toBeLessThan(1_000);

    const copied = await cost('cp "$1/big.bin" "$1/copy.bin"');
    expect(copied).toBeLessThan(100_000);
    const stdout = await onMount('sha256sum < "$1/big.bin"; sha256sum < "$1/copy.bin"; sha256sum < "$2"', [
      drive,
      edited,
    ]);
    expect(new Set(stdout.trim().split("\n")).size).toBe(1);
  }, 180_000);

  test("a byte changed in a file of 300 MB costs < 5 KB, also once most of it is cut off", async () => {
    await mountThrough({});
    const source = join(place, "source.bin");
    writeFileSync(source, noise(20 * MB, 3));
    await cost('truncate -s 280M "$1/big.bin"; cat "$2" >>"$1/big.bin"', source);
    const edit = 'printf X | dd of="$1/big.bin" bs=1 seek="$2" conv=notrunc status=none';
    expect(await cost(edit, "300000000")).toBeLessThan(5_000);
    // A new last chunk.
    expect(await cost('truncate -s 300000100 "$1/big.bin"')).toBeLessThan(100_000);
    expect(await cost('printf Y >>"$1/big.bin"')).toBeLessThan(5_000);
    // The file keeps its large chunks.
    expect(await cost('truncate -s 100M "$1/big.bin"')).toBeLessThan(5_000);
    expect(await cost(edit, "99000000")).toBeLessThan(5_000);
    const plain = join(served, "big.bin");
    const stdout = await onMount('sha256sum <"$1/big.bin"; sha256sum <"$2"', [drive, plain]);
    expect(new Set(stdout.trim().split("\n")).size).toBe(1);
  }, 180_000);

  test("a second client with an old version fetches only what changed", async () => {
    await mountThrough({});
    const source = join(place, "source.bin");
    writeFileSync(source, noise(8 * MB, 2));
    await cost('cp "$2" "$1/big.bin"', source);
    const otherLink = await sandbox.startEmulator(volumes.server.port);
    const other = sandbox.device("b");
    const otherDrive = sandbox.makeFolder(volume, "drive-b");
    await other.mount(`ws://127.0.0.1:${otherLink.port}/${volume}`, otherDrive);
    const read = async (): Promise<string> =>
      await onMount('sha256sum < "$1/big.bin"', [otherDrive], { deadlineMs: 60_000 });
    await read();
    await cost('printf changed | dd of="$1/big.bin" bs=1 seek=4000000 conv=notrunc status=none');
    await quiet(otherLink);
    await otherLink.resetCounts();
    const expected = await onMount('sha256sum < "$1/big.bin"', [drive]);
    expect(await read()).toBe(expected);
    await quiet(otherLink);
    const { up, down } = await otherLink.counts();
    expect(up.sentBytes + down.sentBytes).toBeLessThan(100_000);
  }, 180_000);

  test("a compressible new file at 20 Mbit/s, 30 ms costs at most its zstd -3 size + 5 %, and stats agrees within 1 %", async () => {
    await mountThrough({ upBitsPerSecond: 20e6, downBitsPerSecond: 20e6, rttMs: 30 });
    const source = join(place, "source.js");
    await mustRun("sh", [
      "-c",
      'find "$1/zod" "$1/@types/node" -name "*.ts" -type f | LC_ALL=C sort | xargs cat > "$2"',
      "sh",
      join(import.meta.dirname, "../../node_modules"),
      source,
    ]);
    const { stdout } = await mustRun("sh", ["-c", 'zstd -3 -c "$1" | wc -c', "sh", source]);
    await device.stats(drive, { reset: true });
    const spent = await cost('cp "$2" "$1/source.js"', source);
    expect(spent).toBeLessThan(Number(stdout) * 1.05);

    const [mount] = (await device.stats(drive))["mounts"] as {
      statistics: { sent: Record<string, number>; received: Record<string, number> };
    }[];
    const said = [
      ...Object.values(mount?.statistics.sent ?? {}),
      ...Object.values(mount?.statistics.received ?? {}),
    ].reduce((sum, bytes) => sum + bytes, 0);
    expect(Math.abs(said - spent) / spent).toBeLessThan(0.01);
  }, 180_000);
});
