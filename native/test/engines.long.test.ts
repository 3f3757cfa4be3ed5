// The engines of ARM processors, under an emulator: the C++ tests of chunker and digests, cross-compiled (Debian:
// g++-aarch64-linux-gnu, qemu-user-static, doctest-dev).
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";

const COMPILER = "aarch64-linux-gnu-g++";
const EMULATOR = "qemu-aarch64-static";
const ENGINES = {
  RUNNEL_CHUNK_ENGINES: "neon portable roll",
  RUNNEL_DIGEST_ENGINES: "interleaved instructions portable",
};

const native = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "runnel-engines-"));
afterAll(() => rmSync(folder, { recursive: true }));

const isThere = (program: string): boolean => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;

function compile(program: string): void {
  const sources = ["src/chunk", "src/chunk/scan", "src/digest"].flatMap((part) =>
    readdirSync(join(native, part))
      .filter((name) => name.endsWith(".cc") && !/_(none|x86)\.cc$/.test(name))
      .map((name) => join(part, name)),
  );
  const tests = ["main.cc", "chunk_test.cc", "digest_test.cc"].map((name) => join("test/cpp", name));
  // doctest is one header for all processors.
  const options = [
    "-std=c++20",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-static",
    "-I.",
    "-Itest/cpp",
    "-idirafter/usr/include",
  ];
  execFileSync(COMPILER, [...options, ...tests, ...sources, "-o", program], { cwd: native, stdio: "inherit" });
}

(isThere(COMPILER) && isThere(EMULATOR) ? test : test.skip)(
  "NEON and ARMv8 engines cut and digest as plain C++ does",
  () => {
    const program = join(folder, "checks");
    compile(program);
    const said = execFileSync(EMULATOR, [program], { encoding: "utf8", env: { ...process.env, ...ENGINES } });
    expect(said).toContain("Status: SUCCESS!");
  },
);
