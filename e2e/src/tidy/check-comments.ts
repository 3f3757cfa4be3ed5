// Comments: how they open, and the pages that they name. An opening is a verb or the noun that is explained, not half a
// sentence.
import { type ProjectFile, type Violation, isCpp, isScript, scan } from "./project.ts";
import { lineAt } from "./scan-code.ts";

interface CommentBlock {
  /** Without the marks of a comment. */
  text: string;
  line: number;
}

const COMMENT = /\/\*[^]*?\*\/|\/\/.*/g;
const ELLIPTIC_OPENING =
  /^(?:(?:What|Of|One|Whose|As|So|Who|Which|Those|Its|Where|Whether|How|By|In|To|For|Not|Also|Nobody)\b|(?:undefined|False|True):)/;
const PAGE = /(?<![\w/.-])[\w./-]*\w\.md\b/g;
/** Pages that explain nothing to who has only the project. Written so that this file passes: [E] is E. */
const OUTSIDE_PAGE = /\b(WIR[E]|ARCHITECTUR[E]|TOOLCHAI[N]|the wire pag[e])\b/g;

/** Comments of a file; lines of `//` that follow each other are one block. */
export function commentBlocks(file: ProjectFile): CommentBlock[] {
  const spans: { at: number; end: number }[] = [];
  for (const { 0: found, index: at } of scan(file).comments.matchAll(COMMENT)) {
    const end = at + found.length;
    const last = spans.at(-1);
    const isNextLine = found.startsWith("//") && last !== undefined && file.text.startsWith("//", last.at);
    if (isNextLine && /^\r?\n[ \t]*$/.test(file.text.slice(last.end, at))) last.end = end;
    else spans.push({ at, end });
  }
  return spans.map(({ at, end }) => ({
    text: file.text
      .slice(at, end)
      .replaceAll(/^[ \t]*(?:\/\*+|\*\/|\*|\/\/+)[ \t]*/gm, "")
      .trim(),
    line: lineAt(file.text, at),
  }));
}

function isCode({ path }: ProjectFile): boolean {
  return isScript(path) || isCpp(path);
}

export function checkCommentOpenings(files: readonly ProjectFile[]): Violation[] {
  return files.filter(isCode).flatMap((file) =>
    commentBlocks(file).flatMap(({ text, line }) => {
      const opening = ELLIPTIC_OPENING.exec(text)?.[0];
      return opening === undefined
        ? []
        : [{ path: file.path, line, says: `opens with "${opening}": begin with a verb, or the noun it explains` }];
    }),
  );
}

/** A page that a comment names is one of the project's: by its path, or by its name alone. */
export function checkCitedPages(files: readonly ProjectFile[]): Violation[] {
  const pages = files.map(({ path }) => `/${path}`).filter((path) => path.endsWith(".md"));
  return files.filter(isCode).flatMap((file) => {
    const { comments } = scan(file);
    const named = [...comments.matchAll(PAGE)].filter(([name]) => !pages.some((page) => page.endsWith(`/${name}`)));
    return [...named, ...comments.matchAll(OUTSIDE_PAGE)].map(({ 0: name, index }) => ({
      path: file.path,
      line: lineAt(comments, index),
      says: `${name} is no page of the project`,
    }));
  });
}
