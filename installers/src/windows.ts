// Installers for Windows of the folder that scripts/bundle-windows.mjs makes: a set-up by NSIS and a package for
// msiexec by wixl, both for one user, without rights of an administrator.
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type PinnedFile, fetchPinned } from "../../scripts/pinned-file.ts";
import { runTool } from "./run.ts";
import { template } from "./system.ts";
import { type Release, filesIn, settle, sizeOf } from "./tree.ts";

/**
 * Key below this user's, and name there, of the value by which Windows starts Runnel at log-in (run-value.ts; nothing
 * is imported of a product that may be an older one).
 */
export const AT_LOGIN = { RUN: String.raw`Software\Microsoft\Windows\CurrentVersion\Run`, STARTS: "Runnel drives" };

const FOLDER = fileURLToPath(new URL("../windows", import.meta.url));

/** Stays the same in every version: by it msiexec knows what is installed. */
const UPGRADE = "6F0C5B0E-4A53-4E0B-9D0F-4B1B9B8F5A77";

/**
 * Makes runnel-VERSION-setup.exe.
 * @param winfsp path of WinFsp's own installer, which the set-up then brings as it is, and runs where WinFsp is not
 * @returns its path
 */
export function packSetup(folder: string, release: Release, work: string, out: string, winfsp?: string): string {
  settle(folder, release.epochSeconds);
  const files = filesIn(folder);
  const path = join(out, `runnel-${release.version}-setup.exe`);
  const words = {
    FOLDER: resolve(FOLDER),
    OUT: path,
    VERSION: release.version,
    COMPRESSOR: release.level === 0 ? "zlib" : "/SOLID lzma",
    SIZE: String(Math.ceil(sizeOf(folder) / 1024)),
    INSTALL: installLines(folder, files).join("\n"),
    REMOVE: removeLines(files).join("\n"),
    WINFSP: winfsp === undefined ? "" : template("winfsp.nsi", { MSI: winfsp }, FOLDER),
  };
  const script = join(work, "runnel.nsi");
  writeFileSync(script, template("runnel.nsi", words, FOLDER));
  const env = { SOURCE_DATE_EPOCH: String(release.epochSeconds) };
  runTool("makensis", ["-V2", "-WX", "-INPUTCHARSET", "UTF8", script], { env });
  rmSync(script);
  return path;
}

/** Stands in the place of a file's name for WinFsp's own installer from where its vendor has it. */
const FETCHED = "fetch";

/**
 * Path of WinFsp's own installer, which is fetched into `folder` where it is not named.
 * @throws Error when it is another file than `pinned`, or cannot be fetched
 */
export async function winfspNamed(named: string, pinned: PinnedFile, folder: string): Promise<string> {
  return named === FETCHED ? fetchPinned(pinned, folder) : checkedWinFsp(resolve(named), pinned.sha256);
}

/** Path of WinFsp's own installer. @throws Error when it is another file than the one that is meant */
export function checkedWinFsp(path: string, sha256: string): string {
  const is = createHash("sha256").update(readFileSync(path)).digest("hex");
  if (is === sha256) return path;
  throw new Error(`${path} is not the installer of WinFsp that is meant: its SHA-256 is ${is}, not ${sha256}.`);
}

/** Folders of the files, each before what is in it; "" is the one that is installed. */
function foldersOf(files: readonly string[]): string[] {
  const folders = new Set([""]);
  for (const file of files) {
    const names = file.split("/").slice(0, -1);
    for (let count = 1; count <= names.length; count++) folders.add(names.slice(0, count).join("/"));
  }
  return [...folders].toSorted();
}

const onWindows = (path: string): string => path.replaceAll("/", "\\");
const within = (path: string): string => (path === "" ? "$INSTDIR" : `$INSTDIR\\${onWindows(path)}`);
const folderOf = (path: string): string => (dirname(path) === "." ? "" : dirname(path));

function installLines(folder: string, files: readonly string[]): string[] {
  return foldersOf(files).flatMap((each) => [
    `    SetOutPath "${within(each)}"`,
    ...files.filter((file) => folderOf(file) === each).map((file) => `    File "${join(folder, file)}"`),
  ]);
}

function removeLines(files: readonly string[]): string[] {
  const folders = foldersOf(files).filter((each) => each !== "");
  return [
    ...files.map((file) => `    Delete "${within(file)}"`),
    ...folders.toReversed().map((each) => `    RMDir "${within(each)}"`),
  ];
}

/** Makes runnel-VERSION.msi. @returns its path */
export function packMsi(folder: string, release: Release, work: string, out: string): string {
  settle(folder, release.epochSeconds);
  const files = filesIn(folder);
  const path = join(out, `runnel-${release.version}.msi`);
  const words = {
    ...AT_LOGIN,
    VERSION: release.version,
    UPGRADE,
    PRODUCT: guid(`product ${release.version}`),
    PACKAGE: guid(`package ${release.version} ${digestOf(folder, files)}`),
    SHORTCUTS: guid("shortcuts"),
    TREE: treeLines(files, "").join("\n"),
    COMPONENTS: foldersOf(files)
      .map((each) => `      <ComponentRef Id="${id("c", each)}" />`)
      .join("\n"),
  };
  const source = join(work, "runnel.wxs");
  writeFileSync(source, template("runnel.wxs", words, FOLDER));
  rmSync(path, { force: true });
  const env = { SOURCE_DATE_EPOCH: String(release.epochSeconds) };
  // It finds files below the folder that it runs in only.
  runTool("wixl", ["--arch", "x64", "--output", path, source], { env, cwd: folder });
  rmSync(source);
  for (const query of [...ENDS_AGENT, ...FORGETS_START]) runTool("msibuild", [path, "-q", query], { env });
  settleSummary(path, words.PACKAGE, release.epochSeconds);
  return path;
}

/** Before a time, in the summary of a package ([MS-OLEPS] 2.15, VT_FILETIME). */
const TIME_FOLLOWS = Buffer.from([64, 0, 0, 0]);
/** Ticks of 100 ns from 1601 to 1970. */
const TICKS_BEFORE_1970 = 116_444_736_000_000_000n;

/** Puts the package's own number and time in place of the random number and the time of now that wixl takes. */
function settleSummary(path: string, number: string, epochSeconds: number): void {
  const [, taken = ""] = /UUID\): (\{.{36}\})/.exec(runTool("msiinfo", ["suminfo", path])) ?? [];
  const bytes = readFileSync(path);
  let at = bytes.lastIndexOf(taken);
  if (taken === "" || at === -1) throw new Error("wixl wrote no summary that can be read.");
  bytes.write(`{${number}}`, at, "latin1");
  // Made, and saved last.
  for (let count = 0; count < 2; count++) {
    at = bytes.indexOf(TIME_FOLLOWS, at + 1) + TIME_FOLLOWS.length;
    bytes.writeBigInt64LE(BigInt(epochSeconds) * 10_000_000n + TICKS_BEFORE_1970, at);
  }
  writeFileSync(path, bytes);
}

/** Type of an action that starts a program in a folder (34), and fails the installation when that fails. */
const STARTS_PROGRAM = 34;

/** Ends the agent before a version goes, also for a newer one, which has the same folder: wixl has no words for it. */
const STOP = '"[System64Folder]cmd.exe" /c ""[INSTALLDIR]runnel.cmd" stop > NUL 2>&1 < NUL"';
const ENDS_AGENT = [
  "INSERT INTO `CustomAction` (`Action`, `Type`, `Source`, `Target`) " +
    `VALUES ('EndAgent', ${STARTS_PROGRAM}, 'INSTALLDIR', '${STOP}')`,
  "INSERT INTO `InstallExecuteSequence` (`Action`, `Condition`, `Sequence`) " +
    "VALUES ('EndAgent', 'REMOVE=\"ALL\" OR OLDER', 1399)",
];

/** Type of an action that gives a property the value of a text (51), and of one that may fail (64). */
const [SETS_PROPERTY, MAY_FAIL] = [51, 64];

/**
 * Removes what Windows starts at log-in when that is this copy, once all is removed; a newer version goes on to be
 * started. A condition knows properties only.
 */
const FORGETS_START = [
  "INSERT INTO `CustomAction` (`Action`, `Type`, `Source`, `Target`) " +
    `VALUES ('FindOwnStart', ${SETS_PROPERTY}, 'OWNSTART', '"[INSTALLDIR]')`,
  "INSERT INTO `InstallExecuteSequence` (`Action`, `Condition`, `Sequence`) VALUES ('FindOwnStart', 'STARTS', 1398)",
  "INSERT INTO `CustomAction` (`Action`, `Type`, `Source`, `Target`) " +
    `VALUES ('ForgetStart', ${STARTS_PROGRAM + MAY_FAIL}, 'TARGETDIR', ` +
    `'"[System64Folder]reg.exe" delete "HKCU\\${AT_LOGIN.RUN}" /v "${AT_LOGIN.STARTS}" /f')`,
  "INSERT INTO `InstallExecuteSequence` (`Action`, `Condition`, `Sequence`) VALUES ('ForgetStart', " +
    "'REMOVE=\"ALL\" AND NOT UPGRADINGPRODUCTCODE AND STARTS ~<< OWNSTART', 6601)",
];

/** Lines of a folder: it is a component, since those of a user are known by a value in the registry. */
function treeLines(files: readonly string[], folder: string): string[] {
  const name = folder === "" ? "Runnel" : (folder.split("/").at(-1) ?? "");
  const own = files.filter((file) => folderOf(file) === folder);
  const below = foldersOf(files).filter((each) => each !== "" && folderOf(each) === folder);
  const key = `Key="Software\\Runnel\\Folders" Name="${id("c", folder)}"`;
  return [
    `<Directory Id="${folder === "" ? "INSTALLDIR" : id("d", folder)}" Name="${escaped(name)}">`,
    `<Component Id="${id("c", folder)}" Guid="${guid(`folder ${folder}`)}" Win64="yes">`,
    ...own.map((file) => `<File Id="${id("f", file)}" Source="${escaped(file)}" />`),
    `<RemoveFolder Id="${id("r", folder)}" On="uninstall" />`,
    `<RegistryValue Root="HKCU" ${key} Type="integer" Value="1" KeyPath="yes" />`,
    "</Component>",
    ...below.flatMap((each) => treeLines(files, each)),
    "</Directory>",
  ];
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

function digestOf(folder: string, files: readonly string[]): string {
  const digest = createHash("sha256");
  for (const file of files) digest.update(`${file}\n`).update(readFileSync(join(folder, file)));
  return digest.digest("hex");
}

/** Names of rows are short and have no other characters. */
function id(kind: string, path: string): string {
  return `${kind}${createHash("sha256").update(path).digest("hex").slice(0, 24)}`;
}

/** The same number for the same words, wherever it is packed (RFC 9562, version 8). */
function guid(words: string): string {
  const hex = createHash("sha256").update(`runnel ${words}`).digest("hex").slice(0, 32).toUpperCase();
  const parts = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hex);
  const [, a, b, c, d, e] = parts ?? [];
  return `${a}-${b}-8${c}-8${d}-${e}`;
}
