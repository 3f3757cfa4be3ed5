// Packages of Debian and its kin, by dpkg-deb. What they depend on is what dpkg-shlibdeps finds in the programs.
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runTool } from "./run.ts";
import { CONFIGURATION, HOME, template } from "./system.ts";
import { PROGRAM, type Release, type Tree, filesIn, settle, sizeOf, writeTree } from "./tree.ts";

const ARCHITECTURE = "amd64";
/** A package names whom to write to; who hands it on says so. */
const MAINTAINER = "The Runnel authors <runnel@localhost>";

interface DebianPackage {
  name: string;
  summary: string;
  /** Lines of the longer description. */
  description: readonly string[];
  depends: readonly string[];
  conffiles: readonly string[];
  /** Names of scripts, which lie in linux/. */
  scripts: readonly string[];
  /** True for a file whose shared libraries the package depends on. */
  isBinary(path: string): boolean;
}

const DESCRIPTION = [
  "Runnel maps a folder of a server as a drive, over links that are narrow, slow",
  "or often gone. Only the chunks that the other side lacks cross the wire.",
  "On the server everything stays plain files in a plain folder.",
];

const RUNNEL: DebianPackage = {
  name: "runnel",
  summary: "network drive for narrow links: agent, command line and server",
  description: DESCRIPTION,
  depends: ["adduser", "fuse3"],
  conffiles: [`/${CONFIGURATION}`],
  scripts: ["postinst", "prerm", "postrm"],
  isBinary: (path) => path.endsWith(".node") || path.endsWith("/bin/node"),
};

const DESKTOP: DebianPackage = {
  name: "runnel-desktop",
  summary: "network drive for narrow links: icon in the tray and windows",
  description: DESCRIPTION,
  depends: ["xdg-utils", "libnotify4"],
  conffiles: [],
  scripts: [],
  isBinary: (path) => path === `${HOME}/electron/electron`,
};

/** Makes runnel_VERSION_amd64.deb. @returns its path */
export function packDeb(tree: Tree, release: Release, work: string, out: string): string {
  return pack(RUNNEL, tree, release, work, out);
}

/** Makes runnel-desktop_VERSION_amd64.deb. @returns its path */
export function packDesktopDeb(tree: Tree, release: Release, work: string, out: string): string {
  const depends = [`runnel (= ${release.version})`, ...DESKTOP.depends];
  return pack({ ...DESKTOP, depends }, tree, release, work, out);
}

function pack(about: DebianPackage, tree: Tree, release: Release, work: string, out: string): string {
  const stage = join(work, about.name);
  writeTree(tree, stage, release);
  const libraries = sharedLibraries(about, stage, work);
  const sizeKiB = Math.ceil(sizeOf(stage) / 1024);
  const sums = md5sums(stage);
  const meta = join(stage, "DEBIAN");
  mkdirSync(meta);
  writeFileSync(join(meta, "control"), control(about, release, [...libraries, ...about.depends], sizeKiB));
  writeFileSync(join(meta, "md5sums"), sums);
  if (about.conffiles.length > 0) writeFileSync(join(meta, "conffiles"), `${about.conffiles.join("\n")}\n`);
  for (const name of about.scripts) {
    writeFileSync(join(meta, name), template(name));
    chmodSync(join(meta, name), PROGRAM);
  }
  settle(stage, release.epochSeconds);
  const path = join(out, `${about.name}_${release.version}_${ARCHITECTURE}.deb`);
  const env = { SOURCE_DATE_EPOCH: String(release.epochSeconds) };
  runTool("dpkg-deb", ["--root-owner-group", "-Zxz", `-z${release.level}`, "--build", stage, path], { env });
  rmSync(stage, { recursive: true });
  return path;
}

function control(about: DebianPackage, { version }: Release, depends: readonly string[], sizeKiB: number): string {
  return [
    `Package: ${about.name}`,
    `Version: ${version}`,
    `Architecture: ${ARCHITECTURE}`,
    `Maintainer: ${process.env["RUNNEL_MAINTAINER"] ?? MAINTAINER}`,
    `Installed-Size: ${sizeKiB}`,
    `Depends: ${depends.toSorted().join(", ")}`,
    "Section: net",
    "Priority: optional",
    `Description: ${about.summary}`,
    ...about.description.map((line) => ` ${line}`),
    "",
  ].join("\n");
}

/** Packages of shared libraries, as "libfuse3-3 (>= 3.2.3)". */
function sharedLibraries({ name, isBinary }: DebianPackage, stage: string, work: string): string[] {
  // The tool wants to be in the folder of a source package.
  const place = join(work, "shlibdeps");
  mkdirSync(join(place, "debian"), { recursive: true });
  writeFileSync(join(place, "debian/control"), `Source: ${name}\n\nPackage: ${name}\nArchitecture: ${ARCHITECTURE}\n`);
  const binaries = filesIn(stage).filter((path) => isBinary(path));
  const args = ["-O", "--ignore-missing-info", ...binaries.map((path) => `-e${join(stage, path)}`)];
  const printed = runTool("dpkg-shlibdeps", args, { cwd: place });
  rmSync(place, { recursive: true });
  const [, found = ""] = /^shlibs:Depends=(.*)$/m.exec(printed) ?? [];
  return found.split(", ").filter((each) => each !== "");
}

/** Digests by which `dpkg --verify` finds what was changed since. */
function md5sums(stage: string): string {
  const lines = filesIn(stage)
    .filter((path) => lstatSync(join(stage, path)).isFile() && path !== CONFIGURATION)
    .map(
      (path) =>
        `${createHash("md5")
          .update(readFileSync(join(stage, path)))
          .digest("hex")}  ${path}\n`,
    );
  return lines.join("");
}
