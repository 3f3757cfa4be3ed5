// Lints the workflow files for machines that are not at hand, with actionlint as it is released.
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
