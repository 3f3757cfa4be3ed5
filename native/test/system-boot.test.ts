// The name of the system's boot, which tells what a killed process left from what a power cut left.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { systemBoot } from "../index.ts";
import { addonPath } from "../src/load.ts";

/** Linux's own name of it (random(4)). */
const BOOT_OF_LINUX = "/proc/sys/kernel/random/boot_id";

test("every process has the same name for the boot, and never none", () => {
  expect(systemBoot()).not.toBe("");
  const program = "process.stdout.write(require(process.argv[1]).systemBoot)";
  const elsewhere = execFileSync(process.execPath, ["-e", program, addonPath("core")], { encoding: "utf8" });
  expect(elsewhere).toBe(systemBoot());
});

(process.platform === "linux" ? test : test.skip)("it is the one that Linux gives it", () => {
  expect(systemBoot()).toBe(readFileSync(BOOT_OF_LINUX, "utf8").trim());
});
