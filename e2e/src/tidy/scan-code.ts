// Reads TypeScript, JavaScript or C++ just closely enough for the tidy checks: which characters are code, which are
// comments, which are string literals. Not a parser: it knows nothing of syntax beyond where literals begin and end.

export interface Literal {
  /** Contents between the quotes, escapes as written; a template's substitutions are replaced by "${}". */
  text: string;
  line: number;
  /** Position of the opening quote. */
  at: number;
}

export interface ScannedCode {
  /** The source with comments and the contents of literals blanked; positions and line breaks are kept. */
  code: string;
  /** The source with all but comments blanked. */
  comments: string;
  literals: Literal[];
}

/** Words after which a slash begins a regular expression rather than a division. */
const BEFORE_REGEX = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "do",
  "else",
  "void",
  "delete",
  "await",
  "yield",
]);

export function scanCode(source: string): ScannedCode {
  const code = [...blank(source)];
  const comments = [...blank(source)];
  const literals: Literal[] = [];
  // Depth of braces inside each open template substitution, innermost last.
  const substitutions: { depth: number; literal: Literal }[] = [];
  let at = 0;
  let line = 1;
  let lastToken = "";

  const copy = (to: string[], from: number, until: number): void => {
    for (let i = from; i < until; i++) to[i] = source[i] ?? "";
  };
  const lineOf = (from: number, until: number): void => {
    for (let i = from; i < until; i++) if (source[i] === "\n") line++;
  };

  /** From a quote or a "}" that resumes a template, to the end of that stretch. Returns the position after it. */
  const readTemplate = (from: number, literal: Literal): number => {
    let i = from;
    while (i < source.length) {
      if (source[i] === "\\") i += 2;
      else if (source[i] === "`") {
        literals.push(literal);
        return i + 1;
      } else if (source.startsWith("${", i)) {
        literal.text += "${}";
        substitutions.push({ depth: 0, literal });
        return i + 2;
      } else literal.text += source[i++];
    }
    literals.push(literal);
    return i;
  };

  const readQuoted = (quote: string): number => {
    let i = at + 1;
    while (i < source.length && source[i] !== quote && source[i] !== "\n") i += source[i] === "\\" ? 2 : 1;
    literals.push({ text: source.slice(at + 1, i), line, at });
    return Math.min(i + 1, source.length);
  };

  const readRegex = (): number => {
    let i = at + 1;
    let isInClass = false;
    while (i < source.length && source[i] !== "\n" && (source[i] !== "/" || isInClass)) {
      if (source[i] === "[") isInClass = true;
      if (source[i] === "]") isInClass = false;
      i += source[i] === "\\" ? 2 : 1;
    }
    return Math.min(i + 1, source.length);
  };

  while (at < source.length) {
    const char = source[at] ?? "";
    const substitution = substitutions.at(-1);
    let end = at + 1;
    if (source.startsWith("//", at) || (at === 0 && source.startsWith("#!"))) {
      const newline = source.indexOf("\n", at);
      end = newline < 0 ? source.length : newline;
      copy(comments, at, end);
    } else if (source.startsWith("/*", at)) {
      const close = source.indexOf("*/", at + 2);
      end = close < 0 ? source.length : close + 2;
      copy(comments, at, end);
    } else if (char === '"' || char === "'") {
      end = isDigitSeparator(source, at) ? at + 1 : readQuoted(char);
      lastToken = '"';
    } else if (char === "`") {
      end = readTemplate(at + 1, { text: "", line, at });
      lastToken = '"';
    } else if (char === "}" && substitution?.depth === 0) {
      substitutions.pop();
      end = readTemplate(at + 1, substitution.literal);
      lastToken = '"';
    } else if (char === "/" && startsRegex(lastToken)) {
      end = readRegex();
      lastToken = '"';
    } else if (/[A-Za-z0-9_$]/.test(char)) {
      while (end < source.length && /[A-Za-z0-9_$]/.test(source[end] ?? "")) end++;
      lastToken = source.slice(at, end);
      copy(code, at, end);
    } else {
      if (substitution !== undefined && char === "{") substitution.depth++;
      if (substitution !== undefined && char === "}") substitution.depth--;
      if (char.trim() !== "") lastToken = char;
      copy(code, at, end);
    }
    lineOf(at, end);
    at = end;
  }
  return { code: code.join(""), comments: comments.join(""), literals };
}

/** C++ writes 1'000'000. */
function isDigitSeparator(source: string, at: number): boolean {
  return source[at] === "'" && /[0-9A-Fa-f]/.test(source[at - 1] ?? "") && /[0-9A-Fa-f]/.test(source[at + 1] ?? "");
}

function startsRegex(lastToken: string): boolean {
  if (lastToken === "" || BEFORE_REGEX.has(lastToken)) return true;
  return !/[A-Za-z0-9_$)\]}"]$/.test(lastToken);
}

function blank(source: string): string {
  return source.replaceAll(/[^\n]/g, " ");
}

export function lineAt(source: string, position: number): number {
  let line = 1;
  for (let i = 0; i < position; i++) if (source[i] === "\n") line++;
  return line;
}
