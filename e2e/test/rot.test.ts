// Disks rot: after a stop, a byte in some file of ours is another one. The next start reads the right bytes or says
// what is damaged; nothing wrong is served or saved, and nothing is passed over in silence. Which file and which byte
// is generated from what lies there.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { LAUNCHER, Sandbox, noise, onMount, refusalOf, run, waitFor } from "../src/harness/index.ts";
import type { Device, ServerProcess } from "../src/harness/index.ts";

const RESUME_MS = 60_000;
/** Places looked at in each file. */
const PLACES = process.env["RUNNEL_LONG"] === undefined ? 1 : 12;

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;
let served: string;
let data: string;
let drive: string;

const FILES: Record<string, Buffer> = {
  "small.txt": Buffer.from("one line\n"),
  "middle.bin": Buffer.from(noise(300_000, 3)),
  "large.bin": Buffer.from(noise(6_000_000, 4)),
};

beforeEach(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  data = sandbox.makeFolder("data");
  drive = sandbox.makeFolder("drive");
  for (const [name, bytes] of Object.entries(FILES)) writeFileSync(join(served, name), bytes);
  server = await sandbox.startServer({ volumes: { docs: served }, data });
  device = sandbox.device();
  await mount();
  await onMount('echo first > "$1/kept.txt"; cd "$1"; cat kept.txt large.bin middle.bin small.txt > made.bin', [drive]);
  await device.flush(drive, { up: true });
}, 120_000);

afterEach(() => sandbox.cleanup(), 120_000);

async function mount(): Promise<void> {
  await device.mount(`${server.url}/docs`, drive);
}

async function restart(): Promise<void> {
  server = await sandbox.startServer({ volumes: { docs: served }, data, listen: `127.0.0.1:${server.port}` });
}

/** All plain files below a folder. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() && statSync(path).size > 0 ? [path] : [];
  });
}

/** Another bit at this part of the file; a second call takes it back. */
function flip(path: string, part: number): void {
  const file = openSync(path, "r+");
  try {
    const at = Math.min(statSync(path).size - 1, Math.floor(statSync(path).size * part));
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, at);
    writeSync(file, Buffer.of(byte.readUInt8(0) ^ (1 << (at % 8))), 0, 1, at);
  } finally {
    closeSync(file);
  }
}

const PARTS = Array.from({ length: PLACES }, (_, index) => (index + 0.37) / PLACES);

async function problems(): Promise<string[]> {
  const [status] = (await device.status())["mounts"] as { problems: string[] }[];
  return status?.problems ?? [];
}

/** Every file as the drive shows it; false while it cannot be read yet. */
async function isRight(): Promise<boolean> {
  for (const [name, bytes] of Object.entries(FILES)) {
    writeFileSync(sandbox.path("expected"), bytes);
    const shown = await onMount('cmp "$1/$2" "$3" > /dev/null 2>&1; echo $?', [drive, name, sandbox.path("expected")]);
    if (shown === "1\n" && (await onMount('wc -c < "$1/$2"', [drive, name])) === `${bytes.length}\n`)
      throw new Error(`${name} has other bytes.`);
    if (shown !== "0\n") return false;
  }
  return true;
}

describe("a rotten byte of the agent", () => {
  const mounts = (): string => sandbox.path("home", "a", "mounts");
  const cache = (): string => sandbox.path("home", "a", "cache");

  test("in cached contents is noticed: they are fetched again, and status says so", async () => {
    expect(await isRight()).toBe(true);
    for (const part of PARTS) {
      await device.ask(["stop"]);
      const contents = filesBelow(cache()).filter((path) => path.includes("/contents/"));
      expect(contents.length).toBeGreaterThanOrEqual(5);
      for (const path of contents) flip(path, part);
      await mount();
      expect(await isRight()).toBe(true);
      const said = (await problems()).join("\n");
      for (const name of Object.keys(FILES)) expect(said).toContain(`cached bytes of ${name}`);
    }
  }, 400_000);

  test("beside what a program changes is not saved with the change", async () => {
    const expected = readFileSync(join(served, "made.bin"));
    for (const [index, at] of [5000, 4_000_000].entries()) {
      await device.ask(["stop"]);
      const contents = filesBelow(cache()).filter((path) => path.includes("/contents/"));
      const [content = ""] = contents.filter((path) => statSync(path).size === expected.length).slice(-1);
      flip(content, (at - 10) / expected.length);
      await mount();
      await onMount(`printf ${index} | dd of="$1/made.bin" bs=1 seek=${at} conv=notrunc 2> /dev/null`, [drive]);
      await device.flush(drive, { up: true });
      expected.write(String(index), at);
      expect(readFileSync(join(served, "made.bin")).equals(expected)).toBe(true);
      expect((await problems()).join("\n")).toContain("cached bytes of made.bin");
    }
  }, 400_000);

  test("in the folder list or the cache's index is noticed: both are made anew, and status says so", async () => {
    for (const part of PARTS) {
      await device.ask(["stop"]);
      const databases = [...filesBelow(mounts()), ...filesBelow(cache())].filter((path) => path.endsWith(".sqlite"));
      expect(databases.length).toBe(2);
      for (const path of databases) flip(path, part);
      await mount();
      expect(await isRight()).toBe(true);
      const said = (await problems()).join("\n");
      expect(said).toContain("Damaged on this computer's disk: the replica.");
      expect(said).toContain("Damaged on this computer's disk: the cache index.");
    }
  }, 400_000);

  test("in the journal's log is named, and nothing is changed", async () => {
    await device.ask(["stop"]);
    const segments = filesBelow(mounts()).filter((path) => path.endsWith(".log"));
    expect(segments.length).toBeGreaterThan(0);
    for (const path of segments) {
      for (const part of PARTS) {
        flip(path, part);
        const before = readFileSync(path);
        const refusal = refusalOf(await device.runnel(["mount", `${server.url}/docs`, drive, "--json"]));
        expect(refusal.kind).toBe("Corrupt");
        expect(readFileSync(path).equals(before)).toBe(true);
        flip(path, part);
      }
    }
    await mount();
    expect(await isRight()).toBe(true);
  }, 400_000);

  test("in what waits to be sent is noticed: it is not sent, the rest is, and status says so", async () => {
    const [open, go] = [sandbox.path("open"), sandbox.path("go")];
    const script = `exec 3<> "$1/kept.txt" 4<> "$1/small.txt"; touch "$2"; until [ -e "$3" ]; do sleep 0.1; done
      printf "written while the server was away" | tee /dev/fd/3 > /dev/fd/4; exec 3>&- 4>&- || true`;
    const writing = run("bash", ["-c", script, "bash", drive, open, go], { deadlineMs: 90_000 });
    await waitFor(() => existsSync(open), RESUME_MS, "the files to be open");
    await server.kill();
    writeFileSync(go, "");
    await writing;
    const isKept = async (): Promise<boolean> => {
      const [status] = (await device.status())["mounts"] as { unsentFiles: number }[];
      return status?.unsentFiles === 2;
    };
    await waitFor(isKept, RESUME_MS, "both to wait");
    await device.ask(["stop", "--force"], { deadlineMs: 60_000 });
    const unsent = filesBelow(mounts()).filter((path) => path.includes("/data/"));
    expect(unsent.length).toBe(2);
    const [rotten = "", sound = ""] = unsent;
    flip(rotten, 0.5);
    const before = readFileSync(sound, "utf8");
    await restart();
    await mount();
    const texts = (): string[] => ["kept.txt", "small.txt"].map((name) => readFileSync(join(served, name), "utf8"));
    await waitFor(() => texts().includes(before), RESUME_MS, "the sound one to arrive");
    const said = async (): Promise<boolean> => (await problems()).join("\n").includes("the unsent change to");
    await waitFor(said, RESUME_MS, "the rotten one to be told");
    expect(texts().filter((text) => text === before).length).toBe(1);
    expect(texts().filter((text) => ["first\n", "one line\n"].includes(text)).length).toBe(1);
    // The bytes are still there for a person.
    expect(readFileSync(rotten).length).toBe(before.length);
  }, 400_000);
});

describe("a rotten byte of the server", () => {
  /** Files whose damage neither stops the server nor touches anything else. */
  const ASIDE = /\/_server\/audit\/|\/\.runnel-store\/trash\//;

  /** Serves, or says in a sentence why not. */
  async function startOrRefusal(): Promise<string | undefined> {
    try {
      await restart();
      return undefined;
    } catch {
      const args = ["serve", "--volume", `docs=${served}`, "--listen", "127.0.0.1:0", "--data", data, "--json"];
      const ran = await run(process.execPath, [LAUNCHER, ...args], { env: sandbox.env, deadlineMs: 60_000 });
      const line = ran.stdout.trim().split("\n").at(-1) ?? "";
      return (JSON.parse(line) as { error: { kind: string; message: string } }).error.message;
    }
  }

  /** Flips these places and starts. Returns why it did not start: then they are as before. */
  async function startWith(places: readonly { path: string; part: number }[]): Promise<string | undefined> {
    for (const { path, part } of places) flip(path, part);
    const paths = places.map(({ path }) => path);
    const refusal = await startOrRefusal();
    if (refusal === undefined) {
      await mount();
      await waitFor(isRight, RESUME_MS, `right bytes after a flip in ${paths.join(", ")}`);
      if (paths.some((path) => path.endsWith("meta.db")))
        expect(server.stderr).toContain("is damaged and is made anew");
      await device.ask(["stop"]);
      await server.stop();
    } else expect(refusal).toMatch(/damaged|another volume|newer Runnel/i);
    for (const [name, bytes] of Object.entries(FILES))
      expect(readFileSync(join(served, name)).equals(bytes)).toBe(true);
    if (refusal !== undefined) for (const { path, part } of places) flip(path, part);
    return refusal;
  }

  test("anywhere in what it keeps is noticed or harmless: right bytes or a named failure", async () => {
    // An old version in the trash, with its record.
    await onMount('cat "$1/middle.bin" > "$2"; echo over > "$1/kept.txt"', [drive, "/dev/null"]);
    await device.flush(drive, { up: true });
    await device.ask(["stop"]);
    await server.stop();
    const kept = [...filesBelow(data), ...filesBelow(join(served, ".runnel-store"))];
    const kinds = ["meta.db", "chunks.db", ".log", "/data/docs/volume", ".runnel-store/volume", ".json"];
    for (const kind of [...kinds, "/audit/", "/trash/"]) expect(kept.join("\n")).toContain(kind);
    if (PLACES > 2) {
      for (const path of kept) {
        for (const part of PARTS) {
          await startWith([{ path, part }]);
          if (!kept.every((one) => statSync(one, { throwIfNoEntry: false })?.isFile())) break;
        }
      }
    } else {
      // A start and a mount each: at once in those that the rest does not depend on, one place in some others.
      const places = kept.map((path, index) => ({ path, part: PARTS[index % 2] ?? 0 }));
      expect(await startWith(places.filter(({ path }) => ASIDE.test(path)))).toBeUndefined();
      const others = places.filter(({ path }) => !ASIDE.test(path));
      for (const place of others.filter((_, index) => index % 3 === 0)) await startWith([place]);
    }
  }, 900_000);
});
