// The C++ without Node under sanitizers, and its fuzz targets for a short time; checks.long.test.ts and `npm run fuzz`
// go on for longer.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const CHECK = join(import.meta.dirname, "..", "check.mjs");
/** A compiler may have to be installed first. */
const BUILD_MS = 10 * 60_000;
const FUZZ_SECONDS = 1;
const FUZZ_DEADLINE_MS = BUILD_MS + 2 * 1000 * FUZZ_SECONDS;

async function check(...args: string[]): Promise<string> {
  // Others' tests wait for deadlines beside this.
  const { stdout } = await promisify(execFile)("nice", ["-n", "19", process.execPath, CHECK, ...args]);
  return stdout;
}

test("the C++ tests pass under AddressSanitizer and UndefinedBehaviorSanitizer", () => check("address"), BUILD_MS);

test("what has threads has no race under ThreadSanitizer", () => check("thread"), BUILD_MS);

test(
  "fuzzing finds nothing in chunker, codec, recipe and overlay",
  async () => {
    expect(await check("fuzz", String(FUZZ_SECONDS))).toContain("chunker, codec, recipe, overlay fuzzed");
  },
  FUZZ_DEADLINE_MS,
);
