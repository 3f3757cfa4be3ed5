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
import { DRIVE_SOFTWARE } from "../scripts/drive-software.ts";
import { fetchPinned } from "../scripts/pinned-file.ts";
import { ensureDebian } from "../scripts/tools.mjs";
import { RUNTIME, appImageTree, packAppImage } from "./src/appimage.ts";
import { isAppFile, sha512Of, writeAppFeeds } from "./src/app-feed.ts";
import { packTar, writeContainerfile } from "./src/archives.ts";
import { packDeb, packDesktopDeb } from "./src/deb.ts";
import { FEED_FILE, type FeedSigner, signFeed, signerOf } from "./src/feed.ts";
import { MACS } from "./src/host.ts";
import { writeCask, writeFormula } from "./src/macos.ts";
import { readManifest } from "./src/packages.ts";
import { FEED_PLACE, missingFrom, placeText, productTree } from "./src/product.ts";
import { writeRepository } from "./src/repository.ts";
import { packDesktopRpm, packRpm } from "./src/rpm.ts";
import { runTool } from "./src/run.ts";
import { signBeside, signPackage, signersOf } from "./src/signing.ts";
import { desktopTree, systemTree } from "./src/system.ts";
import { type Release, type Tree, filesIn } from "./src/tree.ts";
import { packMsi, packSetup, winfspNamed } from "./src/windows.ts";

const ROOT = resolve(fileURLToPath(new URL("..", import.meta.url)));

/** Folder of what is fetched. */
const TOOLS = join(ROOT, ".setup/tools");

const WINFSP = DRIVE_SOFTWARE.win32.installer;

/** Kinds that are made of what lies in the folder already. */
const OF_WHAT_IS_THERE = new Set(["app", "cask"]);

/** The level of xz that dpkg-deb takes by itself. */
const LEVEL = "6";

const USAGE = `Packs Runnel, on Linux on x64 and for that, but for what says otherwise.

    npm run pack -- KIND… [--out FOLDER] [--version VERSION] [--level 0-9] [--electron FOLDER] [--runtime FILE]
                          [--winfsp FILE|fetch [--winfsp-sha256 HEX]] [--downloads URL]

KIND: deb        agent, command line and server, for Debian and its kin
      desktop    the desktop app, a deb beside the first; needs Electron's folder
      appimage   the desktop app with command line and agent in one file, for any Linux; needs Electron's folder, and
                 fetches the AppImage project's own runtime unless --runtime FILE is one
      rpm        the same as deb, for Fedora and its kin
      desktop-rpm  the desktop app, an rpm beside that
      tar        the same, for any folder
      container  tar, and the Containerfile of a server
      setup      a set-up for Windows on x64, for one user; with --winfsp it brings WinFsp's own installer, of the
                 version that is pinned (scripts/drive-software.ts), or of the digest that is named; --winfsp fetch has
                 it from its vendor
      msi        the same for msiexec
      macos      a tarball for macOS on each processor; with --downloads, where they will lie, Homebrew's formula
      cask       Homebrew's cask of the app's images, which electron-builder made on a Mac; needs --downloads
      app        the feed by which the desktop app updates itself, of what electron-builder made on Windows and on
                 Macs and lies in the folder already: latest.yml, latest-mac.yml
Packages are signed by those who are named, and by nobody else. With RUNNEL_GPG_KEY=ID gpg signs the rpm, the list of
digests (SHA256SUMS.asc) and an index of the debs that apt believes (InRelease). With RUNNEL_WINDOWS_CERT=FILE (PKCS
#12; RUNNEL_WINDOWS_PASSWORD=FILE, RUNNEL_TIMESTAMP_URL=URL) osslsigncode signs what is for Windows. With
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
  /** Path of an AppImage's runtime that somebody brings. */
  runtime: string | undefined;
  /** Path of WinFsp's own installer, which was compared with its digest. */
  winfsp: string | undefined;
  /** Place where packages will lie. */
  downloads: string | undefined;
}

type Made = string[] | Promise<string[]>;

const KINDS: Record<string, (packing: Packing) => Made> = {
  deb: ({ release, product, work, out }) => {
    ensureDebian("dpkg-shlibdeps", ["dpkg-dev"]);
    return [packDeb(systemTree(ROOT, product), release, work, out)];
  },
  desktop: ({ release, work, out, electron }) => [packDesktopDeb(desktopOf(electron), release, work, out)],
  appimage: async ({ release, product, work, out, electron, runtime }) => {
    ensureDebian("mksquashfs", ["squashfs-tools"]);
    const tree = appImageTree(ROOT, product, desktopOf(electron), release);
    const from = runtime ?? (await fetchPinned(RUNTIME, join(TOOLS, "appimage")));
    return [packAppImage(tree, from, release, work, out)];
  },
  rpm: ({ release, product, work, out }) => {
    ensureDebian("rpmbuild", ["rpm"]);
    return [packRpm(systemTree(ROOT, product), release, work, out)];
  },
  "desktop-rpm": ({ release, work, out, electron }) => {
    ensureDebian("rpmbuild", ["rpm"]);
    return [packDesktopRpm(desktopOf(electron), release, work, out)];
  },
  tar: ({ release, product, work, out }) => [packTar(product, release, work, out)],
  container: ({ release, product, work, out }) => [
    packTar(product, release, work, out),
    writeContainerfile(release, out),
  ],
  macos: (packing) => packMacs(packing),
  cask: ({ release, out, downloads }) => {
    if (downloads === undefined) throw new Error("A cask says where images will lie: --downloads https://HOST/FOLDER.");
    return [writeCask(release, out, downloads)];
  },
  app: ({ release, out }) => writeAppFeeds(release, out),
  setup: (packing) => {
    ensureDebian("makensis", ["nsis"]);
    return [packSetup(bundledForWindows(packing), packing.release, packing.work, packing.out, packing.winfsp)];
  },
  msi: (packing) => {
    ensureDebian("wixl", ["wixl", "msitools"]);
    return [packMsi(bundledForWindows(packing), packing.release, packing.work, packing.out)];
  },
};

function bundledForWindows({ release, signer, work }: Packing): string {
  const folder = join(work, "windows");
  if (existsSync(folder)) return folder;
  runTool(process.execPath, ["scripts/bundle-windows.mjs", folder, release.version], { cwd: ROOT });
  if (signer !== undefined) writeFileSync(join(folder, FEED_PLACE), placeText(signer.place));
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

function desktopOf(electron: string | undefined): Tree {
  const folder = electron === undefined ? join(ROOT, "node_modules/electron/dist") : resolve(electron);
  if (!existsSync(join(folder, "electron")))
    throw new Error(`No Electron lies in ${folder}. npx install-electron fetches it; --electron names another place.`);
  runTool(process.execPath, ["scripts/build-desktop.mjs", "--if-older"], { cwd: ROOT });
  const files = filesIn(folder).map((path) => ({ path, isProgram: canRun(join(folder, path)) }));
  return desktopTree(ROOT, filesIn(join(ROOT, "app/dist")), { folder, files });
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
function writeSums(paths: readonly string[], out: string, gpg: string | undefined): void {
  const lines = paths.map((path) => `${sha256(path)}  ${basename(path)}\n`);
  const sums = join(out, "SHA256SUMS");
  writeFileSync(sums, lines.join(""));
  process.stdout.write(lines.join(""));
  signBeside(sums, gpg);
}

/** An old list would speak of packages that are gone. */
function writeFeed(paths: readonly string[], release: Release, signer: FeedSigner | undefined, out: string): void {
  rmSync(join(out, FEED_FILE), { force: true });
  if (signer === undefined) return;
  const packages = paths.map((path) => ({
    name: basename(path),
    sizeBytes: statSync(path).size,
    sha256: sha256(path),
    ...(isAppFile(path) ? { sha512: sha512Of(path) } : {}),
  }));
  writeFileSync(join(out, FEED_FILE), signFeed(release, packages, signer, Date.now()));
}

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      level: { type: "string", default: LEVEL },
      out: { type: "string" },
      version: { type: "string" },
      electron: { type: "string" },
      runtime: { type: "string" },
      winfsp: { type: "string" },
      "winfsp-sha256": { type: "string", default: WINFSP.sha256 },
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
  const buildsProduct = positionals.some((name) => !OF_WHAT_IS_THERE.has(name));
  if (buildsProduct) prepare();
  const release = { version, epochSeconds: epochSeconds(), level: Number(values.level) };
  const out = resolve(values.out ?? join(ROOT, "installers/out"));
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(out, ".work-"));
  try {
    const signer = signerOf(process.env);
    const signers = signersOf(process.env);
    const product: Tree = buildsProduct ? productTree(ROOT, release, signer?.place) : new Map();
    refuseIncomplete(product);
    const { electron, runtime, downloads } = values;
    const pinned = { ...WINFSP, sha256: values["winfsp-sha256"] };
    const winfsp =
      values.winfsp === undefined ? undefined : await winfspNamed(values.winfsp, pinned, join(TOOLS, "drive-software"));
    const packing = { release, product, signer, work, out, electron, runtime, winfsp, downloads };
    const paths: string[] = [];
    for (const pack of kinds) paths.push(...((await pack?.(packing)) ?? []));
    for (const path of paths) if (!isAppFile(path)) signPackage(path, signers, release);
    if (paths.some((path) => path.endsWith(".deb"))) writeRepository(out, signers.gpg, Date.now());
    writeSums(paths, out, signers.gpg);
    writeFeed(paths, release, signer, out);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
