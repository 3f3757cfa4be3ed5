// Builds core.node and drive.node with CMake when a source changed since the last build; says in one line what it did.
// Depends on nothing and runs under Node 20, since set-up calls it before the pinned Node is known to be there.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inputDigest, isConfiguredFor } from "./build-inputs.mjs";

const here = dirname(realpathSync(fileURLToPath(import.meta.url)));
const buildFolder = join(here, "build");
const stampFile = join(buildFolder, ".stamp");

/** Ends the program with a sentence that says what to do. */
function fail(sentence, output = "") {
  if (output) process.stderr.write(`${output}\n`);
  process.stderr.write(`native: ${sentence}\n`);
  process.exit(1);
}

const succeeds = (command, ...args) => spawnSync(command, args, { stdio: "ignore" }).status === 0;

function digestOfInputs() {
  try {
    return inputDigest(here, `${process.platform} ${process.arch} fuse ${hasFuse}`);
  } catch (error) {
    return fail(error.message);
  }
}

function cmake(what, args) {
  const done = spawnSync("cmake", args, { cwd: here, encoding: "utf8" });
  if (done.error) fail(`cmake could not be started (${done.error.message}).`);
  if (done.status !== 0) fail(`${what} failed; the output above says why.`, `${done.stdout}${done.stderr}`);
}

/** A folder that came with a copy of the repository is thrown away. */
function isConfigured() {
  if (isConfiguredFor(here, buildFolder)) return true;
  rmSync(buildFolder, { recursive: true });
  mkdirSync(buildFolder);
  return false;
}

/**
 * Makes do with what build-all.mjs made for this system, unless something older was built here; else ends with the
 * sentence.
 */
function doWithout(sentence) {
  const prebuilt = join("prebuilds", `${process.platform}-${process.arch}`, "core.node");
  if (!existsSync(join(here, prebuilt)) || existsSync(join(buildFolder, "core.node"))) fail(sentence);
  console.log(`native: nothing can be compiled here; ${prebuilt} is used`);
  process.exit(0);
}

function compile() {
  if (!succeeds("cmake", "--version")) {
    doWithout("cmake is missing: install it (Debian: apt-get install cmake g++ make), then try again.");
  }
  const compiler = process.env.CXX ?? ["c++", "g++", "clang++"].find((name) => succeeds(name, "--version"));
  if (compiler === undefined || !succeeds(compiler, "--version")) {
    doWithout("a C++20 compiler is missing: install one (Debian: apt-get install g++), then try again.");
  }
  const generator = succeeds("ninja", "--version") ? ["-G", "Ninja"] : [];
  cmake("configuring", ["-S", here, "-B", buildFolder, ...(isConfigured() ? [] : generator)]);
  cmake("compiling", ["--build", buildFolder, "--parallel", String(availableParallelism())]);
}

const hasFuse = succeeds("pkg-config", "--exists", "fuse3 >= 3.14");
const wanted = digestOfInputs();
const built = () => ["core.node", "drive.node", "loopback.node"].filter((name) => existsSync(join(buildFolder, name)));
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
