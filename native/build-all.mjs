// Builds core.node for every system that an agent runs on, whatever this one is:
// prebuilds/PLATFORM-PROCESSOR/core.node, in Node's words, to be loaded where there is no compiler; for Windows
// drive.node too, which finds WinFsp at run time, and for macOS loopback.node, which needs no macFUSE. The compiler is
// zig, which scripts/tools.mjs fetches, as it does WinFsp's headers.
//     node build-all.mjs [TARGET…]
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ZIG_CACHE, alone, ensureDebian, ensureWinFspHeaders, ensureZig } from "../scripts/tools.mjs";
import { inputDigest, isConfiguredFor } from "./build-inputs.mjs";

const TARGETS = ["linux-x64", "linux-arm64", "win32-x64", "darwin-arm64", "darwin-x64"];

const here = dirname(realpathSync(fileURLToPath(import.meta.url)));
const prebuilds = join(here, "prebuilds");

function cmake(target, args) {
  const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: ZIG_CACHE, ZIG_LOCAL_CACHE_DIR: ZIG_CACHE };
  const done = spawnSync("cmake", args, { cwd: here, encoding: "utf8", env });
  if (done.error) throw new Error(`cmake could not be started: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`${done.stdout}${done.stderr}\n${target}: cmake failed; see above.`);
}

function build(target, zig) {
  const folder = join(prebuilds, target);
  const stampFile = join(folder, ".stamp");
  const isMac = target.startsWith("darwin");
  const made = ["core.node", ...(target.startsWith("win32") ? ["drive.node"] : isMac ? ["loopback.node"] : [])];
  const winfsp = target.startsWith("win32") ? ensureWinFspHeaders() : "";
  const wanted = inputDigest(here, `${target} ${zig} ${winfsp}`);
  const isThere = made.every((name) => existsSync(join(folder, name)));
  if (isThere && existsSync(stampFile) && readFileSync(stampFile, "utf8") === wanted) {
    return `${target}: up to date`;
  }
  const startMs = Date.now();
  const work = join(prebuilds, ".build", target);
  if (!isConfiguredFor(here, work)) rmSync(work, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  const toolchain = join(here, "cmake", "zig.cmake");
  const options = [`-DCMAKE_TOOLCHAIN_FILE=${toolchain}`, `-DRUNNEL_ZIG=${zig}`, `-DRUNNEL_TARGET=${target}`];
  if (isMac) options.push("-DRUNNEL_LOOPBACK=ON");
  if (winfsp !== "") options.push(`-DRUNNEL_WINFSP=${winfsp}`);
  cmake(target, ["-S", here, "-B", work, ...options]);
  cmake(target, ["--build", work, "--parallel", String(availableParallelism())]);
  mkdirSync(folder, { recursive: true });
  for (const name of made) copyFileSync(join(work, name), join(folder, name));
  writeFileSync(stampFile, wanted);
  return `${target}: built in ${((Date.now() - startMs) / 1000).toFixed(0)} s`;
}

const asked = process.argv.slice(2);
const unknown = asked.filter((target) => !TARGETS.includes(target));
try {
  if (unknown.length > 0) throw new Error(`no such target: ${unknown.join(", ")}. There are ${TARGETS.join(", ")}.`);
  ensureDebian("cmake", ["cmake", "make"]);
  const zig = ensureZig();
  for (const target of asked.length > 0 ? asked : TARGETS)
    console.log(`native: ${alone(`build-${target}`, () => build(target, zig))}`);
} catch (error) {
  console.error(`native: ${error.message}`);
  process.exitCode = 1;
}
