// Packages of Fedora and its kin, by rpmbuild, of the trees that the debs have. Which libraries of the system they ask
// for is what rpmbuild finds in the programs.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { runTool } from "./run.ts";
import { CONFIGURATION, HOME, template } from "./system.ts";
import { type Release, type Tree, filesIn, writeTree } from "./tree.ts";

interface RpmPackage {
  /** Name, also of its spec in linux/. */
  name: string;
  /** Folders that are its own, with all that lies in them. */
  whole: readonly string[];
  /** Folders of which it has some files only, and that go with it. */
  shared: readonly string[];
}

export const RUNNEL: RpmPackage = { name: "runnel", whole: [HOME], shared: ["etc/runnel", "usr/share/doc/runnel"] };

/** Lies in the folder of the other, without which it is not installed. */
export const DESKTOP: RpmPackage = {
  name: "runnel-desktop",
  whole: [`${HOME}/electron`, `${HOME}/app/dist`],
  shared: ["usr/share/doc/runnel-desktop"],
};

/** Makes runnel-VERSION-1.x86_64.rpm. @returns its path */
export function packRpm(tree: Tree, release: Release, work: string, out: string): string {
  return pack(RUNNEL, tree, release, work, out);
}

/** Makes runnel-desktop-VERSION-1.x86_64.rpm. @returns its path */
export function packDesktopRpm(tree: Tree, release: Release, work: string, out: string): string {
  return pack(DESKTOP, tree, release, work, out);
}

function pack(about: RpmPackage, tree: Tree, release: Release, work: string, out: string): string {
  const stage = join(work, "rpm-stage");
  const top = join(work, "rpm");
  writeTree(tree, stage, release);
  mkdirSync(join(top, "SPECS"), { recursive: true });
  const spec = join(top, "SPECS", `${about.name}.spec`);
  writeFileSync(spec, rpmSpec(about, tree, release, stage));
  const env = { SOURCE_DATE_EPOCH: String(release.epochSeconds) };
  const target = ["--target", "x86_64-linux", "--define", `_topdir ${top}`, "--define", `_tmppath ${top}`];
  runTool("rpmbuild", ["-bb", "--quiet", ...target, spec], { env });
  const [made] = filesIn(join(top, "RPMS")).filter((path) => path.endsWith(".rpm"));
  if (made === undefined) throw new Error("rpmbuild made no package.");
  const path = join(out, `${about.name}-${release.version}-1.x86_64.rpm`);
  copyFileSync(join(top, "RPMS", made), path);
  for (const folder of [stage, top]) rmSync(folder, { recursive: true });
  return path;
}

function rpmSpec(about: RpmPackage, tree: Tree, release: Release, stage: string): string {
  const macros = template("macros.spec", { LEVEL: String(release.level), LIBRARIES: ownLibraries(tree) });
  const words = { MACROS: macros, VERSION: release.version, STAGE: stage, FILES: rpmFiles(about, tree).join("\n") };
  return template(`${about.name}.spec`, words);
}

/** Pattern of the libraries that a tree brings itself and that no package is asked for; "^$" where it brings none. */
function ownLibraries(tree: Tree): string {
  const names = [...tree.keys()].map((path) => basename(path)).filter((name) => /\.so(\.\d+)*$/.test(name));
  return names.length === 0 ? "^$" : `^(${names.map((name) => name.replaceAll(".", "[.]")).join("|")})[(]`;
}

/** Lines of the spec: our own folders whole, and what lies in folders of the system. */
export function rpmFiles({ whole, shared }: RpmPackage, tree: Tree): string[] {
  const isOutside = (path: string): boolean => !whole.some((folder) => path.startsWith(`${folder}/`));
  const outside = [...tree.keys()].filter((path) => isOutside(path)).toSorted();
  const lines = outside.map((path) => (path === CONFIGURATION ? `%config(noreplace) /${path}` : `/${path}`));
  const folders = [...whole.map((path) => `/${path}`), ...shared.map((path) => `%dir /${path}`)];
  return ["%defattr(-,root,root,-)", ...folders, ...lines];
}
