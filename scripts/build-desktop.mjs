// Bundles the desktop app: app/src/main into app/dist, a folder that Electron starts. The main process is an ES module
// and the preload script CommonJS, as Electron wants them; what they use is in Electron 33 as in the newest. Beside
// them lie the licences of what others have written of it.
// `--if-older` builds only what is older than its sources.
import { cpSync, existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundleNotices } from "../installers/src/notices.ts";
import { COMMON_JS } from "./bundle-windows.mjs";
import { compiledCatalogues } from "./catalogues.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "app/dist");
const MAIN = join(ROOT, "app/src/main");
const MANIFEST = join(OUT, "package.json");
const SOURCES = [
  "app/src/{main,agent,verbs}/**",
  "app/src/cli/updates/**",
  "shared/{src,ui}/**",
  "app/package.json",
  "package-lock.json",
  "scripts/{build-desktop,catalogues}.mjs",
];

/** Folder of the package that a file is of. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

/** Chromium's and Node's versions in Electron 33 are the oldest that the bundle has to run on. */
const SHARED = {
  bundle: true,
  platform: "node",
  target: ["node20.18"],
  external: ["electron"],
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
};

/** Modules of ours do nothing when they are imported: of those that are not used, nothing is in the bundle. */
const ownModules = {
  name: "own-modules",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^(\.|@runnel\/)/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === "resolved") return undefined;
      const found = await resolve(path, { ...from, pluginData: "resolved" });
      return found.path.includes("/node_modules/") ? found : { ...found, sideEffects: false };
    });
  },
};

function isCurrent() {
  if (!process.argv.includes("--if-older") || !existsSync(MANIFEST)) return false;
  const builtMs = statSync(MANIFEST).mtimeMs;
  return globSync(SOURCES, { cwd: ROOT }).every((path) => statSync(join(ROOT, path)).mtimeMs < builtMs);
}

if (!isCurrent()) {
  rmSync(OUT, { recursive: true, force: true });
  const main = {
    ...SHARED,
    entryPoints: [join(MAIN, "electron/main.ts")],
    format: "esm",
    banner: { js: COMMON_JS },
    metafile: true,
    plugins: [compiledCatalogues(), ownModules],
  };
  const { metafile } = await build({ ...main, absWorkingDir: ROOT, outfile: join(OUT, "main.mjs") });
  const preload = { ...SHARED, entryPoints: [join(MAIN, "electron/preload.ts")], format: "cjs" };
  await build({ ...preload, outfile: join(OUT, "preload.cjs") });
  const packages = Object.keys(metafile.inputs).flatMap((path) => PACKAGE.exec(path)?.[0] ?? []);
  writeFileSync(join(OUT, "THIRD-PARTY.txt"), bundleNotices(ROOT, packages));
  cpSync(join(MAIN, "icons"), join(OUT, "icons"), { recursive: true, filter: (path) => !path.endsWith(".svg") });
  const { version, license } = JSON.parse(readFileSync(join(ROOT, "app/package.json"), "utf8"));
  const about = { name: "runnel-desktop", productName: "Runnel", version, license, main: "main.mjs" };
  writeFileSync(MANIFEST, `${JSON.stringify(about, undefined, 2)}\n`);
}
