// Makes the folder that is installed on Windows: the command line and the agent as plain JavaScript, one file each; the
// addons; better-sqlite3 with what it brings for Windows; the pages; Node, and the command that starts it all.
//     node scripts/bundle-windows.mjs FOLDER
//
//     runnel.cmd        the command line
//     node.exe
//     app/cli/main.js, app/agent/main.js
//     app/prebuilds/win32-x64/   core.node, drive.node
//     app/node_modules/better-sqlite3/
//     ui/dist/          pages of the agent's window
//
// The agent looks for the addons and the pages at these places from where it lies (native/src/load.ts, run-agent.ts).
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { ensureWindowsNode } from "./tools.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TARGET = "win32-x64";

/** Variables that libraries which are CommonJS count on. */
export const COMMON_JS = [
  'import { createRequire as createRequireOfBundle } from "node:module";',
  "const require = createRequireOfBundle(import.meta.url),",
  "__dirname = import.meta.dirname, __filename = import.meta.filename;",
].join(" ");

const COMMAND = [
  "@echo off",
  '"%~dp0node.exe" --disable-warning=ExperimentalWarning "%~dp0app\\cli\\main.js" %*',
  "exit /b %errorlevel%",
  "",
].join("\r\n");

function perform(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`"node ${args.join(" ")}" failed; its message stands above.`);
}

/** Installs better-sqlite3 for Windows beside programs that are to find it. */
export function copySqlite(folder) {
  const sqlite = join("node_modules", "better-sqlite3");
  for (const name of ["lib", "package.json", "LICENSE", join("prebuilds", `${TARGET}.node`)])
    cpSync(join(ROOT, sqlite, name), join(folder, sqlite, name), { recursive: true });
}

/** Says another version than the project's. */
const ofVersion = (version) => ({
  name: "version",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]app[\\/]package\.json$/ }, ({ path }) => ({
      contents: JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), version }),
      loader: "json",
    }));
  },
});

/**
 * Makes the folder anew. `node`: path of node.exe; the product's own unless a test has another one. `version`: the
 * project's unless a package says another.
 */
export async function bundleForWindows(folder, node = ensureWindowsNode(), version) {
  perform("native/build-all.mjs", TARGET);
  perform("--disable-warning=ExperimentalWarning", "scripts/build-pages.mjs", "--if-older");
  rmSync(folder, { recursive: true, force: true });
  const app = join(folder, "app");
  await build({
    absWorkingDir: ROOT,
    // Each is one file: a chunk that both share would look for what lies beside it from another place.
    entryPoints: { "cli/main": "app/src/cli/main.ts", "agent/main": "app/src/agent/main.ts" },
    outdir: app,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node22",
    // x11: dbus-next asks for it where there is no address of a bus.
    external: ["better-sqlite3", "x11"],
    banner: { js: COMMON_JS },
    plugins: version === undefined ? [] : [ofVersion(version)],
    logLevel: "warning",
  });
  writeFileSync(join(app, "package.json"), '{"type":"module"}\n');
  const addons = join("prebuilds", TARGET);
  mkdirSync(join(app, addons), { recursive: true });
  for (const name of ["core.node", "drive.node"])
    copyFileSync(join(ROOT, "native", addons, name), join(app, addons, name));
  copySqlite(app);
  cpSync(join(ROOT, "app/ui/dist"), join(folder, "ui/dist"), { recursive: true });
  copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE.txt"));
  copyFileSync(node, join(folder, "node.exe"));
  writeFileSync(join(folder, "runnel.cmd"), COMMAND);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [, , folder, version] = process.argv;
  if (folder === undefined)
    throw new Error("Name the folder that is to be made: node scripts/bundle-windows.mjs FOLDER [VERSION]");
  await bundleForWindows(resolve(folder), undefined, version);
}
