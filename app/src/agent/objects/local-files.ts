// Files of this computer, outside of all drives, that are put or copied into a volume, or written from it. A file is
// written beside its place under another name, and takes its name when it is whole.
// oxlint-disable-next-line no-restricted-imports -- names of temporary files
import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { type Disk, type DiskFile, type DiskRoot, RunnelError, isRunnelError } from "@runnel/shared";
import { openNamedFolder } from "../control/open-named-folder.ts";
import type { FileFacts, FileSource, NamedFile } from "./volume-files.ts";

const TEMPORARY_MODE = 0o600;
const FOLDER_MODE = 0o755;
const RANDOM_BYTES = 6;

export class LocalFiles {
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async find(path: string): Promise<FileFacts | undefined> {
    try {
      return await this.#in(path, (root, name) => root.stat(name));
    } catch (error) {
      if (isRunnelError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** Lists a folder in name order, without names that no volume can have. */
  async list(path: string): Promise<NamedFile[]> {
    const found: NamedFile[] = [];
    await using root = await this.#open(path);
    await root.root.list("", (entries) => {
      for (const { name, stat } of entries) if (name !== undefined) found.push({ ...factsOf(stat), name });
    });
    return found.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async makeFolder(path: string): Promise<void> {
    await this.#in(path, (root, name) => root.makeFolder(name, FOLDER_MODE)).catch((error: unknown) => {
      if (!isRunnelError(error, "Exists")) throw error;
    });
  }

  /** @throws NotFound, IsFolder, Unsupported, Denied. */
  async open(path: string): Promise<FileSource & { isUnchanged(): Promise<boolean> }> {
    const facts = await this.find(path);
    if (facts === undefined) throw new RunnelError("NotFound", "open", `There is no ${path}.`);
    if (facts.type === "folder") throw new RunnelError("IsFolder", "open", `${path} is a folder.`);
    if (facts.type !== "file") throw new RunnelError("Unsupported", "open", `${path} is neither file nor folder.`);
    const file = await this.#in(path, (root, name) => root.open(name, "read"));
    try {
      const { sizeBytes, mtimeNs, ctimeNs, mode } = await file.stat();
      const isUnchanged = async (): Promise<boolean> => {
        const now = await file.stat();
        return now.sizeBytes === sizeBytes && now.mtimeNs === mtimeNs && now.ctimeNs === ctimeNs;
      };
      return { sizeBytes, mtimeNs, mode: mode & 0o777, file, isUnchanged, [Symbol.asyncDispose]: () => file.close() };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /**
   * Writes a whole file, in place of one that is there. Where `fill` fails nothing is left, and what was there stays.
   * @throws IsFolder, NoSpace, Denied, and what `fill` does.
   */
  async write(
    path: string,
    fill: (file: DiskFile) => Promise<void>,
    { mode, mtimeNs }: { mode: number; mtimeNs?: bigint },
  ): Promise<void> {
    if ((await this.find(path))?.type === "folder") throw new RunnelError("IsFolder", "write", `${path} is a folder.`);
    await this.#in(path, async (root, name) => {
      const temporary = `.runnel-${randomBytes(RANDOM_BYTES).toString("hex")}`;
      const file = await root.open(temporary, "createNew", TEMPORARY_MODE);
      try {
        try {
          await fill(file);
          await file.setStat({ mode: mode & 0o777, ...(mtimeNs === undefined ? {} : { mtimeNs }) });
          await file.sync();
        } finally {
          await file.close();
        }
        await root.rename(temporary, name, "replace");
        await root.syncFolder("");
      } catch (error) {
        await root.removeFile(temporary).catch(() => undefined);
        throw error;
      }
    });
  }

  async #open(folder: string): Promise<{ root: DiskRoot } & AsyncDisposable> {
    const root = await openNamedFolder(this.#disk, folder);
    return { root, [Symbol.asyncDispose]: () => root.close() };
  }

  async #in<T>(path: string, work: (root: DiskRoot, name: string) => Promise<T>): Promise<T> {
    // The root of a disk has no folder above it.
    const isTop = dirname(path) === path;
    await using folder = await this.#open(dirname(path));
    return await work(folder.root, isTop ? "" : basename(path));
  }
}

/** Returns the path of a name in a folder. */
export function pathIn(folder: string, name: string): string {
  return join(folder, name);
}

function factsOf({ type, sizeBytes, mtimeNs, mode }: FileFacts): FileFacts {
  return { type, sizeBytes, mtimeNs, mode };
}
