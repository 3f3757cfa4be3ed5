// Files of a volume in memory: the reference of VolumeFiles for what stands on it, on a simulated disk.
import { inlineExecutor } from "@runnel/native";
import {
  type ChunkKind,
  type DiskRoot,
  type Recipe,
  type VersionId,
  RunnelError,
  SimulatedClock,
  SimulatedDisk,
  encodeRecipe,
  presetFor,
} from "@runnel/shared";
import type {
  FileFacts,
  FileSource,
  NamedFile,
  OpenedFile,
  VolumeFiles,
  WriteOptions,
} from "../../src/agent/objects/volume-files.ts";

interface StoredFile extends FileFacts {
  place: string;
  until?: number;
  chunks?: ChunkKind | undefined;
}

const WINDOW_BYTES = 1024 * 1024;

export class MemoryFiles implements VolumeFiles {
  readonly url: string;
  isReadOnly = false;
  /** Bytes that were written. */
  writtenBytes = 0;
  readonly stored = new Map<string, StoredFile>();
  readonly disk: SimulatedDisk;
  readonly #executor = inlineExecutor();
  #root: DiskRoot | undefined;
  #count = 0;

  constructor(url = "wss://files.example.org:7473/docs", disk?: SimulatedDisk) {
    this.url = url;
    this.disk = disk ?? new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
  }

  mayChange(operation: string): void {
    if (this.isReadOnly) throw new RunnelError("ReadOnly", operation, "This device may only read here.");
  }

  async find(path: string): Promise<FileFacts | undefined> {
    return path === "" ? FOLDER : this.stored.get(path);
  }

  async list(path: string): Promise<NamedFile[]> {
    await this.#mustBeFolder("list", path);
    const below = path === "" ? "" : `${path}/`;
    const names = [...this.stored].filter(
      ([each]) => each.startsWith(below) && !each.slice(below.length).includes("/"),
    );
    return names
      .map(([each, { type, sizeBytes, mtimeNs, mode }]) => {
        return { type, sizeBytes, mtimeNs, mode, name: each.slice(below.length) };
      })
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async makeFolders(path: string): Promise<void> {
    this.mayChange("make");
    const names = path.split("/").filter((name) => name !== "");
    for (let count = 1; count <= names.length; count++) {
      const at = names.slice(0, count).join("/");
      if (this.stored.get(at)?.type === "file") throw new RunnelError("NotFolder", "make", "A file is in the way.");
      this.stored.set(at, { ...FOLDER, place: "" });
    }
  }

  async open(path: string): Promise<OpenedFile> {
    const found = await this.find(path);
    if (found === undefined) throw new RunnelError("NotFound", "open", `There is no ${path}.`);
    if (found.type === "folder") throw new RunnelError("IsFolder", "open", `${path} is a folder.`);
    const root = await this.#open();
    const { type, sizeBytes, mtimeNs, mode } = found;
    const place = this.stored.get(path)?.place ?? "";
    const source = async (): Promise<FileSource> => {
      const file = await root.open(place, "read");
      return { sizeBytes, mtimeNs, mode, file, [Symbol.asyncDispose]: () => file.close() };
    };
    await using read = await source();
    const { recipe, oid } = await this.cut(read, this.stored.get(path)?.chunks ?? "content");
    return {
      type,
      sizeBytes,
      mtimeNs,
      mode,
      recipe,
      oid,
      path: place,
      present: () => [],
      bring: async (_range, signal) => signal.throwIfAborted(),
      source,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  async write(path: string, source: FileSource, { signal, until, chunks }: WriteOptions): Promise<VersionId> {
    this.mayChange("write");
    await this.#mustBeFolder("write", path.slice(0, Math.max(0, path.lastIndexOf("/"))));
    if (this.stored.get(path)?.type === "folder") throw new RunnelError("IsFolder", "write", `${path} is a folder.`);
    signal.throwIfAborted();
    const place = `content-${++this.#count}`;
    const file = await (await this.#open()).open(place, "createNew", 0o600);
    try {
      for (let offset = 0; offset < source.sizeBytes; offset += WINDOW_BYTES) {
        signal.throwIfAborted();
        const length = Math.min(WINDOW_BYTES, source.sizeBytes - offset);
        await source.bring?.({ offset, length });
        await file.write(offset, (await source.file?.read(offset, length)) ?? new Uint8Array());
      }
    } finally {
      await file.close();
    }
    this.writtenBytes += source.sizeBytes;
    const { sizeBytes, mtimeNs, mode } = source;
    const before = this.stored.get(path);
    const ends = [before?.until, until].filter((each) => each !== undefined);
    const life = ends.length === 0 ? {} : { until: Math.max(...ends) };
    this.stored.set(path, { type: "file", sizeBytes, mtimeNs, mode: before?.mode ?? mode, place, chunks, ...life });
    return { node: this.#count, seq: this.#count };
  }

  async liveUntil(path: string, seconds: number): Promise<number> {
    const found = this.stored.get(path);
    if (found === undefined) throw new RunnelError("NotFound", "keep", `There is no ${path}.`);
    return (found.until = Math.max(found.until ?? 0, seconds));
  }

  async noteRecipe(): Promise<void> {}

  async cut({ file, sizeBytes }: FileSource, chunks: ChunkKind): Promise<{ recipe: Recipe; oid: Uint8Array }> {
    const empty = { lengths: new Uint32Array(), digests: new Uint8Array() };
    const preset = presetFor(sizeBytes, chunks);
    const recipe = file === undefined ? empty : await this.#executor.chunkFile(file, 0, sizeBytes, preset);
    return { recipe, oid: await this.#executor.digest([encodeRecipe(recipe)]) };
  }

  async #mustBeFolder(operation: string, path: string): Promise<void> {
    const found = await this.find(path);
    if (found === undefined) throw new RunnelError("NotFound", operation, `There is no ${path}.`);
    if (found.type !== "folder") throw new RunnelError("NotFolder", operation, `${path} is no folder.`);
  }

  async #open(): Promise<DiskRoot> {
    this.#root ??= await this.disk.openRoot(`/volumes/${encodeURIComponent(this.url)}`, { permissions: 0o700 });
    return this.#root;
  }
}

const FOLDER: FileFacts = { type: "folder", sizeBytes: 0, mtimeNs: 0n, mode: 0o755 };
