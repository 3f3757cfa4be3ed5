// A small disk of its own for one folder of a sandbox: ext4 in a file, mounted through a loop device. Needs root, as
// mount(8) does. Filled and emptied at will.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { mustRun, run } from "../harness/run.ts";
import type { Sandbox } from "../harness/sandbox.ts";

const SIZE_MB = 24;

export class SmallDisk {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(sandbox: Sandbox, ...parts: string[]): Promise<SmallDisk> {
    const folder = sandbox.makeFolder(...parts);
    const image = sandbox.path(`${parts.join("-")}.image`);
    await mustRun("truncate", ["-s", `${SIZE_MB}M`, image]);
    await mustRun("mkfs.ext4", ["-q", "-m", "0", image]);
    await mustRun("mount", ["-o", "loop", image, folder]);
    await mustRun("rmdir", [join(folder, "lost+found")]);
    return new SmallDisk(folder);
  }

  /** Another program takes all that is left, but for some KiB. */
  async fill(leftKiB: number): Promise<void> {
    // Pieces become smaller and smaller, so that nothing is left; the last fails with "no space".
    const script =
      'for size in 64k 4k 1k; do dd if=/dev/zero of="$1/filler.$size" bs=$size status=none || true; done; truncate -s -"$2"K "$1/filler.64k"; sync -f "$1"';
    await run("bash", ["-c", script, "bash", this.folder, String(leftKiB)]);
  }

  empty(): void {
    for (const size of ["64k", "4k", "1k"]) rmSync(join(this.folder, `filler.${size}`), { force: true });
  }
}
