// A tarball that runs from any folder, and the file by which a container is made of it.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LINUX } from "./host.ts";
import { runTool } from "./run.ts";
import { template } from "./system.ts";
import { type Release, type Tree, writeTree } from "./tree.ts";

/** Processors differ in number; what xz makes of two threads does not. */
const XZ_THREADS = "-T2";

/** Makes runnel-VERSION-HOST.tar.xz. @returns its path */
export function packTar(product: Tree, release: Release, work: string, out: string, host = LINUX): string {
  const name = `runnel-${release.version}-${host.name}`;
  writeTree(product, join(work, name), release);
  const path = join(out, `${name}.tar.xz`);
  const owner = ["--owner=0", "--group=0", "--numeric-owner"];
  const same = ["--sort=name", "--format=gnu", `--mtime=@${release.epochSeconds}`, ...owner];
  runTool("tar", [...same, "-I", `xz -${release.level} ${XZ_THREADS}`, "-cf", path, "-C", work, name]);
  rmSync(join(work, name), { recursive: true });
  return path;
}

/** Writes the Containerfile beside the tarball that it takes. @returns its path */
export function writeContainerfile({ version }: Release, out: string): string {
  const path = join(out, "Containerfile");
  writeFileSync(path, template("Containerfile", { VERSION: version }));
  return path;
}
