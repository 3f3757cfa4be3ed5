// An AppImage of type 2: the desktop app, the command line and the agent in one file that runs on any Linux with FUSE.
// It is the runtime of the AppImage project, as that releases it, and a squashfs behind it (docs.appimage.org,
// reference/architecture).
import { createHash } from "node:crypto";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PinnedFile } from "../../scripts/pinned-file.ts";
import { runTool } from "./run.ts";
import { HOME, template } from "./system.ts";
import { type Entry, PLAIN, PROGRAM, type Release, type Tree, below, joined, writeTree } from "./tree.ts";

/** Release 20251108 of github.com/AppImage/type2-runtime, which is under the MIT licence. */
export const RUNTIME: PinnedFile = {
  url: "https://github.com/AppImage/type2-runtime/releases/download/20251108/runtime-x86_64",
  sha256: "2fca8b443c92510f1483a883f60061ad09b46b978b2631c807cd873a47ec260d",
};

/** Parts of the app's package that have no place here: its command, entries of a system, a program of root's. */
const OF_SYSTEM = /^usr\/(bin|share\/(applications|doc))\/|\/chrome-sandbox$/;

/** Tree of an AppImage: what a system has in /usr/lib/runnel, what starts it, and how it is shown. */
export function appImageTree(root: string, product: Tree, desktop: Tree, release: Release): Tree {
  const build = `${release.version}-${digestOf(product)}`;
  const icons = join(root, "app/src/main/icons");
  return joined(
    below(HOME, product),
    new Map([...desktop].filter(([path]) => !OF_SYSTEM.test(path))),
    new Map<string, Entry>([
      ["AppRun", { text: template("AppRun", { BUILD: build }), mode: PROGRAM }],
      ["runnel.desktop", { text: appImageEntry(release), mode: PLAIN }],
      ["runnel.png", { source: join(icons, "fine@2x.png"), mode: PLAIN }],
      ["runnel.svg", { source: join(icons, "fine.svg"), mode: PLAIN }],
      [".DirIcon", { target: "runnel.png" }],
    ]),
  );
}

/** Tells two trees of one version apart. */
function digestOf(tree: Tree): string {
  const digest = createHash("sha256");
  for (const [path, entry] of [...tree].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const content = "source" in entry ? readFileSync(entry.source) : "text" in entry ? entry.text : entry.target;
    digest.update(`${path}\n${createHash("sha256").update(content).digest("hex")}\n`);
  }
  return digest.digest("hex").slice(0, 12);
}

function appImageEntry({ version }: Release): string {
  return template("runnel.desktop")
    .replace(/^Exec=.*$/m, "Exec=AppRun -- %u")
    .replace(/\n*$/, `\nX-AppImage-Version=${version}\n`);
}

/** Places in the head of an ELF, and in a row of its table of sections, of 64 bits (elf(5)). */
const ELF = { headBytes: 64, tableAt: 40, rowBytes: 58, rows: 60, sectionAt: 24, sectionBytes: 32 };

/**
 * Why a file is no runtime of an AppImage; undefined when it is one. A runtime looks for the squashfs where its own ELF
 * ends, with the table of sections or with the last of them.
 */
export function runtimeRefusal(bytes: Buffer): string | undefined {
  const no = "is no runtime of an AppImage of type 2";
  const isElf = bytes.length > ELF.headBytes && bytes.toString("latin1", 0, 5) === "\u007fELF\u0002";
  if (!isElf || bytes.toString("latin1", 8, 11) !== "AI\u0002") return no;
  const rowBytes = bytes.readUInt16LE(ELF.rowBytes);
  const tableEnd = Number(bytes.readBigUInt64LE(ELF.tableAt)) + rowBytes * bytes.readUInt16LE(ELF.rows);
  const last = tableEnd - rowBytes;
  if (rowBytes < ELF.headBytes || tableEnd > bytes.length) return no;
  const size = (at: number): number => Number(bytes.readBigUInt64LE(last + at));
  const end = Math.max(tableEnd, size(ELF.sectionAt) + size(ELF.sectionBytes));
  return end === bytes.length ? undefined : `is ${bytes.length} bytes long, and its sections end at ${end}`;
}

/** Makes Runnel-VERSION-x86_64.AppImage. @returns its path @throws Error when the runtime is none */
export function packAppImage(tree: Tree, runtime: string, release: Release, work: string, out: string): string {
  const bytes = readFileSync(runtime);
  const refusal = runtimeRefusal(bytes);
  if (refusal !== undefined) throw new Error(`${runtime} ${refusal}.`);
  const stage = join(work, "appimage");
  const image = join(work, "appimage.squashfs");
  writeTree(tree, stage, release);
  // The runtime reads gzip and zstd only.
  const compression = ["-comp", "zstd", "-Xcompression-level", release.level === 0 ? "1" : "19"];
  const plain = ["-root-owned", "-noappend", "-no-xattrs", "-no-progress", "-quiet", ...compression];
  const env = { SOURCE_DATE_EPOCH: String(release.epochSeconds) };
  runTool("mksquashfs", [stage, image, ...plain], { env });
  rmSync(stage, { recursive: true });
  const path = join(out, `Runnel-${release.version}-x86_64.AppImage`);
  writeFileSync(path, Buffer.concat([bytes, readFileSync(image)]));
  chmodSync(path, PROGRAM);
  rmSync(image);
  return path;
}
