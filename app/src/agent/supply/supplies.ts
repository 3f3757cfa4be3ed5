// The supplies of an agent: folders of this computer that chunks are taken from where they lie, for all its drives.
// Their list survives a restart; their indexes can be made anew.
// oxlint-disable-next-line no-restricted-imports -- of short names
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  type Clock,
  type Disk,
  type DiskRoot,
  type Executor,
  RunnelError,
  isRunnelError,
  isWithin,
} from "@runnel/shared";
import type { ChunkSource } from "../transfer/sources/chunk-source.ts";
import { SUPPLY_LIMITS, SupplyWatch } from "@runnel/shared/supply";
import { openNamedFolder } from "../control/open-named-folder.ts";
import { SupplyList } from "./supply-list.ts";
import type { SuppliesOfAgent, SupplyStatus } from "./supply-status.ts";
import { FolderSource } from "./folder-source.ts";
import { SqliteSupplyIndex } from "./sqlite-supply-index.ts";

export interface SuppliesDeps {
  /** Folder of the agent's home. */
  home: string;
  disk: Disk;
  executor: Executor;
  clock: Clock;
  log(message: string, error: unknown): void;
}

/** Takes a source in, until it is disposed. */
export type AddSource = (source: ChunkSource) => Disposable;

const FOLDER = "supplies";
const FOLDER_MODE = 0o700;

export class Supplies implements SuppliesOfAgent {
  readonly #deps: SuppliesDeps;
  readonly #home: DiskRoot;
  readonly #list: SupplyList;
  readonly #supplies = new Map<string, SupplyWatch<FolderSource>>();
  /** Drives, and what they have of the supplies. */
  readonly #drives = new Map<AddSource, Map<string, Disposable>>();
  #lastTurn: Promise<void> = Promise.resolve();
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(deps: SuppliesDeps, home: DiskRoot, list: SupplyList) {
    this.#deps = deps;
    this.#home = home;
    this.#list = list;
    for (const folder of list.folders) this.#begin(folder);
  }

  /** @throws RunnelError Version when a newer program wrote the list or an index. */
  static async open(deps: SuppliesDeps): Promise<Supplies> {
    const home = await deps.disk.openRoot(deps.home, { permissions: FOLDER_MODE });
    try {
      const list = await SupplyList.open(home);
      if (list.damage !== undefined) deps.log(list.damage, undefined);
      if (list.folders.length > 0) await makeFolder(home);
      return new Supplies(deps, home, list);
    } catch (error) {
      await home.close();
      throw error;
    }
  }

  list(): SupplyStatus[] {
    return [...this.#supplies.values()].map(({ status }) => status);
  }

  /** Uses a folder, or looks through it now where it is used already. @throws NotFound, NotFolder, Denied; TooLarge. */
  add(path: string): Promise<SupplyStatus> {
    return this.#exclusively(async () => {
      const root = await this.#openRoot(path);
      await root.close();
      if (!this.#supplies.has(path)) {
        if (this.#supplies.size >= SUPPLY_LIMITS.supplies) {
          const sentence = `There are ${SUPPLY_LIMITS.supplies} supplies, and there may be no more. Remove one: runnel supply --remove DIR`;
          throw new RunnelError("TooLarge", "supply", sentence, { detail: { limit: SUPPLY_LIMITS.supplies } });
        }
        await makeFolder(this.#home);
        await this.#list.replace([...this.#list.folders, path]);
        this.#begin(path);
      }
      const supply = this.#supplies.get(path);
      supply?.wake();
      return supply?.status ?? missing(path);
    });
  }

  /** Uses a folder no more; the folder itself is left as it is. @throws NotFound. */
  remove(path: string): Promise<void> {
    return this.#exclusively(async () => {
      const supply = this.#supplies.get(path);
      if (supply === undefined) missing(path);
      await this.#list.replace(this.#list.folders.filter((folder) => folder !== path));
      this.#supplies.delete(path);
      for (const added of this.#drives.values()) {
        added.get(path)?.[Symbol.dispose]();
        added.delete(path);
      }
      await supply?.[Symbol.asyncDispose]();
      for (const suffix of ["", "-wal", "-shm"]) await removeIfThere(this.#home, indexName(path) + suffix);
    });
  }

  /** Gives a drive all supplies, those to come as well. */
  attach(add: AddSource): Disposable {
    const added = new Map<string, Disposable>();
    this.#drives.set(add, added);
    for (const supply of this.#supplies.values()) if (supply.status.files > 0) this.#give(supply);
    return {
      [Symbol.dispose]: () => {
        this.#drives.delete(add);
        for (const one of added.values()) one[Symbol.dispose]();
      },
    };
  }

  /** Resolves when the scans under way are over. */
  async scanned(): Promise<void> {
    await Promise.all([...this.#supplies.values()].map((supply) => supply.scanned()));
  }

  async close(): Promise<void> {
    await this.#changing;
    await Promise.all([...this.#supplies.values()].map((supply) => supply[Symbol.asyncDispose]()));
    this.#supplies.clear();
    await this.#home.close();
  }

  #begin(path: string): void {
    const { clock, home, log } = this.#deps;
    const leavesOut = (below: string): boolean => isWithin(join(path, below), home);
    const openRoot = (): Promise<DiskRoot> => this.#openRoot(path);
    const index = SqliteSupplyIndex.open(join(home, indexName(path)));
    const source = new FolderSource({ ...this.#deps, path, index, openRoot });
    const supply = new SupplyWatch(source, { clock, index, leavesOut, turn: () => this.#turn(), log });
    this.#supplies.set(path, supply);
    if (supply.status.files > 0) this.#give(supply);
    supply.wake();
    // Before its first scan it has nothing; whoever is told of it then finds something.
    void supply.scanned().then(() => this.#give(supply));
  }

  /** Lets the drives that do not have it yet ask it. */
  #give(supply: SupplyWatch<FolderSource>): void {
    if (this.#supplies.get(supply.path) !== supply) return;
    for (const [add, added] of this.#drives) if (!added.has(supply.path)) added.set(supply.path, add(supply.folder));
  }

  #openRoot(path: string): Promise<DiskRoot> {
    return openNamedFolder(this.#deps.disk, path);
  }

  async #turn(): Promise<() => void> {
    const before = this.#lastTurn;
    const over = Promise.withResolvers<void>();
    this.#lastTurn = over.promise;
    await before;
    return () => over.resolve();
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const working = this.#changing.then(work);
    this.#changing = working.catch(() => undefined);
    return working;
  }
}

function indexName(path: string): string {
  const name = createHash("sha256").update(path).digest("hex").slice(0, 24);
  return `${FOLDER}/${name}.sqlite`;
}

async function removeIfThere(root: DiskRoot, path: string): Promise<void> {
  try {
    await root.removeFile(path);
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
  }
}

function missing(path: string): never {
  throw new RunnelError("NotFound", "supply", `${path} is no supply. See what is: runnel supply`);
}

async function makeFolder(home: DiskRoot): Promise<void> {
  const names = new Set<string>();
  await home.list("", (entries) => entries.forEach(({ name }) => name !== undefined && names.add(name)));
  if (!names.has(FOLDER)) await home.makeFolder(FOLDER, FOLDER_MODE);
}
