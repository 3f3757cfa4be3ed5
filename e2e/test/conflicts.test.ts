// Devices that share a volume, as they hear of each other. Conflicts: the same list on all of them, by whom, over
// restarts of everybody, until somebody settles one. Openers: who has a file open. Server and agents are processes of
// their own.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, onMount, refusalOf, run, waitFor } from "../src/harness/index.ts";
import type { Device, LinkEmulator, ServerProcess } from "../src/harness/index.ts";

const TOLD_MS = 30_000;
const TEST_MS = 180_000;
/** Content of a file that the laptop's program has written to: longer by a line's end before. */
const HIS = "his\n\n";

interface Conflict {
  path: string;
  conflictCopy: string | null;
  by: string;
}

let sandbox: Sandbox;
let server: ServerProcess;
let link: LinkEmulator;
let served: string;
let [laptop, desk]: { device: Device; drive: string }[] = [];

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  await serve();
  link = await sandbox.startEmulator(server.port);
  [laptop, desk] = [await joined("laptop", link.port), await joined("desk", server.port)];
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

async function serve(): Promise<void> {
  const listen = server === undefined || server.hasEnded ? `127.0.0.1:${server?.port ?? 0}` : "127.0.0.1:0";
  server = await sandbox.startServer({ volumes: { docs: served }, listen, args: ["--tls"] });
}

/** Lets a device in, and maps the volume there. */
async function joined(name: string, port: number): Promise<{ device: Device; drive: string }> {
  const device = sandbox.device(name);
  const place = ["--data", sandbox.path("data"), "--address", `127.0.0.1:${port}`];
  const { invite } = await sandbox.device("admin").ask(["invite", "docs", ...place]);
  const { url } = await device.ask(["login", String(invite), "--name", name]);
  const drive = sandbox.makeFolder(`drive-${name}`);
  await device.mount(String(url), drive);
  return { device, drive };
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("It is not there.");
  return value;
}

async function listed(of: { device: Device } | undefined): Promise<Conflict[]> {
  const [mount] = (await given(of).device.status())["mounts"] as { conflicts: Conflict[] }[];
  return mount?.conflicts ?? [];
}

/** A program of the laptop has the file open while the desk saves it, or does `meanwhile`, and then saves it too. */
async function conflict(name: string, meanwhile = 'echo hers > "$1"'): Promise<void> {
  const [mine, theirs] = [join(given(laptop).drive, name), join(given(desk).drive, name)];
  const signs = sandbox.makeFolder(`signs-${name}`);
  await onMount('echo base > "$1"', [mine]);
  const script = 'exec 3<>"$1"; touch "$2/open"; until [ -e "$2/go" ]; do sleep 0.05; done; echo his >&3; exec 3>&-';
  const late = run("bash", ["-c", script, "bash", mine, signs], { deadlineMs: TOLD_MS });
  await waitFor(() => existsSync(join(signs, "open")), TOLD_MS, "the file to be open");
  await onMount(`until grep -q base "$1"; do sleep 0.05; done; ${meanwhile}`, [theirs]);
  writeFileSync(join(signs, "go"), "");
  expect(await late).toMatchObject({ code: 0, stderr: "" });
}

test(
  "are listed on all devices, over restarts of all and the loss of the index, until one of them settles it",
  async () => {
    await conflict("report.txt");
    const expected = [{ path: "report.txt", conflictCopy: null, by: "laptop" }];
    for (const each of [laptop, desk]) expect(await listed(each)).toMatchObject(expected);
    await given(laptop).device.flush(given(laptop).drive, { up: true });
    expect(readFileSync(join(served, "report.txt"), "utf8")).toBe(HIS);
    await server.kill();
    await serve();
    for (const each of [laptop, desk])
      await waitFor(async () => (await listed(each)).length === 1, TOLD_MS, "the list of a server that was killed");
    await server.kill();
    rmSync(join(sandbox.path("data"), "docs", "meta"), { recursive: true });
    await serve();
    for (const each of [laptop, desk])
      await waitFor(async () => (await listed(each)).length === 1, TOLD_MS, "the list of a server without its index");
    const { device, drive } = given(desk);
    await device.ask(["stop"]);
    await device.mount(`wss://127.0.0.1:${server.port}/docs`, drive);
    // The server tells of it unasked.
    await waitFor(async () => /two places/.test((await device.runnel(["status"])).stdout), TOLD_MS, "the list");
    const refused = await device.runnel(["settle", join(drive, "other"), "--json"]);
    expect(refusalOf(refused).kind).toBe("NotFound");
    expect(await device.ask(["settle", join(drive, "report.txt")])).toMatchObject({ settled: { conflicts: 1 } });
    for (const each of [laptop, desk]) expect(await listed(each)).toEqual([]);
    for (const each of [laptop, desk]) expect(await onMount('cat "$1/report.txt"', [given(each).drive])).toBe(HIS);
  },
  TEST_MS,
);

test(
  "of a file that was removed meanwhile, and of one that was changed without a link, name the copy; they go with it",
  async () => {
    await conflict("removed.txt", 'rm "$1"');
    const mine = given(laptop);
    await onMount('echo base > "$1/away.txt"', [mine.drive]);
    const signs = sandbox.makeFolder("signs");
    const script = 'exec 3<>"$1"; touch "$2/open"; until [ -e "$2/go" ]; do sleep 0.05; done; echo his >&3; exec 3>&-';
    const late = run("bash", ["-c", script, "bash", join(mine.drive, "away.txt"), signs], { deadlineMs: 60_000 });
    await waitFor(() => existsSync(join(signs, "open")), TOLD_MS, "the file to be open");
    await link.cut("refuse");
    writeFileSync(join(signs, "go"), "");
    await late;
    const their = given(desk).drive;
    await onMount('until grep -q base "$1/away.txt"; do sleep 0.05; done; echo hers > "$1/away.txt"', [their]);
    await link.restore();
    await waitFor(async () => (await listed(desk)).length === 2, TOLD_MS, "both");
    expect(await listed(desk)).toMatchObject([
      { path: "removed.txt", conflictCopy: expect.stringMatching(/^removed \(conflict .*\)\.txt$/), by: "laptop" },
      { path: "away.txt", conflictCopy: expect.stringMatching(/^away \(unsent .*\)\.txt$/), by: "laptop" },
    ]);
    // A copy is made, and listed, before its content is there.
    const shown = (): Promise<string> => onMount('cat "$1/away.txt" "$1"/away*unsent* "$1"/removed*conflict*', [their]);
    await waitFor(async () => (await shown()) === `hers\n${HIS}${HIS}`, TOLD_MS, "the three contents");
    await onMount('rm "$1"/away*unsent* "$1"/removed*conflict*', [their]);
    await given(desk).device.flush(their, { up: true });
    await waitFor(async () => (await listed(laptop)).length === 0, TOLD_MS, "the end of both");
  },
  TEST_MS,
);

test(
  "a file that one has open is told to the other, by name and in one sentence; without a link it says so",
  async () => {
    const [mine, theirs] = [given(laptop), given(desk)];
    await onMount('echo plan > "$1/plan.txt"', [mine.drive]);
    const path = join(mine.drive, "plan.txt");
    const shown = async (): Promise<string> => (await mine.device.runnel(["openers", path])).stdout;
    expect(await shown()).toMatch(/^Nobody else has it open\.\ndesk has it on a drive, since \d\d:\d\d\.\n$/);
    await onMount('until grep -q plan "$1/plan.txt"; do sleep 0.05; done', [theirs.drive]);
    const hasIt = /^desk has it open, or had it a moment ago; on a drive, since \d\d:\d\d\.\n$/;
    await waitFor(async () => hasIt.test(await shown()), TOLD_MS, "the opening to be told");
    expect(await mine.device.ask(["openers", path])).toMatchObject({
      path: "plan.txt",
      total: 2,
      openers: [
        { name: "desk", isOwn: false, isConnected: true, hasRead: true },
        { name: "laptop", isOwn: true },
      ],
    });
    await link.cut("refuse");
    const asked = await mine.device.runnel(["openers", path, "--json"]);
    expect([asked.code, refusalOf(asked).kind]).toEqual([3, "Unreachable"]);
  },
  TEST_MS,
);
