// Checks how the C++ is written: clang-format, then clang-tidy (.clang-format, .clang-tidy) over what compiles on this
// system.
//     node lint.mjs [--fix]      --fix: lets clang-format write what it would have
// clang-tidy reads many sources as one, which takes a tenth of the time, and nothing again that has passed before:
// .setup/cpp-passed holds digests of what did. Where the programs are missing the check says so and passes; under CI it
// fails.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const native = dirname(fileURLToPath(import.meta.url));
const root = dirname(native);
const setup = join(root, ".setup");
const passedFile = join(setup, "cpp-passed");
const packages = [
  "node-addon-api",
  "node-api-headers/include",
  "zstd-napi/deps/zstd/lib",
  "better-sqlite3/deps/sqlite3",
];

/**
 * Folders of src whose sources are read as one. Engines that differ by processor have equal names: only the compiler
 * reads them.
 */
const UNITS = {
  drive:
    "drive drive/core drive/tables drive/content drive/threads drive/memory drive/system/posix drive/system/linux drive/fuse drive/fuse/linux bridge/drive",
  core: "bridge/core bridge/disk pool file file/posix file/linux pages",
  compute: "bridge/compute chunk codec",
};

function run(command, args) {
  const done = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  return { isThere: done.error === undefined, isGood: done.status === 0, said: `${done.stdout}${done.stderr}` };
}

function fail(said) {
  console.error(said.trim());
  process.exit(1);
}

/** Ends the check where a program is missing. */
function skip(program) {
  const sentence = `native: ${program} is missing, so the C++ is not checked (Debian: apt-get install clang-format clang-tidy).`;
  if (process.env.CI) fail(sentence);
  console.log(sentence);
  process.exit(0);
}

function sourcesOf(folders) {
  return folders.split(" ").flatMap((folder) => {
    const names = readdirSync(join(native, "src", folder)).filter((name) => name.endsWith(".cc"));
    return names.map((name) => join(native, "src", folder, name));
  });
}

function tidy(name, sources, flags) {
  const unit = join(setup, `${name}.cc`);
  writeFileSync(unit, sources.map((source) => `#include "${source}"\n`).join(""));
  return run("clang-tidy", ["--quiet", `--config-file=${join(root, ".clang-tidy")}`, unit, "--", ...flags]);
}

const files = run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.cc", "*.h", "*.c"])
  .said.split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));
const formatted = run("clang-format", [
  ...(process.argv.includes("--fix") ? ["-i"] : ["--dry-run", "-Werror"]),
  ...files,
]);
if (!formatted.isThere) skip("clang-format");
if (!formatted.isGood) fail(`${formatted.said}\nnative: not formatted; run \`npm run format\`.`);

const fuse = run("pkg-config", ["--cflags", "fuse3"]);
if (process.platform === "linux" && fuse.isGood && !process.argv.includes("--fix")) {
  const version = run("clang-tidy", ["--version"]);
  if (!version.isThere) skip("clang-tidy");
  const flags = [
    "-std=c++20",
    `-I${native}`,
    `-I${join(native, "src/drive/fuse/linux")}`,
    ...packages.flatMap((path) => ["-isystem", join(root, "node_modules", path)]),
    ...fuse.said.trim().split(/\s+/),
    "-DNAPI_VERSION=9",
    "-DNODE_ADDON_API_CPP_EXCEPTIONS_ALL",
    "-D_FILE_OFFSET_BITS=64",
  ];
  const headers = files
    .filter((file) => file.startsWith("native/src/") && file.endsWith(".h"))
    .map((file) => join(root, file));
  mkdirSync(setup, { recursive: true });
  const passed = existsSync(passedFile) ? readFileSync(passedFile, "utf8").split("\n") : [];
  const now = [];
  for (const [name, folders] of Object.entries(UNITS)) {
    const sources = sourcesOf(folders);
    const digest = createHash("sha256").update(version.said).update(flags.join(" "));
    for (const file of [join(root, ".clang-tidy"), ...headers, ...sources]) {
      digest.update(`${relative(root, file)}\n`).update(readFileSync(file));
    }
    const stamp = digest.digest("hex");
    if (!passed.includes(stamp)) {
      const { isGood, said } = tidy(name, sources, flags);
      if (!isGood) fail(said);
    }
    now.push(stamp);
  }
  writeFileSync(passedFile, now.join("\n"));
}
