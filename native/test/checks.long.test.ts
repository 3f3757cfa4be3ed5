// The C++ without Node under sanitizers, and fuzzed for a minute. The checks notice faults: each is put into a copy of
// the sources, and found.
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";

const NATIVE = join(import.meta.dirname, "..");
const SECONDS = "240";
const DEADLINE_MS = 30 * 60_000;

interface Fault {
  what: string;
  file: string;
  from: string;
  to: string;
  /** Arguments of check.mjs. */
  check: readonly string[];
  /** Part of what it then says. */
  told: RegExp;
}

const FAULTS: readonly Fault[] = [
  {
    what: "a chunk that may be a byte too long",
    file: "chunk/chunk_stream.cc",
    from: "position + preset_.bytes_max - open_bytes",
    to: "position + preset_.bytes_max + 1 - open_bytes",
    check: ["fuzz", SECONDS, "chunker"],
    told: /deadly signal|AddressSanitizer/,
  },
  {
    what: "a prefix that is not there when a run is unfolded",
    file: "codec/zstd_codec.cc",
    from: "if (prefix.length != 0) ZSTD_DCtx_refPrefix",
    to: "if (prefix.length > 4096) ZSTD_DCtx_refPrefix",
    check: ["fuzz", SECONDS, "codec"],
    told: /deadly signal/,
  },
  {
    what: "an edit whose last byte is forgotten",
    file: "chunk/rechunk.cc",
    from: "std::min(range.length, size_ - range.offset)",
    to: "std::min(range.length - 1, size_ - range.offset)",
    check: ["fuzz", SECONDS, "recipe"],
    told: /deadly signal/,
  },
  {
    what: "a cut that leaves what was written behind it in a layer that is being committed",
    file: "drive/content/open_files.cc",
    from: "      layer->extents.Cut(size_bytes);\n",
    to: "",
    check: ["fuzz", SECONDS, "overlay"],
    told: /Not so: /,
  },
  {
    what: "a count that two threads change without a lock",
    file: "drive/tables/request_table.cc",
    from: "size_t RequestTable::WaiterCount() {\n  std::lock_guard lock(mutex_);",
    to: "size_t RequestTable::WaiterCount() {",
    check: ["thread"],
    told: /ThreadSanitizer: data race/,
  },
];

test(
  "the C++ tests pass under AddressSanitizer and UndefinedBehaviorSanitizer",
  () => promisify(execFile)(process.execPath, [join(NATIVE, "check.mjs"), "address"]),
  DEADLINE_MS,
);

test(
  "what has threads has no race under ThreadSanitizer",
  () => promisify(execFile)(process.execPath, [join(NATIVE, "check.mjs"), "thread"]),
  DEADLINE_MS,
);

test(
  "fuzzing for a minute finds nothing in chunker, codec, recipe and overlay",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "runnel-fuzz-"));
    const env = { ...process.env, RUNNEL_CHECKS: folder };
    const { stdout } = await promisify(execFile)(process.execPath, [join(NATIVE, "check.mjs"), "fuzz", "60"], { env });
    rmSync(folder, { recursive: true });
    expect(stdout).toContain("chunker, codec, recipe, overlay fuzzed for 60 s each");
  },
  DEADLINE_MS,
);

describe("a fault in the C++ is found", () => {
  test.each(FAULTS)(
    "$what",
    async ({ file, from, to, check, told }) => {
      const folder = mkdtempSync(join(tmpdir(), "runnel-fault-"));
      const source = join(folder, "src");
      cpSync(join(NATIVE, "src"), source, { recursive: true });
      const text = readFileSync(join(source, file), "utf8");
      expect(text).toContain(from);
      writeFileSync(join(source, file), text.replace(from, to));
      const env = { ...process.env, RUNNEL_SOURCE: source, RUNNEL_CHECKS: folder };
      const run = promisify(execFile)(process.execPath, [join(NATIVE, "check.mjs"), ...check], { env });
      const said = await run.then(
        () => "nothing",
        (error: { stderr: string }) => error.stderr,
      );
      rmSync(folder, { recursive: true });
      expect(said).toMatch(told);
    },
    DEADLINE_MS,
  );
});
