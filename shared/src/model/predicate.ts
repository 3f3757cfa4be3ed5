// Question that find asks of an entry: a closed grammar, checked where it comes in, decided in linear time. On the wire
// it is the arrays below. parse-predicate.ts makes one from words.
import { RunnelError } from "../errors.ts";
import type { FileType } from "../host/disk.ts";
import { LIMITS } from "../limits.ts";
import { type Glob, compileGlob } from "./glob.ts";
import { foldKey } from "./names.ts";

export type TypeLetter = "f" | "d" | "l";
export type SizeUnit = "c" | "k" | "M" | "G";

export type Predicate =
  | ["name", string]
  /** Matches like name, and names too that differ in case or composition only. */
  | ["iname", string]
  | ["type", TypeLetter]
  /** More than, less than, exactly so many units; a size is rounded up to whole units, as find(1) does. */
  | ["size", "+" | "-" | "=", number, SizeUnit]
  /** Changed after this seq. */
  | ["newerSeq", number]
  /** Modified after this time, milliseconds since 1970. */
  | ["newerTime", number]
  | ["not", Predicate]
  /** Matches every entry when it has no parts. */
  | ["and", ...Predicate[]]
  /** Matches no entry when it has no parts. */
  | ["or", ...Predicate[]];

/** Entry that a predicate is decided on. */
export interface Candidate {
  name: string;
  type: FileType;
  sizeBytes: number;
  mtimeNs: bigint;
  /** seq of its last change of any kind. */
  seq: number;
}

const TYPE_OF_LETTER: Record<TypeLetter, FileType> = { f: "file", d: "folder", l: "symlink" };
const UNIT_BYTES: Record<SizeUnit, number> = { c: 1, k: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };
/** ECMAScript's times end here. */
const TIME_MS_MAX = 8.64e15;

type Test = (candidate: Candidate) => boolean;

const compiled = new WeakMap<Predicate, Test>();

/** The predicate must have been checked, or made by parsePredicate. */
export function matches(predicate: Predicate, candidate: Candidate): boolean {
  let test = compiled.get(predicate);
  if (test === undefined) compiled.set(predicate, (test = compile(predicate)));
  return test(candidate);
}

/** @throws RunnelError Invalid for what is no predicate, TooLarge beyond its limits. */
export function checkPredicate(value: unknown): Predicate {
  const budget = { nodes: LIMITS.predicateNodes, bytes: LIMITS.predicateBytes };
  const check = (part: unknown): Predicate => {
    if ((budget.nodes -= 1) < 0) throw tooLarge(LIMITS.predicateNodes, "parts");
    if (!Array.isArray(part)) throw invalid("A part of a predicate is not an array.");
    const [kind, ...rest] = part as unknown[];
    if (kind === "and" || kind === "or") return [kind, ...rest.map(check)];
    if (kind === "not" && rest.length === 1) return ["not", check(rest[0])];
    // A number of more than 32 bits may come as either (W2).
    const test = checkTest(
      kind,
      rest.map((each) => (typeof each === "bigint" ? Number(each) : each)),
    );
    if (typeof test[1] === "string" && (budget.bytes -= Buffer.byteLength(test[1])) < 0) {
      throw tooLarge(LIMITS.predicateBytes, "bytes of text");
    }
    return test;
  };
  return check(value);
}

function checkTest(kind: unknown, [first, second, third, ...more]: unknown[]): Predicate {
  if (more.length === 0 && kind === "size") {
    const isUnit = typeof third === "string" && Object.hasOwn(UNIT_BYTES, third);
    if ((first === "+" || first === "-" || first === "=") && isCount(second) && isUnit) {
      return ["size", first, second, third as SizeUnit];
    }
  } else if (second === undefined && third === undefined && more.length === 0) {
    if ((kind === "name" || kind === "iname") && typeof first === "string" && first.isWellFormed())
      return [kind, first];
    if (kind === "type" && typeof first === "string" && Object.hasOwn(TYPE_OF_LETTER, first))
      return ["type", first as TypeLetter];
    if (kind === "newerSeq" && isCount(first)) return ["newerSeq", first];
    if (kind === "newerTime" && typeof first === "number" && Math.abs(first) <= TIME_MS_MAX)
      return ["newerTime", first];
  }
  throw invalid("A part of a predicate is none of those that find knows.");
}

function compile(predicate: Predicate): Test {
  switch (predicate[0]) {
    case "name": {
      const glob: Glob = compileGlob(predicate[1]);
      return ({ name }) => glob(name);
    }
    case "iname": {
      const glob: Glob = compileGlob(foldKey(predicate[1]));
      return ({ name }) => glob(foldKey(name));
    }
    case "type": {
      const wanted = TYPE_OF_LETTER[predicate[1]];
      return ({ type }) => type === wanted;
    }
    case "size": {
      const [, sign, count, unit] = predicate;
      const units = ({ sizeBytes }: Candidate): number => Math.ceil(sizeBytes / UNIT_BYTES[unit]);
      if (sign === "+") return (candidate) => units(candidate) > count;
      if (sign === "-") return (candidate) => units(candidate) < count;
      return (candidate) => units(candidate) === count;
    }
    case "newerSeq": {
      const [, after] = predicate;
      return ({ seq }) => seq > after;
    }
    case "newerTime": {
      // Whole microseconds: a double holds no more for times of our days.
      const afterNs = BigInt(Math.round(predicate[1] * 1000)) * 1000n;
      return ({ mtimeNs }) => mtimeNs > afterNs;
    }
    case "not": {
      const test = compile(predicate[1]);
      return (candidate) => !test(candidate);
    }
    default: {
      const [kind, ...parts] = predicate;
      const tests = parts.map(compile);
      if (kind === "and") return (candidate) => tests.every((test) => test(candidate));
      return (candidate) => tests.some((test) => test(candidate));
    }
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function invalid(message: string): RunnelError {
  return new RunnelError("Invalid", "find", message);
}

function tooLarge(limit: number, what: string): RunnelError {
  return new RunnelError("TooLarge", "find", `A predicate has more than ${limit} ${what}.`, { detail: { limit } });
}
