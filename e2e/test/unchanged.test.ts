// A file that is saved as it was: its time is new, and nothing else, unless somebody else has saved it meanwhile.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, noise, onMount, run, waitFor } from "../src/harness/index.ts";
import type { Device } from "../src/harness/index.ts";

const SLOW_MS = 60_000;
const LONG_AGO_S = 1_500_000_000;

interface Client {
  device: Device;
  drive: string;
}

let sandbox: Sandbox;
let served: string;
/** Two clients of one volume, where each test has a file of its own, and contents that no other has. */
let one: Client;
let other: Client;

beforeAll(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  const { url } = await sandbox.startServer({ volumes: { docs: served } });
  const mounted = async (name: string): Promise<Client> => {
    const [device, drive] = [sandbox.device(name), sandbox.makeFolder(`drive-${name}`)];
    await device.mount(`${url}/docs`, drive);
    return { device, drive };
  };
  [one, other] = [await mounted("one"), await mounted("other")];
}, SLOW_MS);

afterAll(() => sandbox.cleanup(), SLOW_MS);

test(
  "a save of the same content makes the time new here, for others and in the folder, and sends no content",
  async () => {
    const source = sandbox.path("same");
    writeFileSync(source, noise(300_000, 1));
    await onMount('cp "$2" "$1/f"; touch -d @1500000000 "$1/f"', [one.drive, source]);
    await one.device.stats(one.drive, { reset: true });
    await onMount('cp "$2" "$1/f"', [one.drive, source]);
    const { mounts } = (await one.device.stats(one.drive)) as { mounts: { statistics: { sent: { data: number } } }[] };
    expect(mounts[0]?.statistics.sent.data).toBe(0);
    const times = await Promise.all(
      [one, other].map(async ({ drive }) => Number(await onMount('stat -c %Y "$1/f"', [drive]))),
    );
    expect(Math.min(...times)).toBeGreaterThan(LONG_AGO_S);
    expect(times[0]).toBe(times[1]);
    await one.device.flush(one.drive, { up: true });
    expect(Math.floor(statSync(join(served, "f")).mtimeMs / 1000)).toBe(times[0]);
    for (const { drive } of [one, other])
      expect(await onMount('cmp "$1/f" "$2" && echo same', [drive, source])).toBe("same\n");
    // And what is saved next is an edit of that.
    await onMount('printf x | dd of="$1/f" bs=1 seek=1000 conv=notrunc status=none', [one.drive]);
    await one.device.flush(one.drive, { up: true });
    expect(readFileSync(join(served, "f"))[1000]).toBe("x".charCodeAt(0));
  },
  SLOW_MS,
);

test(
  "over what another client has saved meanwhile it is a save like any other: the last one stays, and the conflict is told",
  async () => {
    const [source, theirs, signs] = [sandbox.path("source"), sandbox.path("theirs"), sandbox.makeFolder("signs")];
    writeFileSync(source, noise(300_000, 2));
    writeFileSync(theirs, noise(300_000, 3));
    await onMount('cp "$2" "$1/both"', [one.drive, source]);
    const script =
      'exec 3<>"$1/both"; touch "$3/open"; while [ ! -e "$3/go" ]; do sleep 0.05; done; cat "$2" >&3; exec 3>&-';
    const late = run("bash", ["-c", script, "bash", one.drive, source, signs], { deadlineMs: SLOW_MS });
    await waitFor(() => existsSync(join(signs, "open")), SLOW_MS, "the file to be open");
    await onMount('cp "$2" "$1/both"', [other.drive, theirs]);
    writeFileSync(join(signs, "go"), "");
    expect(await late).toMatchObject({ code: 0, stderr: "" });
    await one.device.flush(one.drive, { up: true });
    expect(Buffer.compare(readFileSync(join(served, "both")), readFileSync(source))).toBe(0);
    for (const { drive } of [one, other])
      expect(await onMount('cmp "$1/both" "$2" && echo same', [drive, source])).toBe("same\n");
    const [mount] = (await one.device.status())["mounts"] as { conflicts: { path: string }[] }[];
    expect(mount?.conflicts.map(({ path }) => path)).toEqual(["both"]);
  },
  SLOW_MS,
);
