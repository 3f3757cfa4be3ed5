// A cold listing of a real tree of 100,000 entries: what this machine has installed, with its names, sizes and times.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { lstatSync, lutimesSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, onMount, quiet, waitFor } from "../src/harness/index.ts";

const ENTRIES = 100_000;
const SLOW_MS = 600_000;
const SOURCES = ["/usr", join(import.meta.dirname, "../../node_modules")];

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox(SLOW_MS);
});

afterEach(() => sandbox.cleanup(), 120_000);

/** The same names, kinds, sizes and times; no bytes. How many of `most` it made. */
function imitate(from: string, to: string, most: number): number {
  let made = 0;
  for (const name of readdirSync(from)) {
    if (made >= most) break;
    const [source, target] = [join(from, name), join(to, name)];
    const stat = lstatSync(source);
    made++;
    if (stat.isDirectory()) {
      mkdirSync(target);
      made += imitate(source, target, most - made);
    } else if (stat.isSymbolicLink()) symlinkSync("elsewhere", target);
    else {
      writeFileSync(target, "");
      truncateSync(target, stat.size);
    }
    lutimesSync(target, stat.atimeMs / 1000, stat.mtimeMs / 1000);
  }
  return made;
}

test(
  "costs at most 40 bytes an entry, and one request",
  async () => {
    const served = sandbox.makeFolder("served");
    let made = 0;
    for (const [index, source] of SOURCES.entries())
      made += imitate(source, sandbox.makeFolder("served", `${index}`), ENTRIES - made);
    const state = async (): Promise<string | undefined> => {
      const [mount] = (await device.status())["mounts"] as { state: string }[];
      return mount?.state;
    };
    const server = await sandbox.startServer({ volumes: { docs: served }, readyMs: SLOW_MS });
    const link = await sandbox.startEmulator(server.port, { rttMs: 100 });
    const device = sandbox.device();
    const drive = sandbox.makeFolder("drive");
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    // While it is listed in one stream, a folder that a program asks for is asked for besides.
    await waitFor(async () => (await state()) === "connected", SLOW_MS, "the tree to be listed");
    const found = Number(await onMount('find "$1" -mindepth 2 | wc -l', [drive], { deadlineMs: SLOW_MS }));
    await quiet(link);
    const { up, down } = await link.counts();
    console.log(`${found} entries: ${(down.sentBytes / found).toFixed(1)} bytes each, ${up.sentBytes} bytes asked`);
    expect(found).toBe(made);
    expect(found).toBeGreaterThan(ENTRIES / 2);
    expect(down.sentBytes / found).toBeLessThanOrEqual(40);
    // The upgrade, hello, attach, the root and the whole tree, and questions for the lease.
    expect(up.sentBytes).toBeLessThan(2_000);
  },
  SLOW_MS,
);
