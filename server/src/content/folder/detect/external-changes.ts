// Reporting: what probes have found becomes operations of other programs, in an order that the tree can follow. A name
// that appears with a known handle is a rename or a hard link (moves.ts); a file replaced by another is a new version
// of the same node. Removals are reported later (pending-removals.ts).
import type { DiskStat, NewAttributes, Recipe } from "@runnel/shared";
import { NS_PER_MS, ROOT_NODE } from "@runnel/shared";
import type { DiskRow, ExternalOperation } from "../../../meta/meta-store.ts";
import { ROOT_ROW } from "../disk/disk-rows.ts";
import { cutChanging } from "./cut-changing.ts";
import { eachOf } from "../../../host/each-of.ts";
import type { FoundEntry } from "../disk/found.ts";
import { handleKey, isSameContent, isSettled } from "../disk/same-file.ts";
import type { Arrival, Known, Observation, Settable } from "./observation.ts";
import { changedAttributes, isArrival, isFolderChanged, isKnown, isLinked } from "./observation.ts";
import type { ExternalChange, ExternalChangesDeps } from "./change-batch.ts";
import { ChangeBatch } from "./change-batch.ts";
import { decodeShown } from "../disk/shown.ts";
import { diskXattrs, foundXattrs, readXattrs } from "../disk/xattrs.ts";
import { folderTimes } from "./folder-times.ts";
import { Moves } from "./moves.ts";
import { VERIFIED_BYTES_MAX, hasRecordedBytes } from "./unchanged-bytes.ts";

/** A file that is written in place all the time is taken in so often. */
const AGAIN_NS = 1_000_000_000n;
/** A file that changes again within this goes on changing. */
const GOES_ON_NS = 10n * AGAIN_NS;
/** Young files get their recipes at once while there are few: of many they would keep the others waiting. */
const CUT_OBSERVATIONS_MAX = 64;
const CUT_BYTES = 16 * 1024 * 1024;
/** New names whose attributes are in memory before they are reported; read at once. */
const FRESH_AT_ONCE = 1000;
const READ_AT_ONCE = 16;

export interface ReportOutcome {
  /** New folders and those that have moved, to be listed. */
  folders: number[];
  absent: Observation[];
}

export class ExternalChanges {
  readonly #deps: ExternalChangesDeps;
  readonly #batch: ChangeBatch;
  readonly #moves: Moves;
  /** Bytes that may still be chunked at once of files that perhaps rest. */
  #cutBytes = 0;
  /** Bytes that may still be read to see whether they are the recorded ones. */
  #verifiableBytes = 0;

  constructor(deps: ExternalChangesDeps) {
    this.#deps = deps;
    this.#batch = new ChangeBatch(deps);
    this.#moves = new Moves(deps, this.#batch);
  }

  /** `isFirst`: nothing was recorded when the scan began, so nothing can have been renamed. */
  async report(observed: readonly Observation[], isFirst = false): Promise<ReportOutcome> {
    const reported: ReportOutcome = { folders: [], absent: [] };
    this.#cutBytes = observed.length <= CUT_OBSERVATIONS_MAX ? CUT_BYTES : 0;
    this.#verifiableBytes = VERIFIED_BYTES_MAX;
    const mayHaveMoved = isFirst ? observed.filter(hasFurtherNames) : observed;
    let rest = await this.#moves.report(mayHaveMoved, reported.folders);
    if (isFirst) rest = [...observed.filter((one) => !hasFurtherNames(one)), ...rest];
    while (rest.length > 0) {
      const { now, later } = splitLinks(rest);
      await this.#reportRest(now, reported);
      rest = later.length > 0 ? await this.#moves.report(later, reported.folders) : [];
    }
    // Commits that are to be applied set them.
    if (!this.#deps.hasPending()) {
      await this.#batch.add(...(await folderTimes(this.#deps, observed)));
      await this.#batch.flush();
    }
    for (const folder of this.#batch.takeFolders()) reported.folders.push(folder);
    return reported;
  }

  /** Tells the removal of names, of a folder with all that was recorded in it. */
  async reportRemoved(removed: readonly DiskRow[]): Promise<void> {
    await this.#batch.removed(removed);
  }

  async #reportRest(observed: readonly Observation[], reported: ReportOutcome): Promise<void> {
    const fresh: Arrival[] = [];
    for (const one of observed) {
      if (isKnown(one)) await this.#batch.add(...(await this.#changes(one)));
      else if (isArrival(one) && one.row === undefined) fresh.push(one);
      else if (isArrival(one)) await this.#batch.add(...(await this.#arrival(one)));
      else if (one.row !== undefined) reported.absent.push(one);
    }
    for (let at = 0; at < fresh.length; at += FRESH_AT_ONCE)
      await this.#reportFresh(fresh.slice(at, at + FRESH_AT_ONCE));
    await this.#batch.flush();
  }

  /** Names that take no other's place: they are read several at once. */
  async #reportFresh(fresh: readonly Arrival[]): Promise<void> {
    const changes: ExternalChange[][] = [];
    await eachOf(fresh, READ_AT_ONCE, async (one, index) => {
      changes[index] = await this.#arrival(one);
    });
    for (const each of changes) await this.#batch.add(...each);
  }

  /** Something new at the name. */
  async #arrival(one: Arrival): Promise<ExternalChange[]> {
    const { row, found, folder, name } = one;
    const disk: DiskRow = { node: 0, folder, name, version: 0, ...found };
    if (row !== undefined) {
      const isReplaced = row.stat.type === "file" && found.stat.type === "file";
      if (isReplaced && (await this.#deps.rows.ofNode(row.node)).length === 1) {
        const known = { ...one, row };
        if (await this.#isUnchanged(known)) return [await this.#touched(known)];
        return [{ ...(await this.#written(known)), recipe: await this.#recipeOfYoung(one) }];
      }
      await this.#batch.removed([row]);
    }
    const attributes = await this.#attributes(one);
    if (attributes === undefined) return [];
    const { xattrs, shown } = mayHaveXattrs(found.stat)
      ? await readXattrs(this.#deps.root, one.path)
      : { xattrs: [], shown: undefined };
    const kept = diskXattrs(xattrs);
    if (kept !== undefined) disk.xattrs = kept;
    this.#noteYoung(one);
    const { sizeBytes } = found.stat;
    const given = xattrs.length > 0 ? { xattrs } : {};
    const operation: ExternalOperation = {
      op: "externalMake",
      folder,
      name,
      attributes: { ...attributes, ...decodeShown(shown ?? (await this.#deps.shown.read(found.handle)), found.stat) },
      ...given,
      sizeBytes,
      disk,
    };
    return [{ operation, observed: one, recipe: await this.#recipeOfYoung(one) }];
  }

  /** Cuts a file that is perhaps still being written to, whose tuple tells nothing of that soon. */
  async #recipeOfYoung({ path, found }: Arrival): Promise<Recipe | undefined> {
    const { root, clock, executor } = this.#deps;
    const { stat } = found;
    const isAsked = stat.type === "file" && stat.sizeBytes <= this.#cutBytes && !isSettled(stat, clock.wallNs());
    if (!isAsked || executor === undefined) return undefined;
    this.#cutBytes -= stat.sizeBytes;
    return cutChanging(root, path, found, executor);
  }

  async #attributes({ path, found: { stat } }: Arrival): Promise<NewAttributes | undefined> {
    let target = "";
    if (stat.type === "symlink") {
      try {
        target = await this.#deps.root.readSymlink(path);
      } catch {
        // Replaced since: an event tells.
        return undefined;
      }
    }
    return {
      type: stat.type,
      mode: stat.mode,
      uid: stat.uid,
      gid: stat.gid,
      mtimeNs: stat.mtimeNs,
      rdev: stat.rdev,
      target,
    };
  }

  /** Touched, or copied over itself: its bytes are those of the recorded version. */
  async #isUnchanged({ path, found, row }: Known): Promise<boolean> {
    const { sizeBytes } = found.stat;
    if (sizeBytes > this.#verifiableBytes) return false;
    if (sizeBytes === row.stat.sizeBytes) this.#verifiableBytes -= sizeBytes;
    return hasRecordedBytes(this.#deps, path, found, row);
  }

  /** The recorded version with a new time, and perhaps other attributes. */
  async #touched(one: Known): Promise<ExternalChange> {
    const { row, found } = one;
    const { change, disk } = await this.#withXattrs(one, changedAttributes(row.stat, found.stat));
    this.#noteYoung(one);
    return attributesChange(one, { ...change, mtimeNs: found.stat.mtimeNs }, { ...disk, handle: found.handle });
  }

  async #written(one: Known): Promise<ExternalChange> {
    const { row, found } = one;
    const { change, disk } = await this.#withXattrs(one, changedAttributes(row.stat, found.stat));
    this.#noteYoung(one);
    const operation: ExternalOperation = {
      op: "externalWrite",
      node: row.node,
      sizeBytes: found.stat.sizeBytes,
      change: { ...change, mtimeNs: found.stat.mtimeNs },
      disk: { ...disk, handle: found.handle },
    };
    return { operation, observed: one };
  }

  /** The change, with the extended attributes when they have changed too. */
  async #withXattrs({ row, found, path }: Known, change: Settable): Promise<{ change: Settable; disk: DiskRow }> {
    const { meta, root } = this.#deps;
    const news = mayHaveXattrs(found.stat)
      ? await foundXattrs(root, path, row.xattrs, () => meta.xattrs(row.node))
      : undefined;
    if (news === undefined) return { change, disk: { ...row, stat: found.stat } };
    const { xattrs: _before, ...rest } = row;
    const kept = news.disk === undefined ? {} : { xattrs: news.disk };
    return { change: { ...change, xattrs: news.xattrs }, disk: { ...rest, stat: found.stat, ...kept } };
  }

  /**
   * Written in place. What was taken in less than a second ago waits until then. What goes on changing gets its recipe
   * at once, however much there is to tell: soon nothing else will tell this version from the next one.
   */
  async #changing(one: Known): Promise<ExternalChange[]> {
    const { row, found, path } = one;
    const { root, clock, executor, again } = this.#deps;
    const sinceNs = clock.wallNs() - row.stat.ctimeNs;
    if (row.stat.ctimeNs >= 0n && sinceNs >= 0n && sinceNs < AGAIN_NS) {
      again(path, Number((AGAIN_NS - sinceNs) / NS_PER_MS) + 1);
      return [];
    }
    if (await this.#isUnchanged(one)) return [await this.#touched(one)];
    const goesOn = found.stat.ctimeNs - row.stat.ctimeNs < GOES_ON_NS;
    const recipe =
      goesOn && executor !== undefined
        ? await cutChanging(root, path, found, executor)
        : await this.#recipeOfYoung(one);
    return [{ ...(await this.#written(one)), recipe }];
  }

  /** The recorded file, with another tuple. */
  async #changes(one: Known): Promise<ExternalChange[]> {
    const { row, found } = one;
    const { stat } = found;
    const { change, disk } = await this.#withXattrs(one, changedAttributes(row.stat, stat));
    const isChanged = Object.keys(change).length > 0;
    if (stat.type === "folder") {
      if (isChanged || isFolderChanged(row.stat, stat))
        return [attributesChange(one, { ...change, mtimeNs: stat.mtimeNs }, disk)];
      return [];
    }
    if (stat.type !== "file") {
      if (row.stat.mtimeNs !== stat.mtimeNs) change.mtimeNs = stat.mtimeNs;
      if (Object.keys(change).length > 0) return [attributesChange(one, change, disk)];
    } else if (!isSameContent(row.stat, stat)) return this.#changing(one);
    else if (isChanged) return [attributesChange(one, change, disk)];
    // A ctime that no change of names explains: a write whose mtime was set back.
    else if (row.stat.nlink === stat.nlink && row.stat.ctimeNs !== stat.ctimeNs)
      return [(await this.#isUnchanged(one)) ? await this.#touched(one) : await this.#written(one)];
    await this.#refresh(row, found);
    return [];
  }

  /** Names elsewhere came or went: nothing that the tree shows, but the tuple is a new one. */
  async #refresh(row: DiskRow, { stat }: FoundEntry): Promise<void> {
    const put = (await this.#deps.rows.ofNode(row.node)).map((each) => ({ ...each, stat }));
    const { appliedSeq } = await this.#deps.meta.facts();
    await this.#deps.meta.recordApplied({ put, removed: [], places: [], appliedSeq });
  }

  #noteYoung({ path, found: { stat } }: Arrival): void {
    if (stat.type === "file" && !isSettled(stat, this.#deps.clock.wallNs())) this.#deps.unsettled(path);
  }

  /** The root's own attributes; its row is made by the first probe. */
  async reportRoot(): Promise<void> {
    const { rows, root } = this.#deps;
    const row = await rows.get(ROOT_ROW.folder, ROOT_ROW.name);
    const stat = await root.stat("");
    if (row !== undefined && !isFolderChanged(row.stat, stat)) return;
    const { mode, uid, gid, mtimeNs } = stat;
    const handle = await root.handle("");
    const said = (await readXattrs(root, "")).shown ?? (await this.#deps.shown.read(handle));
    const { type: _folder, rdev: _none, ...shown } = decodeShown(said, stat);
    const disk: DiskRow = { ...ROOT_ROW, node: ROOT_NODE, version: 0, stat, handle };
    const change =
      row === undefined ? { mode, uid, gid, mtimeNs, ...shown } : { ...changedAttributes(row.stat, stat), mtimeNs };
    await this.#batch.add({
      operation: { op: "externalAttributes", node: ROOT_NODE, change, disk },
      observed: undefined,
    });
    await this.#batch.flush();
  }
}

function hasFurtherNames(one: Observation): boolean {
  return one.found !== undefined && isLinked(one.found);
}

/** Splits off further new names of one file: only the first is made, the others then are links to it. */
function splitLinks(observed: readonly Observation[]): { now: Observation[]; later: Observation[] } {
  const made = new Set<string>();
  const now: Observation[] = [];
  const later: Observation[] = [];
  for (const one of observed) {
    const key = isArrival(one) && hasFurtherNames(one) ? handleKey(one.found.handle) : undefined;
    (key !== undefined && made.has(key) ? later : now).push(one);
    if (key !== undefined) made.add(key);
  }
  return { now, later };
}

function mayHaveXattrs({ type }: DiskStat): boolean {
  return type === "file" || type === "folder";
}

function attributesChange(one: Known, change: Settable, disk: DiskRow): ExternalChange {
  return { operation: { op: "externalAttributes", node: one.row.node, change, disk }, observed: one };
}
