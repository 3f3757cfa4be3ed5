// Builds the pages: app/ui, the agent's window, and server/console, each into its folder dist. Messages of a catalogue
// (words/*.ts) are compiled here, so that no parser of them is in a page. `--pseudo FOLDER` builds them below that
// folder instead, in a made-up language, longer and with accents, which shows what does not fit and what was never
// translated.
import { existsSync, globSync, statSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { compiledCatalogues } from "./catalogues.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Folder of a page → its title. */
const PAGES = { "app/ui": "Runnel", "server/console": "Runnel console" };
/** `if-older`: builds only what is older than its sources. */
const { pseudo: pseudoFolder, "if-older": isIfOlder = false } = parseArgs({
  options: { pseudo: { type: "string" }, "if-older": { type: "boolean" } },
}).values;

const catalogues = compiledCatalogues(pseudoFolder === undefined ? undefined : pseudo);

const ACCENTS = {
  a: "á",
  e: "ë",
  i: "ï",
  o: "ö",
  u: "ü",
  A: "Á",
  E: "Ë",
  I: "Ï",
  O: "Ö",
  U: "Ü",
  c: "ç",
  n: "ñ",
  y: "ý",
};
const DOUBLED = new Set("aeiouAEIOUn");

/**
 * Puts accents on the letters of a message, and doubles those that make it longer by some two fifths. What stands
 * within an odd number of braces is syntax, and stays.
 */
function pseudo(message) {
  let depth = 0;
  const letters = Array.from(message, (letter) => {
    if (letter === "{") depth++;
    if (letter === "}") depth--;
    return depth % 2 === 1 ? letter : (ACCENTS[letter] ?? letter).repeat(DOUBLED.has(letter) ? 2 : 1);
  });
  return `⟦${letters.join("")}⟧`;
}

async function buildPage(folder, title) {
  const out = join(pseudoFolder ?? ROOT, folder, "dist");
  await rm(out, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(ROOT, folder, "main.tsx")],
    outdir: join(out, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["es2022"],
    jsx: "automatic",
    minify: true,
    metafile: true,
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [catalogues],
    legalComments: "linked",
    logLevel: "warning",
  });
  const entry = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith("main.tsx"));
  if (entry === undefined) throw new Error(`${folder} has no main.tsx.`);
  const [script, { cssBundle }] = entry;
  const style = cssBundle === undefined ? "" : `<link rel="stylesheet" href="/assets/${basename(cssBundle)}">`;
  await mkdir(out, { recursive: true });
  await writeFile(
    join(out, "index.html"),
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
${style}
<script type="module" src="/assets/${basename(script)}"></script>
</head>
<body><div id="root"></div></body>
</html>
`,
  );
  await writeFile(join(out, "packages.json"), `${JSON.stringify(packagesIn(metafile), undefined, 2)}\n`);
}

/** Lists the folders of the npm packages of which something is in a page, for the notice of their licences. */
function packagesIn({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const folders = inputs
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0])
    .filter((folder) => folder !== undefined);
  return [...new Set(folders)].sort();
}

function isCurrent(folder) {
  const page = join(ROOT, folder, "dist/index.html");
  if (!isIfOlder || !existsSync(page)) return false;
  const patterns = [`${folder}/*`, `${folder}/{parts,views,words}/**`, "shared/ui/**", "package-lock.json"];
  const sources = globSync([...patterns, "scripts/{build-pages,catalogues}.mjs"], { cwd: ROOT });
  const builtMs = statSync(page).mtimeMs;
  return sources.every((path) => path.endsWith("/dist") || statSync(join(ROOT, path)).mtimeMs < builtMs);
}

for (const [folder, title] of Object.entries(PAGES)) if (!isCurrent(folder)) await buildPage(folder, title);
