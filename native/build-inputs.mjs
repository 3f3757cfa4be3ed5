// Names what decides the results of a build: sources, pinned packages, and words about the machine. Depends on nothing.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const PACKAGES = ["better-sqlite3", "node-addon-api", "node-api-headers", "zstd-napi"];
const IS_SOURCE = /(\.(c|cc|h|cmake|in|map)|^CMakeLists\.txt)$/;

/** @throws Error when the package is not installed. */
function packageVersion(native, name) {
  for (const folder of [native, dirname(native)]) {
    const file = join(folder, "node_modules", name, "package.json");
    if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")).version;
  }
  throw new Error(`the npm package ${name} is missing: run \`npm ci\` in the repository's root.`);
}

function sources(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return IS_SOURCE.test(entry.name) ? [path] : [];
  });
}

/** A digest of everything that decides what a build in the folder `native` makes; `circumstances` is what else does. */
export function inputDigest(native, circumstances) {
  const digest = createHash("sha256");
  digest.update(`${circumstances}\n`);
  for (const name of PACKAGES) digest.update(`${name} ${packageVersion(native, name)}\n`);
  const folders = ["src", "cmake"].flatMap((name) => sources(join(native, name)));
  for (const path of [join(native, "CMakeLists.txt"), ...folders].sort()) {
    const bytes = readFileSync(path);
    digest.update(`${relative(native, path)} ${bytes.length}\n`).update(bytes);
  }
  return digest.digest("hex");
}

/** True when CMake's cache in `buildFolder` is of the folder `native`, not of another one that it was copied from. */
export function isConfiguredFor(native, buildFolder) {
  const cache = join(buildFolder, "CMakeCache.txt");
  return existsSync(cache) && readFileSync(cache, "utf8").includes(`CMAKE_HOME_DIRECTORY:INTERNAL=${native}\n`);
}
