// Brings the addons for Windows and their tests into a folder of their own, as an installed package has them (no
// compiler, no sources, no jest), and runs them there under Wine.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { COMMON_JS, copySqlite } from "../../../scripts/bundle-windows.mjs";
import { Wine } from "../../../scripts/wine.mjs";
import type { PlainResult } from "./run.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const RUNNER = "native/test/plain/run";
/** A file that takes longer hangs. */
const FILE_MS = 10 * 60_000;

/** Shows a path as Windows has it; an option is none. */
const onWindows = (path: string): string => (path.startsWith("/") ? `Z:${path.replaceAll("/", "\\")}` : path);

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
    // x11: dbus-next asks for it where there is no address of a bus.
    external: ["better-sqlite3", "x11"],
    banner: { js: COMMON_JS },
    logLevel: "error",
  });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
}

/** Files that tests read beside themselves, from the project's root. */
const SAMPLES = [
  "shared/vectors",
  "shared/src/protocol/PROTOCOL.md",
  "shared/test/log/samples",
  "app/src/main/icons",
  ...["linux", "macos", "windows"].map((name) => `docs/${name}.md`),
  ...["cache", "journal", "replica", "view"].map((name) => `app/test/${name}/samples`),
];

/** Packages that tests ask for by name at run time, as the desktop app's bundle does not. */
const PACKAGES = ["electron-updater"];

/** Copies a package with what it depends on, each to the place beneath `folder` where Node finds it. */
function copyPackage(folder: string, path: string): void {
  if (existsSync(join(folder, path))) return;
  cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  const { dependencies = {} } = JSON.parse(readFileSync(join(ROOT, path, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    const within = join(path, "node_modules", name);
    copyPackage(folder, existsSync(join(ROOT, within)) ? within : join("node_modules", name));
  }
}

/**
 * Runs test files, named from the project's root, each in a process of its own, in `folder`, an empty one. `beside`:
 * files that they find in `native/test`. A file that cannot be run to its end has a result that says so.
 */
export async function runOnWindows(
  folder: string,
  tests: readonly string[],
  beside: readonly string[] = [],
): Promise<PlainResult[]> {
  const installed = join(folder, "installed");
  await bundle(installed, tests);
  mkdirSync(join(installed, "native", "test"), { recursive: true });
  for (const path of beside) cpSync(path, join(installed, "native", "test", basename(path)));
  for (const path of SAMPLES) cpSync(join(ROOT, path), join(installed, path), { recursive: true });
  // Addons are looked for in the folder above that of the program.
  const prebuilt = join("prebuilds", "win32-x64");
  for (const above of new Set(tests.map((test) => dirname(dirname(test)))))
    cpSync(join(ROOT, "native", prebuilt), join(installed, above, prebuilt), { recursive: true });
  copySqlite(installed);
  for (const name of PACKAGES) copyPackage(installed, join("node_modules", name));
  // Seeds and rounds are as many as in a short run.
  const { RUNNEL_LONG: _long, ...env } = process.env;
  const wine = await Wine.start(join(folder, "prefix"), env, [folder]);
  const results: PlainResult[] = [];
  try {
    const left = [...tests];
    const work = async (): Promise<void> => {
      for (let test = left.shift(); test !== undefined; test = left.shift())
        results.push(...(await runFile(wine, folder, test)));
    };
    await Promise.all([work(), work()]);
  } finally {
    await wine.close();
  }
  return results;
}

/** Resolves to what came of a file, each title with the file before it. */
async function runFile(wine: Wine, folder: string, test: string): Promise<PlainResult[]> {
  const installed = join(folder, "installed");
  const own = mkdtempSync(join(folder, "of-one-file-"));
  const [results, log] = [join(own, "results.json"), join(own, "log.txt")];
  const bundled = join(installed, test.replace(/\.ts$/, ".js"));
  const words = [wine.node, "--disable-warning=ExperimentalWarning", join(installed, `${RUNNER}.js`), results, bundled];
  const [command = "", ...args] = wine.command("wine", ...words.map(onWindows));
  const to = openSync(log, "w");
  const child = spawn(command, args, { cwd: "/", env: wine.env, stdio: ["ignore", to, to], timeout: FILE_MS });
  const [status] = (await once(child, "exit")) as [number | null];
  closeSync(to);
  const ended: PlainResult[] = existsSync(results) ? (JSON.parse(readFileSync(results, "utf8")) as PlainResult[]) : [];
  if (status !== 0) {
    const outcome = `It ended with ${status ?? "a signal"} after ${ended.length} tests: ${readFileSync(log, "utf8")}`;
    ended.push({ title: "runs to its end", outcome });
  }
  return ended.map(({ title, outcome }) => ({ title: `${test} › ${title}`, outcome }));
}
