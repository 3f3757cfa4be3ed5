// Probing: compares names of the served folder with their rows. Says what differs; what it means is for
// external-changes.ts. Never follows a symlink, never leaves the file system, never sees a store's folder.
import type { DiskEntry, DiskRoot, DiskStat } from "@runnel/shared";
import { ROOT_NODE, isRunnelError } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import type { BusyNames } from "../disk/busy-names.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import { eachOf } from "../../../host/each-of.ts";
import type { ExcludedNames } from "../disk/excluded-names.ts";
import { OTHER_DISK, OTHER_VOLUME } from "../disk/excluded-names.ts";
import { isNestedVolume } from "../disk/marker.ts";
import { isSameHandle, isSameTuple } from "../disk/same-file.ts";
import type { Observation } from "./observation.ts";
import { isFolderChanged } from "./observation.ts";
import { STORE_FOLDER, joinPath } from "../disk/store-layout.ts";

/** Names that are asked for in one go. */
const ASKED_AT_ONCE = 64;
/** Names probed at once. */
const PROBES_AT_ONCE = 16;
const NONE_WRITTEN: ReadonlyMap<string, bigint> = new Map();

export interface ProberDeps {
  root: DiskRoot;
  rows: DiskRows;
  excluded: ExcludedNames;
  busy: BusyNames;
  /** Has the path probed later. */
  defer(path: string): void;
  /** Device of the root. */
  dev: number;
}

/** A name to be probed. `writtenNs`: when a write to it was reported, on the wall clock. */
export interface Probed {
  folder: number;
  name: string;
  path: string;
  writtenNs?: bigint | undefined;
}

export interface Listed {
  observed: Observation[];
  /** Folders in it that are as recorded. */
  folders: number[];
  /** Count of names that are there or gone. */
  names: number;
}

/**
 * A write stamps the file as it begins and is reported of when it has ended, so one that takes long ends with the tuple
 * that was recorded in its midst. What is reported so much later than the stamp was such a write.
 */
const LONG_WRITE_NS = 100_000_000n;

/** Tells, by stat alone, that it is as recorded; the handle need not be asked for. */
function isSurelySame(row: DiskRow, stat: DiskStat, writtenNs?: bigint): boolean {
  if (stat.type !== "folder") return isSameTuple(row.stat, stat) && !isLongWrite(stat, writtenNs);
  return row.stat.type === "folder" && row.stat.ino === stat.ino && !isFolderChanged(row.stat, stat);
}

function isLongWrite(stat: DiskStat, writtenNs: bigint | undefined): boolean {
  return stat.type === "file" && writtenNs !== undefined && writtenNs - stat.ctimeNs > LONG_WRITE_NS;
}

/**
 * Row to compare with: a tuple recorded in the midst of a write is no file's, so the comparison has to find another
 * content.
 */
function asFound(row: DiskRow | undefined, stat: DiskStat, writtenNs: bigint | undefined): DiskRow | undefined {
  if (row === undefined || !isLongWrite(stat, writtenNs) || !isSameTuple(row.stat, stat)) return row;
  return { ...row, stat: { ...row.stat, ctimeNs: -1n } };
}

export class Prober {
  readonly #deps: ProberDeps;

  constructor(deps: ProberDeps) {
    this.#deps = deps;
  }

  /** A commit is half done there: to be probed later. */
  #isBusy(folder: number, name: string, row: DiskRow | undefined, path: string): boolean {
    if (!this.#deps.busy.has(folder, name, row?.node)) return false;
    this.#deps.defer(path);
    return true;
  }

  /** Finds what differs at the name, if anything does. */
  async observe({ folder, name, path }: Probed): Promise<Observation | undefined> {
    if (name === STORE_FOLDER) return undefined;
    const row = await this.#deps.rows.get(folder, name);
    return this.#isBusy(folder, name, row, path) ? undefined : this.#observe({ folder, name, path }, row);
  }

  /** `found`: what lies there, as far as that is known. */
  async #observe(
    { folder, name, path, writtenNs }: Probed,
    row: DiskRow | undefined,
    found: DiskStat | "absent" | "unknown" = "unknown",
  ): Promise<Observation | undefined> {
    const absent = row && { folder, name, path, row, found: undefined };
    if (found === "absent") return absent;
    let stat: DiskStat;
    try {
      stat = found === "unknown" ? await this.#deps.root.stat(path) : found;
    } catch (error) {
      if (isRunnelError(error, "NotFound", "NotFolder")) return absent;
      if (isRunnelError(error, "Unavailable")) return this.#exclude({ folder, name, path }, OTHER_DISK);
      throw error;
    }
    return this.#compare({ folder, name, path, row: asFound(row, stat, writtenNs), found: undefined }, stat, true);
  }

  /**
   * `name` has its path and row; it is what differs, when something does. `isNamed`: an event names it, so a folder's
   * ctime alone may mean a change of its extended attributes.
   */
  async #compare(name: Observation, stat: DiskStat, isNamed = false): Promise<Observation | undefined> {
    const { row, path } = name;
    if (stat.dev !== this.#deps.dev) return this.#exclude(name, OTHER_DISK);
    const isTouched = isNamed && stat.type === "folder" && row?.stat.ctimeNs !== stat.ctimeNs;
    if (row !== undefined && isSurelySame(row, stat) && !isTouched) return undefined;
    let handle: Uint8Array;
    try {
      handle = await this.#deps.root.handle(path);
    } catch (error) {
      // Gone since: an event tells.
      if (isRunnelError(error, "NotFound", "NotFolder")) return undefined;
      if (isRunnelError(error, "Unavailable")) return this.#exclude(name, OTHER_DISK);
      throw error;
    }
    if (stat.type === "folder") {
      const isOther = row === undefined || !isSameHandle(row.handle, handle);
      if (!isOther && !isFolderChanged(row.stat, stat) && !isTouched) return undefined;
      if (isOther && (await isNestedVolume(this.#deps.root, path))) {
        this.#exclude(name, OTHER_VOLUME);
        // It has taken the place of what was recorded, which is not there any more.
        return row && { ...name, found: undefined };
      }
    }
    return { ...name, found: { stat, handle } };
  }

  #exclude({ folder, name, path }: Pick<Observation, "folder" | "name" | "path">, why: string): undefined {
    this.#deps.excluded.addAt(folder, name, `${path} (${why})`);
    return undefined;
  }

  async observeAll(names: readonly Probed[]): Promise<Observation[]> {
    const observed: Observation[] = [];
    for (let at = 0; at < names.length; at += ASKED_AT_ONCE)
      observed.push(...(await this.#observeSome(names.slice(at, at + ASKED_AT_ONCE))));
    return observed;
  }

  async #observeSome(names: readonly Probed[]): Promise<Observation[]> {
    const { rows, root } = this.#deps;
    const stored = await rows.getAll(names);
    const steady = names.flatMap((probed, at) => {
      const [row, { folder, name, path }] = [stored[at], probed];
      return name === STORE_FOLDER || this.#isBusy(folder, name, row, path) ? [] : [{ probed, row }];
    });
    const stats = await root.statAll(steady.map(({ probed }) => probed.path));
    const observed: Observation[] = [];
    await eachOf(steady, PROBES_AT_ONCE, async ({ probed, row }, at) => {
      const one = await this.#observe(probed, row, stats[at]);
      if (one !== undefined) observed.push(one);
    });
    return observed;
  }

  /**
   * The whole folder: only this shows that a name is absent. Undefined when it cannot be listed. `written`: as for
   * `observe`, by path.
   */
  async list(folder: number, written: ReadonlyMap<string, bigint> = NONE_WRITTEN): Promise<Listed | undefined> {
    const inFolder = await this.#deps.rows.pathOf(folder);
    if (inFolder === undefined) return undefined;
    const rows = new Map((await this.#deps.rows.ofFolder(folder)).map((row) => [row.name, row]));
    const folders: number[] = [];
    const different: { name: Observation; stat: DiskStat }[] = [];
    let isStore = false;
    let strange = 0;
    let names = 0;
    const visit = (entries: DiskEntry[]): void => {
      names += entries.length;
      for (const { name, stat } of entries) {
        if (name === STORE_FOLDER) isStore = true;
        else if (name === undefined) strange++;
        else {
          const row = rows.get(name);
          rows.delete(name);
          if (row?.stat.type === "folder" && stat.type === "folder") folders.push(row.node);
          const writtenNs = written.size === 0 ? undefined : written.get(joinPath(inFolder, name));
          if (row !== undefined && stat.dev === this.#deps.dev && isSurelySame(row, stat, writtenNs)) continue;
          const path = joinPath(inFolder, name);
          if (!this.#isBusy(folder, name, row, path))
            different.push({
              name: { folder, name, path, row: asFound(row, stat, writtenNs), found: undefined },
              stat,
            });
        }
      }
    };
    try {
      await this.#deps.root.list(inFolder, visit);
    } catch (error) {
      if (isRunnelError(error, "NotFound", "NotFolder", "Unavailable", "Denied"))
        return error.kind === "Denied" ? this.#unlisted(folder, `${inFolder} (may not be read)`) : undefined;
      throw error;
    }
    if (isStore && folder !== ROOT_NODE && (await isNestedVolume(this.#deps.root, inFolder)))
      return this.#unlisted(folder, `${inFolder} (${OTHER_VOLUME})`);
    if (strange > 0) this.#deps.excluded.add(folder, `${joinPath(inFolder, "…")} (too long)`, strange);
    const observed: Observation[] = [];
    await eachOf(different, PROBES_AT_ONCE, async ({ name, stat }) => {
      const one = await this.#compare(name, stat);
      if (one !== undefined) observed.push(one);
    });
    for (const row of rows.values()) {
      const path = joinPath(inFolder, row.name);
      if (!this.#isBusy(folder, row.name, row, path))
        observed.push({ folder, name: row.name, path, row, found: undefined });
    }
    return { observed, folders, names: names + rows.size };
  }

  #unlisted(folder: number, shown: string): undefined {
    this.#deps.excluded.add(folder, shown);
    return undefined;
  }
}
