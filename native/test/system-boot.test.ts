// The name of the system's boot, which tells what a killed process left from what a power cut left.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemBoot } from "../index.ts";
import { addonPath } from "../src/load.ts";
import { OWN_NAMESPACE } from "./support/fuse-rig.ts";

/** Linux's own name of it (random(4)). */
const BOOT_OF_LINUX = "/proc/sys/kernel/random/boot_id";
const UUID = /^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/i;
/** Names as each system makes them; Wine, which counts no boots, tells when it was. */
const FORMS: Partial<Record<NodeJS.Platform, RegExp>> = {
  linux: UUID,
  darwin: UUID,
  win32: /^boot [1-9]\d*$|^booted at [1-9]\d*$/,
};
const PROGRAM = "process.stdout.write(require(process.argv[1]).systemBoot)";
const DEADLINE_MS = 20_000;

test("every process has the same name for the boot, and never none", () => {
  expect(systemBoot()).not.toBe("");
  const elsewhere = execFileSync(process.execPath, ["-e", PROGRAM, addonPath("core")], { encoding: "utf8" });
  expect(elsewhere).toBe(systemBoot());
});

test("it is the name that this system makes, and stays so, in each thread and whatever the environment", async () => {
  const boot = systemBoot();
  expect(boot).toMatch(FORMS[process.platform] ?? /./);
  const addon = JSON.stringify(addonPath("core"));
  const script = `require("worker_threads").parentPort.postMessage(require(${addon}).systemBoot)`;
  const ofThread = await new Promise((done, fail) => {
    new Worker(script, { eval: true }).once("message", done).once("error", fail);
  });
  expect(ofThread).toBe(boot);
  const options = { encoding: "utf8", env: { TZ: "Asia/Kathmandu", LC_ALL: "C" }, cwd: tmpdir() } as const;
  expect(execFileSync(process.execPath, ["-e", PROGRAM, addonPath("core")], options)).toBe(boot);
  expect(systemBoot()).toBe(boot);
});

(process.platform === "linux" ? test : test.skip)("it is the one that Linux gives it", () => {
  expect(systemBoot()).toBe(readFileSync(BOOT_OF_LINUX, "utf8").trim());
});

const canHide = process.platform === "linux" && OWN_NAMESPACE.length > 0;
(canHide ? describe : describe.skip)("under a Linux that says something else (as root)", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "runnel-boot-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ["another boot", "11111111-2222-3333-4444-555555555555\n", "11111111-2222-3333-4444-555555555555"],
    ["nothing", "", ""],
    ["a line break", "\n", ""],
    ["far more than a name", "x".repeat(5000), "x".repeat(64)],
  ])("%s is told as it is, none for what is none, and no more than a name has", (_, says, boot) => {
    const path = join(folder, "boot_id");
    writeFileSync(path, says);
    // Mounts it in a view that ends with the process.
    const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
    const program = [process.execPath, "-e", PROGRAM, addonPath("core")];
    const [unshare = "", ...words] = [...OWN_NAMESPACE, "sh", "-c", script, "sh", path, BOOT_OF_LINUX, ...program];
    expect(execFileSync(unshare, words, { encoding: "utf8", timeout: DEADLINE_MS, killSignal: "SIGKILL" })).toBe(boot);
  });
});
