// A real volume on simulated ground: disk, clock and meta store outlive it, so that it can be killed, lose its power or
// its meta store at any moment, and be opened again from what is left.
import { createHash } from "node:crypto";
import type { DiskRoot, NewAttributes, Recipe } from "@runnel/shared";
import { ROOT_NODE, RunnelError, SimulatedClock, SimulatedDisk, concatRecipes, isRunnelError } from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import { openFolderEngine } from "../../src/content/folder/folder-engine.ts";
import type { Holder } from "../../src/feed/holder.ts";
import { MemoryMetaImage, openMemoryMetaStore } from "../../src/meta/memory/meta-store.ts";
import type { MetaStore, Operation, OperationResult, Run } from "../../src/meta/meta-store.ts";
import { foundVolumeId, volumeId } from "../../src/volume/volume-id.ts";
import type { VolumeDeps } from "../../src/volume/volume.ts";
import { Volume } from "../../src/volume/volume.ts";
import { removalsOf } from "../../src/volume/whole-tree.ts";

export const FOLDER = "/srv/docs";
export const DATA = "/var/runnel/docs";
export const INSTANCE = "ab".repeat(16);
export const TERM_MS = 20_000;
const SETTLE_MS = 10_000;
const DATA_MODE = 0o700;
const NO_DATA = new Uint8Array(0);

export const FILE: NewAttributes = {
  type: "file",
  mode: 0o644,
  uid: 0,
  gid: 0,
  mtimeNs: 1_600_000_000_000_000_000n,
  rdev: 0,
  target: "",
};

/** Unlike any other, so that chunks are found by chance nowhere. */
export function bytesOf(seed: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

type SetAttributes = (Operation & { op: "write" })["attributes"];

export class VolumeRig {
  readonly clock = new SimulatedClock();
  readonly executor = inlineExecutor();
  readonly disk: SimulatedDisk;
  readonly warnings: string[] = [];
  readonly options: Partial<VolumeDeps>;
  image = new MemoryMetaImage();
  isMetaDamaged = false;
  private isPowerCut = false;
  volume!: Volume;
  /** The served folder, as another program sees it. */
  other!: DiskRoot;
  private data!: DiskRoot;
  private n = 0;

  constructor(seed = 1, options: Partial<VolumeDeps> = {}) {
    this.disk = new SimulatedDisk({ clock: this.clock, seed });
    this.options = options;
  }

  static async open(seed = 1, options: Partial<VolumeDeps> = {}): Promise<VolumeRig> {
    const rig = new VolumeRig(seed, options);
    await rig.open();
    await rig.settle();
    return rig;
  }

  async open(): Promise<Volume> {
    await (await this.disk.openRoot(FOLDER, { permissions: 0o755 })).close();
    this.other = await this.disk.openRoot(FOLDER);
    this.data = await this.disk.openRoot(DATA, { permissions: DATA_MODE });
    const opening = Volume.open(this.parts());
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    opening.then(mark, mark);
    await this.clock.runUntil(() => isDone);
    this.volume = await opening;
    return this.volume;
  }

  private parts(): VolumeDeps {
    const { clock, executor, disk, data } = this;
    const warn = (message: string): void => void this.warnings.push(message);
    return {
      name: "docs",
      clock,
      executor,
      data,
      termMs: TERM_MS,
      openMeta: async (create) => {
        if (create !== undefined) {
          this.image = new MemoryMetaImage();
          this.isMetaDamaged = false;
        } else if (this.isMetaDamaged)
          throw new RunnelError("Corrupt", "open meta store", "The meta store is damaged.");
        return this.whilePowered(await openMemoryMetaStore(this.image, create === undefined ? {} : { create }));
      },
      openEngine: () =>
        openFolderEngine({
          disk,
          folder: FOLDER,
          clock,
          executor,
          settings: async () => {
            const { id, isKnown } = await volumeId(data);
            return { volume: id, wasServed: isKnown };
          },
          knownVolume: async () => (await foundVolumeId(data))?.id,
          warn,
        }),
      warn,
      ...this.options,
    };
  }

  /** Drops what a volume without power still does: it makes nothing durable. */
  private whilePowered(meta: MetaStore): MetaStore {
    const { checkpoint } = meta;
    meta.checkpoint = async () => {
      if (this.isPowerCut) throw new RunnelError("Io", "checkpoint", "The power is cut.");
      return checkpoint();
    };
    return meta;
  }

  /** Time passes until nothing is pending or scanned any more. */
  async settle(): Promise<void> {
    await this.clock.advance(SETTLE_MS);
    const isDone = await this.clock.runUntil(() => {
      const { pendingCommits, isScanning } = this.volume.content.status();
      return pendingCommits === 0 && !isScanning;
    }, 120_000);
    if (!isDone) throw new Error(`Not settled: ${JSON.stringify(this.volume.content.status())}`);
    await this.clock.advance(SETTLE_MS);
  }

  /** Moves the clock until the promise settles. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    if (!(await this.clock.runUntil(() => isDone, 120_000))) throw new Error("It does not end.");
    return promise;
  }

  async close(): Promise<void> {
    await this.run(this.volume.close());
  }

  /** The process is gone; what it told the kernel stays. */
  async kill(): Promise<void> {
    this.disk.fault = () => "Io";
    this.volume.close().catch(() => undefined);
    await this.clock.advance(1_000);
    this.disk.fault = undefined;
  }

  /** The machine is gone: the disk keeps what was synced and by chance more, the index what was checkpointed. */
  async cutPower(): Promise<void> {
    this.isPowerCut = true;
    this.disk.fault = () => "Io";
    this.disk.crash();
    this.volume.close().catch(() => undefined);
    await this.clock.advance(1_000);
    this.image.cutPower();
    this.disk.fault = undefined;
    this.isPowerCut = false;
  }

  loseMeta(): void {
    this.image = new MemoryMetaImage();
  }

  id(n = ++this.n): { instance: string; n: number; digest: Uint8Array } {
    return { instance: INSTANCE, n, digest: bytesOf(n, 32) };
  }

  commit(operation: Operation, data: Uint8Array = NO_DATA, n?: number, holder?: Holder): Promise<OperationResult> {
    return this.volume.commit(operation, this.id(n), holder, data);
  }

  async make(folder: number, name: string, attributes: Partial<NewAttributes> = {}): Promise<number> {
    const { first } = await this.volume.meta.allocateNodes(1);
    const { node } = await this.commit({
      op: "make",
      folder,
      name,
      node: first,
      attributes: { ...FILE, ...attributes },
    });
    return node;
  }

  folder(parent: number, name: string): Promise<number> {
    return this.make(parent, name, { type: "folder", mode: 0o755 });
  }

  async write(node: number, bytes: Uint8Array, n?: number): Promise<OperationResult> {
    const recipe = await this.executor.chunkBytes(bytes);
    const runs: Run[] = bytes.length === 0 ? [] : [{ from: "log", at: 0, length: bytes.length }];
    return this.writeRuns(node, recipe, runs, bytes, n);
  }

  async writeRuns(
    node: number,
    recipe: Recipe,
    runs: Run[],
    data: Uint8Array,
    n?: number,
    temp = "",
    attributes: SetAttributes = {},
  ): Promise<OperationResult> {
    const state = await this.volume.meta.node(node);
    const sizeBytes = recipe.lengths.reduce((sum, length) => sum + length, 0);
    const content = { recipe, sizeBytes, runs, temp };
    return this.commit({ op: "write", node, base: state?.version ?? 0, content, attributes }, data, n);
  }

  /** New bytes in front of the current version, which is copied. */
  async prepend(node: number, bytes: Uint8Array, attributes: SetAttributes = {}): Promise<OperationResult> {
    const state = await this.volume.meta.node(node);
    const version = { node, seq: state?.version ?? 0 };
    const before = await this.volume.meta.recipe(version);
    const recipe = concatRecipes([
      await this.executor.chunkBytes(bytes),
      before ?? { lengths: new Uint32Array(0), digests: NO_DATA },
    ]);
    const copy: Run = { from: "version", version, offset: 0, length: state?.sizeBytes ?? 0 };
    return this.writeRuns(
      node,
      recipe,
      [{ from: "log", at: 0, length: bytes.length }, copy],
      bytes,
      undefined,
      "",
      attributes,
    );
  }

  async file(folder: number, name: string, bytes: Uint8Array | string): Promise<number> {
    const node = await this.make(folder, name);
    await this.write(node, Buffer.from(bytes));
    return node;
  }

  async nodeAt(path: string): Promise<number> {
    let node = ROOT_NODE;
    for (const name of path.split("/")) {
      const state = await this.volume.meta.lookup(node, name);
      if (state === undefined) throw new Error(`There is no ${path}.`);
      node = state.node;
    }
    return node;
  }

  async rename(path: string, to: string, how: "replace" | "keep" | "exchange" = "replace"): Promise<OperationResult> {
    const [from, target] = [await this.split(path), await this.split(to)];
    return this.commit({
      op: "rename",
      ...from,
      node: await this.nodeAt(path),
      toFolder: target.folder,
      toName: target.name,
      how,
    });
  }

  async remove(path: string): Promise<OperationResult> {
    const node = await this.nodeAt(path);
    const state = await this.volume.meta.node(node);
    return this.commit({ op: "remove", ...(await this.split(path)), node, isFolder: state?.type === "folder" });
  }

  async removeAll(
    path: string,
    { asOf = this.volume.seq, n }: { asOf?: number; n?: number } = {},
  ): Promise<OperationResult> {
    const tree = { ...(await this.split(path)), node: await this.nodeAt(path), asOf, isPartial: false };
    const id = this.id(n);
    const find = (): ReturnType<typeof removalsOf> => removalsOf(this.volume, tree, id, undefined);
    const { result, acknowledged } = await this.volume.submitBatch(find, id, undefined);
    await acknowledged;
    return result;
  }

  private async split(path: string): Promise<{ folder: number; name: string }> {
    const at = path.lastIndexOf("/");
    return { folder: at < 0 ? ROOT_NODE : await this.nodeAt(path.slice(0, at)), name: path.slice(at + 1) };
  }

  /** Answers of the volume: path → content. */
  async tree(): Promise<Map<string, string>> {
    const tree = new Map<string, string>();
    const walk = async (folder: number, path: string): Promise<void> => {
      for (const { name, state } of await this.volume.meta.list(folder, "", 100_000)) {
        const at = path === "" ? name : `${path}/${name}`;
        const read = (): Promise<Uint8Array> => this.read(state.node, state.version);
        tree.set(at, await shown(state.type, read, state.target));
        if (state.type === "folder") await walk(state.node, at);
      }
    };
    await walk(ROOT_NODE, "");
    return tree;
  }

  async read(node: number, seq: number): Promise<Uint8Array> {
    const open = await this.volume.content.open({ node, seq });
    try {
      return await open.read(0, open.sizeBytes);
    } finally {
      await open.close();
    }
  }

  /** The plain folder: path → content. */
  async files(): Promise<Map<string, string>> {
    const files = new Map<string, string>();
    const walk = async (path: string): Promise<void> => {
      const entries: { name: string; type: string }[] = [];
      await this.other.list(path, (batch) => {
        for (const { name, stat } of batch)
          if (name !== undefined && name !== ".runnel-store") entries.push({ name, type: stat.type });
      });
      for (const { name, type } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const at = path === "" ? name : `${path}/${name}`;
        const target = type === "symlink" ? await this.other.readSymlink(at) : "";
        files.set(at, await shown(type, () => this.readFile(at), target));
        if (type === "folder") await walk(at);
      }
    };
    await walk("");
    return files;
  }

  async readFile(path: string): Promise<Uint8Array> {
    const file = await this.other.open(path, "read");
    try {
      return await file.read(0, (await file.stat()).sizeBytes);
    } finally {
      await file.close();
    }
  }

  /** Another program writes in place, or makes the file. */
  async writeFile(path: string, bytes: Uint8Array | string): Promise<void> {
    const file = await this.other.open(path, "create", 0o644);
    try {
      await file.truncate(0);
      await file.write(0, Buffer.from(bytes));
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** Long contents by length and digest, so that a difference can be read. */
async function shown(type: string, read: () => Promise<Uint8Array>, target: string): Promise<string> {
  if (type !== "file") return `${type} ${target}`.trim();
  try {
    const bytes = Buffer.from(await read());
    if (bytes.length < 200) return `file ${bytes.toString("latin1")}`;
    return `file of ${bytes.length}: ${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}`;
  } catch (error) {
    return `file ? ${isRunnelError(error) ? error.kind : String(error)}`;
  }
}
