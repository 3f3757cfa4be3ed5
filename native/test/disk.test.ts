// The real disk against the contract, and what only a real one has.
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { DiskRoot } from "@runnel/shared";
import { diskContract } from "@runnel/shared/test/contracts/disk-contract.ts";
import { realDisk } from "../index.ts";

const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "runnel-disk-"));

diskContract("real", async () => {
  const folder = await makeFolder();
  return {
    disk: realDisk(),
    folder,
    // Windows has no such names.
    ...(process.platform === "win32"
      ? {}
      : { makeRawName: (name: Uint8Array) => writeFile(Buffer.concat([Buffer.from(`${folder}/`), name]), "") }),
    dispose: () => rm(folder, { recursive: true }),
  };
});

const canMount = process.platform === "linux" && process.getuid?.() === 0;

/**
 * Runs `work` with another file system mounted at `at`; not at all where even root may not mount, as in some
 * containers.
 */
async function withMount(at: string, work: () => Promise<void>): Promise<void> {
  if (spawnSync("mount", ["-t", "tmpfs", "none", at]).status !== 0) return;
  try {
    await work();
  } finally {
    spawnSync("umount", [at]);
  }
}

describe("another file system on the way", () => {
  let folder: string;
  let root: DiskRoot;
  beforeEach(async () => {
    folder = await makeFolder();
    root = await realDisk().openRoot(folder);
    await root.makeFolder("other");
  });
  afterEach(async () => {
    await root.close();
    await rm(folder, { recursive: true });
  });

  (canMount ? test : test.skip)("is unavailable", () =>
    withMount(join(folder, "other"), async () => {
      await writeFile(join(folder, "other", "a"), "");
      for (const path of ["other", "other/a"]) {
        await expect(root.stat(path)).rejects.toMatchObject({ kind: "Unavailable" });
        await expect(root.open(path, "read")).rejects.toMatchObject({ kind: "Unavailable" });
      }
      await expect(root.removeFile("other/a")).rejects.toMatchObject({ kind: "Unavailable" });
    }),
  );

  (canMount ? test : test.skip)("is not watched", () =>
    withMount(join(folder, "other"), async () => {
      const told: string[] = [];
      const hasEnded = Promise.withResolvers<void>();
      const watch = await root.watch((events) => {
        told.push(...events.map((event) => event.path));
        if (told.includes("end")) hasEnded.resolve();
      });
      await writeFile(join(folder, "other", "a"), "");
      await writeFile(join(folder, "end"), "");
      await hasEnded.promise;
      await watch.close();
      expect(told.filter((path) => path.startsWith("other"))).toEqual([]);
    }),
  );
});

const PYTHON_XATTRS = `import os, sys
for name in os.listxattr(sys.argv[1]): print(name)`;
/** Capability of a program that may bind any port (capabilities(7), VFS_CAP_REVISION_2). */
const PYTHON_CAPABLE = `import os, sys
os.setxattr(sys.argv[1], "security.capability", bytes.fromhex("0100000200040000000000000000000000000000"))
os.setxattr(sys.argv[1], "user.kept", b"yes")`;

(canMount ? test : test.skip)("a file capability is not copied with the attributes of a file, others are", async () => {
  const folder = await makeFolder();
  const root = await realDisk().openRoot(folder);
  try {
    for (const name of ["from", "to"]) await writeFile(join(folder, name), "");
    // Some containers may not.
    if (spawnSync("python3", ["-c", PYTHON_CAPABLE, join(folder, "from")]).status !== 0) return;
    await root.copyXattrs("from", "to");
    const { stdout } = spawnSync("python3", ["-c", PYTHON_XATTRS, join(folder, "to")], { encoding: "utf8" });
    expect(stdout).toBe("user.kept\n");
  } finally {
    await root.close();
    await rm(folder, { recursive: true });
  }
});

describe("set-user-id and set-group-id bits", () => {
  const isLinuxRoot = process.platform === "linux" && process.getuid?.() === 0;
  let folder: string;
  let root: DiskRoot;

  beforeEach(async () => {
    folder = await makeFolder();
    root = await realDisk().openRoot(folder);
  });
  afterEach(() => rm(folder, { recursive: true }));

  (isLinuxRoot ? test : test.skip)("are kept by who has them, never given, and gone with another owner", async () => {
    for (const [name, mode] of [
      ["plain", 0o755],
      ["tool", 0o6755],
    ] as const) {
      await writeFile(join(folder, name), "");
      await chmod(join(folder, name), mode);
      await root.setStat(name, { mode: 0o6711 });
      expect((await root.stat(name)).mode).toBe((mode & 0o6000) | 0o711);
      await root.setStat(name, { uid: 7, gid: 7, mode: 0o6755 });
      expect((await root.stat(name)).mode).toBe(0o755);
    }
  });
});
