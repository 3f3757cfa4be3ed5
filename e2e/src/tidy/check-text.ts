// Checks how files are named and what may not stand in them.
import { type ProjectFile, type Violation, isCpp, isScript, isTest, scan } from "./project.ts";
import { lineAt } from "./scan-code.ts";

const SCRIPT_NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|long\.test|d|config))?\.(ts|tsx|js|mjs|cjs)$/;
const CPP_NAME = /^[a-z0-9]+(_[a-z0-9]+)*\.(cc|h)$/;
/** Names that say nothing of what is inside. */
const EMPTY_NAMES = /^(util|utils|helper|helpers|common|misc|manager|managers)$/;

const LINES_MAX = 500;

// Written so that this file passes its own checks: [O] is O.
const UNFINISHED = /\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b/g;
const MACHINE_PATH = /(?<![\w.~)}>*-])\/(work|tmp|home|root|Users)\//g;
const OUTSIDE_DOCUMENT = /\bhandboo[k]\b/gi;
/** The name at the registry of npm is not ours: the command would run what somebody else has put there. */
const OF_REGISTRY = /\b(npx|npm (exec|x))( -\S+)* (@runnel\/\S+|runnel\b)/g;
const FOCUSED =
  /\b(test|it|describe)(\.[a-zA-Z]+)*\.(only|todo|failing)\b|(?<![?:]\s)\b(test|it|describe)(\.[a-zA-Z]+)*\.skip\b|\b(fit|fdescribe|xit|xtest|xdescribe)\s*[.(]/g;

function findAll(file: ProjectFile, text: string, pattern: RegExp, says: (found: string) => string): Violation[] {
  return [...text.matchAll(pattern)].map((match) => ({
    path: file.path,
    line: lineAt(text, match.index),
    says: says(match[0].trim()),
  }));
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function checkNames(files: readonly ProjectFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const { path } of files) {
    if (isScript(path) && !SCRIPT_NAME.test(baseName(path))) violations.push({ path, says: "name it in kebab-case" });
    if (isCpp(path) && !CPP_NAME.test(baseName(path))) violations.push({ path, says: "name it in snake_case" });
    if (!isScript(path) && !isCpp(path)) continue;
    const empty = path.split(/[/\-_.]/).find((word) => EMPTY_NAMES.test(word));
    if (empty !== undefined) violations.push({ path, says: `"${empty}" says nothing: name the idea` });
  }
  return violations;
}

export function checkUnfinished(files: readonly ProjectFile[]): Violation[] {
  return files.flatMap((file) =>
    findAll(file, file.text, UNFINISHED, (found) => `${found}: do it now, or open an issue`),
  );
}

/** No path of one person's machine outside tests; and no document that is not part of the project. */
export function checkMachinePaths(files: readonly ProjectFile[]): Violation[] {
  return files
    .filter((file) => !isTest(file.path))
    .flatMap((file) => [
      ...(file.path.endsWith(".md")
        ? []
        : findAll(file, file.text, MACHINE_PATH, (found) => `${found}: a path of this machine`)),
      ...findAll(file, file.text, OUTSIDE_DOCUMENT, (found) => `"${found}" is not part of the project`),
    ]);
}

export function checkOfRegistry(files: readonly ProjectFile[]): Violation[] {
  return files.flatMap((file) =>
    findAll(file, file.text, OF_REGISTRY, (found) => `${found}: Runnel is on no registry of npm's`),
  );
}

export function checkFocused(files: readonly ProjectFile[]): Violation[] {
  return files
    .filter((file) => isScript(file.path) && /(^|\/)(test|src)\//.test(file.path))
    .flatMap((file) => findAll(file, scan(file).code, FOCUSED, (found) => `${found}: every test runs`));
}

/** Config files of tools excepted, which ask for one. */
export function checkDefaultExports(files: readonly ProjectFile[]): Violation[] {
  return files
    .filter((file) => isScript(file.path) && !/\.config\.(js|ts|mjs)$/.test(file.path))
    .flatMap((file) =>
      findAll(file, scan(file).code, /\bexport\s+default\b|\bas\s+default\b/g, () => "export it by name"),
    );
}

export function checkLength(files: readonly ProjectFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const { path, text } of files) {
    if ((!isScript(path) && !isCpp(path)) || isTest(path)) continue;
    const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    if (lines > LINES_MAX)
      violations.push({ path, says: `${lines} lines, more than ${LINES_MAX}: give each idea a file` });
  }
  return violations;
}

/**
 * Every source opens with what it is for; a .cc may leave that to its header (beside it, or above a folder per system).
 */
export function checkOpenings(files: readonly ProjectFile[]): Violation[] {
  const paths = new Set(files.map((file) => file.path));
  const hasHeader = (path: string): boolean => {
    const header = path.replace(/cc$/, "h");
    return paths.has(header) || paths.has(header.replace(/[^/]+\/([^/]+)$/, "$1"));
  };
  return files
    .filter((file) => (isScript(file.path) || isCpp(file.path)) && !isTest(file.path))
    .filter((file) => !file.path.endsWith(".cc") || !hasHeader(file.path))
    .filter((file) => !/^(#!.*\n)?\s*\/[/*]/.test(file.text))
    .map((file) => ({
      path: file.path,
      line: 1,
      says: "open with a comment: what it is for, what it leaves to others",
    }));
}
