// Acknowledged work survives: killed servers and agents, a lost or wrong index, lost metadata. And reuse is shown from
// every place it may come from.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, changeDatabase, costOf, mustRun, noise, onMount, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const RESUME_MS = 30_000;

let sandbox: Sandbox;
let server: ServerProcess;
let link: LinkEmulator;
let device: Device;
let served: string;
let data: string;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  data = sandbox.makeFolder("data");
  server = await sandbox.startServer({ volumes: { docs: served }, data });
  link = await sandbox.startEmulator(server.port);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

/** The server again, at the same port. */
async function restart(leaseTerm?: number): Promise<void> {
  const term = leaseTerm === undefined ? {} : { leaseTerm };
  const listen = `127.0.0.1:${server.port}`;
  server = await sandbox.startServer({ volumes: { docs: served }, data, listen, ...term });
}

async function connected(): Promise<void> {
  const isConnected = async (): Promise<boolean> => {
    const [mount] = (await device.status())["mounts"] as { state: string }[];
    return mount?.state === "connected";
  };
  await waitFor(isConnected, RESUME_MS, "the drive to be connected");
}

function cost(script: string, ...args: string[]): Promise<number> {
  return costOf({ link, device, drive }, script, ...args);
}

describe("a killed server", () => {
  test("has every file that was closed before, and the drive goes on", async () => {
    writeFileSync(sandbox.path("big"), noise(3_000_000, 5));
    await onMount(
      'mkdir "$1/d"; for i in $(seq 40); do echo "number $i" > "$1/d/$i"; done; cp "$2" "$1/big"; mv "$1/d/7" "$1/seven"',
      [drive, sandbox.path("big")],
    );
    await server.kill();
    await restart();
    await connected();
    expect(await onMount('cat "$1/d/40" "$1/seven"; ls "$1/d" | wc -l; sha256sum < "$1/big"', [drive])).toBe(
      `number 40\nnumber 7\n39\n${(await mustRun("sh", ["-c", `sha256sum < ${sandbox.path("big")}`])).stdout}`,
    );
    await onMount('echo after > "$1/after"', [drive]);
    await device.flush(drive, { up: true });
    expect(readFileSync(join(served, "after"), "utf8")).toBe("after\n");
    expect(readFileSync(join(served, "d", "40"), "utf8")).toBe("number 40\n");
    expect(readFileSync(join(served, "seven"), "utf8")).toBe("number 7\n");
    expect(readFileSync(join(served, "big")).equals(readFileSync(sandbox.path("big")))).toBe(true);
  }, 120_000);
});

describe("a killed agent", () => {
  test("leaves everything that was closed on the server, and mounts again over its dead mount", async () => {
    await onMount('echo kept > "$1/kept"', [drive]);
    await device.killAgent();
    await expect(onMount('ls "$1"', [drive])).rejects.toThrow(/not connected|connection abort/);
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    expect(await onMount('cat "$1/kept"', [drive])).toBe("kept\n");
  }, 120_000);
});

describe("reuse of what the server holds", () => {
  test("from another file, after a rename, from the trash, and when the index is gone or wrong in every row", async () => {
    const source = sandbox.path("source");
    writeFileSync(source, noise(4_000_000, 9));
    expect(await cost('cp "$2" "$1/first"', source)).toBeGreaterThan(4_000_000);

    // A fresh client knows no place: the server finds the chunks by digest through its index, in another file under
    // another name.
    await cost('mv "$1/first" "$1/renamed"');
    expect(await cost('cp "$2" "$1/second"', source)).toBeLessThan(100_000);
    await cost('rm "$1/renamed" "$1/second"');
    expect(await cost('cp "$2" "$1/third"', source)).toBeLessThan(100_000);

    await server.stop();
    for (const name of readdirSync(join(data, "docs", "meta")))
      if (name.startsWith("chunks")) rmSync(join(data, "docs", "meta", name));
    await restart();
    await connected();
    expect(await cost('cp "$2" "$1/fourth"', source)).toBeLessThan(100_000);

    await server.stop();
    // Every place that the chunk index names moves by one byte.
    const chunks = join(data, "docs", "meta", "chunks.db");
    expect(await changeDatabase(chunks, "UPDATE chunks SET offset = offset + 1")).toBeGreaterThan(0);
    await restart();
    await connected();
    await cost('cp "$2" "$1/fifth"', source);
    const sums = await onMount(
      'sha256sum < "$1/third"; sha256sum < "$1/fourth"; sha256sum < "$1/fifth"; sha256sum < "$2"',
      [drive, source],
    );
    expect(new Set(sums.trim().split("\n")).size).toBe(1);
    expect(readFileSync(join(served, "fifth")).equals(readFileSync(source))).toBe(true);
  }, 180_000);
});

describe("lost metadata", () => {
  test.each(["removed", "damaged"])(
    "%s: the volume is made anew from the folder in a new epoch, and the drive goes on",
    async (how) => {
      await onMount('mkdir "$1/d"; echo one > "$1/d/one"; seq 100000 > "$1/two"', [drive]);
      await device.flush(drive, { up: true });
      const [before] = (await device.status())["mounts"] as { epoch: string }[];
      await server.stop();
      const meta = join(data, "docs", "meta", "meta.db");
      if (how === "removed")
        for (const name of readdirSync(join(data, "docs", "meta"))) rmSync(join(data, "docs", "meta", name));
      else writeFileSync(meta, Buffer.concat([readFileSync(meta).subarray(0, 2000), noise(20_000, 3)]));
      // Clients that nobody remembers may hold leases for so long.
      await restart(5);
      await connected();
      const isAnew = async (): Promise<boolean> =>
        (await onMount('cat "$1/d/one" 2>/dev/null || true', [drive])) === "one\n";
      await waitFor(isAnew, RESUME_MS, "the folder to be read again");
      const [after] = (await device.status())["mounts"] as { epoch: string }[];
      expect(after?.epoch).not.toBe(before?.epoch);
      await onMount('seq 100000 | cmp - "$1/two"; echo three > "$1/d/three"; echo more >> "$1/d/one"', [drive]);
      await device.flush(drive, { up: true });
      expect(readFileSync(join(served, "d", "one"), "utf8")).toBe("one\nmore\n");
      expect(readFileSync(join(served, "d", "three"), "utf8")).toBe("three\n");
    },
    120_000,
  );
});
