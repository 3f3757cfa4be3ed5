// Builds the stand-in for WinFsp (test/winfsp): winfsp-x64.dll, the library that drive.node looks for, with a port for
// programs.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { alone, ensureWinFspHeaders, ensureZig, ZIG_CACHE } from "../../../scripts/tools.mjs";

const NATIVE = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = join(NATIVE, "test", "winfsp");

/** Path of the library. */
export function buildWinFspStandIn(): string {
  return alone("winfsp-stand-in", build);
}

function build(): string {
  const made = join(NATIVE, "prebuilds", ".build", "winfsp-stand-in");
  const library = join(made, "winfsp-x64.dll");
  mkdirSync(made, { recursive: true });
  const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: ZIG_CACHE, ZIG_LOCAL_CACHE_DIR: ZIG_CACHE };
  const sources = readdirSync(SOURCES).filter((name) => name.endsWith(".cc"));
  const args = [
    "c++",
    "-target",
    "x86_64-windows-gnu",
    "-O1",
    "-std=c++20",
    "-shared",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-isystem",
    ensureWinFspHeaders(),
    "-DNOMINMAX",
    ...sources.map((name) => join(SOURCES, name)),
    "-ladvapi32",
    "-lws2_32",
    "-o",
    `${library}.new`,
  ];
  execFileSync(ensureZig(), args, { env, stdio: ["ignore", "inherit", "inherit"] });
  // Another test may be reading it.
  renameSync(`${library}.new`, library);
  return library;
}
