// Builds core.node and drive.node with CMake when a source changed since the last build; says in one line what it did.
// Depends on nothing and runs under Node 20, since set-up calls it before the pinned Node is known to be there.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(realpathSync(fileURLToPath(import.meta.url)));
const buildFolder = join(here, "build");
const stampFile = join(buildFolder, ".stamp");
const packages = ["better-sqlite3", "node-addon-api", "node-api-headers", "zstd-napi"];
const isSource = /(\.(c|cc|h)|^CMakeLists\.txt)$/;

/** Ends the program with a sentence that says what to do. */
function fail(sentence, output = "") {
  if (output) process.stderr.write(`${output}\n`);
  process.stderr.write(`native: ${sentence}\n`);
  process.exit(1);
}

const succeeds = (command, ...args) => spawnSync(command, args, { stdio: "ignore" }).status === 0;

function packageVersion(name) {
  for (const folder of [here, dirname(here)]) {
    const file = join(folder, "node_modules", name, "package.json");
    if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")).version;
  }
  return fail(`the npm package ${name} is missing: run \`npm ci\` in the repository's root.`);
}

function sources(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return isSource.test(entry.name) ? [path] : [];
  });
}

/** A digest of everything that decides what the build makes. */
function inputDigest(hasFuse) {
  const digest = createHash("sha256");
  digest.update(`${process.platform} ${process.arch} fuse ${hasFuse}\n`);
  for (const name of packages) digest.update(`${name} ${packageVersion(name)}\n`);
  for (const path of [join(here, "CMakeLists.txt"), ...sources(join(here, "src"))].sort()) {
    const bytes = readFileSync(path);
    digest.update(`${relative(here, path)} ${bytes.length}\n`).update(bytes);
  }
  return digest.digest("hex");
}

function cmake(what, args) {
  const done = spawnSync("cmake", args, { cwd: here, encoding: "utf8" });
  if (done.error) fail(`cmake could not be started (${done.error.message}).`);
  if (done.status !== 0) fail(`${what} failed; the output above says why.`, `${done.stdout}${done.stderr}`);
}

/** True when CMake's cache is of this folder; one that came with a copy of the repository is thrown away. */
function isConfigured() {
  const cache = join(buildFolder, "CMakeCache.txt");
  if (!existsSync(cache)) return false;
  if (readFileSync(cache, "utf8").includes(`CMAKE_HOME_DIRECTORY:INTERNAL=${here}\n`)) return true;
  rmSync(buildFolder, { recursive: true });
  mkdirSync(buildFolder);
  return false;
}

function compile() {
  if (!succeeds("cmake", "--version")) {
    fail("cmake is missing: install it (Debian: apt-get install cmake g++ make), then try again.");
  }
  const compiler = process.env.CXX ?? ["c++", "g++", "clang++"].find((name) => succeeds(name, "--version"));
  if (compiler === undefined || !succeeds(compiler, "--version")) {
    fail("a C++20 compiler is missing: install one (Debian: apt-get install g++), then try again.");
  }
  const generator = succeeds("ninja", "--version") ? ["-G", "Ninja"] : [];
  cmake("configuring", ["-S", here, "-B", buildFolder, ...(isConfigured() ? [] : generator)]);
  cmake("compiling", ["--build", buildFolder, "--parallel", String(availableParallelism())]);
}

const hasFuse = succeeds("pkg-config", "--exists", "fuse3 >= 3.14");
const wanted = inputDigest(hasFuse);
const built = () => ["core.node", "drive.node"].filter((name) => existsSync(join(buildFolder, name)));
const stamp = existsSync(stampFile) ? readFileSync(stampFile, "utf8").trim() : "";
if (stamp === wanted && built().includes("core.node")) {
  console.log(`native: ${built().join(" and ")} up to date`);
} else {
  const startMs = Date.now();
  mkdirSync(buildFolder, { recursive: true });
  rmSync(stampFile, { force: true });
  compile();
  writeFileSync(stampFile, `${wanted}\n`);
  console.log(`native: ${built().join(" and ")} built in ${((Date.now() - startMs) / 1000).toFixed(1)} s`);
}
