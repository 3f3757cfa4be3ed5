// Names that the volume does not offer although they lie in the folder: names that are too long, nested volumes, other
// file systems.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { DiskRows } from "./disk-rows.ts";
import { isNestedVolume } from "./marker.ts";

export const OTHER_DISK = "another file system";
export const OTHER_VOLUME = "a volume of its own";
const EXAMPLES = 100;
/** Remembered by their folders; more are only counted. */
const NAMES_MAX = 10_000;
/** Names told to a person who wants to remove the folder. */
const NAMED = 3;

export class ExcludedNames {
  /** Excluded names by the node of their folder: how many names each stands for that is shown. */
  readonly #in = new Map<number, Map<string, number>>();
  /** Names that are taken by what is excluded, behind the node of their folder. */
  readonly #taken = new Set<string>();
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

  /** Adds what lies at a name itself. */
  addAt(folder: number, name: string, shown: string): void {
    this.add(folder, shown);
    if (this.#taken.size < NAMES_MAX) this.#taken.add(`${folder}/${name}`);
  }

  /** A whole scan finds all anew. */
  clear(): void {
    this.#in.clear();
    this.#taken.clear();
    this.#remembered = 0;
    this.#more = 0;
  }

  /** Any may be in the folder. */
  mayBeIn(folder: number): boolean {
    return this.#more > 0 || this.#in.has(folder);
  }

  mayBeAt(folder: number, name: string): boolean {
    return this.#taken.has(`${folder}/${name}`);
  }

  /**
   * Looks at the name: what was excluded may be gone. No client may put anything in its place [W161]. @throws BadName,
   * with a sentence that names it.
   */
  async mustNotBeAt(folder: number, name: string, root: DiskRoot, rows: DiskRows): Promise<void> {
    const path = await rows.pathOfName(folder, name);
    const why = path === undefined ? undefined : await whyExcluded(path, root);
    if (why === undefined) {
      this.#taken.delete(`${folder}/${name}`);
      return;
    }
    const sentence = `The name ${path} is taken on the server, by what is on no drive (${why}). Take another name.`;
    throw new RunnelError("BadName", "make", sentence);
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

async function whyExcluded(path: string, root: DiskRoot): Promise<string | undefined> {
  try {
    const [{ dev, type }, { dev: own }] = [await root.stat(path), await root.stat("")];
    if (dev !== own) return OTHER_DISK;
    return type === "folder" && (await isNestedVolume(root, path)) ? OTHER_VOLUME : undefined;
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder")) return undefined;
    if (isRunnelError(error, "Unavailable")) return OTHER_DISK;
    throw error;
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
