// Refuses private words where the field has one: in names of files and in identifiers, and as what a module exports.
import { type ProjectFile, type Violation, isCpp, isScript, scan } from "./project.ts";
import { lineAt } from "./scan-code.ts";

/**
 * Words that mean something in this project only, and what to say. An identifier is read as its words, in lower case.
 */
const PRIVATE_WORDS: readonly { words: RegExp; say: string }[] = [
  { words: /\b(raise[ds]?|raising|(bring|brought|brings) up)\b/, say: "apply" },
  { words: /\b(up seq|when up|is up|holds up)\b/, say: "applied" },
  { words: /\b(tellers?|lookers?|look at (paths|rows|names|folder))\b/, say: "external change, scan, probe" },
  { words: /\babsences\b/, say: "pending removals" },
  { words: /\bovertaken\b/, say: "superseded" },
  { words: /\bguests?\b/, say: "device" },
  { words: /\b((make|making|with|shared|data) room|room bytes)\b/, say: "free space, reclaim, shared budget" },
  { words: /\b(content lives|let go|may go|forget gone)\b/, say: "retain, release, evict, expire" },
  { words: /\b(left (writes?|files?)|take up|taking up)\b/, say: "resumable upload, resume" },
  { words: /\bleft out\b/, say: "excluded" },
  { words: /\b(strangers?|introduction|must be known)\b/, say: "unauthenticated, handshake" },
  { words: /\bforgiven\b/, say: "refill" },
  { words: /\b(patience|patient|patiently)\b/, say: "request timeout" },
  { words: /\b(signs of life|while heard|last heard)\b/, say: "keepalive, last received" },
  { words: /\b(in doubt|believed)\b/, say: "unverified" },
  { words: /\b(keep|keeps|kept) beside\b/, say: "conflict copy" },
  { words: /\bheal(s|ed|ing)?\b/, say: "repair" },
];

/** Participles, verbs and pronouns alone say neither who did it nor to what. */
const LONE =
  /\bexport\s+(?:async\s+|abstract\s+)*(?:function\*?|const|let|class|interface|type|enum)\s+(told|seen|kept|left|lives|taken|took|gone|removed|want(?:s|ed)|com(?:es|ing)|came|noted|prove[dn]|given|made|sent|said|heard|looked|raised|held|lost|found|put|shown|done|until|must|it)(?![\w$])/gi;

function wordsOf(identifier: string): string {
  return (identifier.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).join(" ").toLowerCase();
}

function fieldWord(identifier: string): string | undefined {
  const words = wordsOf(identifier);
  return PRIVATE_WORDS.find((rule) => rule.words.test(words))?.say;
}

function privateWords(file: ProjectFile): Violation[] {
  const { path } = file;
  const violations: Violation[] = [];
  const name = path.slice(path.lastIndexOf("/") + 1);
  const say = fieldWord(name);
  if (say !== undefined) violations.push({ path, says: `is named with a private word: ${say}` });
  const { code } = scan(file);
  const known = new Set<string>();
  for (const { 0: identifier, index } of code.matchAll(/(?<![\w$])[A-Za-z_$][\w$]*/g)) {
    if (known.has(identifier)) continue;
    known.add(identifier);
    const instead = fieldWord(identifier);
    if (instead === undefined) continue;
    violations.push({ path, line: lineAt(code, index), says: `${identifier} is a private word: ${instead}` });
  }
  for (const { 1: lone = "", index } of code.matchAll(LONE)) {
    violations.push({ path, line: lineAt(code, index), says: `exports ${lone}: name it with a noun` });
  }
  return violations;
}

export function checkWords(files: readonly ProjectFile[]): Violation[] {
  return files.filter(({ path }) => (isScript(path) || isCpp(path)) && path.includes("/")).flatMap(privateWords);
}
