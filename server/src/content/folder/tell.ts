// Telling: what looks have found becomes operations of other programs, in an order that the tree can follow. A name that appears with a known
// handle is a rename or a hard link; a file replaced by another is a new version of the same node. Absences are not told here (absences.ts).
import type { AttributeChange, Clock, DiskRoot, DiskStat, NewAttributes, VersionId } from "@runnel/shared";
import { ROOT_NODE, isRunnelError } from "@runnel/shared";
import type { DiskRow, ExternalOperation, MetaStore, Planned } from "../../meta/meta-store.ts";
import type { ContentHost } from "../content-store.ts";
import type { BusyNames } from "./busy-names.ts";
import type { DiskRows } from "./disk-rows.ts";
import { ROOT_ROW } from "./disk-rows.ts";
import type { LeftOut } from "./left-out.ts";
import type { Found } from "./live-tree.ts";
import type { Seen } from "./look.ts";
import { isFolderChanged } from "./look.ts";
import { handleKey, isSameContent, isSameHandle, isSettled } from "./same-file.ts";

/** Operations to one batch of the volume. */
const BATCH_OPERATIONS = 1000;
/** Where names changed places, the first round makes room and the second finds what is a link now. */
const MOVE_ROUNDS = 3;

type Arrival = Seen & { found: Found };
type Settable = Omit<AttributeChange, "sizeBytes">;

interface Telling {
  operation: ExternalOperation;
  /** The name it is about. */
  seen: Seen | undefined;
  /** The row that a removal is about. */
  removed?: DiskRow;
}

export interface TellerContext {
  root: DiskRoot;
  rows: DiskRows;
  meta: MetaStore;
  clock: Clock;
  host: Pick<ContentHost, "external">;
  leftOut: LeftOut;
  busy: BusyNames;
  /** A commit of other programs is on disk by nature. */
  noteExternal(seq: number): Promise<void>;
  hasPending(): boolean;
  lost(version: VersionId): void;
  /** A commit not yet up stands in the way: to be looked at when it is up. */
  overtaken(path: string): void;
  /** Its tuple is another one, through a change elsewhere. */
  affected(path: string): void;
  folderMoved(from: string, to: string): void;
  /** A young tuple: to be looked at again when it has settled. */
  unsettled(path: string): void;
}

export interface Told {
  /** New folders and those that have moved, to be listed. */
  folders: number[];
  absent: Seen[];
}

function isArrival(seen: Seen): seen is Arrival {
  return seen.found !== undefined && !isSameHandle(seen.row?.handle, seen.found.handle);
}

function isKnown(seen: Seen): seen is Arrival & { row: DiskRow } {
  return seen.found !== undefined && isSameHandle(seen.row?.handle, seen.found.handle);
}

export class Teller {
  readonly #context: TellerContext;

  constructor(context: TellerContext) {
    this.#context = context;
  }

  /** `isFirst`: nothing is recorded, so nothing can have been renamed. */
  async tell(seen: readonly Seen[], isFirst = false): Promise<Told> {
    const told: Told = { folders: [], absent: [] };
    let rest = isFirst ? seen : await this.#tellMoves(seen, told);
    while (rest.length > 0) {
      const { now, later } = this.#splitLinks(rest);
      await this.#tellRest(now, told);
      rest = later.length > 0 ? await this.#tellMoves(later, told) : [];
    }
    await this.#tellFolderTimes(seen);
    return told;
  }

  /** Of several new names of one file in one look only the first is made; the others then are links to it. */
  #splitLinks(seen: readonly Seen[]): { now: Seen[]; later: Seen[] } {
    const made = new Set<string>();
    const now: Seen[] = [];
    const later: Seen[] = [];
    for (const one of seen) {
      const isLinked = isArrival(one) && one.found.stat.type !== "folder" && one.found.stat.nlink > 1;
      const key = isLinked ? handleKey(one.found.handle) : "";
      (isLinked && made.has(key) ? later : now).push(one);
      if (isLinked) made.add(key);
    }
    return { now, later };
  }

  /** Tells renames and links. Returns all with their rows as they are afterwards. */
  async #tellMoves(seen: readonly Seen[], told: Told): Promise<readonly Seen[]> {
    let rest = seen;
    for (let round = 0; round < MOVE_ROUNDS; round++) {
      const { left, hasMoves } = await this.#tellMovesOnce(rest, told);
      rest = left;
      if (!hasMoves) break;
    }
    return rest;
  }

  async #tellMovesOnce(seen: readonly Seen[], told: Told): Promise<{ left: Seen[]; hasMoves: boolean }> {
    const moves = new Map<Arrival, { source: DiskRow; isLink: boolean }>();
    const rest: Seen[] = [];
    for (const one of seen) {
      const source = isArrival(one) ? await this.#sourceOf(one) : undefined;
      if (source === "busy") this.#context.overtaken(one.path);
      else rest.push(one);
      if (source !== undefined && source !== "busy") moves.set(one as Arrival, source);
    }
    if (moves.size === 0) return { left: rest, hasMoves: false };
    const batch: Telling[] = [];
    for (const [one, { source, isLink }] of inOrder(moves)) {
      const { row, folder, name, found } = one;
      const disk = { ...source, folder, name, handle: found.handle, stat: statAfterMove(source, found) };
      const isOverFolder = row?.stat.type === "folder" || (row !== undefined && found.stat.type === "folder");
      if (row !== undefined && (isOverFolder || isLink)) {
        await this.#external(batch.splice(0));
        await this.tellRemoved([row]);
      }
      const operation: ExternalOperation = isLink
        ? { op: "externalLink", node: source.node, folder, name, disk }
        : {
            op: "externalRename",
            node: source.node,
            folder: source.folder,
            name: source.name,
            toFolder: folder,
            toName: name,
            disk,
          };
      batch.push({ operation, seen: one });
      if (found.stat.type === "folder") {
        await this.#noteMoved(source, one.path);
        // While it was elsewhere than the rows said, nothing in it could be looked at.
        told.folders.push(source.node);
      }
      if (batch.length >= BATCH_OPERATIONS) await this.#external(batch.splice(0));
    }
    await this.#external(batch);
    this.#context.rows.movedFolders();
    for (const { row } of moves.keys()) if (row !== undefined && isLinked(row)) await this.#lookAtOtherNames(row.node);
    const left = await Promise.all(
      rest.map(async (one) => ({ ...one, row: await this.#context.rows.get(one.folder, one.name) })),
    );
    return { left, hasMoves: true };
  }

  async #noteMoved(source: DiskRow, to: string): Promise<void> {
    const from = await this.#context.rows.pathOfName(source.folder, source.name);
    if (from !== undefined) this.#context.folderMoved(from, to);
  }

  /** The row whose file has come to this name. */
  async #sourceOf({
    folder,
    name,
    found,
  }: Arrival): Promise<{ source: DiskRow; isLink: boolean } | "busy" | undefined> {
    const { rows, root } = this.#context;
    const source = await rows.byHandle(found.handle);
    if (source === undefined || (source.folder === folder && source.name === name)) return undefined;
    if (this.#context.busy.has(source.folder, source.name, source.node)) return "busy";
    const path = await rows.pathOfName(source.folder, source.name);
    if (path === undefined) return undefined;
    let isStillThere = false;
    try {
      isStillThere = isSameHandle(await root.handle(path), found.handle);
    } catch (error) {
      if (!isRunnelError(error, "NotFound", "NotFolder")) throw error;
    }
    if (isStillThere && found.stat.type === "folder") return undefined;
    return { source, isLink: isStillThere };
  }

  async #tellRest(seen: readonly Seen[], told: Told): Promise<void> {
    const batch: Telling[] = [];
    for (const one of seen) {
      if (isKnown(one)) batch.push(...(await this.#changes(one)));
      else if (isArrival(one)) batch.push(...(await this.#arrival(one)));
      else if (one.row !== undefined) told.absent.push(one);
      if (batch.length >= BATCH_OPERATIONS) told.folders.push(...(await this.#external(batch.splice(0))));
    }
    told.folders.push(...(await this.#external(batch)));
  }

  /** Something new at the name. */
  async #arrival(one: Arrival): Promise<Telling[]> {
    const { row, found, folder, name } = one;
    const disk: DiskRow = { node: 0, folder, name, version: 0, ...found };
    if (row !== undefined) {
      const isReplaced = row.stat.type === "file" && found.stat.type === "file";
      if (isReplaced && (await this.#context.rows.ofNode(row.node)).length === 1)
        return [this.#written({ ...one, row })];
      await this.tellRemoved([row]);
    }
    const attributes = await this.#attributes(one);
    if (attributes === undefined) return [];
    this.#noteYoung(one);
    return [
      { operation: { op: "externalMake", folder, name, attributes, sizeBytes: found.stat.sizeBytes, disk }, seen: one },
    ];
  }

  async #attributes({ path, found: { stat } }: Arrival): Promise<NewAttributes | undefined> {
    let target = "";
    if (stat.type === "symlink") {
      try {
        target = await this.#context.root.readSymlink(path);
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

  #written(one: Arrival & { row: DiskRow }): Telling {
    const { row, found } = one;
    const change = { ...changedAttributes(row.stat, found.stat), mtimeNs: found.stat.mtimeNs };
    this.#noteYoung(one);
    const operation: ExternalOperation = {
      op: "externalWrite",
      node: row.node,
      sizeBytes: found.stat.sizeBytes,
      change,
      disk: { ...row, handle: found.handle, stat: found.stat },
    };
    return { operation, seen: one };
  }

  /** The recorded file, with another tuple. */
  async #changes(one: Arrival & { row: DiskRow }): Promise<Telling[]> {
    const { row, found } = one;
    const { stat } = found;
    const change = changedAttributes(row.stat, stat);
    const isChanged = Object.keys(change).length > 0;
    if (stat.type === "folder") {
      if (isFolderChanged(row.stat, stat)) return [attributesTold(one, { ...change, mtimeNs: stat.mtimeNs })];
      return [];
    }
    if (stat.type !== "file") {
      if (row.stat.mtimeNs !== stat.mtimeNs) change.mtimeNs = stat.mtimeNs;
      if (Object.keys(change).length > 0) return [attributesTold(one, change)];
    } else if (!isSameContent(row.stat, stat)) return [this.#written(one)];
    else if (isChanged) return [attributesTold(one, change)];
    // A ctime that no change of names explains: a write whose mtime was set back.
    else if (row.stat.nlink === stat.nlink && row.stat.ctimeNs !== stat.ctimeNs) return [this.#written(one)];
    await this.#refresh(row, found);
    return [];
  }

  /** Names elsewhere came or went: nothing that the tree shows, but the tuple is a new one. */
  async #refresh(row: DiskRow, { stat }: Found): Promise<void> {
    const put = (await this.#context.rows.ofNode(row.node)).map((each) => ({ ...each, stat }));
    const { upSeq } = await this.#context.meta.facts();
    await this.#context.meta.broughtUp({ put, removed: [], places: [], upSeq });
  }

  #noteYoung({ path, found: { stat } }: Arrival): void {
    if (stat.type === "file" && !isSettled(stat, this.#context.clock.wallNs())) this.#context.unsettled(path);
  }

  /** Tells the removal of names, of a folder with all that was recorded in it. */
  async tellRemoved(removed: readonly DiskRow[]): Promise<void> {
    if (removed.length === 0) return;
    const batch: Telling[] = [];
    const stack = removed.map((row) => ({ row, isEmptied: false }));
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      if (top.row.stat.type === "folder" && !top.isEmptied) {
        stack.push({ row: top.row, isEmptied: true });
        for (const inside of await this.#context.rows.ofFolder(top.row.node))
          stack.push({ row: inside, isEmptied: false });
        continue;
      }
      const { folder, name, node } = top.row;
      batch.push({ operation: { op: "externalRemove", folder, name, node }, seen: undefined, removed: top.row });
      if (batch.length >= BATCH_OPERATIONS) await this.#external(batch.splice(0));
    }
    await this.#external(batch);
    this.#context.rows.movedFolders();
    for (const { node, stat } of removed) if (isLinked({ stat })) await this.#lookAtOtherNames(node);
  }

  /** The link count and ctime of a file's other names have changed. */
  async #lookAtOtherNames(node: number): Promise<void> {
    for (const { folder, name } of await this.#context.rows.ofNode(node)) {
      const path = await this.#context.rows.pathOfName(folder, name);
      if (path !== undefined) this.#context.affected(path);
    }
  }

  /** Names came and went: a folder's own times are those on disk. Skipped while commits are to be brought up, which set them. */
  async #tellFolderTimes(seen: readonly Seen[]): Promise<void> {
    const { meta, rows, root } = this.#context;
    if (this.#context.hasPending()) return;
    const folders = [...new Set(seen.map(({ folder }) => folder))];
    const states = await meta.nodes(folders);
    const batch: Telling[] = [];
    for (const [index, folder] of folders.entries()) {
      const state = states[index];
      const path = await rows.pathOf(folder);
      const row =
        folder === ROOT_NODE ? await rows.get(ROOT_ROW.folder, ROOT_ROW.name) : (await rows.ofNode(folder))[0];
      if (state === undefined || path === undefined || row === undefined) continue;
      const stat = await statIfThere(root, path);
      if (
        stat === undefined ||
        (stat.mtimeNs === state.mtimeNs && stat.mtimeNs === row.stat.mtimeNs) ||
        stat.ino !== row.stat.ino
      )
        continue;
      const disk = { ...row, stat: { ...stat, mode: row.stat.mode, uid: row.stat.uid, gid: row.stat.gid } };
      batch.push({
        operation: { op: "externalAttributes", node: folder, change: { mtimeNs: stat.mtimeNs }, disk },
        seen: undefined,
      });
    }
    for (let at = 0; at < batch.length; at += BATCH_OPERATIONS)
      await this.#external(batch.slice(at, at + BATCH_OPERATIONS));
  }

  /** The root's own attributes; its row is made by the first look. */
  async tellRoot(): Promise<void> {
    const { rows, root } = this.#context;
    const row = await rows.get(ROOT_ROW.folder, ROOT_ROW.name);
    const stat = await root.stat("");
    if (row !== undefined && !isFolderChanged(row.stat, stat)) return;
    const { mode, uid, gid, mtimeNs } = stat;
    const disk: DiskRow = { ...ROOT_ROW, node: ROOT_NODE, version: 0, stat, handle: await root.handle("") };
    const change = row === undefined ? { mode, uid, gid, mtimeNs } : { ...changedAttributes(row.stat, stat), mtimeNs };
    await this.#external([{ operation: { op: "externalAttributes", node: ROOT_NODE, change, disk }, seen: undefined }]);
  }

  /** Returns the new folders. */
  async #external(batch: readonly Telling[]): Promise<number[]> {
    if (batch.length === 0) return [];
    const planned = await this.#context.host.external(batch.map(({ operation }) => operation));
    const folders: number[] = [];
    let seq = 0;
    const hasPending = this.#context.hasPending();
    for (const [index, told] of batch.entries()) {
      const answer = planned[index];
      if (answer === undefined) continue;
      if (told.removed !== undefined && answer.ok && answer.change === undefined)
        await this.#unremoved(told.removed, hasPending);
      if (answer.ok && answer.change !== undefined) {
        seq = Math.max(seq, answer.change.seq);
        if (isNewFolder(told)) folders.push(answer.result.node);
      }
      await this.#settle(told, answer, hasPending);
    }
    if (this.#context.rows.hasChanges) await this.#context.rows.store((await this.#context.meta.facts()).upSeq);
    if (seq > 0) await this.#context.noteExternal(seq);
    return folders;
  }

  /** The tree does not bind the name. When no commit to come does, the row is a leftover. */
  async #unremoved(row: DiskRow, hasPending: boolean): Promise<void> {
    if (!hasPending) return this.#dropRow(row);
    const path = await this.#context.rows.pathOfName(row.folder, row.name);
    if (path !== undefined) this.#context.overtaken(path);
  }

  async #dropRow(row: DiskRow): Promise<void> {
    const { rows, meta, lost } = this.#context;
    rows.remove(row);
    const version = { node: row.node, seq: row.version };
    if ((await rows.ofNode(row.node)).length > 0 || (await meta.version(version))?.place.at !== "disk") return;
    rows.setPlace(version, { at: "lost" });
    lost(version);
  }

  async #settle({ operation, seen }: Telling, answer: Planned, hasPending: boolean): Promise<void> {
    if (seen === undefined) return;
    if (!answer.ok && answer.error.kind === "BadName") this.#context.leftOut.add(`${seen.path} (${answer.error.kind})`);
    else if (!answer.ok || answer.change === undefined) {
      if (!hasPending) await this.#reconcile(seen);
      this.#context.overtaken(seen.path);
    } else if (operation.op === "externalWrite" && seen.row !== undefined && seen.row.stat.sizeBytes > 0) {
      this.#context.lost({ node: seen.row.node, seq: seen.row.version });
    }
  }

  /**
   * The tree did not take what was told, and no commit is to come that could be the reason: row and tree disagree about the name, after a power cut
   * that the index did not survive whole. The row follows the tree; the next look then tells the difference.
   */
  async #reconcile({ folder, name, found }: Seen): Promise<void> {
    const { rows, meta } = this.#context;
    const row = await rows.get(folder, name);
    const bound = await meta.lookup(folder, name);
    if (row !== undefined && row.node !== bound?.node) await this.#dropRow(row);
    else if (row !== undefined && bound?.type === "file" && row.version !== bound.version)
      rows.put({ ...row, version: bound.version });
    else if (row === undefined && bound !== undefined && found !== undefined) {
      const { node, type, sizeBytes, mtimeNs, version } = bound;
      const stat = { ...found.stat, type, sizeBytes, mtimeNs, ctimeNs: -1n };
      rows.put({ node, folder, name, handle: new Uint8Array(0), stat, version: type === "file" ? version : 0 });
    }
  }
}

/** It may have further names, whose tuples change with this one. */
function isLinked({ stat }: Pick<DiskRow, "stat">): boolean {
  return stat.type !== "folder" && stat.nlink > 1;
}

function isNewFolder({ operation }: Telling): boolean {
  return operation.op === "externalMake" && operation.attributes.type === "folder";
}

function attributesTold(one: Arrival & { row: DiskRow }, change: Settable): Telling {
  const disk = { ...one.row, stat: one.found.stat };
  return { operation: { op: "externalAttributes", node: one.row.node, change, disk }, seen: one };
}

function changedAttributes(before: DiskStat, now: DiskStat): Settable {
  const change: Settable = {};
  if (before.mode !== now.mode && now.type !== "symlink") change.mode = now.mode;
  if (before.uid !== now.uid) change.uid = now.uid;
  if (before.gid !== now.gid) change.gid = now.gid;
  return change;
}

/** A rename's new tuple, unless more than a rename happened: then the next comparison has to see it. */
function statAfterMove(source: DiskRow, { stat }: Found): DiskStat {
  if (stat.type === "folder")
    return {
      ...stat,
      mode: source.stat.mode,
      uid: source.stat.uid,
      gid: source.stat.gid,
      mtimeNs: source.stat.mtimeNs,
    };
  const isOnlyMoved =
    isSameContent(source.stat, stat) && Object.keys(changedAttributes(source.stat, stat)).length === 0;
  return isOnlyMoved ? stat : { ...source.stat, nlink: stat.nlink };
}

/** What makes room goes first: a rename to a name whose own file moves on too comes after that one. */
function inOrder(
  moves: Map<Arrival, { source: DiskRow; isLink: boolean }>,
): [Arrival, { source: DiskRow; isLink: boolean }][] {
  const bySource = new Map([...moves].map((move) => [`${move[1].source.folder}/${move[1].source.name}`, move]));
  const ordered = new Set<[Arrival, { source: DiskRow; isLink: boolean }]>();
  const entered = new Set<Arrival>();
  // Folders before what is in them, as the paths say.
  const starts = [...moves].sort(([a], [b]) => a.path.length - b.path.length);
  for (const start of starts) {
    const chain = [];
    for (
      let at: typeof start | undefined = start;
      at !== undefined && !entered.has(at[0]);
      at = bySource.get(`${at[0].folder}/${at[0].name}`)
    ) {
      entered.add(at[0]);
      chain.push(at);
    }
    for (const move of chain.reverse()) ordered.add(move);
  }
  return [...ordered];
}

async function statIfThere(root: DiskRoot, path: string): Promise<DiskStat | undefined> {
  try {
    return await root.stat(path);
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder")) return undefined;
    throw error;
  }
}
