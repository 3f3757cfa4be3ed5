// Reads the CDDL (RFC 8610) that PROTOCOL.md uses: enough to say of a value whether it has a form, and to make values
// of and near that form.

interface Occurrence {
  min: number;
  max: number;
}
/** An element of an array, or a field of a map when it has a key. An element without a key in a map names a group. */
interface Entry extends Occurrence {
  key: string | undefined;
  type: Type;
}
type Type =
  | { is: "choice"; of: Type[] }
  | { is: "integer"; min: bigint; max: bigint }
  | { is: "float"; min: number; max: number }
  | { is: "literal"; value: string | number }
  | { is: "text"; regexp?: string; not?: string }
  | { is: "bytes"; min: number; max: number }
  | { is: "simple"; values: unknown[] }
  | { is: "any" }
  | { is: "array" | "map" | "group"; of: Entry[] }
  | { is: "name"; name: string };

const TOKEN = /\s+|;[^\n]*|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+(?:e\d+)?)?|\.\.|\.[a-z]+|[A-Za-z_][\w-]*|[=/,:?*()[\]{}]/gy;
const PRELUDE: Record<string, Type> = {
  tstr: { is: "text" },
  bstr: { is: "bytes", min: 0, max: Infinity },
  bool: { is: "simple", values: [true, false] },
  null: { is: "simple", values: [null] },
  any: { is: "any" },
};
/** Numbers whose range ends below this are written in 32 bits at most (W2). */
const SHORT = 2n ** 32n;

/** Texts of the fenced blocks of a document that are marked with this word. */
export function blocksOf(document: string, mark: string): string[] {
  return [...document.matchAll(new RegExp(`^\`\`\`${mark}\\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);
}

export class Cddl {
  readonly #rules = new Map<string, Type>();

  constructor(text: string) {
    const parser = new Parser(text);
    while (!parser.isAtEnd()) {
      const name = parser.take();
      parser.take("=");
      if (this.#rules.has(name) || name in PRELUDE) throw new Error(`"${name}" is defined twice.`);
      this.#rules.set(name, parser.type());
    }
  }

  names(): string[] {
    return [...this.#rules.keys()];
  }

  /** Names that stand in a type and that nothing defines. */
  undefinedNames(): string[] {
    const missing = new Set<string>();
    for (const type of this.#rules.values()) {
      for (const part of this.#parts(type)) {
        if (part.is === "name" && !this.#rules.has(part.name)) missing.add(part.name);
      }
    }
    return [...missing];
  }

  /** Keys of maps, and literals, anywhere in the form: sorted. */
  words(name: string): string[] {
    const words = new Set<string>();
    const seen = new Set<string>();
    const visit = (type: Type): void => {
      for (const part of this.#parts(type)) {
        if (part.is === "literal") words.add(JSON.stringify(part.value));
        if (part.is === "map") for (const { key } of this.#entries(part.of)) words.add(`${key}:`);
        if (part.is === "name" && !seen.has(part.name)) {
          seen.add(part.name);
          visit(this.#named(part.name));
        }
      }
    };
    visit(this.#named(name));
    return [...words].toSorted();
  }

  accepts(name: string, value: unknown): boolean {
    return this.#accepts(this.#named(name), value);
  }

  /** Values of the form, and values that differ from one of them in one place: [where, value]. */
  probes(name: string): Iterable<[string, unknown]> {
    return this.#probes(this.#named(name), [name]);
  }

  #named(name: string): Type {
    const type = this.#rules.get(name);
    if (type === undefined) throw new Error(`No CDDL defines "${name}".`);
    return type;
  }

  *#parts(type: Type): Iterable<Type> {
    yield type;
    if (type.is === "choice") for (const part of type.of) yield* this.#parts(part);
    if (type.is === "array" || type.is === "map" || type.is === "group") {
      for (const entry of type.of) yield* this.#parts(entry.type);
    }
  }

  /** With the fields of groups in place of their names. */
  #entries(entries: readonly Entry[]): Entry[] {
    return entries.flatMap((entry) => {
      const group = entry.key === undefined && entry.type.is === "name" ? this.#named(entry.type.name) : undefined;
      return group?.is === "group" ? this.#entries(group.of) : [entry];
    });
  }

  #accepts(type: Type, value: unknown): boolean {
    switch (type.is) {
      case "any":
        return true;
      case "name":
        return this.#accepts(this.#named(type.name), value);
      case "choice":
        return type.of.some((part) => this.#accepts(part, value));
      case "literal":
        return value === type.value;
      case "simple":
        return type.values.includes(value);
      case "integer":
        if (typeof value === "bigint") return value >= type.min && value <= type.max;
        return (
          Number.isSafeInteger(value) && BigInt(value as number) >= type.min && BigInt(value as number) <= type.max
        );
      case "float":
        return typeof value === "number" && value >= type.min && value <= type.max;
      case "text":
        if (typeof value !== "string" || value === type.not) return false;
        return type.regexp === undefined || new RegExp(`^(?:${type.regexp})$`, "su").test(value);
      case "bytes":
        return value instanceof Uint8Array && value.length >= type.min && value.length <= type.max;
      case "array":
        return Array.isArray(value) && this.#fills(this.#entries(type.of), value);
      case "map":
        return this.#hasFields(this.#entries(type.of), value);
      case "group":
        throw new Error("A group is no value.");
    }
  }

  /** Takes for each entry as many elements as fit: no form of the document needs more. */
  #fills(entries: readonly Entry[], elements: readonly unknown[]): boolean {
    let at = 0;
    for (const { min, max, type } of entries) {
      let count = 0;
      // A long list of a probe has one element many times.
      const isLikeLast = (): boolean => count > 0 && elements[at] === elements[at - 1];
      while (count < max && at < elements.length && (isLikeLast() || this.#accepts(type, elements[at]))) {
        count += 1;
        at += 1;
      }
      if (count < min) return false;
    }
    return at === elements.length;
  }

  /** Fields that are not known are ignored (W10); one that is undefined is as if it were left out (W2). */
  #hasFields(entries: readonly Entry[], value: unknown): boolean {
    if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array)
      return false;
    const fields = value as Record<string, unknown>;
    return entries.every(({ key = "", min, type }) =>
      fields[key] === undefined ? min === 0 : this.#accepts(type, fields[key]),
    );
  }

  #sample(type: Type, isFull = false): unknown {
    switch (type.is) {
      case "any":
        return 0;
      case "name":
        return this.#sample(this.#named(type.name), isFull);
      case "choice":
        return this.#sample(type.of[0] as Type, isFull);
      case "literal":
        return type.value;
      case "simple":
        return type.values[0];
      case "integer":
        return type.min > 0n || type.max < 0n ? Number(type.min) : 0;
      case "float":
        return 0;
      case "text":
        return type.regexp === undefined ? "a" : textOf(type.regexp);
      case "bytes":
        return new Uint8Array(type.min);
      case "array":
        return this.#entries(type.of).flatMap(({ min, max, type: part }) =>
          Array.from({ length: isFull && min === 0 && max === 1 ? 1 : min }, () => this.#sample(part, isFull)),
        );
      case "map":
        return Object.fromEntries(
          this.#entries(type.of)
            .filter(({ min }) => isFull || min > 0)
            .map(({ key, type: part }) => [key, this.#sample(part, isFull)]),
        );
      case "group":
        throw new Error("A group is no value.");
    }
  }

  *#probes(type: Type, names: readonly string[], where = ""): Generator<[string, unknown]> {
    yield [where, this.#sample(type)];
    yield [where, this.#sample(type, true)];
    if (type.is !== "name" && type.is !== "choice") {
      for (const value of misfitsOf(type)) yield [where, value];
    }
    if (type.is === "integer") {
      for (const bound of [type.min - 1n, type.min, type.max, type.max + 1n]) yield [where, numberOf(bound)];
    } else if (type.is === "bytes" && type.max < Infinity) {
      for (const length of [type.max, type.max + 1]) yield [where, new Uint8Array(length)];
    } else if (type.is === "choice") {
      for (const part of type.of) yield* this.#probes(part, names, where);
    } else if (type.is === "name") {
      // A form within itself is probed down to its second level.
      if (names.filter((name) => name === type.name).length > 1) return;
      yield* this.#probes(this.#named(type.name), [...names, type.name], where);
    } else if (type.is === "array") {
      yield* this.#probesOfArray(this.#entries(type.of), names, where);
    } else if (type.is === "map") {
      const full = this.#sample(type, true) as Record<string, unknown>;
      yield [where, { ...full, later: true }];
      for (const { key = "", type: part } of this.#entries(type.of)) {
        const { [key]: _left, ...rest } = full;
        yield [`${where}.${key}`, rest];
        for (const [at, value] of this.#probes(part, names, `${where}.${key}`)) yield [at, { ...full, [key]: value }];
      }
    }
  }

  *#probesOfArray(entries: readonly Entry[], names: readonly string[], where: string): Generator<[string, unknown]> {
    const full = this.#sample({ is: "array", of: [...entries] }, true) as unknown[];
    yield [where, [...full, 0]];
    yield [where, full.slice(0, -1)];
    for (const [index, { min, max, type }] of entries.entries()) {
      const at = `${where}[${index}]`;
      // Entries that may come more than once stand last.
      const before = full.slice(0, index);
      const after = full.slice(index + (max === 1 ? 1 : min));
      for (const [place, value] of this.#probes(type, names, at)) {
        if (value !== undefined) yield [place, [...before, value, ...after]];
      }
      if (max === 1) continue;
      const one = this.#sample(type);
      const lengths = max === Infinity ? [min, min + 1] : [min, min - 1, max, max + 1];
      for (const length of lengths.filter((each) => each >= 0)) {
        yield [at, [...before, ...Array.from({ length }, () => one), ...after]];
      }
    }
  }
}

/** Values of each type, and some that are of none. */
const NUMBERS: unknown[] = [0, 1, -1, 0.5, 2 ** 53, -(2 ** 53), Number.NaN, Infinity, 7n, 2n ** 64n];
const OTHERS: unknown[] = ["", "a", new Uint8Array(), new Uint8Array(3), true, false, null, undefined, [], [0], {}];
const STRANGE = [...NUMBERS, ...OTHERS];

/** A short number comes in 32 bits at most, and what is said of it in more is left open (W2). */
function misfitsOf(type: Type): unknown[] {
  const isShort = type.is === "literal" || (type.is === "integer" && type.max < SHORT);
  return isShort ? STRANGE.filter((value) => typeof value !== "bigint") : STRANGE;
}

/** Gives a value as the wire does: a number where that is exact. */
function numberOf(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** A text that fits: the first character of a class as often as it says, at the least. */
function textOf(regexp: string): string {
  return regexp
    .replaceAll(/\[(.)[^\]]*\]\{(\d+)(?:,\d+)?\}/g, (_all, first: string, times: string) => first.repeat(Number(times)))
    .replaceAll(".+", "a")
    .replaceAll(/\\\.(?=.)/g, ".");
}

class Parser {
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const from = TOKEN.lastIndex;
      const token = TOKEN.exec(text)?.[0];
      if (token === undefined) throw new Error(`CDDL has something else at "${text.slice(from, from + 30)}".`);
      if (!/^[\s;]/.test(token)) this.#tokens.push(token);
    }
  }

  isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  take(expected?: string): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined || (expected !== undefined && token !== expected)) {
      throw new Error(`CDDL has "${token}" after "${this.#tokens.slice(this.#at - 9, this.#at - 1).join(" ")}".`);
    }
    return token;
  }

  type(): Type {
    const of = [this.#part()];
    while (this.#takes("/")) of.push(this.#part());
    return of.length === 1 ? (of[0] as Type) : { is: "choice", of };
  }

  #takes(token: string): boolean {
    const isNext = this.#tokens[this.#at] === token;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #part(): Type {
    const token = this.take();
    if (token.startsWith('"')) return { is: "literal", value: JSON.parse(token) as string };
    if (/^-?\d/.test(token)) return this.#number(token);
    if (token === "[") return { is: "array", of: this.#entries("]") };
    if (token === "{") return { is: "map", of: this.#entries("}") };
    if (token === "(") {
      const of = this.#entries(")");
      const [only, ...more] = of;
      const isType = only !== undefined && more.length === 0 && only.key === undefined && only.max === 1;
      return isType ? only.type : { is: "group", of };
    }
    const known = PRELUDE[token];
    if (known === undefined) return { is: "name", name: token };
    if (known.is === "text" && this.#takes(".regexp")) return { ...known, regexp: JSON.parse(this.take()) as string };
    if (known.is === "text" && this.#takes(".ne")) return { ...known, not: JSON.parse(this.take()) as string };
    if (known.is === "bytes" && this.#takes(".size")) {
      this.take("(");
      const min = Number(this.take());
      this.take("..");
      const max = Number(this.take());
      this.take(")");
      return { is: "bytes", min, max };
    }
    return known;
  }

  #number(first: string): Type {
    if (!this.#takes("..")) return { is: "literal", value: Number(first) };
    const last = this.take();
    if (first.includes(".")) return { is: "float", min: Number(first), max: Number(last) };
    return { is: "integer", min: BigInt(first), max: BigInt(last) };
  }

  #entries(end: string): Entry[] {
    const entries: Entry[] = [];
    while (!this.#takes(end)) {
      if (entries.length > 0) {
        this.take(",");
        if (this.#takes(end)) break;
      }
      const occurrence = this.#occurrence();
      const hasKey = this.#tokens[this.#at + 1] === ":";
      const key = hasKey ? this.take() : undefined;
      if (hasKey) this.take(":");
      entries.push({ ...occurrence, key, type: this.type() });
    }
    return entries;
  }

  /** ? · * · n* · n*m */
  #occurrence(): Occurrence {
    if (this.#takes("?")) return { min: 0, max: 1 };
    const [first = "", second] = this.#tokens.slice(this.#at, this.#at + 2);
    const min = /^\d+$/.test(first) && second === "*" ? Number(this.take()) : 0;
    if (!this.#takes("*")) return { min: 1, max: 1 };
    const next = this.#tokens[this.#at] ?? "";
    return { min, max: /^\d+$/.test(next) ? Number(this.take()) : Infinity };
  }
}
