// The addons as built for other systems: those of Windows run their tests under Wine, the drive's on its memory engine
// and, over a stand-in for WinFsp, as a drive of Windows; those of macOS and of other processors are looked at: what
// they are for, what they need, what they show.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { ensureZig } from "../../scripts/tools.mjs";
import { hasOwnNodeUnderWine } from "../../scripts/wine.mjs";
import { ABSENT_UNDER_OLDER_WINE, ABSENT_UNDER_WINE, faultsOf, NO_FAULTS } from "./plain/absent.ts";
import { runOnWindows } from "./plain/windows.ts";
import { buildMacDrive, fuseFunctions, MAC_FUSE } from "./support/mac-drive.ts";
import { type MachO, readMachO } from "./support/mach-o.ts";
import { buildWinFspStandIn } from "./support/winfsp-stand-in.ts";

const NATIVE = fileURLToPath(new URL("..", import.meta.url));
/** zig compiles a C++ library for each target when it is first asked for. */
const BUILD_MS = 60 * 60_000;
const WINDOWS_MS = 10 * 60_000;

/** Symbols that Node and SQLite look for in an addon. */
const SHOWN = ["napi_register_module_v1", "node_api_module_get_api_version_v1", "sqlite3_extension_init"];
const HEADERS = dirname(createRequire(import.meta.url).resolve("node-api-headers"));
const NODE_API = new Set(readFileSync(join(HEADERS, "def", "node_api.def"), "utf8").split(/\s+/));

/** Names in zig's list of what macOS has for every program, which the linker is given: C's, with an underscore. */
function macSystem(): Set<string> {
  const list = readFileSync(join(dirname(ensureZig()), "lib", "libc", "darwin", "libSystem.tbd"), "utf8");
  // The linker asks for it by itself.
  return new Set([...(list.match(/[\w$]+/g) ?? []), "_dyld_stub_binder"]);
}

/** Names that a file asks for and neither macOS nor Node has: the linker is told not to mind. */
function wantedElsewhere({ undefined: wanted }: MachO): string[] {
  const system = macSystem();
  return wanted.filter((name) => !system.has(`_${name}`) && !NODE_API.has(name));
}

const addon = (target: string, name = "core.node"): string => join(NATIVE, "prebuilds", target, name);

beforeAll(() => {
  execFileSync(process.execPath, [join(NATIVE, "build-all.mjs")], { stdio: "inherit" });
}, BUILD_MS);

describe.each(["x64", "arm64"])("core.node for macOS on %s", (processor) => {
  test("is of that processor, shows what is looked for and no more, and needs only the system and Node", () => {
    const file = readMachO(readFileSync(addon(`darwin-${processor}`)));
    expect(file.processor).toBe(processor);
    // Names with an underscore are C++'s and the linker's.
    expect(file.defined.filter((name) => !name.startsWith("_")).sort()).toEqual(SHOWN);
    expect(file.libraries.every((path) => path.startsWith("/usr/lib/libSystem"))).toBe(true);
    const fromNode = file.undefined.filter((name) => name.startsWith("napi_") || name.startsWith("node_api_"));
    expect(fromNode.filter((name) => !NODE_API.has(name))).toEqual([]);
    expect(fromNode.length).toBeGreaterThan(40);
    expect(file.undefined).toContain("getattrlistbulk");
    expect(wantedElsewhere(file)).toEqual([]);
  });
});

describe.each(["x64", "arm64"])("loopback.node for macOS on %s", (processor) => {
  test("is a drive's core of that processor that needs only the system and Node, not macFUSE", () => {
    const file = readMachO(readFileSync(addon(`darwin-${processor}`, "loopback.node")));
    expect(file.processor).toBe(processor);
    expect(file.defined.filter((name) => !name.startsWith("_")).sort()).toEqual(SHOWN.slice(0, 2).sort());
    expect(file.libraries.every((path) => path.startsWith("/usr/lib/libSystem"))).toBe(true);
    expect(wantedElsewhere(file)).toEqual([]);
  });
});

// macFUSE's headers and library come with its installer only. With its extensions left out, as they are (fuse_api.h),
// they declare what libfuse's own do; that its library has the same functions is not seen here.
describe.each(["x64", "arm64"] as const)("drive.node for macOS on %s", (processor) => {
  test(
    "is linked to libfuse3 where macFUSE has it, and needs of it what libfuse has, beside the system and Node",
    () => {
      const folder = mkdtempSync(join(tmpdir(), "runnel-macos-"));
      try {
        const file = readMachO(readFileSync(buildMacDrive(folder, processor)));
        expect(file.processor).toBe(processor);
        expect(file.defined.filter((name) => !name.startsWith("_")).sort()).toEqual(SHOWN.slice(0, 2).sort());
        expect(file.libraries.filter((path) => !path.startsWith("/usr/lib/libSystem"))).toEqual([MAC_FUSE]);
        const fuse = fuseFunctions();
        expect(wantedElsewhere(file).filter((name) => !fuse.includes(name))).toEqual([]);
        expect(wantedElsewhere(file)).toEqual(expect.arrayContaining(["fuse_session_new", "fuse_reply_attr"]));
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    BUILD_MS,
  );
});

describe.each([
  ["x64", "X86-64"],
  ["arm64", "AArch64"],
])("core.node for Linux on %s", (processor, machine) => {
  const readelf = (...options: string[]): string =>
    execFileSync("readelf", [...options, addon(`linux-${processor}`)], { encoding: "utf8" });

  test("is of that processor, shows what is looked for and no more, and needs glibc 2.28 and Node", () => {
    expect(readelf("-h")).toMatch(new RegExp(`Machine:.*${machine}`));
    const rows = readelf("-W", "--dyn-syms")
      .split("\n")
      .map((row) => row.trim().split(/\s+/));
    const named = rows.filter((row) => row.length >= 8 && /^\d+:$/.test(row[0] ?? ""));
    const nameOf = (row: string[]): string => (row[7] ?? "").replace(/@.*/, "");
    expect(
      named
        .filter((row) => row[6] !== "UND")
        .map(nameOf)
        .sort(),
    ).toEqual(SHOWN);
    const fromNode = named.map(nameOf).filter((name) => /^(napi|node_api)_/.test(name) && !SHOWN.includes(name));
    expect(fromNode.filter((name) => !NODE_API.has(name))).toEqual([]);
    expect(fromNode.length).toBeGreaterThan(40);
    const libraries = [...readelf("-d").matchAll(/NEEDED.*\[(.*)\]/g)].map(([, name]) => name ?? "");
    expect(libraries.filter((name) => !/^(lib(c|m|pthread|dl|rt)\.so\.\d|ld-linux)/.test(name))).toEqual([]);
    const minors = [...readelf("-V").matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
    expect(Math.max(...minors)).toBeLessThanOrEqual(28);
  });
});

const OF_WINFSP = ["drive-winfsp", "drive-winfsp-programs"];
const TESTS = [
  ...["chunk", "codec", "digest", "disk", "disk-windows", "drive-memory", ...OF_WINFSP, "executor", "rechunk"].map(
    (name) => `native/test/${name}.test.ts`,
  ),
  "native/test/system-boot.test.ts",
  ...["cbor", "frame", "messages"].map((name) => `shared/test/protocol/${name}.test.ts`),
];

test(
  "the addons for Windows pass golden vectors, properties and contracts under Wine, but for what is missing there",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "runnel-windows-"));
    const results = await runOnWindows(folder, TESTS, [buildWinFspStandIn()]).finally(() => {
      rmSync(folder, { recursive: true });
    });
    const absent = hasOwnNodeUnderWine() ? [] : ABSENT_UNDER_OLDER_WINE;
    expect(faultsOf(results, [...ABSENT_UNDER_WINE, ...absent])).toEqual(NO_FAULTS);
    expect(results.length).toBeGreaterThan(200);
  },
  WINDOWS_MS + BUILD_MS,
);
