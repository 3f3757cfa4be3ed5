// Copies a file, or a folder with all in it, from one place to another: this computer, a drive, a volume of any server
// that knows this device. Of what goes into a volume only the chunks that it lacks are sent, and of what comes from
// another volume only those are fetched.
import { basename } from "node:path";
import { type FileType, LIMITS, RunnelError, isWithin } from "@runnel/shared";
import { type LocalFiles, pathIn } from "./local-files.ts";
import type { FileFacts, FileSource, NamedFile, VolumeFiles } from "./volume-files.ts";

/** Side of a copy. */
export interface CopyEnd {
  /** Tells whether two ends are of one place: the same volume, or this computer. */
  readonly id: string;
  find(path: string): Promise<FileFacts | undefined>;
  list(path: string): Promise<NamedFile[]>;
  makeFolder(path: string): Promise<void>;
  open(path: string): Promise<FileSource>;
  write(path: string, source: FileSource, signal: AbortSignal): Promise<void>;
  join(folder: string, name: string): string;
  /** Says whether a folder is a drive: what is in it is copied by its own path only. Left out: none is. */
  isDrive?(path: string): Promise<boolean>;
}

export interface CopyPlace {
  end: CopyEnd;
  /** "" is the volume itself. */
  path: string;
}

export interface Copied {
  files: number;
  folders: number;
  bytes: number;
  /** Paths of what is neither file nor folder, and of drives within a folder of this computer. */
  skipped: string[];
}

interface CopyOptions {
  isRecursive: boolean;
  signal: AbortSignal;
  /** Called before each file. */
  progress?(copied: Readonly<Copied>, path: string): void;
}

/** Paths that are named: a person sees that there are more. */
const SKIPPED_MAX = 1000;
const WINDOW_BYTES = 4 * 1024 * 1024;

/** `isDrive`: an agent that went into its own drive by the kernel would wait for itself. */
export function localEnd(local: LocalFiles, isDrive: (path: string) => Promise<boolean>): CopyEnd {
  return {
    id: "",
    find: (path) => local.find(path),
    list: (path) => local.list(path),
    makeFolder: async (path) => {
      if (!(await isDrive(path))) return local.makeFolder(path);
      throw new RunnelError("Invalid", "copy", `${path} is a drive. Copy into it by its own path.`);
    },
    isDrive,
    open: (path) => local.open(path),
    write: async (path, source, signal) => {
      const { mtimeNs, mode } = source;
      const fill: Parameters<LocalFiles["write"]>[1] = async (file) => {
        for (let offset = 0; offset < source.sizeBytes; offset += WINDOW_BYTES) {
          signal.throwIfAborted();
          const range = { offset, length: Math.min(WINDOW_BYTES, source.sizeBytes - offset) };
          await source.bring?.(range);
          await copyRange(source, file, range);
        }
      };
      await local.write(path, fill, { mtimeNs, mode });
    },
    join: pathIn,
  };
}

/** Copies bytes that are here. @throws Stale when the file is shorter than it was. */
export async function copyRange(
  { file: from }: Pick<FileSource, "file">,
  to: NonNullable<FileSource["file"]>,
  { offset, length }: { offset: number; length: number },
): Promise<void> {
  for (let done = 0; done < length;) {
    const copied = from === undefined ? 0 : await to.copyFrom(from, offset + done, offset + done, length - done);
    if (copied === 0) throw new RunnelError("Stale", "copy", "A file became shorter while it was copied.");
    done += copied;
  }
}

export function volumeEnd(files: VolumeFiles): CopyEnd {
  return {
    id: files.url,
    find: (path) => files.find(path),
    list: (path) => files.list(path),
    makeFolder: (path) => files.makeFolders(path),
    open: async (path) => {
      const opened = await files.open(path);
      try {
        const source = await opened.source();
        const dispose = async (): Promise<void> => {
          await source[Symbol.asyncDispose]();
          await opened[Symbol.asyncDispose]();
        };
        return { ...source, [Symbol.asyncDispose]: dispose };
      } catch (error) {
        await opened[Symbol.asyncDispose]();
        throw error;
      }
    },
    write: async (path, source, signal) => void (await files.write(path, source, { signal })),
    join: (folder, name) => (folder === "" ? name : `${folder}/${name}`),
  };
}

/** @throws NotFound, IsFolder, NotFolder, Invalid; what the ends throw: what was copied until then is there. */
export async function copyTree(from: CopyPlace, to: CopyPlace, options: CopyOptions): Promise<Copied> {
  const facts = await from.end.find(from.path);
  if (facts === undefined) throw new RunnelError("NotFound", "copy", `There is no ${from.path || from.end.id}.`);
  if (facts.type === "folder" && !options.isRecursive)
    throw new RunnelError("IsFolder", "copy", `${from.path || from.end.id} is a folder. Copy it with -r.`);
  const target = await targetOf(from, to, facts);
  // "" is all of a volume.
  if (from.end.id === to.end.id && (from.path === "" || isWithin(target.path, from.path)))
    throw new RunnelError("Invalid", "copy", `${from.path || from.end.id} cannot be copied into itself.`);
  const copy = new TreeCopy(from.end, to.end, options);
  await copy.copy({ ...facts, from: from.path, to: target.path, depth: 0 });
  return copy.copied;
}

async function targetOf(from: CopyPlace, to: CopyPlace, { type }: FileFacts): Promise<CopyPlace> {
  const there = await to.end.find(to.path);
  const name = basename(from.path);
  if (there === undefined) return to;
  if (there.type === "folder") return name === "" ? to : { end: to.end, path: to.end.join(to.path, name) };
  if (type === "folder") throw new RunnelError("NotFolder", "copy", `${to.path} is there, and is no folder.`);
  return to;
}

interface CopyStep {
  type: FileType;
  sizeBytes: number;
  from: string;
  to: string;
  depth: number;
}

class TreeCopy {
  readonly copied: Copied = { files: 0, folders: 0, bytes: 0, skipped: [] };
  readonly #from: CopyEnd;
  readonly #to: CopyEnd;
  readonly #options: CopyOptions;

  constructor(from: CopyEnd, to: CopyEnd, options: CopyOptions) {
    this.#from = from;
    this.#to = to;
    this.#options = options;
  }

  async copy({ type, sizeBytes, from, to, depth }: CopyStep): Promise<void> {
    const { signal, progress } = this.#options;
    signal.throwIfAborted();
    progress?.(this.copied, from);
    if (type === "file") {
      await using source = await this.#from.open(from);
      await this.#to.write(to, source, signal);
      this.copied.files++;
      this.copied.bytes += sizeBytes;
    } else if (type === "folder") {
      if (depth > 0 && (await this.#from.isDrive?.(from)) === true) return this.#skip(from);
      if (depth > LIMITS.depth) throw new RunnelError("BadName", "copy", `${from} lies too deep.`);
      await this.#to.makeFolder(to);
      this.copied.folders++;
      for (const entry of await this.#from.list(from)) {
        const next = { from: this.#from.join(from, entry.name), to: this.#to.join(to, entry.name), depth: depth + 1 };
        await this.copy({ ...entry, ...next });
      }
    } else this.#skip(from);
  }

  #skip(path: string): void {
    if (this.copied.skipped.length < SKIPPED_MAX) this.copied.skipped.push(path);
  }
}
