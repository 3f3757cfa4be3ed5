// DiskRows: what the folder is compared with, the meta store's rows with those over them that a batch of applying has
// changed and not yet stored. Knows where a folder lies on disk: that follows the rows, never the committed tree.
import { LIMITS, ROOT_NODE, RunnelError } from "@runnel/shared";
import type { VersionId } from "@runnel/shared";
import type { DiskRow, MetaStore, Passed, VersionPlace } from "../../../meta/meta-store.ts";
import type { AcceptedCommit } from "../../content-store.ts";
import { joinPath, versionKey } from "./store-layout.ts";

/** The root's own row. */
export const ROOT_ROW = { folder: 0, name: "" };

/** Folders whose place is remembered; about 200 bytes each. */
const PLACES_MAX = 10_000;

type Name = { folder: number; name: string };

export interface UnstoredRows {
  put: Map<string, DiskRow>;
  removed: Map<string, Name>;
  places: Map<string, { version: VersionId; place: VersionPlace }>;
}

function rowKey(folder: number, name: string): string {
  return `${folder}/${name}`;
}

function byName(a: Name, b: Name): number {
  if (a.folder !== b.folder) return a.folder - b.folder;
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}

export class DiskRows {
  readonly #meta: MetaStore;
  readonly #put = new Map<string, DiskRow>();
  readonly #removed = new Map<string, Name>();
  readonly #places = new Map<string, { version: VersionId; place: VersionPlace }>();
  readonly #folders = new Map<number, Name>();

  /** Rows as stored, of names and nodes that were asked for, while only `store` changes any. */
  #gathered: { ofNames: Map<string, DiskRow | undefined>; ofNodes: Map<number, readonly DiskRow[]> } | undefined;

  constructor(meta: MetaStore) {
    this.#meta = meta;
  }

  async get(folder: number, name: string): Promise<DiskRow | undefined> {
    const key = rowKey(folder, name);
    if (this.#removed.has(key)) return undefined;
    const put = this.#put.get(key);
    if (put !== undefined) return put;
    const gathered = this.#gathered;
    if (gathered?.ofNames.has(key) === true) return gathered.ofNames.get(key);
    const row = await this.#meta.diskRow(folder, name);
    gathered?.ofNames.set(key, row);
    return row;
  }

  /** The same of many names. */
  async getAll(names: readonly Name[]): Promise<(DiskRow | undefined)[]> {
    const stored = await this.#meta.diskRowsOf(names, []);
    return names.map(({ folder, name }, at) => {
      const key = rowKey(folder, name);
      return this.#removed.has(key) ? undefined : (this.#put.get(key) ?? stored.ofNames[at]);
    });
  }

  /** Every name of the node, in a fixed order. */
  async ofNode(node: number): Promise<DiskRow[]> {
    const gathered = this.#gathered;
    const stored = gathered?.ofNodes.get(node) ?? (await this.#meta.diskRowsOfNode(node));
    gathered?.ofNodes.set(node, stored);
    return this.#overlay(stored, (row) => row.node === node).sort(byName);
  }

  /**
   * Asks for the rows that a batch needs in one call, since one for each would take most of its time, and keeps them
   * and all that are asked for until `store`, or the work ends: nobody else may change any meanwhile. What a commit
   * that was begun makes may have a row already.
   */
  async gathering<T>(batch: readonly AcceptedCommit[], begun: ReadonlySet<number>, work: () => Promise<T>): Promise<T> {
    const ofNodes = new Map<number, readonly DiskRow[]>();
    const asked = new Set<number>();
    const names: Name[] = [];
    for (const { seq, operation, result, change } of batch) {
      if (operation.op === "make" && !begun.has(seq)) ofNodes.set(result.node, []);
      else asked.add(result.node);
      for (const { folder, name } of change.bindings) {
        asked.add(folder);
        names.push({ folder, name });
      }
    }
    const nodes = [...asked].filter((node) => !ofNodes.has(node));
    const stored = await this.#meta.diskRowsOf(names, nodes);
    for (const [at, node] of nodes.entries()) ofNodes.set(node, stored.ofNodes[at] ?? []);
    const ofNames = new Map(names.map(({ folder, name }, at) => [rowKey(folder, name), stored.ofNames[at]]));
    this.#gathered = { ofNames, ofNodes };
    try {
      return await work();
    } finally {
      this.#gathered = undefined;
    }
  }

  /** The first row of a node; of the root its own, which names nothing. */
  async firstOf(node: number): Promise<DiskRow | undefined> {
    return node === ROOT_NODE ? this.get(ROOT_ROW.folder, ROOT_ROW.name) : (await this.ofNode(node))[0];
  }

  async ofFolder(folder: number): Promise<DiskRow[]> {
    return this.#overlay(await this.#meta.diskRows(folder), (row) => row.folder === folder);
  }

  async byHandle(handle: Uint8Array): Promise<DiskRow | undefined> {
    for (const row of this.#put.values()) if (Buffer.compare(row.handle, handle) === 0) return row;
    const row = await this.#meta.diskRowByHandle(handle);
    if (row === undefined) return undefined;
    const now = await this.get(row.folder, row.name);
    return now !== undefined && Buffer.compare(now.handle, handle) === 0 ? now : undefined;
  }

  #overlay(stored: readonly DiskRow[], isWanted: (row: DiskRow) => boolean): DiskRow[] {
    if (this.#put.size === 0 && this.#removed.size === 0) return [...stored];
    const kept = stored.filter((row) => {
      const key = rowKey(row.folder, row.name);
      return !this.#removed.has(key) && !this.#put.has(key);
    });
    for (const row of this.#put.values()) if (isWanted(row)) kept.push(row);
    return kept;
  }

  put(row: DiskRow): void {
    const key = rowKey(row.folder, row.name);
    this.#removed.delete(key);
    this.#put.set(key, row);
    this.#folders.delete(row.node);
  }

  remove(row: DiskRow): void {
    const key = rowKey(row.folder, row.name);
    this.#put.delete(key);
    this.#removed.set(key, { folder: row.folder, name: row.name });
    this.#folders.delete(row.node);
  }

  setPlace(version: VersionId, place: VersionPlace): void {
    this.#places.set(versionKey(version), { version, place });
  }

  /** A version's place that is not yet stored. */
  placeOf(version: VersionId): VersionPlace | undefined {
    return this.#places.get(versionKey(version))?.place;
  }

  /** Folders may have moved: their places are looked up anew. */
  movedFolders(): void {
    this.#folders.clear();
  }

  async #placeOfFolder(node: number): Promise<Name | undefined> {
    const known = this.#folders.get(node);
    if (known !== undefined) return known;
    const row = (await this.ofNode(node))[0];
    if (row === undefined) return undefined;
    if (this.#folders.size >= PLACES_MAX) this.#folders.clear();
    const place = { folder: row.folder, name: row.name };
    this.#folders.set(node, place);
    return place;
  }

  /** Path of a folder. @returns undefined when the rows do not know it. */
  async pathOf(folder: number): Promise<string | undefined> {
    const names: string[] = [];
    for (let at = folder; at !== ROOT_NODE;) {
      const place = await this.#placeOfFolder(at);
      if (place === undefined) return undefined;
      names.push(place.name);
      at = place.folder;
      if (names.length > 2 * LIMITS.depth + 2)
        throw new RunnelError("Corrupt", "find folder", `Folder ${folder} does not lead to the root.`);
    }
    return names.toReversed().join("/");
  }

  async pathOfName(folder: number, name: string): Promise<string | undefined> {
    const path = await this.pathOf(folder);
    return path === undefined ? undefined : joinPath(path, name);
  }

  /** The unstored changes as they are, to come back to with `reset`. */
  mark(): UnstoredRows {
    return { put: new Map(this.#put), removed: new Map(this.#removed), places: new Map(this.#places) };
  }

  reset(mark: UnstoredRows): void {
    for (const [target, source] of [
      [this.#put, mark.put],
      [this.#removed, mark.removed],
      [this.#places, mark.places],
    ] as [Map<string, unknown>, Map<string, unknown>][]) {
      target.clear();
      for (const [key, value] of source) target.set(key, value);
    }
    this.#folders.clear();
  }

  /** Rows put since the last `store`. */
  changed(): DiskRow[] {
    return [...this.#put.values()];
  }

  get hasChanges(): boolean {
    return this.#put.size > 0 || this.#removed.size > 0 || this.#places.size > 0;
  }

  /**
   * Stores what has changed, the seq now applied, and what is applied beyond it, in one transaction. After a failure
   * all is still to be stored.
   */
  async store(appliedSeq: number, passed?: Passed): Promise<void> {
    const put = [...this.#put.values()];
    await this.#meta.recordApplied({
      put,
      removed: [...this.#removed.values()],
      places: [...this.#places.values()],
      appliedSeq,
      ...(passed === undefined ? {} : { passed }),
    });
    this.#gathered = undefined;
    this.#put.clear();
    this.#removed.clear();
    this.#places.clear();
  }
}
