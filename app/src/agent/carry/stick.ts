// A stick that is plugged in here: what is on it, as far as that is whole, and what is added. Its input is a
// stranger's: every size has a bound, no link is followed, and what is damaged counts as not there.
import { join } from "node:path";
import {
  type Clock,
  type Disk,
  type DiskEntry,
  type DiskRoot,
  type ErrorKind,
  type Executor,
  RunnelError,
  digestKey,
  isRunnelError,
} from "@runnel/shared";
import { openNamedFolder } from "../control/open-named-folder.ts";
import { FolderSource } from "../supply/folder-source.ts";
import { SqliteSupplyIndex } from "../supply/sqlite-supply-index.ts";
import { decodeInventory, encodeInventory, hasKey, type Inventory, INVENTORY_BYTES_MAX } from "./inventory.ts";
import { decodeManifest, encodeManifest, type Manifest } from "./manifest.ts";
import { indexPathOf } from "@runnel/shared/supply";
import { CARRY_FOLDER, INVENTORIES_FOLDER, MANIFESTS_FOLDER, PACKS_FOLDER, STICK_LIMITS } from "@runnel/shared/supply";
import { onStick } from "./on-stick.ts";
import { replaceBytes, StickSink } from "./stick-sink.ts";

const FOLDER_MODE = 0o700;
const PACKS = `${CARRY_FOLDER}/${PACKS_FOLDER}`;
const MANIFESTS = `${CARRY_FOLDER}/${MANIFESTS_FOLDER}`;
const INVENTORIES = `${CARRY_FOLDER}/${INVENTORIES_FOLDER}`;

export interface StickDeps {
  disk: Disk;
  executor: Executor;
  clock: Clock;
  /** Folder of this computer for an index that is gone with the stick. */
  workFolder: string;
}

export class Stick implements AsyncDisposable {
  readonly path: string;
  readonly #deps: StickDeps;
  readonly #root: DiskRoot;
  readonly #index: SqliteSupplyIndex;
  readonly source: FolderSource;

  private constructor(path: string, deps: StickDeps, root: DiskRoot, index: SqliteSupplyIndex) {
    const openRoot = (): Promise<DiskRoot> => deps.disk.openRoot(path);
    this.path = path;
    this.#deps = deps;
    this.#root = root;
    this.#index = index;
    this.source = new FolderSource({ ...deps, path, index, openRoot, within: PACKS });
  }

  /** Makes its folders where they are missing, and removes what an earlier write left unfinished, if it `writes`. */
  static async open(path: string, deps: StickDeps, signal: AbortSignal, writes: boolean): Promise<Stick> {
    const root = await onStick(path, () => openNamedFolder(deps.disk, path), "NotFound");
    let index: SqliteSupplyIndex | undefined;
    try {
      await onStick(path, () => (writes ? makeFolders(root) : mustBeStick(root)), "NotFound");
      index = SqliteSupplyIndex.openNew(join(deps.workFolder, "stick.sqlite"));
      const stick = new Stick(path, deps, root, index);
      await onStick(path, async () => {
        if (writes) await stick.#removeUnfinished();
        // Nothing is on a stick that was pulled out as its folders were made.
        await stick.source.scan(signal, () => undefined).catch(unless("NotFound"));
      });
      return stick;
    } catch (error) {
      index?.close();
      await root.close();
      throw error;
    }
  }

  /** Bytes of the chunks that can be taken of it. */
  get bytes(): number {
    return this.#index.totals.bytes;
  }

  /** Writes what neither the stick nor any of these has. */
  sink(inventories: readonly Inventory[]): StickSink {
    const isHeld = (key: bigint): boolean =>
      inventories.length > 0 && inventories.every(({ keys }) => hasKey(keys, key));
    return new StickSink({ root: this.#root, index: this.#index, executor: this.#deps.executor, isHeld });
  }

  /**
   * Manifests that are whole; `unreadable` is told of those that the stick does not give. @throws Version where a newer
   * program wrote one; Unavailable.
   */
  async *manifests(unreadable: (path: string, error: unknown) => void): AsyncGenerator<Manifest> {
    for (const name of await this.#names(MANIFESTS, ".json", STICK_LIMITS.manifests)) {
      const path = `${MANIFESTS}/${name}`;
      const bytes = await this.#readIfWhole(path, STICK_LIMITS.manifestBytes, unreadable);
      const manifest = bytes && (await orDamaged(async () => decodeManifest(bytes)));
      if (manifest !== undefined) yield manifest;
    }
  }

  /** @throws NoSpace; Unavailable and others where the stick fails. */
  putManifest(manifest: Omit<Manifest, "format">): Promise<void> {
    const path = `${MANIFESTS}/${crypto.randomUUID()}.json`;
    return onStick(this.path, () => replaceBytes(this.#root, path, encodeManifest(manifest)));
  }

  /** Inventories that are whole, of these devices or of all. @throws NotFound naming a device that has left none. */
  async inventories(devices: readonly string[] | undefined): Promise<Inventory[]> {
    const found: Inventory[] = [];
    for (const name of await this.#names(INVENTORIES, ".keys", STICK_LIMITS.inventories)) {
      const bytes = await this.#readIfWhole(`${INVENTORIES}/${name}`, INVENTORY_BYTES_MAX);
      const inventory = bytes && (await orDamaged(() => decodeInventory(bytes, this.#deps.executor)));
      if (inventory !== undefined && devices?.includes(inventory.device) !== false) found.push(inventory);
    }
    const missing = devices?.find((device) => !found.some((each) => each.device === device));
    if (missing === undefined) return found;
    const sentence = `"${missing}" has left no list on ${this.path}. Run there first: runnel carry in DIR`;
    throw new RunnelError("NotFound", "carry out", sentence);
  }

  /** Leaves a list of what a device holds, in place of its last one. */
  async putInventory(inventory: Inventory): Promise<void> {
    const { executor } = this.#deps;
    const name = digestKey(await executor.digest([Buffer.from(inventory.device)]))
      .toString(16)
      .padStart(16, "0");
    await replaceBytes(this.#root, `${INVENTORIES}/${name}.keys`, await encodeInventory(inventory, executor));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#index.closeAndRemove();
    await this.#root.close();
  }

  async #names(folder: string, end: string, most: number): Promise<string[]> {
    const names: string[] = [];
    const take = (entries: DiskEntry[]): void => {
      for (const { name, stat } of entries)
        if (name?.endsWith(end) === true && stat.type === "file" && names.length < most) names.push(name);
    };
    const listed = onStick(this.path, () => this.#root.list(folder, take), "NotFound");
    await listed.catch(unless("NotFound", "NotFolder"));
    return names.toSorted();
  }

  /** @throws Unavailable where the stick is not there any more. */
  async #readIfWhole(
    path: string,
    bytesMax: number,
    unreadable: (path: string, error: unknown) => void = () => undefined,
  ): Promise<Uint8Array | undefined> {
    try {
      const bytes = await this.#root.readFile(path, bytesMax + 1);
      return bytes.length > bytesMax ? undefined : bytes;
    } catch (error) {
      if (!isRunnelError(error)) throw error;
      await onStick(this.path, () => this.#root.list("", () => undefined));
      unreadable(`${this.path}/${path}`, error);
      return undefined;
    }
  }

  /** Removes what was being written when it was pulled out: no one else writes to it now. */
  async #removeUnfinished(): Promise<void> {
    const [packs, indexes] = [new Set<string>(), new Set<string>()];
    for (const folder of [PACKS, MANIFESTS, INVENTORIES]) {
      const left: string[] = [];
      await this.#root.list(folder, (entries) => {
        for (const { name, stat } of entries) {
          if (name === undefined || stat.type !== "file") continue;
          if (name.endsWith(".new")) left.push(`${folder}/${name}`);
          if (folder === PACKS && name.endsWith(".pack")) packs.add(`${folder}/${name}`);
          if (folder === PACKS && name.endsWith(".index")) indexes.add(`${folder}/${name}`);
        }
      });
      for (const path of left) await this.#root.removeFile(path);
    }
    for (const path of packs) if (!indexes.has(indexPathOf(path))) await this.#root.removeFile(path);
  }
}

/** @returns undefined where it is damaged. */
async function orDamaged<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isRunnelError(error) && !isRunnelError(error, "Version")) return undefined;
    throw error;
  }
}

/** Returns what passes over such errors. */
function unless(...kinds: ErrorKind[]): (error: unknown) => void {
  return (error) => {
    if (!isRunnelError(error, ...kinds)) throw error;
  };
}

/** Durable when it resolves. */
async function makeFolders(root: DiskRoot): Promise<void> {
  let made = false;
  for (const path of [CARRY_FOLDER, PACKS, MANIFESTS, INVENTORIES]) {
    try {
      await root.makeFolder(path, FOLDER_MODE);
      made = true;
    } catch (error) {
      if (!isRunnelError(error, "Exists")) throw error;
    }
  }
  if (made) for (const path of ["", CARRY_FOLDER]) await root.syncFolder(path);
}

async function mustBeStick(root: DiskRoot): Promise<void> {
  try {
    if ((await root.stat(CARRY_FOLDER)).type === "folder") return;
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
  const sentence = `${root.path} carries nothing: it has no folder ${CARRY_FOLDER}. Write to it first: runnel carry out DIR PATH`;
  throw new RunnelError("NotFound", "carry in", sentence);
}
