// The thinnest whole path with real processes and a real mount: a folder is served, mapped, written; the plain folder
// and a second client show it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, VolumeForEach, mustRun, onMount, waitFor } from "../src/harness/index.ts";
import type { Device } from "../src/harness/index.ts";

const EXTERNAL_MS = 10_000;

const TESTS = 9;

let sandbox: Sandbox;
let volumes: VolumeForEach;
let device: Device;
/** Folder of the test: what it serves is there, the drive, and what it compares with. */
let place: string;
let served: string;
let drive: string;
let url: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  volumes = await VolumeForEach.serve(sandbox, TESTS, (folder) => {
    writeFileSync(join(folder, "before.txt"), "was here before");
    mkdirSync(join(folder, "folder", "below"), { recursive: true });
    writeFileSync(join(folder, "folder", "below", "deep.txt"), "deep");
  });
  device = sandbox.device();
}, 60_000);

beforeEach(async () => {
  const volume = volumes.next();
  ({ place, served, url } = volume);
  drive = sandbox.makeFolder(volume.name, "drive");
  await device.mount(url, drive);
}, 60_000);

afterAll(() => sandbox.cleanup(), 120_000);

/** Runs a program on the drive and returns what it prints. */
function on(script: string, ...args: string[]): Promise<string> {
  return onMount(script, [drive, ...args]);
}

describe("a mounted folder", () => {
  test("shows what was there before, at any depth", async () => {
    expect(await on('cat "$1/before.txt" "$1/folder/below/deep.txt"; ls "$1"')).toBe(
      "was here beforedeepbefore.txt\nfolder\n",
    );
  });

  test("a file that was closed is in the server's folder after flush --applied, and the same bytes", async () => {
    await on(
      'head -c 3000000 /dev/urandom > "$1/../random"; cp "$1/../random" "$1/copy.bin"; echo hello > "$1/folder/hello.txt"',
    );
    await device.flush(drive, { up: true });
    expect(readFileSync(join(served, "copy.bin")).equals(readFileSync(join(place, "random")))).toBe(true);
    expect(readFileSync(join(served, "folder", "hello.txt"), "utf8")).toBe("hello\n");
    expect(existsSync(join(served, ".runnel-store"))).toBe(true);
    expect(await on('ls -a "$1"')).not.toContain("runnel-store");
  });

  test("does the everyday operations, and the server's folder follows", async () => {
    await on(
      'cd "$1"; mkdir a; echo 1 > a/x; mv a/x a/y; ln -s y a/link; mkdir -p b/c; mv a b/c/; rm before.txt; echo more >> b/c/a/y; chmod 600 b/c/a/y; touch -d "2020-01-02 03:04:05.678" b/c/a/y',
    );
    expect(await on('cd "$1"; find . | LC_ALL=C sort | tr "\\n" " "; cat b/c/a/link; stat -c "%a %y" b/c/a/y')).toMatch(
      /^\. \.\/b \.\/b\/c \.\/b\/c\/a \.\/b\/c\/a\/link \.\/b\/c\/a\/y \.\/folder \.\/folder\/below \.\/folder\/below\/deep\.txt 1\nmore\n600 2020-01-02 03:04:05\.678/,
    );
    await device.flush(drive, { up: true });
    const { stdout } = await mustRun("sh", [
      "-c",
      'cd "$1"; find . -path ./.runnel-store -prune -o -print | LC_ALL=C sort | tr "\\n" " "; cat b/c/a/y; stat -c "%a %y" b/c/a/y',
      "sh",
      served,
    ]);
    expect(stdout).toMatch(
      /^\. \.\/b \.\/b\/c \.\/b\/c\/a \.\/b\/c\/a\/link \.\/b\/c\/a\/y \.\/folder .* 1\nmore\n600 2020-01-02 03:04:05\.678/,
    );
  });

  test("edits in place, truncates and appends keep the rest of a file", async () => {
    const script =
      'set -e; f="$1"; seq 1 300000 > "$f"; printf XYZ | dd of="$f" bs=1 seek=1000 conv=notrunc status=none; truncate -s 1500000 "$f"; echo tail >> "$f"; sha256sum < "$f"';
    const local = (await mustRun("sh", ["-c", script, "sh", join(place, "reference")])).stdout;
    expect(await onMount(script, [join(drive, "edited")])).toBe(local);
    await device.flush(drive, { up: true });
    expect((await mustRun("sh", ["-c", `sha256sum < ${join(served, "edited")}`])).stdout).toBe(local);
  });

  test("a second client sees a file after its close, and its next version after the next", async () => {
    const other = sandbox.device("b");
    const otherDrive = sandbox.makeFolder("drive-b");
    await other.mount(url, otherDrive);
    for (const words of ["first", "second, longer", "3"]) {
      await onMount('printf %s "$2" > "$1/shared.txt"', [drive, words]);
      expect(await onMount('cat "$1/shared.txt"', [otherDrive])).toBe(words);
    }
    await onMount('mv "$1/shared.txt" "$1/folder/renamed.txt"', [otherDrive]);
    expect(await on('ls "$1/folder"; cat "$1/folder/renamed.txt"')).toBe("below\nrenamed.txt\n3");
    await onMount('rm "$1/folder/renamed.txt"', [drive]);
    expect(await onMount('ls "$1/folder"', [otherDrive])).toBe("below\n");
  });

  test("an error is the one a local disk gives", async () => {
    const script =
      'set +e; cd "$1"; (mkdir folder; rmdir folder; cat nothing; (set -C; echo x > before.txt); mv folder folder/below/) 2>&1 || true';
    const text = await on(script);
    for (const words of ["File exists", "Directory not empty", "No such file or directory", "subdirectory of itself"])
      expect(text).toContain(words);
  });
});

describe("what other programs do in the served folder", () => {
  test("is seen on the drive: new, changed, renamed and removed files", async () => {
    writeFileSync(join(served, "outside.txt"), "made on the server");
    await waitFor(
      async () => (await on('cat "$1/outside.txt" 2>/dev/null || true')) === "made on the server",
      EXTERNAL_MS,
      "the new file",
    );
    writeFileSync(join(served, "outside.txt"), "changed on the server, longer");
    await waitFor(
      async () => (await on('cat "$1/outside.txt"')) === "changed on the server, longer",
      EXTERNAL_MS,
      "the change",
    );
    renameSync(join(served, "outside.txt"), join(served, "folder", "moved.txt"));
    await waitFor(
      async () => (await on('ls "$1" "$1/folder" | tr "\\n" " "')).includes("below moved.txt"),
      EXTERNAL_MS,
      "the rename",
    );
    expect(await on('cat "$1/folder/moved.txt"; ls "$1"')).toBe("changed on the server, longerbefore.txt\nfolder\n");
    rmSync(join(served, "folder"), { recursive: true });
    await waitFor(async () => (await on('ls "$1"')) === "before.txt\n", EXTERNAL_MS, "the removal");
  });

  test("symlinks are data, wherever they point, and nothing behind them is served", async () => {
    symlinkSync("/", join(served, "root-link"));
    symlinkSync("..", join(served, "up-link"));
    symlinkSync(drive, join(served, "drive-link"));
    linkSync(join(served, "before.txt"), join(served, "second-name.txt"));
    await waitFor(async () => (await on('ls "$1"')).includes("up-link"), EXTERNAL_MS, "the links");
    expect(await on('readlink "$1/root-link" "$1/up-link" "$1/drive-link"')).toBe(`/\n..\n${drive}\n`);
    await on('cd "$1"; ln -s / made-here; ln -s ../../etc/passwd made-there');
    await device.flush(drive, { up: true });
    const { stdout } = await mustRun("sh", [
      "-c",
      'readlink "$1/made-here" "$1/made-there"; find "$1" -path "$1/.runnel-store" -prune -o -type f -print | wc -l',
      "sh",
      served,
    ]);
    expect(stdout).toBe("/\n../../etc/passwd\n3\n");
  });

  test("a program that writes into a file while a client commits it: both contents stay", async () => {
    await on('echo base > "$1/both.txt"');
    await device.flush(drive, { up: true });
    writeFileSync(join(served, "both.txt"), "by the server's program");
    await on('echo "by the client" > "$1/both.txt"');
    await device.flush(drive, { up: true });
    // Either order is possible: the program's change was taken in first (then the client's close wins and the other is
    // an old version in the trash), or it was found when the commit was brought up (then it is kept beside).
    const { stdout } = await mustRun("sh", [
      "-c",
      'cat "$1"/both* "$1"/.runnel-store/trash/* 2>/dev/null || true',
      "sh",
      served,
    ]);
    expect(stdout).toContain("by the client");
    expect(stdout).toContain("by the server's program");
  });
});
