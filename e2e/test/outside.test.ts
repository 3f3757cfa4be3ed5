// Programs on the server work in the served folder as in any other: what they do shows on every drive, and no mixture
// of two of their states does.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Sandbox, VolumeForEach, killGroup, mustRun, onMount, waitFor } from "../src/harness/index.ts";
import type { Device } from "../src/harness/index.ts";

/**
 * Promised are 2 s, and the kernel may answer from what it knows for one more; the rest is what a busy machine takes.
 */
const SHOWN_MS = 15_000;
const LONG = process.env["RUNNEL_LONG"] === "1";

const TESTS = 5;

let sandbox: Sandbox;
let volumes: VolumeForEach;
let device: Device;
/** Folder that the test's volume serves, and its drive. */
let served: string;
let drive: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  volumes = await VolumeForEach.serve(sandbox, TESTS, async (folder) => {
    await mustRun("bash", ["-ec", FILL, "bash", folder]);
  });
  device = sandbox.device();
}, 60_000);

beforeEach(async () => {
  const volume = volumes.next();
  ({ served } = volume);
  drive = sandbox.makeFolder(volume.name, "drive");
  await device.mount(volume.url, drive);
}, 60_000);

afterAll(() => sandbox.cleanup(), 120_000);

const FILL = `cd "$1"; mkdir -p docs/deep other
for i in $(seq 20); do echo "file $i" > docs/$i; done
head -c 300000 /dev/urandom > docs/deep/big; echo linked > other/one; ln other/one other/two; ln -s ../docs/1 other/symlink`;

/** Names, types, modes, lengths, times, link targets and contents, of the folder's own files. */
const SHOW = `cd "$1"; find . -mindepth 1 -name .runnel-store -prune -o -mindepth 1 -type d -printf '%P %y %m\\n' -o -printf '%P %y %m %s %T@ %l\\n' | LC_ALL=C sort
find . -name .runnel-store -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum`;

async function show(folder: string): Promise<string> {
  return onMount(SHOW, [folder], { deadlineMs: 60_000 });
}

/** The drive shows what the folder has. */
async function expectShown(deadlineMs = SHOWN_MS): Promise<void> {
  const wanted = await show(served);
  let got = "";
  const isSame = async (): Promise<boolean> => (got = await show(drive).catch(String)) === wanted;
  await waitFor(isSame, deadlineMs, "the drive to show the folder").catch(() => undefined);
  expect(got).toBe(wanted);
}

/** Scripts of programs in the served folder. */
const DOINGS: [what: string, script: string][] = [
  [
    "writes in place",
    "printf XXXX | dd of=docs/deep/big bs=1 seek=150000 conv=notrunc status=none; sed -i s/file/FILE/ docs/2",
  ],
  ["appends, truncates and rewrites", "echo more >> docs/3; truncate -s 3 docs/4; echo anew > docs/5; : > docs/6"],
  [
    "renames files and folders, over others too",
    "mv docs/7 docs/seven; mv docs/8 docs/9; mv docs/deep other/deep; mv other moved",
  ],
  [
    "deletes and makes at once, where inode numbers are used again",
    "for i in $(seq 10 20); do rm docs/$i; echo new $i > docs/new$i; done",
  ],
  [
    "copies a tree over it",
    'cp -a docs "$2"; for each in "$2"/docs/1*; do echo newer >> "$each"; done; cp -a "$2"/docs .',
  ],
  [
    "sets times to the past, modes and links",
    "touch -d 2001-02-03 docs/1; chmod 600 docs/2; ln docs/3 docs/3too; rm moved/two; ln -sfn 2 moved/symlink",
  ],
  [
    "writes a temp and renames it over, again and again",
    'for i in $(seq 30); do echo "save $i" > docs/.tmp; mv docs/.tmp docs/1; done',
  ],
  [
    "writes through a mapping and closes",
    `python3 -c '
import mmap
with open("moved/deep/big", "r+b") as file:
    with mmap.mmap(file.fileno(), 0) as view: view[1000:1004] = b"MMAP"
'; touch moved/deep/big`,
  ],
];

describe("a program on the server", () => {
  test("shows on the drive, whatever it does", async () => {
    await expectShown();
    for (const [what, script] of DOINGS) {
      await mustRun("bash", [
        "-euc",
        `cd "$1"; ${script}`,
        "bash",
        served,
        sandbox.makeFolder("copies", what.slice(0, 6)),
      ]);
      await expectShown().catch((error: unknown) => {
        throw new Error(`A program that ${what}`, { cause: error });
      });
    }
  }, 120_000);

  (LONG ? test : test.skip)(
    "may be git: a checkout in the served folder and a status on the drive",
    async () => {
      const git =
        'export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; cd "$1";';
      await mustRun("bash", [
        "-euc",
        `${git} git init -q .; echo .runnel-store > .git/info/exclude; git add -A; git commit -qm one; git checkout -qb two
for i in $(seq 200); do mkdir -p src/$((i % 20)); echo "source $i" > src/$((i % 20))/$i; done; git rm -q docs/1 docs/2; git add -A; git commit -qm two`,
        "bash",
        served,
      ]);
      await expectShown();
      for (const branch of ["master", "two", "master"]) {
        await mustRun("bash", ["-euc", `${git} git checkout -q ${branch}`, "bash", served]);
        await expectShown();
        expect(
          await onMount(`${git} git -c safe.directory='*' status --porcelain; git -c safe.directory='*' fsck 2>&1`, [
            drive,
          ]),
        ).toBe("");
        // The status wrote an index of its own, under a lock that the next checkout must not meet.
        await device.flush(drive, { up: true });
      }
    },
    120_000,
  );
});

/** Tags of eight characters each, in 4096. */
const TAGS_OF_BLOCK = 512;

/** A program that goes on in the served folder until it is told to end. */
async function during(script: string, args: readonly string[], work: () => Promise<void>): Promise<void> {
  const child = spawn("python3", ["-c", script, ...args], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  try {
    await work();
  } finally {
    child.stdin?.end();
    const timer = setTimeout(() => killGroup(child), 10_000);
    await ended;
    clearTimeout(timer);
  }
}

const GOES_ON = `
import os, select, sys, time
def goes_on(): return not select.select([sys.stdin], [], [], 0)[0]
`;

describe("a program that never pauses", () => {
  test.each([
    ["opened for each line", 'with open(sys.argv[1], "a") as log: log.write("%08d\\n" % count)'],
    ["held open", 'log.write("%08d\\n" % count)'],
  ])(
    "a log that grows every 10 ms is read as it was at some moment, at most 2 s ago: %s",
    async (_how, line) => {
      const script = `${GOES_ON}
count = 0
log = open(sys.argv[1], "a", buffering=1)
while goes_on():
    ${line}
    count += 1
    time.sleep(0.01)`;
      await during(script, [`${served}/log`], async () => {
        // Three times what may go by before a line shows.
        for (let lines = 0; lines < 600;) {
          const { stdout: before } = await mustRun("sh", [
            "-c",
            'wc -l 2>/dev/null < "$1" || echo 0',
            "sh",
            `${served}/log`,
          ]);
          const read = async (): Promise<string[] | undefined> => {
            const text = await onMount('cat "$1/log"', [drive]).catch(() => "");
            const all = text.split("\n");
            expect(all.pop()).toBe("");
            expect(all).toEqual(all.map((_line, index) => String(index).padStart(8, "0")));
            return all.length >= Number(before) ? all : undefined;
          };
          lines = (await waitFor(read, SHOWN_MS, "the log's lines")).length;
        }
      });
      await expectShown();
    },
    120_000,
  );

  test("a file that is rewritten in place is never read as what it was at no moment", async () => {
    const script = `${GOES_ON}
count = 0
with open(sys.argv[1], "r+b", buffering=0) as file:
    while goes_on():
        count += 1
        for block in range(64): os.pwrite(file.fileno(), (b"%08d" % count) * 512, block * 4096)
        if count % 40 == 0: time.sleep(0.05)
`;
    await mustRun("sh", ["-c", 'head -c 262144 /dev/zero | tr "\\0" 0 > "$1"', "sh", `${served}/blocks`]);
    await expectShown();
    let whole = 0;
    await during(script, [`${served}/blocks`], async () => {
      const untilMs = performance.now() + (LONG ? 60_000 : 8000);
      while (performance.now() < untilMs) {
        const tags = await onMount('fold -w 8 "$1/blocks" | uniq -c', [drive]).catch(() => undefined);
        // Being changed just now is an answer.
        if (tags === undefined) continue;
        whole++;
        const runs = tags
          .trim()
          .split("\n")
          .map((line) => line.trim().split(/ +/).map(Number));
        // Blocks are of the same round; or of two, where the program was kept waiting between two of its blocks: the
        // newer one in front.
        const [[blocks = 0, round = 0] = [], [, before = round - 1] = []] = runs;
        expect([runs.length <= 2, round - before, blocks % TAGS_OF_BLOCK]).toEqual([true, 1, 0]);
      }
    });
    expect(whole).toBeGreaterThan(0);
    await expectShown();
  }, 120_000);
});
