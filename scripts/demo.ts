// Makes the demo folder from files that every clone has after set-up: documents, sources, libraries, a few large files.
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** From the project, to the demo. What another system lacks is left out. About 25 MB. */
const CONTENTS: readonly [from: string, to: string][] = [
  ["README.md", "README.md"],
  ["LICENSE", "LICENSE"],
  ["docs", "docs"],
  ["shared/src", "sources/shared"],
  ["native/src", "sources/native"],
  ["server/src", "sources/server"],
  ["app/src", "sources/app"],
  ["node_modules/better-sqlite3/deps/sqlite3/sqlite3.c", "large/sqlite3.c"],
  ["node_modules/better-sqlite3/prebuilds/linux-x64.node", "large/sqlite.node"],
  ["node_modules/@types/node", "libraries/node-types"],
  ["node_modules/@typescript/typescript-linux-x64/lib/lib.dom.d.ts", "libraries/lib.dom.d.ts"],
  ["node_modules/oxfmt/dist", "libraries/oxfmt"],
  ["node_modules/@babel/parser/lib", "libraries/parser"],
  ["node_modules/fast-check/lib", "libraries/fast-check"],
];

export function makeDemo(root: string, demo: string): void {
  // A name of its own until it is whole, so that a run that was stopped is not taken for one that ended.
  const unfinished = join(dirname(demo), ".setup", "demo.unfinished");
  rmSync(unfinished, { recursive: true, force: true });
  for (const [from, to] of CONTENTS) {
    if (!existsSync(join(root, from))) continue;
    mkdirSync(dirname(join(unfinished, to)), { recursive: true });
    // Manifests would make tools take the copy for a second project.
    cpSync(join(root, from), join(unfinished, to), {
      recursive: true,
      filter: (path) => basename(path) !== "package.json",
    });
  }
  renameSync(unfinished, demo);
}
