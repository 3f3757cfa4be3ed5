// Packs Runnel: `npm run pack -- deb`. Builds what is out of date, plans the tree, and makes the packages
// that are asked for in installers/out, beside SHA256SUMS. The same commit makes the same bytes.
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensureDebian } from "../scripts/tools.mjs";
import { packRpm, packTar, writeContainerfile } from "./src/archives.ts";
import { packDeb, packDesktopDeb } from "./src/deb.ts";
import { FEED_FILE, type FeedSigner, signFeed, signerOf } from "./src/feed.ts";
import { MACS } from "./src/host.ts";
import { writeFormula } from "./src/macos.ts";
import { readManifest } from "./src/packages.ts";
import { missingFrom, productTree } from "./src/product.ts";
import { runTool } from "./src/run.ts";
import { desktopTree, systemTree } from "./src/system.ts";
import { type Release, type Tree, filesIn } from "./src/tree.ts";
import { packMsi, packSetup } from "./src/windows.ts";

const ROOT = resolve(fileURLToPath(new URL("..", import.meta.url)));

/** The level of xz that dpkg-deb takes by itself. */
const LEVEL = "6";

const USAGE = `Packs Runnel, on Linux on x64 and for that, but for what says otherwise.

    npm run pack -- KIND… [--out FOLDER] [--version VERSION] [--level 0-9] [--electron FOLDER] [--downloads URL]

KIND: deb        agent, command line and server, for Debian and its kin
      desktop    the desktop app, a deb beside the first; needs Electron's folder
      rpm        the same as deb, for Fedora and its kin
      tar        the same, for any folder
      container  tar, and the Containerfile of a server
      setup      a set-up for Windows on x64, for one user
      msi        the same for msiexec
      macos      a tarball for macOS on each processor; with --downloads, where they will lie, Homebrew's formula
Packages are not signed. With RUNNEL_GPG_KEY=ID the list of their digests is (SHA256SUMS.asc). With
RUNNEL_UPDATE_KEY=FILE (PEM, Ed25519) and RUNNEL_UPDATE_URL=URL packages look for updates there, and updates.json is
written and signed for that place.`;

interface Packing {
  release: Release;
  product: Tree;
  signer: FeedSigner | undefined;
  work: string;
  out: string;
  /** Folder of an Electron that somebody brings. */
  electron: string | undefined;
  /** Place where packages will lie. */
  downloads: string | undefined;
}

const KINDS: Record<string, (packing: Packing) => string[]> = {
  deb: ({ release, product, work, out }) => {
    ensureDebian("dpkg-shlibdeps", ["dpkg-dev"]);
    return [packDeb(systemTree(ROOT, product), release, work, out)];
  },
  desktop: (packing) => [packDesktop(packing)],
  rpm: ({ release, product, work, out }) => {
    ensureDebian("rpmbuild", ["rpm"]);
    return [packRpm(systemTree(ROOT, product), release, work, out)];
  },
  tar: ({ release, product, work, out }) => [packTar(product, release, work, out)],
  container: ({ release, product, work, out }) => [
    packTar(product, release, work, out),
    writeContainerfile(release, out),
  ],
  macos: (packing) => packMacs(packing),
  setup: ({ release, work, out }) => {
    ensureDebian("makensis", ["nsis"]);
    return [packSetup(bundledForWindows(release, work), release, work, out)];
  },
  msi: ({ release, work, out }) => {
    ensureDebian("wixl", ["wixl", "msitools"]);
    return [packMsi(bundledForWindows(release, work), release, work, out)];
  },
};

function bundledForWindows({ version }: Release, work: string): string {
  const folder = join(work, "windows");
  if (!existsSync(folder)) runTool(process.execPath, ["scripts/bundle-windows.mjs", folder, version], { cwd: ROOT });
  return folder;
}

function packMacs({ release, signer, work, out, downloads }: Packing): string[] {
  runTool(process.execPath, ["native/build-all.mjs", ...MACS.map(({ name }) => name)], { cwd: ROOT });
  const tarballs = MACS.map((host) => {
    const product = productTree(ROOT, release, signer?.place, host);
    refuseIncomplete(product);
    return packTar(product, release, work, out, host);
  });
  return downloads === undefined ? tarballs : [...tarballs, writeFormula(release, tarballs, out, downloads)];
}

function refuseIncomplete(product: Tree): void {
  const missing = missingFrom(product);
  if (missing.length > 0) throw new Error(`${missing.join(", ")} is not built: npm run setup builds what is of here.`);
}

function packDesktop({ release, work, out, electron }: Packing): string {
  const folder = electron === undefined ? join(ROOT, "node_modules/electron/dist") : resolve(electron);
  if (!existsSync(join(folder, "electron")))
    throw new Error(`No Electron lies in ${folder}. npx install-electron fetches it; --electron names another place.`);
  runTool(process.execPath, ["scripts/build-desktop.mjs", "--if-older"], { cwd: ROOT });
  const files = filesIn(folder).map((path) => ({ path, isProgram: canRun(join(folder, path)) }));
  const tree = desktopTree(ROOT, filesIn(join(ROOT, "app/dist")), { folder, files });
  return packDesktopDeb(tree, release, work, out);
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Time of the commit, unless the environment says one (reproducible-builds.org). */
function epochSeconds(): number {
  const text = process.env["SOURCE_DATE_EPOCH"] ?? runTool("git", ["log", "-1", "--format=%ct"], { cwd: ROOT });
  const seconds = Number(text.trim());
  if (!Number.isSafeInteger(seconds)) throw new Error(`${text.trim()} is no time. SOURCE_DATE_EPOCH is in seconds.`);
  return seconds;
}

function prepare(): void {
  runTool(process.execPath, ["native/build.mjs"], { cwd: ROOT });
  runTool(process.execPath, ["scripts/build-pages.mjs", "--if-older"], { cwd: ROOT });
}

/** Lists the digests, and signs the list where a key is named. */
function writeSums(paths: readonly string[], out: string): void {
  const lines = paths.map((path) => `${sha256(path)}  ${basename(path)}\n`);
  const sums = join(out, "SHA256SUMS");
  writeFileSync(sums, lines.join(""));
  process.stdout.write(lines.join(""));
  const key = process.env["RUNNEL_GPG_KEY"];
  rmSync(`${sums}.asc`, { force: true });
  if (key) runTool("gpg", ["--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", sums]);
}

/** An old list would speak of packages that are gone. */
function writeFeed(paths: readonly string[], release: Release, signer: FeedSigner | undefined, out: string): void {
  rmSync(join(out, FEED_FILE), { force: true });
  if (signer === undefined) return;
  const packages = paths.map((path) => ({
    name: basename(path),
    sizeBytes: statSync(path).size,
    sha256: sha256(path),
  }));
  writeFileSync(join(out, FEED_FILE), signFeed(release, packages, signer, Date.now()));
}

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

function main(): void {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      level: { type: "string", default: LEVEL },
      out: { type: "string" },
      version: { type: "string" },
      electron: { type: "string" },
      downloads: { type: "string" },
    },
  });
  const kinds = positionals.map((name) => KINDS[name]);
  if (kinds.length === 0 || kinds.includes(undefined)) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("Packages are made on Linux on x64.");
  const version = values.version ?? readManifest(ROOT).version;
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is no version: write 1.2.3.`);
  if (!/^\d$/.test(values.level)) throw new Error(`${values.level} is no level of xz: write 0 to 9.`);
  // Whoever packs may keep files from others; packages do not.
  process.umask(0o022);
  prepare();
  const release = { version, epochSeconds: epochSeconds(), level: Number(values.level) };
  const out = resolve(values.out ?? join(ROOT, "installers/out"));
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(out, ".work-"));
  try {
    const signer = signerOf(process.env);
    const product = productTree(ROOT, release, signer?.place);
    refuseIncomplete(product);
    const { electron, downloads } = values;
    const packing = { release, product, signer, work, out, electron, downloads };
    const paths = kinds.flatMap((pack) => pack?.(packing) ?? []);
    writeSums(paths, out);
    writeFeed(paths, release, signer, out);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
