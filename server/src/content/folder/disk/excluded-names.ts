// Names that the volume does not offer although they lie in the folder: names that are too long, nested volumes, other
// file systems.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { DiskRows } from "./disk-rows.ts";

const EXAMPLES = 100;
/** Remembered by their folders; more are only counted. */
const NAMES_MAX = 10_000;
/** Names told to a person who wants to remove the folder. */
const NAMED = 3;

export class ExcludedNames {
  /** Excluded names by the node of their folder: how many names each stands for that is shown. */
  readonly #in = new Map<number, Map<string, number>>();
  #remembered = 0;
  #more = 0;

  /** Adds so many names in a folder, shown as this one. */
  add(folder: number, shown: string, count = 1): void {
    const names = this.#in.get(folder) ?? new Map<string, number>();
    if (names.has(shown) || this.#remembered < NAMES_MAX) {
      if (!names.has(shown)) this.#remembered++;
      this.#in.set(folder, names.set(shown, count));
    } else this.#more += count;
  }

  /** A whole scan finds all anew. */
  clear(): void {
    this.#in.clear();
    this.#remembered = 0;
    this.#more = 0;
  }

  /** Any may be in the folder. */
  mayBeIn(folder: number): boolean {
    return this.#more > 0 || this.#in.has(folder);
  }

  /**
   * The folder is probed: what was excluded may be gone. What is in it and has no row is no client's to remove [W161].
   * @throws NotEmpty, with a sentence that names it.
   */
  async mustNotBeIn(folder: number, root: DiskRoot, rows: DiskRows): Promise<void> {
    const path = await rows.pathOf(folder);
    if (path === undefined || !(await holdsOthers(folder, path, root, rows))) {
      this.#remembered -= this.#in.get(folder)?.size ?? 0;
      this.#in.delete(folder);
      return;
    }
    const names = [...(this.#in.get(folder)?.keys() ?? [])];
    const shown = names.length === 0 ? "" : `: ${names.slice(0, NAMED).join(", ")}${names.length > NAMED ? ", …" : ""}`;
    const sentence = `The folder ${path} is not empty on the server: something in it is on no drive${shown}. Remove that on the server first.`;
    throw new RunnelError("NotEmpty", "remove", sentence, { detail: { node: folder } });
  }

  status(): { count: number; examples: string[] } {
    let count = this.#more;
    const examples: string[] = [];
    for (const names of this.#in.values())
      for (const [shown, each] of names) {
        count += each;
        if (examples.length < EXAMPLES) examples.push(shown);
      }
    return { count, examples };
  }
}

async function holdsOthers(folder: number, path: string, root: DiskRoot, rows: DiskRows): Promise<boolean> {
  const known = new Set((await rows.ofFolder(folder)).map(({ name }) => name));
  let holds = false;
  try {
    await root.list(path, (entries) => {
      holds ||= entries.some(({ name }) => name === undefined || !known.has(name));
    });
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder")) return false;
    // A folder that may not be read.
    if (isRunnelError(error, "Denied", "Unavailable")) return true;
    throw error;
  }
  return holds;
}
