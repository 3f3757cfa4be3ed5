// Checks who imports what: the direction between workspaces, packages and interfaces of the system that only one folder
// may know, packages that are declared, time, which only the clock may tell, and the system, which only the host knows.
import { posix } from "node:path";
import { type ProjectFile, type Violation, type Workspace, WORKSPACES, isCpp, isProduction } from "./project.ts";
import { isScript, isTest, scan, workspaceOf } from "./project.ts";
import { lineAt } from "./scan-code.ts";

export interface Import {
  specifier: string;
  line: number;
  /** `import type`: gone at run time. */
  isTypeOnly: boolean;
}

const NATIVE_BUILTINS = new Set([
  "fs",
  "path",
  "os",
  "net",
  "http",
  "crypto",
  "child_process",
  "url",
  "util",
  "module",
]);

/** Imports that a file may make of the other workspaces. */
const WORKSPACE_IMPORTS: Record<Workspace, readonly Workspace[]> = {
  shared: [],
  native: ["shared"],
  server: ["native", "shared"],
  app: ["native", "shared"],
  e2e: WORKSPACES,
};

/** Folders with a rule of their own, instead of their workspace's. */
const FOLDER_IMPORTS: readonly { folder: string; may: readonly Workspace[]; typesOnly?: true }[] = [
  // The verb `serve` starts a server in this process.
  { folder: "app/src/cli/", may: ["native", "shared", "server"] },
  { folder: "app/ui/", may: ["shared"], typesOnly: true },
  { folder: "server/console/", may: ["shared"], typesOnly: true },
];

/** Production code asks Clock, Disk and Link; only these folders, which implement them, ask the system. */
const HOST_FOLDERS = ["shared/src/host/", "native/src/host/"];
/** Ways of asking which system this is. */
const PLATFORM = /\bprocess\s*\??\.\s*platform\b|\{[^{}]*\bplatform\b[^{}]*\}\s*=\s*process\b/g;
/** Names that node:os has for it. */
const PLATFORM_OF_OS = /\b(?:os\s*\.\s*)?(?:platform|machine|type|release|version)\s*\(\s*\)/g;
const TIME = /\b(setTimeout|setInterval|Date\.now|performance\.now|process\.hrtime)\b|\bnew Date\(\s*\)/g;

/**
 * Modules that production code imports in these folders only (TypeScript), and headers likewise (C++). "host/" is any
 * folder of that name: where a package touches the system it runs on.
 */
export const SINGLE_FOLDER: readonly { module: RegExp; shown: string; folders: readonly string[] }[] = [
  { module: /^ws$/, shown: "ws", folders: ["shared/src/host/"] },
  { module: /^(hono|@hono\/node-server)(\/|$)/, shown: "hono", folders: ["shared/src/page/"] },
  { module: /^cbor-x(\/|$)/, shown: "cbor-x", folders: ["shared/src/protocol/"] },
  {
    module: /^better-sqlite3$/,
    shown: "better-sqlite3",
    folders: ["server/src/meta/", "app/src/agent/replica/"],
  },
  // SQLite opens its files by path itself: whoever opens a database also removes a damaged one. native/src/ looks for
  // its addons.
  {
    module: /^(node:)?fs(\/promises)?$/,
    shown: "node:fs",
    folders: ["host/", "app/bin/", "native/src/", "server/src/meta/", "app/src/agent/replica/"],
  },
  { module: /^smtp-server$/, shown: "smtp-server", folders: ["app/src/mail/host/"] },
  { module: /^electron(\/|$)/, shown: "electron", folders: ["app/src/main/electron/"] },
  { module: /^electron-updater(\/|$)/, shown: "electron-updater", folders: ["app/src/main/electron/"] },
  { module: /^napi\.h$|^node_api\.h$/, shown: "napi.h", folders: ["native/src/bridge/"] },
  { module: /^fuse(3\/|_)|^fuse\.h$/, shown: "libfuse's headers", folders: ["native/src/drive/fuse/"] },
  { module: /^winfsp\//, shown: "WinFsp's headers", folders: ["native/src/drive/winfsp/"] },
];

export function importsOf(file: ProjectFile): Import[] {
  const { code, literals } = scan(file);
  const found: Import[] = [];
  for (const { text, line, at } of literals) {
    const before = code.slice(Math.max(0, at - 4000), at);
    if (/\b(import|require)\s*\(\s*$/.test(before)) found.push({ specifier: text, line, isTypeOnly: false });
    else if (/\bimport\s*$/.test(before)) found.push({ specifier: text, line, isTypeOnly: false });
    else if (/\bfrom\s*$/.test(before)) {
      const statement = /\b(import|export)\b(?!.*\b(import|export)\b)[^;]*$/s.exec(before)?.[0];
      if (statement !== undefined) found.push({ specifier: text, line, isTypeOnly: isTypeOnly(statement) });
    }
  }
  return found;
}

/** `import type …` or braces in which every name is marked `type`. */
function isTypeOnly(statement: string): boolean {
  if (/^(import|export)\s+type\b/.test(statement)) return true;
  const names = /^(?:import|export)\s*\{([^}]*)\}\s*from\s*$/.exec(statement)?.[1];
  if (names === undefined) return false;
  return names.split(",").every((name) => name.trim() === "" || /^\s*type\s/.test(name));
}

export function includesOf(file: ProjectFile): Import[] {
  const found: Import[] = [];
  for (const match of file.text.matchAll(/^[ \t]*#\s*include\s*[<"]([^>"]+)[>"]/gm)) {
    found.push({ specifier: match[1] ?? "", line: lineAt(file.text, match.index), isTypeOnly: false });
  }
  return found;
}

/** The workspace that a specifier leads to, by package name or by a relative path. */
function targetWorkspace(path: string, specifier: string): Workspace | undefined {
  const named = /^@runnel\/([a-z0-9]+)(\/|$)/.exec(specifier)?.[1];
  if (named !== undefined) return WORKSPACES.find((name) => name === named);
  if (!specifier.startsWith(".")) return undefined;
  return workspaceOf(posix.join(posix.dirname(path), specifier));
}

export function checkImportDirection(files: readonly ProjectFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const file of files) {
    const from = workspaceOf(file.path);
    if (from === undefined || !isScript(file.path)) continue;
    const folder = FOLDER_IMPORTS.find((rule) => file.path.startsWith(rule.folder));
    const may = folder?.may ?? WORKSPACE_IMPORTS[from];
    for (const { specifier, line, isTypeOnly: areTypes } of importsOf(file)) {
      const to = targetWorkspace(file.path, specifier);
      if (to === undefined || to === from) continue;
      const where = { path: file.path, line };
      if (specifier.startsWith(".")) {
        violations.push({ ...where, says: `imports ${specifier}: enter another workspace by its name, @runnel/${to}` });
      } else if (!may.includes(to)) {
        const allowed = may.length === 0 ? "no other workspace" : `only ${may.join(", ")}`;
        violations.push({ ...where, says: `imports ${specifier}: ${folder?.folder ?? from} may import ${allowed}` });
      } else if (folder?.typesOnly && !areTypes && !specifier.startsWith("@runnel/shared/ui/")) {
        violations.push({ ...where, says: `imports ${specifier}: ${folder.folder} may take only types (import type)` });
      }
    }
  }
  return violations;
}

function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder) || (folder === "host/" && path.includes("/host/"));
}

export function checkSingleFolder(files: readonly ProjectFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const file of files) {
    if (!isProduction(file.path)) continue;
    const imports = isCpp(file.path) ? includesOf(file) : isScript(file.path) ? importsOf(file) : [];
    for (const { specifier, line, isTypeOnly: areTypes } of imports) {
      const rule = SINGLE_FOLDER.find(({ module }) => module.test(specifier));
      if (rule === undefined || areTypes || rule.folders.some((folder) => isWithin(file.path, folder))) continue;
      violations.push({
        path: file.path,
        line,
        says: `imports ${rule.shown}, which only ${rule.folders.join(", ")} may`,
      });
    }
  }
  return violations;
}

/** A package that is imported stands in the same workspace's package.json; tests may use the root's tools too. */
export function checkDeclaredImports(files: readonly ProjectFile[]): Violation[] {
  const declared = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    if (!/^([a-z0-9]+\/)?package\.json$/.test(path)) continue;
    const manifest = JSON.parse(text) as Record<string, Record<string, string> | undefined>;
    const names = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"].flatMap((key) =>
      Object.keys(manifest[key] ?? {}),
    );
    declared.set(posix.dirname(path), new Set(names));
  }
  const violations: Violation[] = [];
  for (const file of files) {
    const workspace = workspaceOf(file.path);
    if (workspace === undefined || !isScript(file.path)) continue;
    for (const { specifier, line } of importsOf(file)) {
      if (/^(\.|node:|\/)|\$\{\}/.test(specifier) || NATIVE_BUILTINS.has(specifier)) continue;
      const name = specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
      if (name === `@runnel/${workspace}` || declared.get(workspace)?.has(name)) continue;
      const isTool = isTest(file.path) || workspace === "e2e";
      if (isTool && declared.get(".")?.has(name)) continue;
      violations.push({
        path: file.path,
        line,
        says: `imports ${name}, which ${workspace}/package.json does not list`,
      });
    }
  }
  return violations;
}

export function checkClock(files: readonly ProjectFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const file of files) {
    if (!isProduction(file.path) || !isScript(file.path) || HOST_FOLDERS.some((folder) => file.path.startsWith(folder)))
      continue;
    for (const match of scan(file).code.matchAll(TIME)) {
      violations.push({
        path: file.path,
        line: lineAt(file.text, match.index),
        says: `${match[0]}: ask the Clock that you were given`,
      });
    }
    for (const { specifier, line } of importsOf(file)) {
      if (/^(node:)?(timers(\/promises)?|perf_hooks)$/.test(specifier)) {
        violations.push({ path: file.path, line, says: `imports ${specifier}: ask the Clock that you were given` });
      }
    }
  }
  return violations;
}

/**
 * Production code asks which system it runs on in folders `host` only. What builds, packs and sets up Runnel (scripts/,
 * installers/, build.mjs and its kin) is of no production, as tests are, and may ask anywhere.
 */
export function checkPlatform(files: readonly ProjectFile[]): Violation[] {
  return files
    .filter((file) => isProduction(file.path) && isScript(file.path) && !isWithin(file.path, "host/"))
    .flatMap((file) => {
      const asksOs = importsOf(file).some(({ specifier }) => /^(node:)?os$/.test(specifier));
      const ways = asksOs ? [PLATFORM, PLATFORM_OF_OS] : [PLATFORM];
      return ways
        .flatMap((way) => [...scan(file).code.matchAll(way)])
        .map((match) => ({
          path: file.path,
          line: lineAt(file.text, match.index),
          says: `${match[0]}: ask the host's interface, in a folder host/`,
        }));
    });
}
