// Reports renames and hard links: a name that appears with the handle of a row. What makes room goes first.
import type { DiskStat } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { DiskRow, ExternalOperation } from "../../../meta/meta-store.ts";
import { eachOf } from "../../../host/each-of.ts";
import type { FoundEntry } from "../disk/found.ts";
import { isSameContent, isSameHandle } from "../disk/same-file.ts";
import type { Arrival, Observation } from "./observation.ts";
import { changedAttributes, isArrival, isLinked } from "./observation.ts";
import type { ChangeBatch, ExternalChangesDeps } from "./change-batch.ts";

const LOOKUPS_AT_ONCE = 32;
/** Rounds: where names changed places, the first makes room and the second finds what is a link now. */
const MOVE_ROUNDS = 3;

interface Move {
  one: Arrival;
  /** The row whose file has come to the name. */
  source: DiskRow;
  /** It still has its old name too. */
  isLink: boolean;
}

export class Moves {
  readonly #deps: ExternalChangesDeps;
  readonly #batch: ChangeBatch;

  constructor(deps: ExternalChangesDeps, batch: ChangeBatch) {
    this.#deps = deps;
    this.#batch = batch;
  }

  /** Returns all with their rows as they are afterwards. Folders that moved are added to `movedFolders`. */
  async report(observed: readonly Observation[], movedFolders: number[]): Promise<readonly Observation[]> {
    let rest = observed;
    for (let round = 0; round < MOVE_ROUNDS; round++) {
      const { left, hasMoves } = await this.#reportOnce(rest, movedFolders);
      rest = left;
      if (!hasMoves) break;
    }
    return rest;
  }

  async #reportOnce(
    observed: readonly Observation[],
    movedFolders: number[],
  ): Promise<{ left: Observation[]; hasMoves: boolean }> {
    const { rows, superseded } = this.#deps;
    const moves: Move[] = [];
    const rest: Observation[] = [];
    const found: (Move | "busy" | undefined)[] = [];
    await eachOf(observed, LOOKUPS_AT_ONCE, async (one, index) => {
      if (isArrival(one)) found[index] = await this.#moveTo(one);
    });
    for (const [index, one] of observed.entries()) {
      const move = found[index];
      if (move === "busy") superseded(one.path);
      else rest.push(one);
      if (move !== undefined && move !== "busy") moves.push(move);
    }
    if (moves.length === 0) return { left: rest, hasMoves: false };
    for (const move of inOrder(moves)) await this.#reportMove(move, movedFolders);
    await this.#batch.flush();
    rows.movedFolders();
    for (const { one } of moves)
      if (one.row !== undefined && isLinked(one.row)) await this.#batch.probeOtherNames(one.row.node);
    const left: Observation[] = [];
    for (const one of rest) left.push({ ...one, row: await rows.get(one.folder, one.name) });
    return { left, hasMoves: true };
  }

  async #reportMove({ one, source, isLink }: Move, movedFolders: number[]): Promise<void> {
    const { row, folder, name, found } = one;
    const disk = { ...source, folder, name, handle: found.handle, stat: statAfterMove(source, found) };
    const isOverFolder = row?.stat.type === "folder" || (row !== undefined && found.stat.type === "folder");
    if (row !== undefined && (isOverFolder || isLink)) {
      await this.#batch.flush();
      await this.#batch.removed([row]);
    }
    const { node } = source;
    const operation: ExternalOperation = isLink
      ? { op: "externalLink", node, folder, name, disk }
      : { op: "externalRename", node, folder: source.folder, name: source.name, toFolder: folder, toName: name, disk };
    if (found.stat.type === "folder") {
      await this.#noteMoved(source, one.path);
      // While it was elsewhere than the rows said, nothing in it could be probed.
      movedFolders.push(node);
    }
    await this.#batch.add({ operation, observed: one });
  }

  async #noteMoved(source: DiskRow, to: string): Promise<void> {
    const from = await this.#deps.rows.pathOfName(source.folder, source.name);
    if (from !== undefined) this.#deps.folderMoved(from, to);
  }

  /** The move that brought a file here, if one did; "busy" when a commit is just moving it. */
  async #moveTo(one: Arrival): Promise<Move | "busy" | undefined> {
    const { folder, name, found } = one;
    const { rows, root } = this.#deps;
    const source = await rows.byHandle(found.handle);
    if (source === undefined || (source.folder === folder && source.name === name)) return undefined;
    if (this.#deps.busy.has(source.folder, source.name, source.node)) return "busy";
    const path = await rows.pathOfName(source.folder, source.name);
    if (path === undefined) return undefined;
    let isStillThere = false;
    try {
      isStillThere = isSameHandle(await root.handle(path), found.handle);
    } catch (error) {
      if (!isRunnelError(error, "NotFound", "NotFolder", "Unavailable")) throw error;
      // Another file system covers it: a further name may be there still.
      isStillThere = error.kind === "Unavailable" && found.stat.type !== "folder" && found.stat.nlink > 1;
    }
    if (isStillThere && found.stat.type === "folder") return undefined;
    return { one, source, isLink: isStillThere };
  }
}

/** A rename's new tuple, unless more than a rename happened: then the next comparison has to see it. */
function statAfterMove(source: DiskRow, { stat }: FoundEntry): DiskStat {
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

/** Moves that make room go first: a rename to a name whose own file moves on too comes after that one. */
function inOrder(moves: readonly Move[]): Set<Move> {
  const bySource = new Map(moves.map((move) => [`${move.source.folder}/${move.source.name}`, move]));
  const ordered = new Set<Move>();
  const entered = new Set<Move>();
  // Folders before what is in them, as the paths say.
  for (const start of moves.toSorted((a, b) => a.one.path.length - b.one.path.length)) {
    const chain: Move[] = [];
    let at: Move | undefined = start;
    while (at !== undefined && !entered.has(at)) {
      entered.add(at);
      chain.push(at);
      at = bySource.get(`${at.one.folder}/${at.one.name}`);
    }
    for (const move of chain.toReversed()) ordered.add(move);
  }
  return ordered;
}
