// What the volume does not offer although it lies in the folder: names that are too long, nested volumes, other file systems.
const EXAMPLES = 100;
/** Remembered for counting; more are counted together. */
const PATHS_MAX = 10_000;

export class LeftOut {
  #counts = new Map<string, number>();

  /** So many names, shown as this one. */
  add(shown: string, count = 1): void {
    const key = this.#counts.has(shown) || this.#counts.size < PATHS_MAX ? shown : "…";
    this.#counts.set(key, key === "…" ? (this.#counts.get(key) ?? 0) + count : count);
  }

  /** A whole scan finds all anew. */
  clear(): void {
    this.#counts.clear();
  }

  status(): { count: number; examples: string[] } {
    let count = 0;
    for (const each of this.#counts.values()) count += each;
    return { count, examples: [...this.#counts.keys()].slice(0, EXAMPLES) };
  }
}
