// Runs as a user who is not root: drives come and go through fusermount3, and what this user may not do is said in one
// sentence. Everything runs in a mount namespace of its own, in which the user exists and /dev/fuse is as on a desktop;
// needs root to make that.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { LAUNCHER, Sandbox, mustRun, onMount, refusalOf, run } from "../src/harness/index.ts";
import type { RunResult, ServerProcess } from "../src/harness/index.ts";

const USER = 54_321;

/** Why these tests cannot run here; undefined when they can. */
function obstacle(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root to become another user";
  // The user runs Runnel from here.
  for (let at = dirname(LAUNCHER); at !== "/"; at = dirname(at))
    if ((statSync(at).mode & constants.S_IXOTH) === 0) return `other users may not enter ${at}`;
  return undefined;
}

const why = obstacle();
const testAsUser = why === undefined ? test : test.skip;
const shown = why === undefined ? "" : ` (skipped: ${why})`;

let sandbox: Sandbox;
let server: ServerProcess;
let url: string;
let invite: string;

beforeEach(async () => {
  if (why !== undefined) return;
  sandbox = new Sandbox();
  chmodSync(sandbox.folder, 0o711);
  server = await sandbox.startServer();
  // A server of root's: whoever is not root comes as a guest.
  const invited = await sandbox.device("admin").ask(["invite", "docs", "--data", sandbox.path("data")]);
  invite = String(invited["invite"]);
  url = `wss://127.0.0.1:${server.port}/docs`;
  for (const name of ["user", "user/home", "user/drive", "user/folder"]) {
    mkdirSync(sandbox.path(name), { mode: 0o700 });
    chownSync(sandbox.path(name), USER, USER);
  }
  chmodSync(sandbox.path("served"), 0o777);
  writeFileSync(
    sandbox.path("passwd"),
    `${readFileSync("/etc/passwd", "utf8")}runnel-test:x:${USER}:${USER}::/:/bin/sh\n`,
  );
  await mustRun("mknod", ["-m", "666", sandbox.path("fuse"), "c", "10", "229"]);
}, 60_000);

afterEach(() => sandbox?.cleanup(), 60_000);

/**
 * Runs a script as the user, in the folder "user" of the sandbox; `before` runs as root in the same namespace. `runnel`
 * is the command.
 */
function asUser(script: string, before = `mount --bind ${sandbox.path("fuse")} /dev/fuse`): Promise<RunResult> {
  const own = { RUNNEL_HOME: sandbox.path("user", "home"), XDG_RUNTIME_DIR: sandbox.path("user") };
  const env = { ...sandbox.env, ...own, NODE: process.execPath, LAUNCHER, URL: url, INVITE: invite };
  const setup = `set -e
mount --bind ${sandbox.path("passwd")} /etc/passwd
${before}
cd ${sandbox.path("user")}
exec setpriv --reuid ${USER} --regid ${USER} --clear-groups bash -c "$1"`;
  const body = `runnel() { "$NODE" "$LAUNCHER" "$@"; }\nrunnel login "$INVITE" > /dev/null\n${script}`;
  return run("unshare", ["--mount", "--propagation", "private", "bash", "-c", setup, "bash", body], {
    env,
    deadlineMs: 60_000,
  });
}

describe("an ordinary user", () => {
  testAsUser(
    `maps a drive, uses it and ends it${shown}`,
    async () => {
      const ran = await asUser(`set -euo pipefail
runnel mount "$URL" drive
grep -q " $PWD/drive fuse.runnel .*user_id=${USER}" /proc/mounts
mkdir -p drive/a/b; echo hello > drive/a/b/file; ln -s b drive/a/link; chmod 640 drive/a/b/file; mv drive/a/b/file drive/a/moved
seq 100000 > drive/big; cp -a drive/big drive/copy; cmp drive/big drive/copy
stat -c '%u:%g %a' drive/a/moved
runnel flush --applied drive > flushed
(cd drive; runnel unmount . 2>&1 || true; runnel unmount "$PWD" 2>&1 || true)
runnel unmount drive; ! grep -q "$PWD/drive" /proc/mounts
runnel mount "$URL" drive > again; cat drive/a/moved
kill -9 $(sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p' home/agent.json)
runnel mount "$URL" drive > revived; cat drive/a/moved
runnel unmount drive; ! grep -q "$PWD/drive" /proc/mounts
runnel stop`);
      const drive = sandbox.path("user", "drive");
      const busy = "Programs use the drive: close their files and windows, then try again.\n";
      expect(ran).toMatchObject({
        code: 0,
        stderr: "",
        stdout: `Mounted ${url} at ${drive}.\n${USER}:${USER} 640\n${busy}${busy}Unmounted ${drive}.\nhello\nhello\nUnmounted ${drive}.\nThe agent has ended; 0 drives were unmounted.\n`,
      });
      expect(readFileSync(sandbox.path("served", "a", "moved"), "utf8")).toBe("hello\n");
      expect(statSync(sandbox.path("served", "a", "moved")).mode & 0o777).toBe(0o640);
    },
    90_000,
  );

  testAsUser(
    `hears what keeps a drive from being unmounted, where that is no program${shown}`,
    async () => {
      // A system may lack /etc/mtab, by which fusermount3 finds whose the drive is.
      const etc = sandbox.path("etc");
      writeFileSync(sandbox.path("served", "file"), "still there\n");
      const ran = await asUser(
        `runnel mount "$URL" drive > mounted; runnel unmount drive --json; code=$?; cat drive/file > seen; exit $code`,
        `mount --bind ${sandbox.path("fuse")} /dev/fuse
cp -a /etc ${etc}; rm -f ${etc}/mtab; mount --bind ${etc} /etc`,
      );
      expect(refusalOf(ran)).toEqual({
        code: 1,
        kind: "Unavailable",
        sentence: "fusermount3 did not unmount the drive: failed to open /etc/mtab: No such file or directory.",
      });
      expect(readFileSync(sandbox.path("user", "seen"), "utf8")).toBe("still there\n");
    },
    60_000,
  );

  const NO_DEVICE =
    "mount -t tmpfs none /dev; for n in null:3 zero:5 random:8 urandom:9; do mknod -m 666 /dev/${n%:*} c 1 ${n#*:}; done";
  testAsUser.each<[string, string, string | undefined, number, string, string]>([
    [
      "a folder that is not theirs",
      "/usr/lib",
      undefined,
      4,
      "Denied",
      "You may not write to /usr/lib, and FUSE maps drives only where one may. Choose a folder of your own.",
    ],
    [
      "a folder that they may not enter",
      "/root/folder",
      "chmod 700 /root",
      4,
      "Denied",
      "/root/folder cannot be looked at by this user. Choose a path of your own.",
    ],
    [
      "no FUSE at all",
      "drive",
      NO_DEVICE,
      1,
      "Unavailable",
      "This system has no FUSE (/dev/fuse is missing): load the kernel module `fuse` first.",
    ],
    [
      "a FUSE that they may not use",
      "drive",
      "chmod 600 FUSE; mount --bind FUSE /dev/fuse",
      1,
      "Unavailable",
      "This user may not open /dev/fuse: let an administrator grant it, usually with `chmod 666 /dev/fuse`.",
    ],
    [
      "no fusermount3",
      "drive",
      "mount --bind FUSE /dev/fuse; mount --bind /dev/null $(command -v fusermount3)",
      1,
      "Unavailable",
      "fusermount3 is missing or may not be run: install the package `fuse3`.",
    ],
  ])(
    `is told what is missing: %s${shown}`,
    async (_, point, before, code, kind, sentence) => {
      const ran = await asUser(`runnel mount "$URL" ${point} --json`, before?.replaceAll("FUSE", sandbox.path("fuse")));
      expect(refusalOf(ran)).toEqual({ code, kind, sentence });
    },
    60_000,
  );

  testAsUser(
    `cannot serve what they cannot read, nor keep a home where others write${shown}`,
    async () => {
      chmodSync(sandbox.path("served"), 0o700);
      // The server serves what it can, and says what not.
      const serve = await asUser(
        `timeout --signal=INT 8 runnel serve --volume a=${sandbox.path("served")} --data data --listen 127.0.0.1:0 --json`,
      );
      expect(JSON.parse(serve.stdout)).toMatchObject({
        volumes: [{ name: "a", unavailable: expect.stringMatching(/read/) }],
      });
      const data = await asUser(
        `runnel serve --volume a=folder --data ${sandbox.path("x")} --listen 127.0.0.1:0 --json`,
      );
      expect(refusalOf(data)).toEqual({
        code: 4,
        kind: "Denied",
        sentence: `${sandbox.path("x", "_server")} cannot be made or opened by this user. Name another folder with --data.`,
      });
      const home = await asUser(`RUNNEL_HOME=${sandbox.path("x")} runnel mount "$URL" drive --json`);
      expect(refusalOf(home)).toEqual({
        code: 4,
        kind: "Denied",
        sentence: `${sandbox.path("x")} cannot be made. Choose a path where you may write.`,
      });
    },
    60_000,
  );
});

describe("another user of the machine", () => {
  testAsUser(
    `is not let in by a server without TLS, but with an invite${shown}`,
    async () => {
      const plain = `${server.url}/docs`;
      const ran = await asUser(`runnel find ${plain} -name x --json`);
      expect(refusalOf(ran)).toEqual({
        code: 4,
        kind: "Denied",
        sentence: `No server that this user runs listens at 127.0.0.1:${server.port}. Ask whoever runs it for an invite, or name its secret with --secret.`,
      });
      // Root's secret is of no use to who cannot read it.
      const secret = sandbox.path("runnel", `127.0.0.1-${server.port}.secret`);
      const named = await asUser(`cat ${secret} 2>&1; runnel find --secret ${secret} ${plain} -name x --json`);
      expect(named.stdout).toMatch(/Permission denied/);
      expect(named.code).toBe(4);
      expect((await asUser(`runnel find "$URL" -name x --json`)).stdout.trim()).toBe('{"entries":[]}');
    },
    60_000,
  );
});

describe("a server that root hands to an ordinary user", () => {
  const NOBODY = 65_534;

  testAsUser(
    `has no right of root's left, and makes files that are that user's${shown}`,
    async () => {
      for (const name of ["theirs", "theirs/folder"]) mkdirSync(sandbox.path(name), { mode: 0o755 });
      chownSync(sandbox.path("theirs", "folder"), NOBODY, NOBODY);
      const data = sandbox.path("theirs", "data");
      const volumes = { docs: sandbox.path("theirs", "folder") };
      const handed = await sandbox.startServer({ volumes, data, args: ["--user", "nobody"] });
      expect(handed.stderr).toBe("");
      const tasks = readdirSync(`/proc/${handed.child.pid}/task`);
      for (const task of tasks) {
        const status = readFileSync(`/proc/${handed.child.pid}/task/${task}/status`, "utf8");
        expect(status).toMatch(new RegExp(`^Uid:\\t${NOBODY}\\t${NOBODY}\\t${NOBODY}\\t${NOBODY}$`, "m"));
        expect(status).toMatch(/^CapEff:\t0+$/m);
      }
      const drive = sandbox.makeFolder("drive");
      const device = sandbox.device();
      await device.mount(`${handed.url}/docs`, drive);
      await onMount('echo text > "$1/file" && chmod 4755 "$1/file"', [drive]);
      await device.flush(drive, { up: true });
      expect(statSync(join(volumes.docs, "file"))).toMatchObject({ uid: NOBODY, gid: NOBODY, mode: 0o100_755 });
      await device.unmount(drive);
      await handed.stop();
      // And again, over what it made.
      const again = await sandbox.startServer({ volumes, data, args: ["--user", "nobody"] });
      await device.mount(`${again.url}/docs`, drive);
      expect(await onMount('stat -c %a "$1/file"', [drive])).toBe("4755\n");
    },
    60_000,
  );

  testAsUser(`says so where it was not told to${shown}`, async () => {
    expect(server.stderr).toMatch(/^The server runs as root\. .*: --user NAME\.\n$/);
  });

  testAsUser(`is refused what cannot be, in one sentence${shown}`, async () => {
    const serve = (...args: string[]): Promise<RunResult> =>
      run(
        process.execPath,
        [LAUNCHER, "serve", "--volume", `docs=${sandbox.path("served")}`, "--listen", "127.0.0.1:0", ...args, "--json"],
        {
          env: sandbox.env,
          deadlineMs: 30_000,
        },
      );
    const data = sandbox.path("fresh");
    expect(refusalOf(await serve("--data", data, "--user", "no-such-user"))).toEqual({
      code: 2,
      kind: "Invalid",
      sentence: "This system has no user no-such-user.",
    });
    chmodSync(sandbox.path("user"), 0o700);
    const hidden = sandbox.path("user", "data");
    expect(refusalOf(await serve("--data", hidden, "--user", "nobody"))).toEqual({
      code: 4,
      kind: "Denied",
      sentence: `nobody cannot read ${hidden}: let it, or say another place.`,
    });
    const { stderr } = await asUser(
      `runnel serve --volume a=folder --data data --listen 127.0.0.1:0 --user nobody --json`,
    );
    expect(stderr).toContain("Only root can serve as another user. Leave --user out.");
  });
});
