// The C++ without Node under sanitizers; checks.long.test.ts looks for races and fuzzes it, as `npm run fuzz` does.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "@jest/globals";

const CHECK = join(import.meta.dirname, "..", "check.mjs");
/** A compiler may have to be installed first. */
const BUILD_MS = 10 * 60_000;

async function check(...args: string[]): Promise<string> {
  // Others' tests wait for deadlines beside this.
  const { stdout } = await promisify(execFile)("nice", ["-n", "19", process.execPath, CHECK, ...args]);
  return stdout;
}

test("the C++ tests pass under AddressSanitizer and UndefinedBehaviorSanitizer", () => check("address"), BUILD_MS);
