// Lints the workflow files for machines that are not at hand, with actionlint as it is released, and sees a command of
// theirs fail where it has nothing to try.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hasCommand } from "../../scripts/system-packages.mjs";
import { type RunResult, Sandbox, run } from "../src/harness/index.ts";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const SCRIPT = join(ROOT, "scripts/lint-workflows.mjs");
const LINT_MS = 300_000;

const why = hasCommand("go") ? "" : " (skipped: actionlint is compiled with Go)";
const testWithGo = why === "" ? test : test.skip;

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = new Sandbox(2 * LINT_MS);
  // The first time it says that it fetches actionlint.
  if (why === "") await lint();
}, LINT_MS);

afterAll(() => sandbox.cleanup());

const lint = (...files: string[]): Promise<RunResult> =>
  run(process.execPath, [SCRIPT, ...files], { deadlineMs: LINT_MS });

describe("the workflow files", () => {
  testWithGo(
    `are in order${why}`,
    async () => {
      expect(await lint()).toMatchObject({ code: 0, stdout: "" });
    },
    LINT_MS,
  );

  testWithGo.each([
    ["a key that is none", "windows", "timeout-minutes:", "timeout-minuets:", /unexpected key "timeout-minuets"/],
    ["a runner that nobody has", "windows", "windows-2022", "windows-3000", /label "windows-3000" is unknown/],
    ["an expression of nothing", "macos", "matrix.runner", "matrix.runer", /property "runer" is not defined/],
  ])(
    `do not pass with %s${why}`,
    async (_, name, is, becomes, says) => {
      const text = readFileSync(join(ROOT, `.github/workflows/${name}.yml`), "utf8");
      const copy = sandbox.path("copy.yml");
      writeFileSync(copy, text.replace(is, becomes));
      const { code, stdout } = await lint(copy);
      expect(code).toBe(1);
      expect(stdout).toMatch(says);
    },
    LINT_MS,
  );
});

describe("npm run scenarios", () => {
  const isRoot = process.platform === "linux" && process.getuid?.() === 0;
  const testAsRoot = isRoot ? test : test.skip;
  const whyNot = isRoot ? "" : " (skipped: needs root on Linux)";

  testAsRoot(`fails without FUSE, where the drive's tests say only that they were skipped${whyNot}`, async () => {
    const scenarios = [process.execPath, join(ROOT, "scripts/scenarios.ts"), "drive-fuse"];
    const hidden = ["--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh"];
    const { code, stdout, stderr } = await run("unshare", [...hidden, ...scenarios], { deadlineMs: LINT_MS });
    expect({ code, stdout, stderr }).toMatchObject({ code: 1, stdout: "" });
    expect(stderr).toContain("No drive can be mapped here: /dev/fuse is not for this user.");
    const jest = ["--no-sparkplug", "--experimental-vm-modules", join(ROOT, "node_modules/jest/bin/jest.js")];
    const file = [process.execPath, ...jest, "--rootDir", ROOT, "--json", "native/test/drive-fuse.test.ts"];
    const env = { ...process.env, RUNNEL_LONG: undefined };
    const skipped = await run("unshare", [...hidden, ...file], { cwd: ROOT, env, deadlineMs: LINT_MS });
    expect(skipped.stdout).toContain("a kernel's drive keeps the contract of drives (skipped: /dev/fuse is not for");
  });
});
