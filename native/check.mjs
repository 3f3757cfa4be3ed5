// Builds and runs what tests the C++ without Node (test/cpp), with clang:
//     node check.mjs address              the tests under AddressSanitizer and UndefinedBehaviorSanitizer
//     node check.mjs thread               what has threads, under ThreadSanitizer
//     node check.mjs fuzz [SECONDS] [TARGET…]   fuzz targets (chunker, codec, recipe, overlay), 600 s each unless told
// RUNNEL_SOURCE names another folder than src, with a fault in it; RUNNEL_CHECKS where to build.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureClang } from "../scripts/tools.mjs";

const FUZZ_TARGETS = ["chunker", "codec", "recipe", "overlay"];
const FUZZ_SECONDS = 600;
const INPUT_BYTES_MAX = { recipe: 78, other: 4096 };
/** An input that takes longer is a finding. */
const INPUT_SECONDS_MAX = 20;

const here = dirname(fileURLToPath(import.meta.url));
const source = process.env.RUNNEL_SOURCE ?? join(here, "src");
const zstd = ["node_modules/zstd-napi", "../node_modules/zstd-napi"]
  .map((path) => join(here, path, "deps", "zstd", "lib"))
  .find((path) => existsSync(path));

function run(command, args) {
  const done = spawnSync(command, args, { encoding: "utf8" });
  if (done.error) throw new Error(`${command} could not be started: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`${done.stdout}${done.stderr}\n${command} failed; see above.`);
}

/** Configures and builds; the folder with the programs. */
function build(sanitizer, targets) {
  const library = join(here, "build", "librunnel_zstd.a");
  if (zstd === undefined || !existsSync(library)) throw new Error("the addons are not built: run `npm run setup`.");
  const folder = join(process.env.RUNNEL_CHECKS ?? join(here, "build"), `checks-${sanitizer.split(",")[0]}`);
  const options = [
    `-DCMAKE_CXX_COMPILER=${ensureClang()}`,
    `-DRUNNEL_SANITIZE=${sanitizer}`,
    `-DRUNNEL_SOURCE=${source}`,
    `-DRUNNEL_ZSTD=${library}`,
    `-DRUNNEL_ZSTD_HEADERS=${zstd}`,
    `-DRUNNEL_FUZZ=${sanitizer === "thread" ? "OFF" : "ON"}`,
  ];
  run("cmake", ["-S", join(here, "test", "cpp"), "-B", folder, ...options]);
  run("cmake", ["--build", folder, "--parallel", String(availableParallelism()), "--target", ...targets]);
  return folder;
}

/** Runs a program; what it said when it failed, else nothing. */
function outcome(program, args, folder) {
  return new Promise((resolve) => {
    const env = { ...process.env, TMPDIR: folder, UBSAN_OPTIONS: "print_stacktrace=1" };
    const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(code === 0 ? "" : `${said}\nended with ${code ?? signal}`));
  });
}

async function check(sanitizer) {
  const folder = build(sanitizer, ["checks"]);
  const work = mkdtempSync(join(tmpdir(), "runnel-checks-"));
  const failure = await outcome(join(folder, "checks"), [], work);
  rmSync(work, { recursive: true });
  if (failure !== "") throw new Error(failure);
}

async function fuzzOne(folder, target, seconds) {
  const work = mkdtempSync(join(tmpdir(), `runnel-fuzz-${target}-`));
  const bytes = INPUT_BYTES_MAX[target] ?? INPUT_BYTES_MAX.other;
  const limits = [`-max_total_time=${seconds}`, `-max_len=${bytes}`, `-timeout=${INPUT_SECONDS_MAX}`];
  // Few bytes say all: they need not grow slowly.
  if (target in INPUT_BYTES_MAX) limits.push("-len_control=0");
  const failure = await outcome(join(folder, `fuzz_${target}`), [...limits, "-print_final_stats=1"], work);
  rmSync(work, { recursive: true });
  return failure === "" ? "" : `${failure}\nThe fuzz target ${target} failed; its input is told above.`;
}

async function fuzz([seconds = String(FUZZ_SECONDS), ...asked]) {
  const targets = asked.length > 0 ? asked : FUZZ_TARGETS;
  const folder = build(
    "address,undefined",
    targets.map((target) => `fuzz_${target}`),
  );
  const failures = await Promise.all(targets.map((target) => fuzzOne(folder, target, seconds)));
  const found = failures.filter((failure) => failure !== "");
  if (found.length > 0) throw new Error(found.join("\n"));
  console.log(`native: ${targets.join(", ")} fuzzed for ${seconds} s each`);
}

const [what, ...rest] = process.argv.slice(2);
try {
  if (what === "address") await check("address,undefined");
  else if (what === "thread") await check("thread");
  else if (what === "fuzz") await fuzz(rest);
  else throw new Error("say what to check: address, thread or fuzz");
} catch (error) {
  console.error(`native: ${error.message}`);
  process.exitCode = 1;
}
