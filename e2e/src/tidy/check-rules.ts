// Rule ids: each rule of the protocol and of the formats is defined once and carried by the title of at least one test.
//
//     PROTOCOL.md, FORMAT.md    a line that begins **[W12]** or **[F3]** (also inside a list item)
//     a test                    test("[W12] grants less than asked, never more", …), or of several: "[W12] [W13] …"
//     C++ tests                 the same in any string literal
import { type ProjectFile, type Violation, isCpp, isScript, isTest, scan } from "./project.ts";
import { lineAt } from "./scan-code.ts";

/** Pages that define the rules of each letter. */
export const RULE_BOOKS: Record<string, string> = {
  W: "shared/src/protocol/PROTOCOL.md",
  F: "docs/FORMAT.md",
};

const LETTERS = Object.keys(RULE_BOOKS).join("");
const DEFINITION = new RegExp(`^\\s*(?:[-*]\\s+)?\\*\\*\\[([A-Z]+\\d+)\\]\\*\\*`, "gm");
const TITLE = new RegExp(`^(?:\\[[${LETTERS}]\\d+\\][ ,]*)+`);
const ID = new RegExp(`\\[([${LETTERS}]\\d+)\\]`, "g");

interface Mention {
  id: string;
  path: string;
  line: number;
}

export function definedRules(files: readonly ProjectFile[]): Mention[] {
  return Object.values(RULE_BOOKS).flatMap((path) => {
    const text = files.find((file) => file.path === path)?.text ?? "";
    return [...text.matchAll(DEFINITION)].map((match) => ({
      id: match[1] ?? "",
      path,
      line: lineAt(text, match.index + match[0].indexOf("**")),
    }));
  });
}

/** Ids at the beginning of string literals of test files: titles. */
export function testedRules(files: readonly ProjectFile[]): Mention[] {
  return files
    .filter((file) => isTest(file.path) && (isScript(file.path) || isCpp(file.path)))
    .flatMap((file) =>
      scan(file).literals.flatMap(({ text, line }) =>
        [...(TITLE.exec(text)?.[0] ?? "").matchAll(ID)].map((match) => ({ id: match[1] ?? "", path: file.path, line })),
      ),
    );
}

/** Ids in comments of code: citations. */
function citedRules(files: readonly ProjectFile[]): Mention[] {
  return files
    .filter((file) => !isTest(file.path) && !file.path.startsWith("e2e/") && (isScript(file.path) || isCpp(file.path)))
    .flatMap((file) => {
      const { comments } = scan(file);
      return [...comments.matchAll(ID)].map((match) => ({
        id: match[1] ?? "",
        path: file.path,
        line: lineAt(comments, match.index),
      }));
    });
}

export function checkRules(files: readonly ProjectFile[]): Violation[] {
  const defined = definedRules(files);
  const tested = testedRules(files);
  const violations: Violation[] = [];
  const known = new Set<string>();
  for (const { id, path, line } of defined) {
    const letter = id.replace(/\d+$/, "");
    if (RULE_BOOKS[letter] !== path) {
      violations.push({ path, line, says: `[${id}] has a letter that is not this document's` });
    }
    if (known.has(id)) violations.push({ path, line, says: `[${id}] is defined twice` });
    known.add(id);
  }
  const covered = new Set(tested.map((mention) => mention.id));
  for (const { id, path, line } of defined) {
    if (!covered.has(id)) violations.push({ path, line, says: `no test's title carries [${id}]` });
  }
  for (const [mentions, verb] of [
    [tested, "tests"],
    [citedRules(files), "cites"],
  ] as const) {
    for (const { id, path, line } of mentions) {
      if (!known.has(id)) violations.push({ path, line, says: `${verb} [${id}], which no document defines` });
    }
  }
  return violations;
}
