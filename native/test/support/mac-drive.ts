// Builds drive.node for macOS here, as build.mjs does on a Mac with macFUSE. In place of what macFUSE's installer
// brings there are libfuse's headers and a list of the functions in libfuse's library, both those of this system.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureZig, ZIG_CACHE } from "../../../scripts/tools.mjs";

const NATIVE = fileURLToPath(new URL("../..", import.meta.url));
const TARGETS = "[ arm64-macos, x86_64-macos ]";

/** Path at which macFUSE's installer puts its library, and the name that the library has for the linker. */
export const MAC_FUSE = "/usr/local/lib/libfuse3.4.dylib";

const variableOf = (name: string): string =>
  execFileSync("pkg-config", [`--variable=${name}`, "fuse3"], { encoding: "utf8" }).trim();

/** Names of the functions in this system's libfuse3. */
export function fuseFunctions(): string[] {
  const library = join(variableOf("libdir"), "libfuse3.so");
  const rows = execFileSync("nm", ["-D", "--defined-only", library], { encoding: "utf8" }).split("\n");
  return [...new Set(rows.flatMap((row) => / T (\w+)/.exec(row)?.[1] ?? []))].sort();
}

/** Writes what pkg-config, compiler and linker look for into an empty folder. */
function writeStub(folder: string): void {
  const symbols = fuseFunctions().map((name) => `_${name}`);
  const list = [
    "--- !tapi-tbd",
    "tbd-version: 4",
    `targets: ${TARGETS}`,
    `install-name: '${MAC_FUSE}'`,
    "exports:",
    `  - targets: ${TARGETS}`,
    `    symbols: [ ${symbols.join(", ")} ]`,
    "...",
  ];
  const wanted = [
    "Name: fuse3",
    "Description: a list of the functions of libfuse3",
    `Version: ${execFileSync("pkg-config", ["--modversion", "fuse3"], { encoding: "utf8" }).trim()}`,
    `Libs: -L${folder} -lfuse3`,
    `Cflags: -I${join(folder, "fuse3")}`,
  ];
  writeFileSync(join(folder, "libfuse3.tbd"), `${list.join("\n")}\n`);
  writeFileSync(join(folder, "fuse3.pc"), `${wanted.join("\n")}\n`);
  cpSync(join(variableOf("includedir"), "fuse3"), join(folder, "fuse3"), { recursive: true });
}

/** Builds it in an empty folder; resolves to the addon's path. @throws with what the compiler or linker said. */
export function buildMacDrive(folder: string, processor: "arm64" | "x64"): string {
  const [stub, work] = ["stub", "work"].map((name) => join(folder, name)) as [string, string];
  mkdirSync(stub);
  writeStub(stub);
  const env = {
    ...process.env,
    PKG_CONFIG_LIBDIR: stub,
    ZIG_GLOBAL_CACHE_DIR: ZIG_CACHE,
    ZIG_LOCAL_CACHE_DIR: ZIG_CACHE,
  };
  const options = [
    `-DCMAKE_TOOLCHAIN_FILE=${join(NATIVE, "cmake", "zig.cmake")}`,
    `-DRUNNEL_ZIG=${ensureZig()}`,
    `-DRUNNEL_TARGET=darwin-${processor}`,
    "-DRUNNEL_FUSE=ON",
  ];
  for (const args of [
    ["-S", NATIVE, "-B", work, ...options],
    ["--build", work, "--target", "drive_node", "--parallel", "2"],
  ])
    execFileSync("cmake", args, { env, stdio: ["ignore", "ignore", "inherit"] });
  return join(work, "drive.node");
}
