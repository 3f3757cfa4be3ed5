// LiveTree: what applying one commit after another needs of the served folder: where things lie now, putting a file in
// place, keeping what another program wrote, and what has to be synced and probed afterwards. Used by one batch at a
// time.
//
// A difference that another program made is never settled by force: the rows follow the commit, and the next probe of
// the name reports the program's change as one that came after it.
import type { Clock, DiskRoot, DiskStat, NodeState, SetStat, VersionId } from "@runnel/shared";
import { ROOT_NODE, RunnelError, isRunnelError, withFile } from "@runnel/shared";
import type { KeptOnDisk, Ownership } from "../disk/attributes.ts";
import { NOTHING_KEPT, attributeChanges, ignoreDenied } from "../disk/attributes.ts";
import type { ByteRange } from "../../content-store.ts";
import type { DiskRow, MetaStore } from "../../../meta/meta-store.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { FoundEntry, Probes } from "../disk/found.ts";
import { findAt, moveToConflictCopy } from "../disk/found.ts";
import type { FilledTemp } from "../staging/filled-temp.ts";
import { isNestedVolume } from "../disk/marker.ts";
import { isSameContent, isSameHandle, isSameBytes } from "../disk/same-file.ts";
import { joinPath } from "../disk/store-layout.ts";
import type { ShownRecords } from "../disk/shown-records.ts";
import type { Trash } from "../versions/trash.ts";

/** Other programs may take a name again and again; after this it is their fault. */
const ATTEMPTS = 8;

export interface LiveTreeDeps {
  root: DiskRoot;
  rows: DiskRows;
  trash: Trash;
  shown: ShownRecords;
  meta: MetaStore;
  clock: Clock;
  ownership: Ownership;
  /** A divergence from another program. */
  conflict(path: string, conflictCopy: string): void;
  /** A version's file lies in its place now, with this tuple and the bytes that were verified. */
  placed(version: VersionId, stat: DiskStat): void;
  /** A committed content lacks bytes that a program destroyed; what there is of it lies in a conflict copy. */
  incomplete(path: string, conflictCopy: string, missing: readonly ByteRange[]): void;
  lost(version: VersionId, path: string): void;
  /** An acknowledged save cannot be applied any more, and there is nothing of it to be kept. */
  destroyed(path: string, seq: number): void;
  /** Path that the file of a logged handle had before it was put in place. */
  tempOf(handle: Uint8Array): string | undefined;
  /** The handle logged for a commit, while that is not forgotten. */
  intentHandle(seq: number): Uint8Array | undefined;
  /** Called before a version's file gets its place in the tree. */
  holdPlaced(version: VersionId, temp: FilledTemp): Promise<void>;
  /** Names that commits not yet stored give to the node. */
  laterNames(node: number): { folder: number; name: string }[];
}

export class LiveTree {
  readonly deps: LiveTreeDeps;
  /** The commit was begun before: some of it may be done already, by us. */
  isRetry = false;
  /** Commits behind this one are in the folder already. */
  isLate = false;
  /** Folders whose names changed, with the mtime that the last commit gave them. */
  #touched = new Map<number, bigint | undefined>();
  /** Touched folders that a late commit changed: a later one has given them their time. */
  #touchedLate = new Set<number>();
  readonly #changed = new Set<number>();
  /** Paths to be probed when the batch is stored. */
  readonly #probes = new Set<string>();
  /** Folders to be listed then. */
  readonly #lists = new Set<number>();
  readonly #moves: Probes["moves"] = [];
  /** Folders seen to be in their places by this batch. */
  readonly #present = new Set<number>();

  constructor(deps: LiveTreeDeps) {
    this.deps = deps;
  }

  get root(): DiskRoot {
    return this.deps.root;
  }

  get shown(): ShownRecords {
    return this.deps.shown;
  }

  get rows(): DiskRows {
    return this.deps.rows;
  }

  find(path: string): Promise<FoundEntry | undefined> {
    return findAt(this.root, path);
  }

  /** A program has the file open for writing; false also where the system does not tell. */
  async hasWriter(path: string): Promise<boolean> {
    return (await this.root.lookForWriter(path)).lease === "writer";
  }

  /**
   * The folder's path; the folder is there. One that another program removed is made again, since a commit puts
   * something into it.
   */
  async folder(node: number): Promise<string> {
    const path = await this.rows.pathOf(node);
    if (path === undefined) throw new RunnelError("Corrupt", "apply", `Folder ${node} has no place on disk.`);
    if (node === ROOT_NODE || this.#present.has(node)) return path;
    const row = (await this.rows.ofNode(node))[0] as DiskRow;
    let found = await this.find(path);
    const isOther = found !== undefined && !isSameHandle(found.handle, row.handle);
    if (found !== undefined && isOther && this.isRetry && (await this.#putBack(path, found))) found = undefined;
    if (found?.stat.type === "folder") {
      if (isOther) await this.#mustNotBeVolume(path, found);
      await this.#adopt(node, found);
      return path;
    }
    await this.folder(row.folder);
    if (found === undefined && this.isRetry && (await this.#moveBack(row, path))) return path;
    if (found !== undefined) await this.keepConflictCopy(path, row.folder, row.name, true);
    await this.root.makeFolder(path, row.stat.mode);
    this.touch(row.folder);
    const made = await this.find(path);
    if (made !== undefined) await this.#adopt(node, made);
    return path;
  }

  /**
   * After a power cut a later rename of the folder can be in place without what an earlier commit put into it: its turn
   * comes again.
   */
  async #moveBack(row: DiskRow, path: string): Promise<boolean> {
    for (const { folder, name } of this.deps.laterNames(row.node)) {
      const later = await this.rows.pathOfName(folder, name);
      const found = later === undefined ? undefined : await this.find(later);
      if (later === undefined || !isSameHandle(found?.handle, row.handle)) continue;
      await this.root.rename(later, path, "keep");
      this.#present.add(row.node);
      return true;
    }
    return false;
  }

  /** A folder that another program put in the place of the recorded one takes its part. */
  async #adopt(node: number, found: FoundEntry): Promise<void> {
    this.#present.add(node);
    const row = (await this.rows.ofNode(node))[0];
    if (row === undefined || isSameHandle(row.handle, found.handle)) return;
    this.rows.put({ ...row, handle: found.handle });
    this.#lists.add(node);
  }

  /** Folders moved: whether they are in their places is to be seen anew. */
  foldersMoved(): void {
    this.#present.clear();
  }

  async pathIn(folder: number, name: string): Promise<string> {
    return joinPath(await this.folder(folder), name);
  }

  /** Names in the folder changed. `state`: of the folder after the commit, when the commit changed it. */
  touch(folder: number, state?: NodeState): void {
    this.#touched.set(folder, state?.mtimeNs ?? this.#touched.get(folder));
    if (this.isLate) this.#touchedLate.add(folder);
  }

  /**
   * Remembers what was touched so far, to come back to when a commit fails: the folder that it failed in must not be in
   * the way of the batch's end.
   */
  mark(): () => void {
    const [touched, late] = [new Map(this.#touched), new Set(this.#touchedLate)];
    return () => {
      this.#touched = touched;
      this.#touchedLate = late;
      this.foldersMoved();
    };
  }

  probeLater(path: string): void {
    this.#probes.add(path);
  }

  /** A folder has moved, and with it what events may still name by its old path. */
  folderMoved(from: string, to: string): void {
    this.#moves.push({ from, to });
    this.foldersMoved();
  }

  list(folder: number): void {
    this.#lists.add(folder);
  }

  takeProbes(): Probes {
    const probes = { paths: [...this.#probes], folders: [...this.#lists], moves: this.#moves.splice(0) };
    this.#probes.clear();
    this.#lists.clear();
    return probes;
  }

  /** Moves what another program put at `from` out of the way, to a free name beside `name`. */
  async keepConflictCopy(from: string, folder: number, name: string, isDivergence: boolean): Promise<void> {
    const { path, conflictCopy } = await this.#moveToConflictCopy(from, folder, name);
    if (isDivergence) this.deps.conflict(path, conflictCopy);
  }

  /** Puts what there is of a committed content next to the name that it was for. */
  async keepIncomplete(from: string, folder: number, name: string, missing: readonly ByteRange[]): Promise<void> {
    const { path, conflictCopy } = await this.#moveToConflictCopy(from, folder, name);
    this.deps.incomplete(path, conflictCopy, missing);
  }

  async #moveToConflictCopy(
    from: string,
    folder: number,
    name: string,
  ): Promise<{ path: string; conflictCopy: string }> {
    const inFolder = (await this.rows.pathOf(folder)) ?? "";
    const conflictCopy = await moveToConflictCopy(this.root, from, inFolder, name, this.deps.clock.wallNs());
    this.touch(folder);
    this.probeLater(conflictCopy);
    return { path: joinPath(inFolder, name), conflictCopy };
  }

  /**
   * Gives `temp` a name that is new. What another program has put there is kept as a conflict copy, unless `adopts`
   * takes it for ours.
   */
  async placeNew(
    temp: string,
    folder: number,
    name: string,
    adopts: (found: FoundEntry) => Promise<boolean>,
  ): Promise<"placed" | FoundEntry> {
    for (let attempt = 1; ; attempt++) {
      const path = await this.pathIn(folder, name);
      try {
        await this.root.rename(temp, path, "keep");
        return "placed";
      } catch (error) {
        if (!isRunnelError(error, "Exists", "NotFound") || attempt === ATTEMPTS) throw error;
        this.foldersMoved();
      }
      const found = await this.find(path);
      if (found === undefined) continue;
      if (this.isRetry && (await this.#putBack(path, found))) continue;
      await this.#mustNotBeVolume(path, found);
      if (await adopts(found)) return found;
      await this.keepConflictCopy(path, folder, name, true);
    }
  }

  /** Another volume's folder is neither ours to take for one of the tree nor to move. @throws Busy for one. */
  async #mustNotBeVolume(path: string, { stat }: FoundEntry): Promise<void> {
    if (stat.type !== "folder" || !(await isNestedVolume(this.root, path))) return;
    throw new RunnelError("Busy", "apply", "On the server a volume of its own lies there.");
  }

  /** After a power cut a later commit of ours can be in place without an earlier one: its turn comes again. */
  async #putBack(path: string, found: FoundEntry): Promise<boolean> {
    const temp = this.deps.tempOf(found.handle);
    if (temp === undefined || (await this.find(temp)) !== undefined) return false;
    await this.root.rename(path, temp, "keep");
    return true;
  }

  /**
   * Attributes of a committed node, as far as the disk gets them. `handle`: of the file that was looked at, where
   * others can put another one in its place.
   */
  async setAttributes(
    path: string,
    { type }: NodeState,
    wanted: SetStat,
    kept: KeptOnDisk = NOTHING_KEPT,
    handle?: Uint8Array,
  ): Promise<void> {
    for (const change of attributeChanges(type, wanted, kept, this.deps.ownership))
      await ignoreDenied(this.root.setStat(path, change, handle));
  }

  /**
   * The tuple to record for a file that we touched (renamed, linked, changed attributes of): the new one if it was the
   * recorded one before and has the same content now, else still the recorded one, so that the next probe finds what
   * another program did.
   */
  recorded(
    row: DiskRow,
    before: FoundEntry | undefined,
    after: FoundEntry | undefined,
  ): Pick<DiskRow, "handle" | "stat"> {
    const wasRecorded = this.isRecorded(row, before);
    const isSame =
      wasRecorded &&
      after !== undefined &&
      isSameHandle(after.handle, row.handle) &&
      isSameContent(after.stat, before.stat);
    return { handle: row.handle, stat: isSame ? after.stat : row.stat };
  }

  /**
   * Nothing but this engine has touched it since it was recorded. A commit begun before has changed its ctime itself.
   */
  isRecorded(row: DiskRow, found: FoundEntry | undefined): found is FoundEntry {
    if (found === undefined || !isSameHandle(found.handle, row.handle)) return false;
    return this.isRetry ? isSameContent(found.stat, row.stat) : isSameBytes(found.stat, row.stat);
  }

  /** Begun before and interrupted: what the commit did itself to tuples since is no other program's change. */
  async refreshRetried(): Promise<void> {
    for (const row of this.rows.changed()) {
      const path = await this.rows.pathOfName(row.folder, row.name);
      const found = path === undefined ? undefined : await this.find(path);
      if (found === undefined || !isSameHandle(found.handle, row.handle)) continue;
      if (isSameContent(found.stat, row.stat)) this.rows.put({ ...row, stat: found.stat });
    }
  }

  /**
   * Does for a folder what `recorded` does: identity, and the attributes and the time that it had. What lies there now
   * can have the time of a name that this batch has put in it; the one to keep is set at the batch's end.
   */
  recordedFolder(row: DiskRow, after: FoundEntry | undefined): Pick<DiskRow, "handle" | "stat"> {
    if (after === undefined || !isSameHandle(after.handle, row.handle)) return { handle: row.handle, stat: row.stat };
    const { mode, uid, gid, mtimeNs } = row.stat;
    return { handle: row.handle, stat: { ...after.stat, mode, uid, gid, mtimeNs } };
  }

  /** Notes a file or folder whose own attributes the batch changes. */
  changesAttributes(node: number): void {
    this.#changed.add(node);
  }

  /**
   * The folders that the batch changed get their committed times and are synced, with the store's own, and with what
   * has other attributes: the rows are not to say what a power cut takes from the disk.
   */
  async finish(storeFolders: readonly string[]): Promise<void> {
    for (const node of this.#changed) await this.#sync(node);
    this.#changed.clear();
    for (const [node, mtimeNs] of this.#touched) await this.#finishFolder(node, mtimeNs);
    for (const path of storeFolders) await this.root.syncFolder(path);
    await this.shown.sync();
    this.#touched.clear();
    this.#touchedLate.clear();
    this.#present.clear();
  }

  /** A symlink, and what is no plain file, has no bytes by which it could be synced: only its folder. */
  async #sync(node: number): Promise<void> {
    const row = await this.rows.firstOf(node);
    const path = node === ROOT_NODE ? "" : row && (await this.rows.pathOfName(row.folder, row.name));
    const state = await this.deps.meta.node(node);
    if (path === undefined || (state?.type !== "file" && state?.type !== "folder")) return;
    try {
      if (state.type === "folder") await this.root.syncFolder(path);
      else await withFile(this.root, path, "read", (file) => file.sync());
    } catch (error) {
      // Another program has put something else there, or forbidden it: the next probe tells.
      if (!isRunnelError(error) || isRunnelError(error, "Io", "NoSpace", "Quota")) throw error;
    }
  }

  /**
   * The row of a name that the commit binds. A row that an interruption or another program left there is nobody's any
   * more.
   */
  async bind(row: DiskRow): Promise<void> {
    const left = await this.rows.get(row.folder, row.name);
    if (left !== undefined && left.node !== row.node) {
      // Rolling the log forward put a later change of another program here; ours went on, and is found where the tree
      // has it (repair-folder.ts).
      if (this.isRetry && (await this.deps.meta.lookup(row.folder, row.name))?.node === left.node) return;
      this.rows.remove(left);
      if ((await this.rows.ofNode(left.node)).length === 0) await this.lose(left);
    }
    this.rows.put(row);
  }

  /** A name that the tree binds and whose file is unknown: the next probe says what is there, or that nothing is. */
  async bindUnknown(node: number, folder: number, name: string): Promise<void> {
    const state = await this.deps.meta.node(node);
    if (state === undefined || this.isRetry) return;
    const { type, sizeBytes, mtimeNs, version } = state;
    const stat = { ...(await this.root.stat("")), type, sizeBytes, mtimeNs, ctimeNs: -1n };
    await this.bind({ node, folder, name, handle: new Uint8Array(0), stat, version: type === "file" ? version : 0 });
    const path = await this.rows.pathOfName(folder, name);
    if (path !== undefined) this.probeLater(path);
  }

  /** The bytes of a version that was a file of the tree are gone. */
  async lose(row: DiskRow): Promise<void> {
    const version = { node: row.node, seq: row.version };
    const stored = await this.deps.meta.version(version);
    const place = this.rows.placeOf(version) ?? stored?.place;
    if (place?.at !== "disk") return;
    this.rows.setPlace(version, { at: "lost" });
    this.deps.lost(version, (await this.rows.pathOfName(row.folder, row.name)) ?? "");
  }

  async #finishFolder(node: number, mtimeNs: bigint | undefined): Promise<void> {
    const path = await this.rows.pathOf(node);
    if (path === undefined) return;
    const row = await this.rows.firstOf(node);
    try {
      const last = this.#touchedLate.has(node) ? (await this.deps.meta.node(node))?.mtimeNs : mtimeNs;
      const wanted = last ?? row?.stat.mtimeNs;
      if (wanted !== undefined && wanted >= 0n) await ignoreDenied(this.root.setStat(path, { mtimeNs: wanted }));
      await this.root.syncFolder(path);
      const after = row && (await this.find(path));
      if (row === undefined || after === undefined || !isSameHandle(after.handle, row.handle)) return;
      const { mode, uid, gid } = row.stat;
      this.rows.put({ ...row, stat: { ...after.stat, mode, uid, gid } });
    } catch (error) {
      // Removed meanwhile: nothing of it is left to be synced. Or something is mounted on it, and it is out of reach:
      // what was put in it or taken out of it was renamed from or to temp/, which is synced next, and a file system
      // keeps both sides of a rename or none.
      if (!isRunnelError(error, "NotFound", "NotFolder", "Unavailable")) throw error;
    }
  }
}
