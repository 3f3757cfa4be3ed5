// Real trees and programs at full size, done on a drive; real-input.test.ts has the small ones.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, asServed, differences, mustRun, onMount, onMountInNode, pictureOf } from "../src/harness/index.ts";
import type { Device, ServerProcess } from "../src/harness/index.ts";

const ROOT = join(import.meta.dirname, "../..");
const TEST_MS = 20 * 60_000;
const STEP_MS = 10 * 60_000;
const FILES = 5000;
/** Largest size of a package; typical ones have less, and one of our addons' alone has more than all others. */
const PACKAGE_KIB_MAX = 20_000;

/** Registers a test that can run here only when what it needs is there; else the title says what was missing. */
function when(isThere: boolean, title: string, missing: string, body: () => Promise<void>): void {
  const run = isThere ? test : test.skip;
  run(isThere ? title : `${title} (skipped: ${missing})`, body, TEST_MS);
}

function canRun(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;
let drive: string;
let otherDrive: string;

beforeEach(async () => {
  sandbox = new Sandbox(TEST_MS);
  server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") } });
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  otherDrive = sandbox.makeFolder("other");
  await device.mount(`${server.url}/docs`, drive);
  await sandbox.device("b").mount(`${server.url}/docs`, otherDrive);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

/** The drive, a second client and the server's folder show one thing. */
async function expectAlike(): Promise<void> {
  const picture = await pictureOf(drive);
  expect(differences(await pictureOf(otherDrive), picture)).toEqual([]);
  await device.flush(drive, { up: true, deadlineMs: STEP_MS });
  expect(differences(asServed(await pictureOf(sandbox.path("served"))), asServed(picture))).toEqual([]);
  expect(await device.status()).toMatchObject({ mounts: [{ conflicts: [], problems: [], unsentFiles: 0 }] });
}

test(
  "5,000 files of installed packages, copied in and out, and again with rsync, which finds nothing to do",
  async () => {
    const source = sandbox.makeFolder("source");
    let count = 0;
    for (const name of readdirSync(join(ROOT, "node_modules")).toSorted()) {
      if (count >= FILES) break;
      const from = join(ROOT, "node_modules", name);
      const { stdout } = await mustRun("bash", ["-c", 'du -sk "$1" | cut -f 1', "bash", from]);
      if (Number(stdout) > PACKAGE_KIB_MAX) continue;
      await mustRun("cp", ["-a", from, source]);
      count += Number((await mustRun("bash", ["-c", 'find "$1" | wc -l', "bash", join(source, name)])).stdout);
    }
    expect(count).toBeGreaterThanOrEqual(FILES);
    const options = { deadlineMs: STEP_MS };
    await onMount('cp -a "$1" "$2/"', [source, drive], options);
    const picture = await pictureOf(source);
    expect(differences(await pictureOf(join(drive, "source")), picture)).toEqual([]);
    expect(await onMount('rsync -aHi "$1/" "$2/source/"', [source, drive], options)).toBe("");
    await onMount('cp -a "$1/source" "$2"', [drive, sandbox.path("back")], options);
    expect(differences(await pictureOf(sandbox.path("back")), picture)).toEqual([]);
    await expectAlike();
  },
  TEST_MS,
);

when(
  existsSync(join(ROOT, ".git")),
  "git, on the project's own repository: clone, fsck, commit, gc",
  "the project is no repository here",
  async () => {
    const script = `cd "$1"; git clone -q --no-local "$2" clone; cd clone; git config user.email a@b.c; git config user.name n
git fsck --full > /dev/null 2>&1; for i in 1 2 3; do echo $i >> README.md; git commit -qam "change $i"; done
git gc -q; git fsck --full > /dev/null 2>&1; git status --short; git log --oneline -3 | cut -d " " -f 2-`;
    expect(await onMount(script, [drive, ROOT], { deadlineMs: STEP_MS })).toBe("change 3\nchange 2\nchange 1\n");
    await expectAlike();
  },
);

test.each(["wal", "delete"])(
  "SQLite with journal mode %s: 1,000 transactions",
  async (mode) => {
    const answer = await onMountInNode(
      async ({ path, mode: journal }) => {
        const { DatabaseSync } = await import("node:sqlite");
        const base = new DatabaseSync(path);
        base.exec(
          `PRAGMA journal_mode = ${journal}; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); CREATE INDEX i ON t (b)`,
        );
        const insert = base.prepare("INSERT INTO t (b) VALUES (?)");
        for (let i = 0; i < 1000; i++) insert.run(`${(i * 7919) % 1000} ${"x".repeat(i % 700)}`);
        base.exec("DELETE FROM t WHERE a % 3 = 0; VACUUM");
        const check = base.prepare("PRAGMA integrity_check").get();
        const rows = base.prepare("SELECT count(*) AS n FROM t").get();
        base.close();
        return { check, rows };
      },
      { path: join(drive, "base"), mode },
      { deadlineMs: STEP_MS },
    );
    expect(answer).toEqual({ check: { integrity_check: "ok" }, rows: { n: 667 } });
    await expectAlike();
  },
  TEST_MS,
);

test(
  "a C library, unpacked and built with two jobs: nothing is built twice",
  async () => {
    const lib = join(ROOT, "node_modules", "zstd-napi", "deps", "zstd", "lib");
    await mustRun("tar", ["-C", lib, "-czf", sandbox.path("zstd.tgz"), "."]);
    const script = `mkdir "$1/zstd"; cd "$1/zstd"; tar xzf "$2"
printf 'SOURCES = $(wildcard */*.c)\\nCPPFLAGS = -DZSTD_DISABLE_ASM\\nlibzstd.a: $(SOURCES:.c=.o)\\n\\tar rcs $@ $^\\n' > Makefile
make -s -j2 2>&1; make -j2; ar t libzstd.a | grep -c huf`;
    const said = await onMount(script, [drive, sandbox.path("zstd.tgz")], { deadlineMs: STEP_MS });
    expect(said).toMatch(/^make: 'libzstd.a' is up to date\.\n[1-9]\n$/);
    await expectAlike();
  },
  TEST_MS,
);

when(
  canRun("python3", "-c", "import venv, ensurepip"),
  "a Python venv: made, and its programs run, here and at a second client",
  "python3 has no venv",
  async () => {
    await onMount('cd "$1"; python3 -m venv v', [drive], { deadlineMs: STEP_MS });
    for (const place of [drive, otherDrive])
      expect(
        await onMount(
          '"$1/v/bin/python" -c "import json; print(json.dumps([1]))"; "$1/v/bin/python" -m pip --version | cut -c 1-3',
          [place],
          { deadlineMs: STEP_MS },
        ),
      ).toBe("[1]\npip\n");
    await expectAlike();
  },
);

when(
  canRun("soffice", "--version"),
  "LibreOffice, without a window, writes a document beside one on the drive",
  "LibreOffice is not installed",
  async () => {
    const script = `cd "$1"; echo "some words" > a.txt; soffice -env:UserInstallation="file://$2" --headless --convert-to odt a.txt > /dev/null
soffice -env:UserInstallation="file://$2" --headless --convert-to txt:Text --outdir back a.odt > /dev/null; grep -o "some words" back/a.txt; ls -A`;
    expect(await onMount(script, [drive, sandbox.path("office")], { deadlineMs: STEP_MS })).toBe(
      "some words\na.odt\na.txt\nback\n",
    );
    await expectAlike();
  },
);
