// Bytes that do not cross the line since they lie in an old folder, or come on a stick; real processes, a real mount,
// and a stick with a file system of its own that is pulled out.
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { SmallDisk } from "../src/crash/index.ts";
import {
  Sandbox,
  type Device,
  type LinkShape,
  type ServerProcess,
  costOf,
  mustRun,
  noise,
  onMount,
  quiet,
  waitFor,
} from "../src/harness/index.ts";

const MB = 1_000_000;
const FILE_BYTES = 6 * MB;
/** Recipes, listings and leases: a twentieth of what is read, at the most. */
const LITTLE_BYTES = FILE_BYTES / 20;
const SMALL_FILES = 150;
const SMALL_BYTES = 12_000;
/** After that time a server says of which chunks a file is that another program wrote. */
const SETTLED_MS = 2_500;
const READY_MS = 30_000;
const inLongRun = process.env["RUNNEL_LONG"] === "1" ? test : test.skip;

let sandbox: Sandbox;
let served: string;
let server: ServerProcess;
let port: number;

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  server = await sandbox.startServer({ volumes: { docs: served } });
  port = server.port;
});

afterEach(() => sandbox.cleanup(), 120_000);

function filesIn(folder: string): Promise<string> {
  return onMount('cd "$1" && find . -type f -not -path "./.*" -printf "%p %s\n" | sort', [folder]);
}

/** A device with the drive behind a line of its own. */
async function deviceBehindLine(name: string, shape: Partial<LinkShape> = {}, args: readonly string[] = []) {
  const link = await sandbox.startEmulator(port, shape);
  const device = sandbox.device(name);
  const drive = sandbox.makeFolder(name, "drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive, args);
  // The server may still be at what was put into its folder just before.
  await waitFor(async () => (await filesIn(drive)) === (await filesIn(served)), READY_MS, "what is served");
  /** Bytes that cross the line while `work` is done. */
  const crossed = async (work: () => Promise<unknown>): Promise<number> => {
    await quiet(link);
    await link.resetCounts();
    await work();
    await quiet(link);
    const { up, down } = await link.counts();
    return up.sentBytes + down.sentBytes;
  };
  return { device, drive, link, crossed };
}

interface Supply {
  path: string;
  state: string;
  files: number;
}

async function suppliesOf(device: Device): Promise<Supply[]> {
  return (await device.ask(["supply"]))["supplies"] as Supply[];
}

async function isReady(device: Device): Promise<void> {
  await waitFor(async () => (await suppliesOf(device)).every(({ state }) => state === "ready"), READY_MS, "the scan");
}

test("what an old folder has does not cross the line, whatever another program writes there", async () => {
  const bytes = noise(FILE_BYTES, 1);
  writeFileSync(join(served, "report.bin"), Buffer.concat([Buffer.from("a new beginning"), bytes]));
  writeFileSync(join(served, "second.bin"), noise(FILE_BYTES, 2));
  const old = sandbox.makeFolder("old", "deep");
  writeFileSync(join(old, "report 2024.bin"), bytes);
  writeFileSync(join(old, "second.bin"), noise(FILE_BYTES, 2));
  // Small files are read by a program that walks, one after another.
  for (const folder of [served, old]) mkdirSync(join(folder, "tree"));
  for (let number = 0; number < SMALL_FILES; number++) {
    const small = noise(SMALL_BYTES + number, 100 + number);
    writeFileSync(join(served, "tree", `${number}.c`), small);
    writeFileSync(join(old, "tree", `was ${number}.c`), small);
  }
  const { device, drive, crossed } = await deviceBehindLine("a");
  const [added] = (await device.ask(["supply", sandbox.path("old")]))["supplies"] as Supply[];
  expect(added?.path).toBe(sandbox.path("old"));
  await isReady(device);
  expect(await suppliesOf(device)).toMatchObject([{ files: 2 + SMALL_FILES }]);
  await setTimeout(SETTLED_MS);
  const treeBytes = await crossed(() => onMount('diff -r "$1/tree" "$2/tree"', [drive, served]));
  expect(treeBytes).toBeLessThan((SMALL_FILES * SMALL_BYTES) / 8);
  const read = async (name: string): Promise<void> => {
    await onMount('cmp "$1/$3" "$2/$3"', [drive, served, name]);
  };
  expect(await crossed(() => read("report.bin"))).toBeLessThan(LITTLE_BYTES);

  // The list survives the agent, and a program that writes all the time costs the line, not the file.
  await device.ask(["stop"]);
  const again = await deviceBehindLine("a");
  await isReady(device);
  const over = new AbortController();
  const writing = (async () => {
    for (let count = 0; !over.signal.aborted; count++) {
      appendFileSync(join(old, "second.bin"), `line ${count}\n`);
      await setTimeout(5);
    }
  })();
  await onMount('cmp "$1/$3" "$2/$3"', [again.drive, served, "second.bin"]);
  over.abort();
  await writing;
  expect(await savedOf(device, "oldFolder")).toBeGreaterThan(FILE_BYTES / 2);

  await device.ask(["supply", "--remove", sandbox.path("old")]);
  expect(await suppliesOf(device)).toEqual([]);
  // The scan enters no other file system: not the drive below this folder.
  await device.ask(["supply", sandbox.path("a")]);
  await isReady(device);
  expect(await suppliesOf(device)).toMatchObject([{ files: 0, passedOver: 0 }]);
  const inDrive = await device.runnel(["supply", again.drive, "--json"]);
  expect([inDrive.code, JSON.parse(inDrive.stdout)]).toMatchObject([2, { error: { kind: "Invalid" } }]);
});

async function savedOf(device: Device, origin: "oldFolder" | "stick"): Promise<number> {
  const savings = JSON.stringify(await device.savings());
  const found = [...savings.matchAll(new RegExp(`"${origin}":(\\d+)`, "g"))].map(([, bytes]) => Number(bytes));
  return Math.max(0, ...found);
}

inLongRun("a stick brings what the line is spared, and one that is pulled out loses nothing", async () => {
  writeFileSync(join(served, "film.bin"), noise(FILE_BYTES, 3));
  writeFileSync(join(served, "notes.txt"), "some notes ".repeat(1000));
  const office = await deviceBehindLine("office");
  const home = await deviceBehindLine("home");
  const stick = await SmallDisk.make(sandbox, "stick");
  const { carried } = (await office.device.ask(["carry", "out", stick.folder, office.drive])) as {
    carried: { files: number; writtenBytes: number };
  };
  expect(carried).toMatchObject({ files: 2, failed: 0 });
  expect(carried.writtenBytes).toBeGreaterThan(FILE_BYTES);

  // Nothing here holds on to it: it can be pulled out.
  await mustRun("umount", [stick.folder]);
  const away = await home.device.runnel(["carry", "in", stick.folder, "--json"]);
  expect([away.code, JSON.parse(away.stdout)]).toMatchObject([1, { error: { kind: "NotFound" } }]);
  await mustRun("mount", ["-o", "loop", sandbox.path("stick.image"), stick.folder]);

  let came: unknown;
  const line = await home.crossed(async () => {
    came = (await home.device.ask(["carry", "in", stick.folder]))["carried"];
  });
  // A small file comes at once with what says of which chunks it is.
  expect(came).toMatchObject({ files: 2, failed: 0, superseded: 0, sparedBytes: FILE_BYTES });
  expect(line).toBeLessThan(LITTLE_BYTES);
  await onMount('cmp "$1/film.bin" "$2/film.bin"', [home.drive, served]);
  // The line took something, too: no more is told than was saved.
  expect(await savedOf(home.device, "stick")).toBeGreaterThan(FILE_BYTES - LITTLE_BYTES);

  // The stick as a supply is a stick all the same; the kernel has read the film before.
  await home.device.ask(["evict", join(home.drive, "film.bin")]);
  await home.device.ask(["supply", stick.folder]);
  await isReady(home.device);
  await home.device.ask(["stop"]);
  const again = await deviceBehindLine("home");
  const read = (): Promise<unknown> => onMount('cmp "$1/film.bin" "$2/film.bin"', [again.drive, served]);
  expect(await again.crossed(read)).toBeLessThan(LITTLE_BYTES);
  expect(await savedOf(home.device, "stick")).toBeGreaterThan(2 * (FILE_BYTES - LITTLE_BYTES));
  expect(await savedOf(home.device, "oldFolder")).toBe(0);
  await home.device.ask(["supply", "--remove", stick.folder]);
  await mustRun("umount", [stick.folder]);
});

inLongRun("of what a stick holds only what is new goes onto the next; a full one is named", async () => {
  writeFileSync(join(served, "film.bin"), noise(FILE_BYTES, 3));
  const office = await deviceBehindLine("office");
  const stick = sandbox.makeFolder("stick");
  await office.device.ask(["carry", "out", stick, office.drive]);
  // The other side says on it what it holds now.
  const home = await deviceBehindLine("home");
  await home.device.ask(["carry", "in", stick]);

  writeFileSync(join(served, "film.bin"), Buffer.concat([noise(FILE_BYTES, 3), noise(100_000, 4)]));
  await waitFor(
    async () => (await onMount('stat -c %s "$1/film.bin"', [office.drive])).trim() === String(FILE_BYTES + 100_000),
    READY_MS,
    "the longer film",
  );
  const next = await SmallDisk.make(sandbox, "next");
  await mustRun("cp", ["-r", join(stick, "runnel-carry"), next.folder]);
  await mustRun("bash", ["-c", 'rm "$1"/runnel-carry/packs/*', "bash", next.folder]);
  const second = (await office.device.ask(["carry", "out", next.folder, join(office.drive, "film.bin")])) as {
    carried: { writtenBytes: number };
  };
  expect(second.carried.writtenBytes).toBeGreaterThan(90_000);
  expect(second.carried.writtenBytes).toBeLessThan(400_000);

  // A full stick is named, and whole as far as it goes.
  await next.fill(2_000);
  writeFileSync(join(served, "large.bin"), noise(FILE_BYTES, 5));
  await waitFor(
    () => onMount('test -s "$1/large.bin" && echo', [office.drive]).then(Boolean, () => false),
    READY_MS,
    "it",
  );
  const full = await office.device.runnel(["carry", "out", next.folder, join(office.drive, "large.bin"), "--json"]);
  expect([full.code, JSON.parse(full.stdout)]).toMatchObject([1, { error: { kind: "NoSpace" } }]);
  const packs = readdirSync(join(next.folder, "runnel-carry/packs"));
  expect(packs.filter((name) => name.endsWith(".pack"))).toHaveLength(packs.length / 2);
  await mustRun("umount", [next.folder]);
});

inLongRun(
  "[W211] an object in fixed chunks comes from a stick, and is not sent to a server that has that beside it",
  async () => {
    const office = await deviceBehindLine("office");
    const file = sandbox.path("image.bin");
    writeFileSync(file, noise(FILE_BYTES, 9));
    const { uri } = (await office.device.ask(["put", file, "--chunks", "fixed"])) as { uri: string };
    const stick = sandbox.makeFolder("stick");
    await office.device.ask(["carry", "out", stick, join(office.drive, ".runnel-objects")]);

    const home = await deviceBehindLine("home");
    const line = await home.crossed(async () => {
      await home.device.ask(["carry", "in", stick]);
      await home.device.ask(["get", uri, sandbox.path("got.bin")]);
    });
    expect(line).toBeLessThan(LITTLE_BYTES);
    await mustRun("cmp", [file, sandbox.path("got.bin")]);

    const branch = await sandbox.startServer({
      volumes: { docs: sandbox.makeFolder("branch") },
      data: sandbox.makeFolder("branch-data"),
      args: ["--supply", stick],
    });
    const link = await sandbox.startEmulator(branch.port);
    const drive = sandbox.makeFolder("branch-drive");
    await office.device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    const before = await link.counts();
    const put = ["put", file, "--chunks", "fixed", "--to", drive];
    const again = (await office.device.ask(put)) as { uri: string; wasThere: boolean };
    const after = await link.counts();
    expect(again.wasThere).toBe(false);
    expect(after.up.sentBytes - before.up.sentBytes).toBeLessThan(LITTLE_BYTES);
    await office.device.ask(["get", again.uri, sandbox.path("again.bin")]);
    await mustRun("cmp", [file, sandbox.path("again.bin")]);
  },
);

inLongRun("[W210] what a server has in an old folder, or on a stick, is not sent to it", async () => {
  const bytes = noise(FILE_BYTES, 6);
  writeFileSync(join(served, "film.bin"), bytes);
  const office = await deviceBehindLine("office");
  const stick = sandbox.makeFolder("stick");
  await office.device.ask(["carry", "out", stick, office.drive]);
  const old = sandbox.makeFolder("old");
  const second = noise(FILE_BYTES, 7);
  writeFileSync(join(old, "an old copy"), second);
  const branch = sandbox.makeFolder("branch");
  const other = await sandbox.startServer({
    volumes: { docs: branch },
    data: sandbox.makeFolder("branch-data"),
    args: ["--supply", old, "--supply", stick],
  });
  const link = await sandbox.startEmulator(other.port);
  const drive = sandbox.makeFolder("branch-drive");
  await office.device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  const sources = sandbox.makeFolder("sources");
  writeFileSync(join(sources, "film.bin"), bytes);
  writeFileSync(join(sources, "copy.bin"), Buffer.concat([second, Buffer.from("an end of its own")]));
  writeFileSync(join(sources, "new.bin"), noise(MB, 8));
  const { device } = office;
  const crossed = await costOf({ link, device, drive }, 'cp "$2"/*.bin "$1"', sources);
  // Only what is new goes, with the digests of all; of the copy the chunks around its end.
  expect(crossed).toBeGreaterThan(MB);
  expect(crossed).toBeLessThan(MB * 1.05 + MB / 5 + 2 * LITTLE_BYTES);
  await mustRun("cmp", [join(sources, "film.bin"), join(branch, "film.bin")]);
  await mustRun("cmp", [join(sources, "copy.bin"), join(branch, "copy.bin")]);
  await mustRun("cmp", [join(sources, "new.bin"), join(branch, "new.bin")]);
});

// A close takes ten seconds to fail in mode sync.
inLongRun.each(["sync", "async"])(
  "a save that cannot be sent (mode %s) goes on a stick, and does not cross the line once the server has that",
  async (mode) => {
    writeFileSync(join(served, "film.bin"), "a beginning");
    const source = sandbox.path("source.bin");
    writeFileSync(source, noise(FILE_BYTES, 9));
    const office = await deviceBehindLine("office", {}, ["--mode", mode]);
    const { device, drive, link } = office;
    await onMount('cat "$1/film.bin"', [drive]);
    // A program has the file open as the line is cut.
    const saving = onMount(
      'exec 3<>"$1/film.bin"; touch "$2"; until test -e "$3"; do sleep 0.05; done; ! cat "$4" >&3 || true; exec 3>&- || true; cmp "$1/film.bin" "$4"',
      [drive, sandbox.path("open"), sandbox.path("cut"), source],
    );
    await waitFor(async () => existsSync(sandbox.path("open")), READY_MS, "the program");
    await link.cut("refuse");
    writeFileSync(sandbox.path("cut"), "");
    await saving;
    const unsent = async (): Promise<number> => ((await device.ask(["unsent"]))["unsent"] as unknown[]).length;
    expect(await unsent()).toBe(1);

    const stick = sandbox.makeFolder("stick");
    const { carried } = (await device.ask(["carry", "out", stick])) as { carried: { writtenBytes: number } };
    expect(carried).toMatchObject({ files: 0, unsentFiles: 1, bytes: FILE_BYTES, writtenBytes: FILE_BYTES, failed: 0 });

    // The stick has come with the post.
    await server.stop();
    const args = ["--supply", stick];
    await sandbox.startServer({ volumes: { docs: served }, listen: `127.0.0.1:${port}`, args });
    expect(readFileSync(join(served, "film.bin"), "utf8")).toBe("a beginning");
    const crossed = await office.crossed(async () => {
      await link.restore();
      await waitFor(async () => (await unsent()) === 0, READY_MS, "the save to be sent");
      await device.flush(drive, { up: true });
    });
    await mustRun("cmp", [source, join(served, "film.bin")]);
    // The digests of all went, and no byte of it.
    expect(crossed).toBeGreaterThan(FILE_BYTES / 400);
    expect(crossed).toBeLessThan(LITTLE_BYTES / 3);
  },
);

/** Fails as a stick that was pulled out: whatever reads or writes it is told so, and what was not written is lost. */
const PULL_OUT = `
import fcntl, os, struct, sys
EXT4_IOC_SHUTDOWN, NOLOGFLUSH = 0x8004587D, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), EXT4_IOC_SHUTDOWN, struct.pack("I", NOLOGFLUSH))
`;

describe.each([
  ["pulled out", true],
  ["unmounted by force", false],
])("a stick that is %s while it is written", (_what, isPulledOut) => {
  inLongRun("[F220] is whole as far as it goes, and takes the rest the next time", async () => {
    const names = Array.from({ length: 8 }, (_, at) => `part-${at}.bin`);
    for (const [at, name] of names.entries()) writeFileSync(join(served, name), noise(MB, 20 + at));
    const office = await deviceBehindLine("office", { downBitsPerSecond: 12e6 });
    const stick = await SmallDisk.make(sandbox, "stick");
    const packs = join(stick.folder, "runnel-carry/packs");
    const writtenBytes = (): number => {
      const found = existsSync(packs) ? readdirSync(packs).filter((name) => name.endsWith(".pack")) : [];
      return found.reduce((sum, name) => sum + statSync(join(packs, name)).size, 0);
    };
    const carrying = office.device.runnel(["carry", "out", stick.folder, office.drive, "--json"]);
    await waitFor(async () => writtenBytes() > 2 * MB, READY_MS, "a part of it on the stick");
    if (isPulledOut) await mustRun("python3", ["-c", PULL_OUT, stick.folder]);
    await mustRun("umount", ["-l", stick.folder]);
    const ended = await carrying;
    // The system lets whoever has a forced-out disk open go on with it.
    if (isPulledOut) {
      expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([1, { error: { kind: "Unavailable" } }]);
      expect(ended.stdout).toContain(`The stick at ${stick.folder} fails, or was pulled out.`);
    } else expect([ended.code, JSON.parse(ended.stdout)]).toMatchObject([0, { carried: { files: 8, failed: 0 } }]);
    expect(await onMount('cat "$1"/part-*.bin | cmp - <(cat "$2"/part-*.bin)', [office.drive, served])).toBe("");

    await mustRun("mount", ["-o", "loop", sandbox.path("stick.image"), stick.folder]);
    const { carried } = (await office.device.ask(["carry", "out", stick.folder, office.drive])) as { carried: unknown };
    expect(carried).toMatchObject({ files: 8, failed: 0, writtenBytes: isPulledOut ? 8 * MB : 0 });
    const left = readdirSync(packs);
    expect(left.filter((name) => name.endsWith(".pack"))).toHaveLength(left.length / 2);
    const home = await deviceBehindLine("home");
    const line = await home.crossed(async () => {
      const came = (await home.device.ask(["carry", "in", stick.folder]))["carried"];
      expect(came).toMatchObject({ files: 8, failed: 0, sparedBytes: 8 * MB });
    });
    expect(line).toBeLessThan(2 * LITTLE_BYTES);
    await mustRun("umount", [stick.folder]);
  });
});
