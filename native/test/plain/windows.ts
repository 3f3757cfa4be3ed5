// Brings the addons for Windows and their tests into a folder of their own, as an installed package has them (no
// compiler, no sources, no jest), and runs them there under Wine.
import { spawnSync } from "node:child_process";
import { closeSync, cpSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ensureWindowsNode, ensureWine } from "../../../scripts/tools.mjs";
import type { PlainResult } from "./run.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const RUNNER = "native/test/plain/run";

/** Variables that libraries which are CommonJS count on. */
const COMMON_JS = [
  'import { createRequire as createRequireOfBundle } from "node:module";',
  "const require = createRequireOfBundle(import.meta.url), __dirname = import.meta.dirname;",
].join(" ");

/**
 * Bundles each test file for itself, at the same place beneath `folder`: what it reads beside itself is where it was.
 */
async function bundle(folder: string, tests: readonly string[]): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: [...tests, `${RUNNER}.ts`],
    outdir: folder,
    outbase: ROOT,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    alias: { "@jest/globals": "./native/test/plain/jest-globals.ts" },
    banner: { js: COMMON_JS },
    logLevel: "error",
  });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
}

/**
 * Runs test files, named from the project's root, in `folder`, an empty one. `beside`: files that they find in
 * `native/test`.
 * @throws Error when they could not be run to the end.
 */
export async function runOnWindows(
  folder: string,
  tests: readonly string[],
  deadlineMs: number,
  beside: readonly string[] = [],
): Promise<PlainResult[]> {
  await bundle(folder, tests);
  mkdirSync(join(folder, "native", "test"), { recursive: true });
  for (const path of beside) cpSync(path, join(folder, "native", "test", basename(path)));
  cpSync(join(ROOT, "shared", "vectors"), join(folder, "shared", "vectors"), { recursive: true });
  const prebuilt = join("native", "prebuilds", "win32-x64");
  mkdirSync(join(folder, prebuilt), { recursive: true });
  for (const name of ["core.node", "drive.node"]) cpSync(join(ROOT, prebuilt, name), join(folder, prebuilt, name));
  const results = join(folder, "results.json");
  const onWindows = (path: string): string => `Z:${path.replaceAll("/", "\\")}`;
  const bundles = tests.map((file) => onWindows(join(folder, file.replace(/\.ts$/, ".js"))));
  const args = [ensureWindowsNode("forWine8"), onWindows(join(folder, `${RUNNER}.js`)), onWindows(results), ...bundles];
  const env = { ...ensureWine(), TEMP: onWindows(folder), TMP: onWindows(folder) };
  const log = join(folder, "log.txt");
  const to = openSync(log, "w");
  const { signal, status } = spawnSync("wine", args, {
    env,
    stdio: ["ignore", to, to],
    timeout: deadlineMs,
    cwd: folder,
  });
  closeSync(to);
  if (status !== 0) throw new Error(`Node under Wine ended with ${status ?? signal}: ${readFileSync(log, "utf8")}`);
  return JSON.parse(readFileSync(results, "utf8")) as PlainResult[];
}
