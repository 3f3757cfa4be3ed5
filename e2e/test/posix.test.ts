// The drive does what a local disk does: the same real system calls on both, and the same outcomes.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Sandbox, mustRun, onMount, waitFor } from "../src/harness/index.ts";
import type { Device, ServerProcess } from "../src/harness/index.ts";

const PROBE = fileURLToPath(new URL("fixtures/posix_probe.py", import.meta.url));
const PROBE_MS = 240_000;
const CASES = [...readFileSync(PROBE, "utf8").matchAll(/^@case\ndef (\w+)/gm)].map(([, name = ""]) => name);

const asRoot = process.getuid?.() === 0 ? test : test.skip;

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;
let device: Device;
let drive: string;
let onDisk: Record<string, unknown>;
let onDrive: Record<string, unknown>;

async function probe(folder: string): Promise<Record<string, unknown>> {
  const { stdout } = await mustRun("python3", [PROBE, folder], { deadlineMs: PROBE_MS });
  return JSON.parse(stdout) as Record<string, unknown>;
}

beforeAll(async () => {
  sandbox = new Sandbox();
  served = sandbox.makeFolder("served");
  server = await sandbox.startServer({ volumes: { docs: served } });
  drive = sandbox.makeFolder("drive");
  device = sandbox.device();
  await device.mount(`${server.url}/docs`, drive);
  onDisk = await probe(sandbox.makeFolder("disk"));
  onDrive = await probe(drive);
}, 2 * PROBE_MS);

afterAll(() => sandbox.cleanup(), 120_000);

describe("system calls on the drive and on a local disk have the same outcome:", () => {
  test.each(CASES)("%s", (name) => {
    expect(onDisk[name]).toBeDefined();
    expect(onDrive[name]).toEqual(onDisk[name]);
  });
});

test("a file is cut to no more than a file may have, by its path too: EFBIG", async () => {
  const script = `python3 -c 'import errno, os, sys
for cut in (lambda: os.truncate(sys.argv[1], 1 << 60), lambda: os.truncate(sys.argv[1], (1 << 38) + 1)):
    try: cut()
    except OSError as error: print(errno.errorcode[error.errno])' "$1"`;
  const file = join(drive, "cut");
  await onMount('echo text > "$1"', [file]);
  expect(await onMount(script, [file])).toBe("EFBIG\nEFBIG\n");
  expect(await onMount('cat "$1"; rm "$1"', [file])).toBe("text\n");
});

test("what programs were told that does not go leaves no word in agent.log, and all that stands there has its time", async () => {
  const wrong = 'mkdir "$1/full"; touch "$1/full/file"; ! rmdir "$1/full"; ! cat "$1/none"; rm -r "$1/full"';
  await onMount(`(${wrong}) 2> /dev/null`, [drive]);
  const lines = readFileSync(device.logPath, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const entry of entries) expect(entry).toMatchObject({ time: expect.any(Number), msg: expect.any(String) });
  expect(entries.filter((entry) => "err" in entry || String(entry["msg"]).includes("failed"))).toEqual([]);
});

describe("extended attributes", () => {
  const XATTR = `python3 -c 'import os, sys
for name in sorted(os.listxattr(sys.argv[1])): print(name, len(os.getxattr(sys.argv[1], name)))' "$1"`;
  const SET = `python3 -c 'import os, sys
os.setxattr(sys.argv[1], sys.argv[2], b"v" * int(sys.argv[3]))' "$1" "$2" "$3"`;

  test("of 64 KiB are kept, and seen by a second client; small ones are the server's file's", async () => {
    const file = join(drive, "attributes");
    await onMount('echo text > "$1"', [file]);
    await onMount(SET, [file, "user.small", "100"]);
    await onMount(SET, [file, "user.large", "65536"]);
    await onMount('echo more >> "$1"', [file]);
    const all = "user.large 65536\nuser.small 100\n";
    expect(await onMount(XATTR, [file])).toBe(all);
    await device.flush(drive, { up: true });
    const onServer = await mustRun("sh", ["-c", XATTR, "sh", join(served, "attributes")]);
    expect(onServer.stdout).toContain("user.small 100\n");
    const otherDrive = sandbox.makeFolder("drive-b");
    await sandbox.device("b").mount(`${server.url}/docs`, otherDrive);
    expect(await onMount(XATTR, [join(otherDrive, "attributes")])).toBe(all);
  });

  test("that another program sets on the server show on the drive", async () => {
    const onServer = join(served, "from-server");
    await mustRun("sh", ["-c", 'echo text > "$1"', "sh", onServer]);
    await mustRun("sh", ["-c", SET, "sh", onServer, "user.mark", "3"]);
    const shown = (): Promise<string> => onMount(`(${XATTR}) 2>/dev/null || true`, [join(drive, "from-server")]);
    await waitFor(async () => (await shown()) === "user.mark 3\n", 10_000, "the attribute");
    await mustRun("sh", ["-c", SET, "sh", onServer, "user.mark", "5"]);
    await waitFor(async () => (await shown()) === "user.mark 5\n", 10_000, "its new value");
  });
});

describe("access control lists and unnamed files", () => {
  const ATTEMPTS = `import errno, os, struct, sys
file, folder = sys.argv[1:]
entries = [(1, 6, 0xffffffff), (2, 4, 1234), (4, 4, 0xffffffff), (16, 4, 0xffffffff), (32, 4, 0xffffffff)]
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
open(file, "w").close()
for call, *args in [
    (os.setxattr, file, "system.posix_acl_access", acl), (os.setxattr, folder, "system.posix_acl_default", acl),
    (os.getxattr, file, "system.posix_acl_access"), (os.removexattr, file, "system.posix_acl_access"),
    (os.listxattr, file), (os.open, folder, os.O_TMPFILE | os.O_RDWR, 0o600),
]:
    try: print(call(*args))
    except OSError as error: print(errno.errorcode[error.errno])
print(oct(os.stat(file).st_mode & 0o777))`;

  test("are refused as by a disk that lacks them, and leave the modes alone", async () => {
    const said = await onMount('umask 022; python3 -c "$3" "$1" "$2"', [join(drive, "listed"), drive, ATTEMPTS]);
    const refused = "ENOTSUP\n";
    expect(said).toBe(`${refused.repeat(4)}[]\n${refused}0o644\n`);
    await onMount('cp -a "$1" "$1.copy"; cp --preserve=all "$1" "$1.again"', [join(drive, "listed")]);
  });
});

describe("names that are not UTF-8", () => {
  test("are the same bytes on the drive and in the served folder, whoever makes them", async () => {
    const listed = String.raw`cd "$1" && find . -name 'na*' | LC_ALL=C sort | od -c`;
    await onMount(String.raw`cd "$1" && mkdir "$(printf 'na\351')" && echo text > "$(printf 'na\351/na\377')"`, [
      drive,
    ]);
    await device.flush(drive, { up: true });
    const { stdout } = await mustRun("sh", ["-c", listed, "sh", served]);
    expect(stdout).toContain("351   /   n   a 377");
    expect(await onMount(listed, [drive])).toBe(stdout);
    await mustRun("sh", ["-c", String.raw`cd "$1" && mv "$(printf 'na\351')" "$(printf 'na\360')"`, "sh", served]);
    const isMoved = async (): Promise<boolean> =>
      (await onMount(`{ ${listed}; } 2>&1 || true`, [drive])).includes("360   /   n   a 377");
    await waitFor(isMoved, 10_000, "the new name");
    expect(await onMount(String.raw`cat "$1/$(printf 'na\360/na\377')"`, [drive])).toBe("text\n");
    const found = await device.runnel(["find", drive, "-name", "na*", "and", "-type", "f"]);
    // Read as UTF-8 here: each of the two bytes is a replacement character.
    expect(found.stdout).toContain("na\ufffd/na\ufffd\n");
  });
});

describe("owners", () => {
  const OWNER = 'stat -c "%u %g" "$1"';

  test("are those who made a file on the drive, or all the mounting user's with --map-owner, and the server's user on the server", async () => {
    const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    const mine = `${uid} ${gid}\n`;
    const mapped = sandbox.makeFolder("drive-mapped");
    await sandbox.device("mapped").mount(`${server.url}/docs`, mapped, ["--map-owner"]);
    await onMount('echo text > "$1/owned"', [drive]);
    expect(await onMount(OWNER, [join(drive, "owned")])).toBe(mine);
    // Only root may give a file away.
    const owner = uid === 0 ? "1234 5678\n" : mine;
    if (uid === 0) await onMount('chown 1234:5678 "$1/owned"', [drive]);
    expect(await onMount(OWNER, [join(drive, "owned")])).toBe(owner);
    expect(await onMount(OWNER, [join(mapped, "owned")])).toBe(mine);
    await onMount('echo more >> "$1/owned"', [mapped]);
    await device.flush(drive, { up: true });
    expect((await mustRun("sh", ["-c", OWNER, "sh", join(served, "owned")])).stdout).toBe(mine);
  });
});

describe("a sparse file", () => {
  test("stays one on the server, and its zeros cross no wire", async () => {
    const MiB = 1024 * 1024;
    await device.stats(drive, { reset: true });
    const file = join(drive, "sparse.img");
    await onMount('truncate -s 200M "$1"; printf end | dd of="$1" bs=1 seek=150000000 conv=notrunc status=none', [
      file,
    ]);
    const [mount] = (await device.stats(drive))["mounts"] as { statistics: { sent: Record<string, number> } }[];
    const sentBytes = Object.values(mount?.statistics.sent ?? {}).reduce((sum, bytes) => sum + bytes, 0);
    expect(sentBytes).toBeLessThan(MiB);
    expect(await onMount('stat -c %s "$1"; dd if="$1" bs=1 skip=150000000 count=3 status=none', [file])).toBe(
      `${200 * MiB}\nend`,
    );
    await device.flush(drive, { up: true });
    const { stdout } = await mustRun("stat", ["-c", "%s %b", join(served, "sparse.img")]);
    const [size, blocks] = stdout.split(" ").map(Number);
    expect(size).toBe(200 * MiB);
    expect((blocks ?? 0) * 512).toBeLessThan(MiB);
  }, 60_000);

  test("has the holes of a copy of it, on the drive and on the server, also after an edit", async () => {
    const KiB = 1024;
    const [file, copy] = [join(drive, "sparse.a"), join(drive, "sparse.b")];
    await onMount(
      'truncate -s 8M "$1"; head -c 100000 /dev/urandom | dd of="$1" bs=4k seek=1000 conv=notrunc status=none',
      [file],
    );
    await onMount('cp -a "$1" "$2"; cmp "$1" "$2"', [file, copy]);
    await device.flush(drive, { up: true });
    await onMount('printf edit | dd of="$1" bs=4k seek=1010 conv=notrunc status=none', [copy]);
    await device.flush(drive, { up: true });
    const shown = await onMount('stat -c %b "$1" "$2"', [file, copy]);
    const kept = await mustRun("sh", ["-c", 'cd "$1"; stat -c %b sparse.a sparse.b', "sh", served]);
    const bytes = `${shown}${kept.stdout}`
      .trim()
      .split("\n")
      .map((blocks) => Number(blocks) * 512);
    // Space of the first on the drive, its copy there, and both on the server. File systems set some space aside where
    // a file grows: eight times what is there is not it.
    const found = bytes.map((taken) => (taken >= 100_000 && taken <= 1024 * KiB ? "its data" : taken));
    expect(found).toEqual(["its data", "its data", "its data", "its data"]);
  });

  test("of gigabytes is saved anew as often as it is written, whatever is left of it elsewhere", async () => {
    const file = join(drive, "sparse.large");
    await onMount('truncate -s 4G "$1"; printf end >> "$1"; tail -c 4 "$1" | tr "\\0" 0; rm "$1"', [file], {
      deadlineMs: 60_000,
    });
    await device.flush(drive, { up: true });
    await onMount('truncate -s 4G "$1"; printf end >> "$1"', [file], { deadlineMs: 60_000 });
    await device.flush(drive, { up: true });
    await mustRun("rm", [join(served, "sparse.large")]);
    await waitFor(
      async () => (await onMount('ls "$1"', [drive])).includes("sparse.large") === false,
      10_000,
      "its end",
    );
    await onMount('truncate -s 5G "$1"; printf end >> "$1"; tail -c 4 "$1" | tr "\\0" 0; rm "$1"', [file], {
      deadlineMs: 60_000,
    });
  }, 120_000);
});

// The last: the volume is another one afterwards.
describe("what the server's system would trust", () => {
  asRoot(
    "set-uid bits, owners and devices show on drives only and have no effect, also after the loss of the server's index",
    async () => {
      const look = 'cd "$1" && stat -c "%F %a %u %g" tool disk folder';
      const make = "echo text > tool && mkdir folder && mknod disk b 8 0 && chown 1234:5678 tool disk folder";
      await onMount(`cd "$1" && ${make} && chmod 6755 tool folder`, [drive]);
      const shown = `regular file 6755 1234 5678
block special file 644 1234 5678
directory 6755 1234 5678
`;
      expect(await onMount(look, [drive])).toBe(shown);
      // And have no effect: a server cannot give its clients such a file either.
      expect(readFileSync("/proc/self/mounts", "utf8")).toMatch(new RegExp(` ${drive} fuse\\S* \\S*nosuid,nodev`));
      await device.flush(drive, { up: true });
      expect((await mustRun("sh", ["-c", look, "sh", served])).stdout).toBe(
        `regular file 755 0 0
regular empty file 600 0 0
directory 755 0 0
`,
      );
      await server.stop();
      rmSync(sandbox.path("data", "docs", "meta"), { recursive: true });
      // Clients of before may hold leases for so long.
      server = await sandbox.startServer({ volumes: { docs: served }, listen: new URL(server.url).host, leaseTerm: 5 });
      const isSame = async (): Promise<boolean> => (await onMount(`(${look}) 2>&1 || true`, [drive])) === shown;
      await waitFor(isSame, 30_000, "the same owners, bits and devices");
      const names = "import os, sys; print(os.listxattr(sys.argv[1]), os.listxattr(sys.argv[2]))";
      const { stdout } = await mustRun("python3", ["-c", names, join(served, "tool"), join(served, "folder")]);
      expect(stdout).toBe("['user.runnel.shown'] ['user.runnel.shown']\n");
      expect(await onMount(`python3 -c "${names}" "$1/tool" "$1/folder"`, [drive])).toBe("[] []\n");
    },
    90_000,
  );
});
