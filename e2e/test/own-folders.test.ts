// Two people in mode async, each in a folder of one volume: neither waits for the line, nor for the other, and each
// sees what the other has closed when it looks there.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Sandbox, asServed, differences, onMount, pictureOf, waitFor } from "../src/harness/index.ts";
import type { Device } from "../src/harness/index.ts";

const SLOW_MS = 120_000;
const RTT_MS = 100;
/** Files that each is to work on, and what is done to each of them that a server would be asked for. */
const FILES = 40;
const CHANGES_A_FILE = 4;
/** Far less than a round trip for each change takes; with margin for a machine that has much else to do. */
const ROUND_TRIPS_MAX = (FILES * CHANGES_A_FILE) / 2;
const FOLDERS_MS = 60_000;

interface Client {
  device: Device;
  drive: string;
  /** Folder that it works in. */
  folder: string;
}

let sandbox: Sandbox;
let served: string;
let one: Client;
let other: Client;

beforeAll(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  const server = await sandbox.startServer({ volumes: { docs: served } });
  const mounted = async (folder: string): Promise<Client> => {
    const link = await sandbox.startEmulator(server.port);
    await link.setShape({ rttMs: RTT_MS });
    const [device, drive] = [sandbox.device(folder), sandbox.makeFolder(`drive of ${folder}`)];
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive, ["--mode", "async"]);
    return { device, drive, folder };
  };
  [one, other] = [await mounted("one's"), await mounted("other's")];
  await onMount('mkdir -p "$1/$2/deep" "$1/$3/deep"', [one.drive, one.folder, other.folder]);
}, SLOW_MS);

afterAll(() => sandbox.cleanup(), SLOW_MS);

const WORK = `
cd "$1/$2/deep"
s=$(date +%s%N)
for n in $(seq 1 "$3"); do echo "$2 $n" > "$n.new"; chmod 600 "$n.new"; mv "$n.new" "$n"; mkdir "made-$n"; done
echo $((($(date +%s%N) - s) / 1000000))
rm -r made-*`;

/** Works on files. @returns the number of round trips that it might have waited for. */
async function work({ drive, folder }: Client, files: number): Promise<number> {
  return Number(await onMount(WORK, [drive, folder, String(files)], { deadlineMs: SLOW_MS })) / RTT_MS;
}

test(
  "both work at once as if they were alone, and see each other's files at the next open",
  async () => {
    // The lease of all is split into the folders that are worked in.
    for (const client of [one, other])
      await waitFor(async () => (await work(client, 2)) < CHANGES_A_FILE, FOLDERS_MS, "a folder of its own");
    const took = await Promise.all([work(one, FILES), work(other, FILES)]);
    expect(Math.max(...took)).toBeLessThan(ROUND_TRIPS_MAX);

    // Much of it is still on its way.
    for (const [by, looks] of [
      [one, other],
      [other, one],
    ] as const) {
      await onMount('echo "by $2" > "$1/$2/deep/last"; mv "$1/$2/deep/last" "$1/$2/told"', [by.drive, by.folder]);
      const seen = await onMount('cat "$1/$2/told" "$1/$2/deep/$3"; ls "$1/$2/deep" | wc -l', [
        looks.drive,
        by.folder,
        String(FILES),
      ]);
      expect(seen).toBe(`by ${by.folder}\n${by.folder} ${FILES}\n${FILES}\n`);
    }
    for (const { device, drive } of [one, other]) await device.flush(drive, { up: true });
    const there = asServed(await pictureOf(served));
    for (const { drive } of [one, other]) expect(differences(there, asServed(await pictureOf(drive)))).toEqual([]);
  },
  2 * SLOW_MS,
);

test(
  "what one moves into the other's folder is there for both, and nobody waits for ever",
  async () => {
    const move = ({ drive, folder }: Client, to: Client, name: string): Promise<string> =>
      onMount('echo "$4" > "$1/$2/$4"; mv "$1/$2/$4" "$1/$3/"', [drive, folder, to.folder, name], {
        deadlineMs: SLOW_MS,
      });
    await Promise.all([move(one, other, "there"), move(other, one, "back")]);
    for (const { drive } of [one, other])
      expect(await onMount('cat "$1/$2/back" "$1/$3/there"', [drive, one.folder, other.folder])).toBe("back\nthere\n");
  },
  SLOW_MS,
);
