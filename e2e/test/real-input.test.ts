// Work of people and programs with a folder, done on a drive: the same comes out on the drive, in the server's folder
// and at a second client.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import {
  Sandbox,
  VolumeForEach,
  asServed,
  differences,
  mustRun,
  onMount,
  onMountInNode,
  pictureOf,
} from "../src/harness/index.ts";
import type { Device, LinkEmulator, Picture } from "../src/harness/index.ts";

const LONG_MS = 120_000;
const LONG = process.env["RUNNEL_LONG"] === "1";
const JOURNAL_MODES = ["wal", "delete", ...(LONG ? ["truncate", "persist"] : [])];
const TESTS = 7;

let sandbox: Sandbox;
let volumes: VolumeForEach;
let link: LinkEmulator;
let device: Device;
let other: Device;
/** Folder that the test's volume serves, and its drives on both devices. */
let served: string;
let drive: string;
let otherDrive: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  volumes = await VolumeForEach.serve(sandbox, TESTS);
  link = await sandbox.startEmulator(volumes.server.port);
  device = sandbox.device();
  other = sandbox.device("b");
}, 60_000);

beforeEach(async () => {
  const volume = volumes.next();
  ({ served } = volume);
  drive = sandbox.makeFolder(volume.name, "drive");
  otherDrive = sandbox.makeFolder(volume.name, "other");
  await device.mount(`ws://127.0.0.1:${link.port}/${volume.name}`, drive);
  await other.mount(volume.url, otherDrive);
}, 60_000);

afterAll(() => sandbox.cleanup(), 120_000);

/** The same script on the drive and in a plain folder: `$1` is where. */
async function onBoth(script: string): Promise<string> {
  const plain = sandbox.makeFolder("plain");
  const local = (await mustRun("bash", ["-euo", "pipefail", "-c", script, "bash", plain], { deadlineMs: LONG_MS }))
    .stdout;
  const remote = await onMount(script, [drive], { deadlineMs: LONG_MS });
  expect(remote.replaceAll(drive, "~")).toBe(local.replaceAll(plain, "~"));
  return remote;
}

/** The drive, the second client and, when it is up, the server's folder show this. */
async function expectEverywhere(picture: Picture, isOfNames: boolean): Promise<void> {
  const options = { isOfNames };
  expect(differences(await pictureOf(drive, options), picture)).toEqual([]);
  expect(differences(await pictureOf(otherDrive, options), picture)).toEqual([]);
  await device.flush(drive, { up: true });
  expect(differences(asServed(await pictureOf(served, options)), asServed(picture))).toEqual([]);
}

/** A tree with what makes copies hard. */
const HARD_TREE = `
cd "$1"; mkdir -p tree/deep/er "tree/na\u00efve \u2603" tree/sticky tree/closed; cd tree
for i in $(seq 60); do echo "file $i" > "deep/$i"; done
echo x > $'tab\\tnl\\nname'; echo y > plain; ln plain hard; ln plain deep/er/hard; ln -s ../nowhere dangling; ln -s plain link
: > empty; mkfifo pipe; truncate -s 3M sparse; printf end >> sparse; seq 40000 > "na\u00efve \u2603/numbers"
echo z > "$(printf '%0255d' 0)"
chmod 4755 plain; chmod 0 empty; chmod 1777 sticky
touch -d '1999-12-31 23:59:59.123456789' empty; touch -h -d '2002-02-02 02:02:02.5' dangling; touch -d @0.000000001 sparse
touch -d '2001-02-03 04:05:06.000000007' deep deep/er sticky; chmod 555 closed`;

/** Programs that copy a tree `$1` to `$2`. */
const COPIES: Record<string, string> = {
  // Nanoseconds too, also where the second is the same.
  rsync: 'rsync -aH -@-1 "$1/" "$2/"; test -z "$(rsync -aHi "$1/" "$2/")"',
  ...(LONG ? { cp: 'cp -a "$1/." "$2"', tar: 'tar -C "$1" --format=posix -cf - . | tar -C "$2" -xpf -' } : {}),
};

test(
  "a tree is copied there and back, attributes and all",
  async () => {
    const source = sandbox.makeFolder("source");
    await mustRun("bash", ["-euc", HARD_TREE, "bash", source]);
    const picture = await pictureOf(join(source, "tree"));
    for (const [name, copy] of Object.entries(COPIES)) {
      const script = `mkdir -p "$2"; ${copy}`;
      await onMount(script, [join(source, "tree"), join(drive, name)], { deadlineMs: LONG_MS });
      const back = sandbox.makeFolder("back", name);
      await onMount(script, [join(drive, name), back], { deadlineMs: LONG_MS });
      for (const shown of [back, join(drive, name), join(otherDrive, name)])
        expect([name, differences(await pictureOf(shown), picture)]).toEqual([name, []]);
    }
    await device.flush(drive, { up: true });
    for (const name of Object.keys(COPIES)) {
      const kept = asServed(await pictureOf(join(served, name)));
      expect([name, differences(kept, asServed(picture))]).toEqual([name, []]);
    }
  },
  3 * LONG_MS,
);

/** Scripts that save `f` as programs do, whose old content they have read; the new one is in `$NEW`. */
const SAVES: [string, string][] = [
  ["temp, fsync, rename", 'cp "$NEW" .f.tmp; sync .f.tmp; mv -f .f.tmp f'],
  ["truncate and rewrite", 'cat "$NEW" > f'],
  ["in place", 'dd if="$NEW" of=f conv=notrunc,fsync bs=64k status=none; truncate -s "$(stat -c %s "$NEW")" f'],
  [
    "Word: new beside, old away, new in, old deleted",
    'cp "$NEW" "~WRD0001.tmp"; mv f "~WRL0002.tmp"; mv "~WRD0001.tmp" f; rm "~WRL0002.tmp"',
  ],
  ["a backup by hard link, then truncate", 'ln f f~; cp --remove-destination "$NEW" f; rm f~'],
  [
    "LibreOffice: lock file, temp, copy over, lock away",
    'echo me > .~lock.f#; cp "$NEW" lu1.tmp; cat lu1.tmp > f; rm lu1.tmp .~lock.f#',
  ],
  ["append", 'tail -c +400001 "$NEW" >> f'],
];

describe("a save", () => {
  test(
    "of any pattern leaves the new content under the name, and nothing beside, here, there and at a second client",
    async () => {
      const [before, after] = [sandbox.path("before"), sandbox.path("after")];
      await mustRun("bash", [
        "-euc",
        'head -c 400000 /dev/urandom > "$1"; (cat "$1"; echo more) > "$2"',
        "bash",
        before,
        after,
      ]);
      for (const [how, script] of SAVES) {
        await onMount('cp "$2" "$1/f"; cat "$1/f" > /dev/null; cd "$1"; NEW="$3"; eval "$4"', [
          drive,
          before,
          after,
          script,
        ]);
        const seen = await onMount('cmp "$1/f" "$2"; ls -A "$1"', [otherDrive, after]);
        expect([how, seen]).toEqual([how, "f\n"]);
      }
      await device.flush(drive, { up: true });
      expect(await onMount('cmp "$1/f" "$2"; ls "$1"', [served, after])).toBe("f\n");
      const { mounts } = (await device.status()) as { mounts: { mountpoint: string }[] };
      const mount = mounts.find(({ mountpoint }) => mountpoint === drive);
      expect(mount).toMatchObject({ conflicts: [], problems: [], unsentFiles: 0 });
    },
    LONG_MS,
  );

  test(
    "by vi, with a backup, keeps mode and owner",
    async () => {
      await onMount(
        'seq 100 > "$1/f"; chmod 640 "$1/f"; cd "$1"; vi -es -u NONE -c "set backup backupskip=" -c "%s/^7/seven/" -c wq f < /dev/null',
        [drive],
      );
      const script = 'cd "$1"; stat -c %a f; sed -n 7p f; sed -n 7p f~; ls -A';
      expect(await onMount(script, [otherDrive])).toBe("640\nseven\n7\nf\nf~\n");
    },
    LONG_MS,
  );

  test(
    "whose upload still runs when the file gets another name: the name has the whole content",
    async () => {
      await mustRun("bash", ["-euc", 'head -c 300000 /dev/urandom > "$1"', "bash", sandbox.path("big")]);
      await link.setShape({ upBitsPerSecond: 800_000, rttMs: 50 });
      await onMount(
        'cd "$1"; cp "$2" old; (cp "$2" temp & sleep 0.5; mv temp named; wait)',
        [drive, sandbox.path("big")],
        {
          deadlineMs: 60_000,
        },
      );
      await link.setShape({ upBitsPerSecond: Infinity, rttMs: 0 });
      await device.flush(drive, { up: true });
      for (const place of [drive, otherDrive, served])
        expect(await onMount('cmp "$1/named" "$2"; ls "$1"', [place, sandbox.path("big")])).toBe("named\nold\n");
    },
    LONG_MS,
  );
});

describe("a program", () => {
  test(
    "git: clone, commit, branch, move, merge, gc, fsck",
    async () => {
      await onBoth(`cd "$1"; export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='1000000000 +0000' GIT_COMMITTER_DATE='1000000000 +0000'
git init -q -b main origin; cd origin; git config user.email a@b.c; git config user.name n
for i in $(seq 30); do mkdir -p d$((i % 4)); echo "line $i" > d$((i % 4))/f$i; done; git add .; git commit -qm first
git clone -q . ../clone 2>/dev/null; cd ../clone; git config user.email a@b.c; git config user.name n
git checkout -q -b side; git mv d1 moved; echo more >> d2/f2; git commit -qam second; git checkout -q main; git merge -q side
git gc -q; git fsck --full 2>/dev/null; git status --short; git log --oneline; git push -q origin side; rm -rf .git/hooks`);
      expect(await onMount('cd "$1/clone"; git status --short; git log --oneline | wc -l', [otherDrive])).toBe("2\n");
      await expectEverywhere(await pictureOf(drive), false);
    },
    LONG_MS,
  );

  test(
    "SQLite in any journal mode: every transaction is in the file",
    async () => {
      for (const mode of JOURNAL_MODES) {
        const answer = await onMountInNode(
          async ({ path, mode: journal }) => {
            const { DatabaseSync: Database } = await import("node:sqlite");
            const open = new Database(path);
            open.exec(`PRAGMA journal_mode = ${journal}; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)`);
            const insert = open.prepare("INSERT INTO t (b) VALUES (?)");
            for (let i = 0; i < 40; i++) {
              open.exec("BEGIN");
              insert.run("x".repeat(500));
              open.exec(i % 5 === 4 ? "ROLLBACK" : "COMMIT");
            }
            open.close();
            const again = new Database(path);
            const rows = again.prepare("SELECT count(*) AS n FROM t").get();
            const check = again.prepare("PRAGMA integrity_check").get();
            again.close();
            return { rows, check };
          },
          { path: join(drive, mode), mode },
          { deadlineMs: LONG_MS },
        );
        expect([mode, answer]).toEqual([mode, { rows: { n: 32 }, check: { integrity_check: "ok" } }]);
        await device.flush(drive, { up: true });
        const kept = new DatabaseSync(join(served, mode), { readOnly: mode !== "wal" });
        expect([mode, kept.prepare("SELECT count(*) AS n FROM t").get()]).toEqual([mode, { n: 32 }]);
        kept.close();
      }
    },
    2 * LONG_MS,
  );

  test(
    "make, of an unpacked tar: what was built is not built again",
    async () => {
      const project = sandbox.makeFolder("project");
      await mustRun("bash", [
        "-euc",
        `cd "$1"; for i in $(seq 8); do echo "int f$i(void) { return $i; }" > f$i.c; done
(echo '#include <stdio.h>'; for i in $(seq 8); do echo "int f$i(void);"; done; echo 'int main(void) { printf("%d\\n", f1() + f8()); }') > main.c
printf 'program: main.o f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o\\n\\tcc -o $@ $^\\n%%.o: %%.c\\n\\tcc -c -o $@ $<\\n' > Makefile
touch -d '2020-01-01' *; tar czf ../project.tgz .`,
        "bash",
        project,
      ]);
      const said = await onMount(
        'mkdir "$1/p"; cd "$1/p"; tar xzf "$2"; make -s -j2; ./program; make; echo "int f1(void) { return 41; }" > f1.c; make -n; make -s; ./program',
        [drive, sandbox.path("project.tgz")],
        { deadlineMs: LONG_MS },
      );
      expect(said).toBe(
        "9\nmake: 'program' is up to date.\ncc -c -o f1.o f1.c\ncc -o program main.o f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o\n49\n",
      );
      expect(await onMount('cd "$1/p"; ./program; make', [otherDrive])).toBe("49\nmake: 'program' is up to date.\n");
      await expectEverywhere(await pictureOf(drive), false);
    },
    LONG_MS,
  );
});
