// Many small things: what a small file costs on the wire, and what is sent before what it depends on is answered.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, noise, onMount, quiet, run, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, LinkShape, ServerProcess } from "../src/harness/index.ts";

const SLOW_MS = 120_000;
const FILE_BYTES = 4096;

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;

interface Client {
  device: Device;
  link: LinkEmulator;
  drive: string;
}

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  server = await sandbox.startServer({ volumes: { docs: served } });
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

async function client(name: string, shape: Partial<LinkShape>): Promise<Client> {
  const link = await sandbox.startEmulator(server.port, shape);
  const device = sandbox.device(name);
  const drive = sandbox.makeFolder(`drive-${name}`);
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await quiet(link);
  return { device, link, drive };
}

/** Requests waited for, and bytes, of a script on the drive. */
async function costOf(on: Client, script: string, ...args: string[]): Promise<{ roundTrips: number; bytes: number }> {
  await quiet(on.link);
  await on.link.resetCounts();
  await onMount(script, [on.drive, ...args], { deadlineMs: SLOW_MS });
  await quiet(on.link);
  const { up, down } = await on.link.counts();
  return { roundTrips: down.turnarounds, bytes: up.sentBytes + down.sentBytes };
}

/** Counts what crossed the wire since the figures were reset. */
async function wireOf({ device, drive }: Client): Promise<{ sent: Record<"data" | "recipes" | "metadata", number> }> {
  const { mounts } = (await device.stats(drive)) as { mounts: { statistics: Awaited<ReturnType<typeof wireOf>> }[] };
  const [mount] = mounts;
  if (mount === undefined) throw new Error("Nothing is mounted.");
  return mount.statistics;
}

/** Answers that something waited for, questions for the lease not counted, since the figures were reset. */
async function roundTripsOf({ device, drive }: Client): Promise<number> {
  const { mounts } = (await device.stats(drive)) as { mounts: { statistics: { roundTrips: number } }[] };
  return mounts[0]?.statistics.roundTrips ?? NaN;
}

describe("a small file", () => {
  test(
    "made and written costs one round trip, with O_EXCL two; and less than 450 bytes beyond its content",
    async () => {
      const one = await client("a", { rttMs: 100 });
      const source = sandbox.path("source");
      // The first costs the lease.
      await costOf(one, 'echo first > "$1/first"');
      await one.device.stats(one.drive, { reset: true });
      writeFileSync(source, noise(FILE_BYTES, 1));
      const written = await costOf(one, 'cat "$2" > "$1/written"', source);
      writeFileSync(source, noise(FILE_BYTES, 2));
      const copied = await costOf(one, 'cp "$2" "$1/copied"', source);
      // An answer, and the feed item that comes while the line is still up; a question for the lease may fall in
      // between.
      expect(written.roundTrips).toBeLessThanOrEqual(2);
      expect(copied.roundTrips).toBeLessThanOrEqual(3);
      expect(written.bytes - FILE_BYTES).toBeLessThanOrEqual(450);
      expect(copied.bytes - FILE_BYTES).toBeLessThanOrEqual(450);
      // Noise goes as it is, within messages.
      const { sent } = await wireOf(one);
      expect(sent).toMatchObject({ data: 2 * FILE_BYTES, recipes: 0 });
      expect(sent.metadata).toBeLessThanOrEqual(2 * 300);
    },
    SLOW_MS,
  );

  test(
    "made by two clients at once is one file: both writers are answered, the last content stays, and the conflict is told",
    async () => {
      const [near, far] = [await client("near", {}), await client("far", { rttMs: 1_600 })];
      await onMount('ls "$1"', [far.drive]);
      await quiet(far.link);
      await far.link.resetCounts();
      const late = run("bash", ["-c", 'echo "from afar" > "$1/both"', "bash", far.drive], { deadlineMs: SLOW_MS });
      await waitFor(async () => (await far.link.counts()).up.sentBytes > 80, 10_000, "the make to be on its way");
      await onMount('echo "from near by" > "$1/both"', [near.drive]);
      expect(await late).toMatchObject({ code: 0, stderr: "" });
      await near.device.flush(near.drive, { up: true });
      expect(readFileSync(join(served, "both"), "utf8")).toBe("from afar\n");
      for (const { drive } of [near, far]) expect(await onMount('cat "$1/both"', [drive])).toBe("from afar\n");
      const [mount] = (await far.device.status())["mounts"] as { conflicts: { path: string }[] }[];
      expect(mount?.conflicts.map(({ path }) => path)).toEqual(["both"]);
    },
    SLOW_MS,
  );
});

describe("a whole tree", () => {
  test(
    "removed by `runnel remove` costs one round trip and less than 60 bytes a file; who follows it hears of it for as little",
    async () => {
      const [one, other] = [await client("one", { rttMs: 100 }), await client("other", {})];
      const count = 2_000;
      const fill = 'mkdir -p "$1/tree/a/b" && cd "$1/tree/a/b" && for i in $(seq 2000); do echo "$i" > "file $i"; done';
      await run("bash", ["-c", fill, "bash", served], { deadlineMs: SLOW_MS });
      await waitFor(
        async () =>
          (await onMount('(ls "$1/tree/a/b" 2> /dev/null || true) | wc -l', [one.drive])).trim() === `${count}`,
        SLOW_MS,
        "the files to be seen",
      );
      // The first use costs the lease.
      for (const { drive } of [one, other]) await onMount('stat "$1/tree/a/b/file 7"', [drive]);
      for (const { link } of [one, other]) {
        await quiet(link);
        await link.resetCounts();
      }
      await one.device.stats(one.drive, { reset: true });
      expect(await one.device.ask(["remove", join(one.drive, "tree")])).toMatchObject({
        removed: { mountpoint: one.drive, path: "tree" },
      });
      expect(await roundTripsOf(one)).toBe(1);
      for (const { drive } of [one, other]) expect(await onMount('ls -A "$1"', [drive])).toBe("");
      for (const { link } of [one, other]) await quiet(link);
      const [own, others] = [await one.link.counts(), await other.link.counts()];
      expect(own.up.sentBytes + own.down.sentBytes).toBeLessThanOrEqual(60 * count);
      expect(others.up.sentBytes + others.down.sentBytes).toBeLessThanOrEqual(60 * count);
      expect(own.up.sentBytes).toBeLessThanOrEqual(300);
      await one.device.flush(one.drive, { up: true });
      expect(readdirSync(served)).toEqual([".runnel-store"]);
    },
    SLOW_MS,
  );
});
