// Globs of names: * ? [a-z] [!x] and \ before a character that stands for itself. A match goes back to the last star
// only, so it costs at most the length of the name times that of the glob, whatever they are.

/** `set`: ranges of code points; a single one is a range of its own. */
type Part =
  | { is: "star" }
  | { is: "any" }
  | { is: "one"; point: number }
  | { is: "set"; isNegated: boolean; ranges: [number, number][] };

export type Glob = (name: string) => boolean;

/** A bracket that is never closed, and a backslash at the end, stand for themselves. */
export function compileGlob(glob: string): Glob {
  const parts = parseGlob(pointsOf(glob));
  return (name) => isMatch(parts, pointsOf(name));
}

const STAR = pointOf("*");
const QUESTION = pointOf("?");
const OPEN = pointOf("[");
const CLOSE = pointOf("]");
const BACKSLASH = pointOf("\\");
const MINUS = pointOf("-");
const NEGATIONS = [pointOf("!"), pointOf("^")];

function pointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

function pointsOf(text: string): number[] {
  return Array.from(text, pointOf);
}

function parseGlob(points: number[]): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < points.length; at++) {
    const point = points[at] ?? 0;
    const next = points[at + 1];
    const set = point === OPEN ? parseSet(points, at + 1) : undefined;
    if (set !== undefined) {
      parts.push(set.part);
      at = set.end;
    } else if (point === BACKSLASH && next !== undefined) {
      parts.push({ is: "one", point: next });
      at += 1;
    } else if (point === STAR) {
      if (parts.at(-1)?.is !== "star") parts.push({ is: "star" });
    } else if (point === QUESTION) parts.push({ is: "any" });
    else parts.push({ is: "one", point });
  }
  return parts;
}

/**
 * From behind the bracket to the closing one, which does not close right at the beginning; undefined when there is
 * none.
 */
function parseSet(points: number[], start: number): { part: Part; end: number } | undefined {
  let at = start;
  const isNegated = NEGATIONS.includes(points[at] ?? 0);
  if (isNegated) at += 1;
  const ranges: [number, number][] = [];
  const take = (): number | undefined => {
    if (points[at] === BACKSLASH && points[at + 1] !== undefined) at += 1;
    return points[at++];
  };
  for (let isFirst = true; isFirst || points[at] !== CLOSE; isFirst = false) {
    const from = take();
    if (from === undefined) return undefined;
    if (points[at] === MINUS && points[at + 1] !== CLOSE && points[at + 1] !== undefined) {
      at += 1;
      ranges.push([from, take() ?? from]);
    } else ranges.push([from, from]);
  }
  return { part: { is: "set", isNegated, ranges }, end: at };
}

function isMatch(parts: Part[], name: number[]): boolean {
  let [part, at] = [0, 0];
  /** Position of the last star, and how much of the name it has taken. */
  let [star, taken] = [-1, 0];
  while (at < name.length) {
    const wanted = parts[part];
    if (wanted?.is === "star") {
      star = part++;
      taken = at;
    } else if (wanted !== undefined && fits(wanted, name[at] ?? 0)) {
      part += 1;
      at += 1;
    } else if (star >= 0) {
      part = star + 1;
      at = ++taken;
    } else return false;
  }
  while (parts[part]?.is === "star") part += 1;
  return part === parts.length;
}

function fits(part: Part, point: number): boolean {
  if (part.is === "one") return part.point === point;
  if (part.is === "set") return part.ranges.some(([from, to]) => from <= point && point <= to) !== part.isNegated;
  return part.is === "any";
}
