// The engines of other processors, under an emulator, and those of this one under sanitizers, by a program without Node
// (engines/engines.cc): each cuts and digests as the plain ones, and what they find is what the addon finds.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { buildContent } from "@runnel/shared/vectors/content.ts";
import { coreAddon } from "../src/host/core-addon.ts";

interface Build {
  name: string;
  compiler: string;
  options: readonly string[];
  /** What runs the program: the emulator, if one must. */
  runner: readonly string[];
  /** Sources of one processor end so. */
  processor: "x86" | "arm64";
  engines: { chunk: readonly string[]; digest: readonly string[] };
}

const native = fileURLToPath(new URL("..", import.meta.url));
const isX86 = process.arch === "x64";
const builds: readonly Build[] = [
  {
    name: "ARMv8 and NEON engines, under an emulator",
    compiler: "aarch64-linux-gnu-g++",
    options: ["-O2", "-static"],
    runner: ["qemu-aarch64-static"],
    processor: "arm64",
    engines: { chunk: ["neon", "portable", "roll"], digest: ["interleaved", "instructions", "portable"] },
  },
  {
    name: "this processor's engines, under sanitizers",
    compiler: "c++",
    options: ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    runner: [],
    processor: isX86 ? "x86" : "arm64",
    engines: { chunk: coreAddon().chunkEngines, digest: coreAddon().digestEngines },
  },
];

const isThere = (program: string): boolean => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;

const folder = mkdtempSync(join(tmpdir(), "runnel-engines-"));
const content = buildContent([
  { random: { seed: 1, length: 1_200_000 } },
  { zeros: 150_000 },
  { words: { seed: 2, length: 300_000 } },
  { repeat: { hex: "f110", length: 100_001 } },
]);

beforeAll(() => writeFileSync(join(folder, "content"), content));
afterAll(() => rmSync(folder, { recursive: true }));

function compile({ compiler, options, processor }: Build, to: string): void {
  const others = new RegExp(`_(none|${processor === "x86" ? "arm64" : "x86"})\\.cc$`);
  const sources = ["src/chunk", "src/digest"].flatMap((part) =>
    readdirSync(join(native, part))
      .filter((name) => name.endsWith(".cc") && !others.test(name))
      .map((name) => join(part, name)),
  );
  const all = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-I.", ...options, "test/engines/engines.cc", ...sources];
  execFileSync(compiler, [...all, "-o", to], { cwd: native, stdio: ["ignore", "inherit", "inherit"] });
}

/** Lengths and the digest of digests, as the program prints them. */
function expected(preset: 0 | 1 | 2): string {
  const stream = new (coreAddon().ChunkStream)("plain", preset);
  stream.update(content);
  const { lengths, digests } = stream.finish();
  const digest = createHash("sha256").update(new Uint8Array(digests)).digest("hex");
  return [...new Uint32Array(lengths), digest].join(" ");
}

for (const build of builds) {
  const canRun = [build.compiler, ...build.runner].every(isThere);
  (canRun ? test : test.skip)(`${build.name}, cut and digest alike`, () => {
    const program = join(folder, build.compiler);
    compile(build, program);
    const [command = program, ...args] = [...build.runner, program, join(folder, "content")];
    const lines = execFileSync(command, args, { encoding: "utf8" }).split("\n");
    expect(lines.map((line) => line.trim())).toEqual([
      build.engines.chunk.join(" "),
      build.engines.digest.join(" "),
      expected(0),
      expected(1),
      expected(2),
      "",
    ]);
  });
}
