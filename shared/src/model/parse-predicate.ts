// find's words, as find(1) has them, made into a predicate:
//
//     -name GLOB  -iname GLOB  -type f|d|l  -size [+-]N[ckMG]  -newer SEQ|TIME
//     and -a -and (or nothing)   or -o -or   not ! -not   ( )
//
// not binds closer than and, and closer than or. Unlike find(1), -size counts bytes when no unit is named, and -newer
// takes no file but a seq (a whole number) or a time of ISO 8601, which is UTC when it names no zone. No words at all:
// every entry.
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { type Predicate, type SizeUnit, type TypeLetter, checkPredicate } from "./predicate.ts";

const AND = new Set(["and", "-a", "-and"]);
const OR = new Set(["or", "-o", "-or"]);
const NOT = new Set(["not", "!", "-not"]);
const KNOWN = "-name, -iname, -type, -size, -newer, and, or, not and parentheses";
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/** @throws RunnelError Invalid with a sentence that names the word, TooLarge beyond the limits. */
export function parsePredicate(words: readonly string[] | string): Predicate {
  const parser = new Parser(typeof words === "string" ? splitWords(words) : words);
  return checkPredicate(parser.parse());
}

class Parser {
  readonly #words: readonly string[];
  #at = 0;
  /** Open parentheses and nots: what checkPredicate does not see before it is too late for the stack. */
  #depth = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  parse(): Predicate {
    if (this.#words.length === 0) return ["and"];
    const predicate = this.#or();
    if (this.#at < this.#words.length) throw invalid(`There is a ")" without a "(".`);
    return predicate;
  }

  #or(): Predicate {
    const parts = [this.#and()];
    while (this.#takes(OR)) parts.push(this.#and());
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : ["or", ...parts];
  }

  #and(): Predicate {
    const parts = [this.#not()];
    while (this.#takes(AND) || !this.#isAtEnd()) parts.push(this.#not());
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : ["and", ...parts];
  }

  #not(): Predicate {
    if (this.#takes(NOT)) return this.#deeper(() => ["not", this.#not()]);
    if (!this.#takes(new Set(["("]))) return this.#test();
    const inner = this.#deeper(() => this.#or());
    if (!this.#takes(new Set([")"]))) throw invalid(`There is a "(" without a ")".`);
    return inner;
  }

  #test(): Predicate {
    const word = this.#words[this.#at++];
    if (word === undefined) throw invalid("Something is missing at the end.");
    switch (word) {
      case "-name":
      case "-iname":
        return [word === "-name" ? "name" : "iname", this.#value(word)];
      case "-type":
        return ["type", typeLetter(this.#value(word))];
      case "-size":
        return size(this.#value(word));
      case "-newer":
        return newer(this.#value(word));
      default:
        throw invalid(`find does not know "${word}" here; it knows ${KNOWN}.`);
    }
  }

  #value(test: string): string {
    const value = this.#words[this.#at++];
    if (value === undefined) throw invalid(`${test} needs a value.`);
    return value;
  }

  #isAtEnd(): boolean {
    const word = this.#words[this.#at];
    return word === undefined || word === ")" || OR.has(word);
  }

  #takes(words: ReadonlySet<string>): boolean {
    const word = this.#words[this.#at];
    if (word === undefined || !words.has(word)) return false;
    this.#at += 1;
    return true;
  }

  #deeper(parse: () => Predicate): Predicate {
    this.#depth += 1;
    if (this.#depth > LIMITS.predicateNodes) throw invalid(`There are more than ${LIMITS.predicateNodes} levels.`);
    const predicate = parse();
    this.#depth -= 1;
    return predicate;
  }
}

function typeLetter(value: string): TypeLetter {
  if (value === "f" || value === "d" || value === "l") return value;
  throw invalid(`-type is f (files), d (folders) or l (symlinks), not "${value}".`);
}

function size(value: string): Predicate {
  const [, sign, count, unit] = /^([+-]?)(\d{1,15})([ckMG]?)$/.exec(value) ?? [];
  if (count === undefined)
    throw invalid(`-size is a number, with + or - before it and c, k, M or G behind it, not "${value}".`);
  return ["size", sign === "+" || sign === "-" ? sign : "=", Number(count), (unit || "c") as SizeUnit];
}

function newer(value: string): Predicate {
  if (/^\d{1,15}$/.test(value)) return ["newerSeq", Number(value)];
  const [, day = "", time = "00:00", zone = "Z"] = TIME.exec(value) ?? [];
  const timeMs = Date.parse(`${day}T${time}${zone}`);
  // Date.parse takes the 31st of any month.
  const isDay = !Number.isNaN(timeMs) && new Date(`${day}T00:00Z`).toISOString().startsWith(day);
  if (!isDay) throw invalid(`-newer is a seq or a time such as 2026-03-01T09:30Z, not "${value}".`);
  return ["newerTime", timeMs];
}

/** Words as a shell splits them: by spaces, with '…', "…" and \ before a character. */
function splitWords(text: string): string[] {
  if (Buffer.byteLength(text) > 2 * LIMITS.predicateBytes) throw invalid("The predicate is too long.");
  const words: string[] = [];
  for (const [found] of text.matchAll(/(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+/gsu)) {
    words.push(found.replaceAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(['"\\])/gsu, unquote));
  }
  return words;
}

function unquote(_found: string, single?: string, double?: string, escaped?: string, stray?: string): string {
  if (stray !== undefined) throw invalid(`A ${stray} is never closed.`);
  // Within double quotes a backslash only quotes what would end or escape there.
  return single ?? double?.replaceAll(/\\(["\\])/g, "$1") ?? escaped ?? "";
}

function invalid(message: string): RunnelError {
  return new RunnelError("Invalid", "find", message);
}
