// The project's files as the tidy checks see them. Reading them is the only I/O; the checks are pure functions over the
// list.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ScannedCode, scanCode } from "./scan-code.ts";

export interface ProjectFile {
  /** Relative to the project, "/"-separated. */
  path: string;
  text: string;
}

/** A finding of a check. */
export interface Violation {
  path: string;
  /** Counted from 1; absent when it concerns the whole file. */
  line?: number;
  says: string;
}

export type Check = (files: readonly ProjectFile[]) => Violation[];

/** Never entered: not ours, made by tools, or (demo, drive) a mount that this process must not touch. */
const NOT_ENTERED = new Set(["node_modules", ".git", ".setup", "coverage", "demo", "drive"]);
const NOT_ENTERED_PATHS = new Set([
  "native/build",
  "native/prebuilds",
  "app/ui/dist",
  "server/console/dist",
  "app/dist",
  "installers/out",
]);
const TEXT = /\.(ts|tsx|js|mjs|cjs|cc|h|json|md|txt|sh|css|html|cmake|hex)$|(^|\/)(\.ci\/run|\.[a-z]+)$/;

/** All text files of the project. A folder named drive inside src is ours: only the one at the top is a mount point. */
export function readProject(root: string): ProjectFile[] {
  const files: ProjectFile[] = [];
  const enter = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      const isOutside = entry.name === "node_modules" || (folder === "" && NOT_ENTERED.has(entry.name));
      if (entry.isDirectory()) {
        if (!isOutside && !NOT_ENTERED_PATHS.has(path)) enter(path);
      } else if (entry.isFile() && !isOutside && TEXT.test(path) && entry.name !== "package-lock.json") {
        files.push({ path, text: readFileSync(join(root, path), "utf8") });
      }
    }
  };
  enter("");
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const scanned = new WeakMap<ProjectFile, ScannedCode>();

export function scan(file: ProjectFile): ScannedCode {
  let result = scanned.get(file);
  if (result === undefined) {
    result = scanCode(file.text);
    scanned.set(file, result);
  }
  return result;
}

export const WORKSPACES = ["shared", "native", "server", "app", "e2e"] as const;
export type Workspace = (typeof WORKSPACES)[number];

export function workspaceOf(path: string): Workspace | undefined {
  return WORKSPACES.find((name) => path.startsWith(`${name}/`));
}

export function isScript(path: string): boolean {
  return /\.(ts|tsx|js|mjs|cjs)$/.test(path);
}

export function isCpp(path: string): boolean {
  return /\.(cc|h)$/.test(path);
}

/** Test files and what only they use: contract suites, fixtures, goldens. */
export function isTest(path: string): boolean {
  return /(^|\/)test\//.test(path);
}

/** Returns true for what is shipped: the sources of all workspaces but e2e. */
export function isProduction(path: string): boolean {
  const workspace = workspaceOf(path);
  if (workspace === undefined || workspace === "e2e" || isTest(path)) return false;
  return path.startsWith(`${workspace}/src/`) || /^(native\/[a-z-]+\.ts|app\/bin\/.*)$/.test(path);
}

/** The list as a person reads it; empty when there is nothing. */
export function formatViolations(violations: readonly Violation[]): string {
  return violations.map(({ path, line, says }) => `${path}${line === undefined ? "" : `:${line}`}: ${says}`).join("\n");
}
