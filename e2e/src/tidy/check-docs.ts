// Documents: relative links lead somewhere, and every dependency is justified in one line.
import { posix } from "node:path";
import { type ProjectFile, type Violation, WORKSPACES } from "./project.ts";
import { lineAt } from "./scan-code.ts";

/** Pages that justify the dependencies of each package.json. */
const DEPENDENCY_TABLES: Record<string, string> = {
  "package.json": "scripts/README.md",
  ...Object.fromEntries(WORKSPACES.map((name) => [`${name}/package.json`, `${name}/README.md`])),
};

/** Fenced and inline code is text about links, not links. */
function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```|`[^`\n]*`/gms, (found) => found.replaceAll(/[^\n]/g, " "));
}

/** Paths of the list and of all folders above them. */
function placesOf(files: readonly ProjectFile[]): Set<string> {
  const places = new Set<string>(["."]);
  for (const { path } of files) {
    for (let at = path; at !== "." && !places.has(at); at = posix.dirname(at)) places.add(at);
  }
  return places;
}

/** GitHub's anchors: lower case, punctuation dropped, spaces to hyphens. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of text.matchAll(/^#{1,6}\s+(.*)$/gm)) {
    anchors.add(
      (heading ?? "")
        .trim()
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(/\s/g, "-"),
    );
  }
  return anchors;
}

/** `exists` answers for files that are not text, and so not in the list (pictures). */
export function checkLinks(
  files: readonly ProjectFile[],
  exists: (path: string) => boolean = () => false,
): Violation[] {
  const places = placesOf(files);
  const violations: Violation[] = [];
  for (const { path, text } of files) {
    if (!path.endsWith(".md")) continue;
    const prose = withoutCode(text);
    for (const match of prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\[[^\]]+\]:\s*(\S+)/gm)) {
      const target = match[1] ?? match[2] ?? "";
      if (/^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
      const [place = "", anchor] = target.split("#");
      const resolved =
        place === "" ? path : posix.join(posix.dirname(path), decodeURIComponent(place)).replace(/\/$/, "");
      const where = { path, line: lineAt(prose, match.index) };
      if (!places.has(resolved) && !exists(resolved)) {
        violations.push({ ...where, says: `the link to ${target} leads nowhere` });
      } else if (anchor !== undefined && resolved.endsWith(".md")) {
        const linked = files.find((file) => file.path === resolved)?.text ?? "";
        if (!anchorsOf(linked).has(anchor))
          violations.push({ ...where, says: `${resolved} has no heading #${anchor}` });
      }
    }
  }
  return violations;
}

export function checkDependencies(files: readonly ProjectFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const [manifestPath, tablePath] of Object.entries(DEPENDENCY_TABLES)) {
    const manifestText = files.find((file) => file.path === manifestPath)?.text;
    if (manifestText === undefined) continue;
    const manifest = JSON.parse(manifestText) as Record<string, Record<string, string> | undefined>;
    const names = ["dependencies", "devDependencies", "optionalDependencies"]
      .flatMap((key) => Object.keys(manifest[key] ?? {}))
      .filter((name) => !name.startsWith("@runnel/"));
    const table = files.find((file) => file.path === tablePath)?.text ?? "";
    // A row: | `name` | why | or | [name](…) | why |
    const rows = new Map<string, string>();
    for (const [, name, why] of table.matchAll(/^\|\s*[`[]*(@?[\w./-]+)[`\]]*(?:\([^)]*\))?\s*\|\s*(.*?)\s*\|?$/gm)) {
      rows.set(name ?? "", why ?? "");
    }
    for (const name of names) {
      if ((rows.get(name) ?? "").length < 10) {
        violations.push({ path: tablePath, says: `has no line that says why ${manifestPath} depends on ${name}` });
      }
    }
    for (const name of rows.keys()) {
      if (!names.includes(name) && !/^(-+|package|dependency)$/i.test(name)) {
        violations.push({ path: tablePath, says: `justifies ${name}, which ${manifestPath} does not list` });
      }
    }
  }
  return violations;
}
