// The other packages: an rpm of the tree that the deb has, a tarball that runs from any folder, and the file by which a
// container is made of that.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LINUX } from "./host.ts";
import { runTool } from "./run.ts";
import { CONFIGURATION, HOME, template } from "./system.ts";
import { type Release, type Tree, filesIn, writeTree } from "./tree.ts";

/** Processors differ in number; what xz makes of two threads does not. */
const XZ_THREADS = "-T2";

/** Makes runnel-VERSION-1.x86_64.rpm. @returns its path */
export function packRpm(tree: Tree, release: Release, work: string, out: string): string {
  const stage = join(work, "rpm-stage");
  const top = join(work, "rpm");
  writeTree(tree, stage, release);
  mkdirSync(join(top, "SPECS"), { recursive: true });
  const words = {
    VERSION: release.version,
    STAGE: stage,
    LEVEL: String(release.level),
    FILES: rpmFiles(tree).join("\n"),
  };
  const spec = join(top, "SPECS/runnel.spec");
  writeFileSync(spec, template("runnel.spec", words));
  const env = { SOURCE_DATE_EPOCH: String(release.epochSeconds) };
  const target = ["--target", "x86_64-linux", "--define", `_topdir ${top}`, "--define", `_tmppath ${top}`];
  runTool("rpmbuild", ["-bb", "--quiet", ...target, spec], { env });
  const [made] = filesIn(join(top, "RPMS")).filter((path) => path.endsWith(".rpm"));
  if (made === undefined) throw new Error("rpmbuild made no package.");
  const path = join(out, `runnel-${release.version}-1.x86_64.rpm`);
  copyFileSync(join(top, "RPMS", made), path);
  for (const folder of [stage, top]) rmSync(folder, { recursive: true });
  return path;
}

/** Lines of the spec: our own folder whole, and what lies in folders of the system. */
export function rpmFiles(tree: Tree): string[] {
  const outside = [...tree.keys()].filter((path) => !path.startsWith(`${HOME}/`)).toSorted();
  const lines = outside.map((path) => (path === CONFIGURATION ? `%config(noreplace) /${path}` : `/${path}`));
  return ["%defattr(-,root,root,-)", `/${HOME}`, "%dir /etc/runnel", "%dir /usr/share/doc/runnel", ...lines];
}

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
