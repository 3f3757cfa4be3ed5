// Columns: comments and prose end at column 120. What the formatter leaves longer (a string, a pattern) is code and
// stays, and so do tables and what cannot be broken (a link).
import { type ProjectFile, type Violation, isCpp, isScript, scan } from "./project.ts";

const COLUMNS_MAX = 120;
/** Marks at the beginning of a line of a comment, a list or a quotation. */
const MARKS = /^\s*(?:\/\/+|\/?\*+\/?|[-*>]|\d+\.)*\s*/;
const FENCE = /^\s*```/;

/** True where a line could have been broken. */
function isTooLong(line: string): boolean {
  return line.length > COLUMNS_MAX && line.replace(MARKS, "").includes(" ");
}

/** Lines of a page that are prose: neither of a table nor of a block of code. */
function proseLines(text: string): string[] {
  let isCode = false;
  return text.split("\n").map((line) => {
    if (FENCE.test(line)) isCode = !isCode;
    return isCode || line.startsWith("|") || line.startsWith("    ") ? "" : line;
  });
}

export function checkColumns(files: readonly ProjectFile[]): Violation[] {
  return files.flatMap((file) => {
    const { path, text } = file;
    const isPage = path.endsWith(".md");
    if (!isPage && !isScript(path) && !isCpp(path)) return [];
    const lines = isPage
      ? proseLines(text)
      : scan(file)
          .comments.split("\n")
          .map((line) => line.trimEnd());
    return lines.flatMap((line, index) =>
      isTooLong(line) ? [{ path, line: index + 1, says: `${line.length} columns, more than ${COLUMNS_MAX}` }] : [],
    );
  });
}
