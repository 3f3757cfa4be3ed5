// Builds the stand-in for WinFsp (test/winfsp): winfsp-x64.dll, which is the library that drive.node looks for and at
// the same time an addon, through which a test plays the programs.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { alone, ensureWinFspHeaders, ensureZig, ZIG_CACHE } from "../../../scripts/tools.mjs";

const NATIVE = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = join(NATIVE, "test", "winfsp");
const packageFolder = (name: string): string => dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));

/** Path of the library. What build-all.mjs makes for Windows has to be there. */
export function buildWinFspStandIn(): string {
  return alone("winfsp-stand-in", build);
}

function build(): string {
  const made = join(NATIVE, "prebuilds", ".build", "winfsp-stand-in");
  const library = join(made, "winfsp-x64.dll");
  mkdirSync(made, { recursive: true });
  const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: ZIG_CACHE, ZIG_LOCAL_CACHE_DIR: ZIG_CACHE };
  const run = (args: readonly string[]): void => {
    execFileSync(ensureZig(), args, { env, stdio: ["ignore", "inherit", "inherit"] });
  };
  const target = ["-target", "x86_64-windows-gnu", "-O1"];
  const nodeFunctions = join(made, "node_functions.o");
  run([
    "cc",
    ...target,
    "-c",
    join(NATIVE, "prebuilds", ".build", "win32-x64", "node_functions.c"),
    "-o",
    nodeFunctions,
  ]);
  const headers = [
    ensureWinFspHeaders(),
    packageFolder("node-addon-api"),
    join(packageFolder("node-api-headers"), "include"),
  ];
  const defines = ["NAPI_VERSION=9", "NODE_ADDON_API_CPP_EXCEPTIONS", "NAPI_EXTERN=__declspec(dllimport)", "NOMINMAX"];
  const sources = readdirSync(SOURCES).filter((name) => name.endsWith(".cc"));
  run([
    "c++",
    ...target,
    "-std=c++20",
    "-shared",
    "-Wall",
    "-Wextra",
    "-Werror",
    ...headers.flatMap((folder) => ["-isystem", folder]),
    ...defines.map((define) => `-D${define}`),
    ...sources.map((name) => join(SOURCES, name)),
    nodeFunctions,
    "-ladvapi32",
    "-o",
    `${library}.new`,
  ]);
  // Another test may be reading it.
  renameSync(`${library}.new`, library);
  return library;
}
