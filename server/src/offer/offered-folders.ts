// Folders below those that `runnel serve --offer` names: which there are to make volumes of, and whether a path is one
// of them. A path is taken as it is typed: no step of it may be a symlink, nor lead out of its root or to another disk
// (the Disk's own rule).
import { isAbsolute } from "node:path";
import type { Disk, DiskRoot } from "@runnel/shared";
import { RunnelError, STORE_FOLDER, fromSystemError, isRunnelError, isWithin, withOpened } from "@runnel/shared";
import { realPath } from "../host/real-path.ts";

/** Folders that are listed at once. */
export const OFFERED_MAX = 500;
const OPERATION = "choose folder";

export interface OfferedFolder {
  name: string;
  /** Absolute. */
  path: string;
}

export class OfferedFolders {
  readonly #disk: Disk;
  /** Real paths. */
  readonly roots: readonly string[];

  private constructor(disk: Disk, roots: readonly string[]) {
    this.#disk = disk;
    this.roots = roots;
  }

  /** @throws RunnelError Invalid for what is no folder that can be read. */
  static async open(disk: Disk, roots: readonly string[]): Promise<OfferedFolders> {
    const real: string[] = [];
    for (const root of roots) {
      const path = await realPath(root);
      try {
        await withOpened(await disk.openRoot(path), (opened) => opened.list("", () => undefined));
      } catch (cause) {
        throw invalid(`--offer ${root} is no folder that can be read. Name another one.`, cause);
      }
      if (!real.includes(path)) real.push(path);
    }
    return new OfferedFolders(disk, real);
  }

  /**
   * Lists the roots (""), or the folders in one below them, by name, those after `after`. @throws RunnelError as
   * `check`, but for a root itself.
   */
  async list(
    path: string,
    after = "",
    limit = OFFERED_MAX,
  ): Promise<{ folders: OfferedFolder[]; after: string | null }> {
    if (path === "") {
      const folders = this.roots.map((root) => ({ name: root, path: root }));
      return { folders, after: null };
    }
    const { root, rest } = this.#placeOf(path);
    const names = await this.#at(root, path, (opened) => foldersIn(opened, rest, after, limit + 1));
    const shown = names.slice(0, limit).map((name) => ({ name, path: `${path}/${name}` }));
    return { folders: shown, after: names.length > limit ? (shown.at(-1)?.name ?? null) : null };
  }

  /**
   * Checks that a path is a folder below a root. @throws RunnelError with a sentence for a person: Invalid, Denied
   * (outside), NotFound, NotFolder (a symlink too), Unavailable (another disk).
   */
  async check(path: string): Promise<void> {
    const { root, rest } = this.#placeOf(path);
    if (rest === "") throw new RunnelError("Denied", OPERATION, `${path} is offered itself: choose a folder in it.`);
    await this.#at(root, path, async (opened) => {
      const { type } = await opened.stat(rest);
      if (type !== "folder") throw new RunnelError("NotFolder", OPERATION, notFolder(path));
    });
  }

  #placeOf(path: string): { root: string; rest: string } {
    if (!isAbsolute(path) || path.includes("\0")) throw invalid(`${path.slice(0, 300)} is no path of a folder.`);
    const [, ...steps] = path.split("/");
    if (steps.some((step) => step === "" || step === "." || step === ".."))
      throw invalid("A path is written out: no dots and no empty steps in it.");
    const root = this.roots.filter((each) => isWithin(path, each)).toSorted((a, b) => b.length - a.length)[0];
    if (root === undefined) {
      const offered = this.roots.length === 0 ? "none is" : `choose one below ${this.roots.join(" or ")}`;
      throw new RunnelError("Denied", OPERATION, `The folder is not among those that are offered: ${offered}.`);
    }
    return { root, rest: path.slice(root === "/" ? 1 : root.length + 1) };
  }

  async #at<T>(root: string, path: string, use: (opened: DiskRoot) => Promise<T>): Promise<T> {
    try {
      return await withOpened(await this.#disk.openRoot(root), use);
    } catch (error) {
      throw inWords(error, path);
    }
  }
}

async function foldersIn(root: DiskRoot, path: string, after: string, most: number): Promise<string[]> {
  let names: string[] = [];
  const cut = (): void => {
    names = names.toSorted(byCharacter).slice(0, most);
  };
  await root.list(path, (entries) => {
    for (const { name, stat } of entries)
      if (stat.type === "folder" && name !== undefined && name !== STORE_FOLDER && name > after) names.push(name);
    // The first are kept of a folder with very many.
    if (names.length > 4 * most) cut();
  });
  cut();
  return names;
}

function byCharacter(a: string, b: string): number {
  return a < b ? -1 : 1;
}

function inWords(error: unknown, path: string): RunnelError {
  const { kind } = fromSystemError(error, OPERATION);
  if (isRunnelError(error) && error.operation === OPERATION) return error;
  const sentences: Partial<Record<typeof kind, string>> = {
    NotFound: `There is no folder ${path}.`,
    NotFolder: notFolder(path),
    Unavailable: `${path} lies on another disk than the folder that is offered: offer it itself (--offer).`,
    Denied: `The server may not read ${path}.`,
  };
  return new RunnelError(kind, OPERATION, sentences[kind] ?? `${path} cannot be read (${kind}).`, { cause: error });
}

function notFolder(path: string): string {
  return `${path} is no folder, or leads through a symlink. Choose the folder itself.`;
}

function invalid(sentence: string, cause?: unknown): RunnelError {
  return new RunnelError("Invalid", OPERATION, sentence, { cause });
}
