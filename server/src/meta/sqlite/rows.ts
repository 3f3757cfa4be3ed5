// Values as SQLite columns and back, and the checksum that ends every row: CRC-32 over the columns before it, joined by
// NUL as text, then over the blob if there is one. A row that fails it is Corrupt.
import { crc32 } from "node:zlib";
import { RunnelError } from "@runnel/shared/model";
import type { Change, DiskStat, FileType, NodeState, Notice } from "@runnel/shared";
import type { DiskRow, DiskXattrs, VersionPlace, VersionRow } from "../meta-store.ts";
import type { OwnedNodes } from "../meta-tables.ts";

/** Integers beyond 2^53 travel as decimal text; the statements cast them. */
export type Column = string | number;

export function checksum(columns: readonly Column[], blob?: Uint8Array): number {
  const sum = crc32(columns.join("\0"));
  return blob === undefined ? sum : crc32(blob, sum);
}

export function corrupt(what: string): RunnelError {
  return new RunnelError("Corrupt", "read meta store", `A row of ${what} fails its checksum.`);
}

/** Checks the checksum that ends `row` and takes it off. */
export function checkedRow(what: string, row: readonly Column[], blob?: Uint8Array): Column[] {
  const columns = row.slice(0, -1);
  if (checksum(columns, blob) !== row.at(-1)) throw corrupt(what);
  return columns;
}

/** Lists the values in the order of the columns of table `nodes`. */
export function nodeToColumns(state: NodeState): Column[] {
  return [
    state.node,
    state.type,
    state.mode,
    state.uid,
    state.gid,
    state.sizeBytes,
    state.mtimeNs.toString(),
    state.ctimeNs.toString(),
    state.nlink,
    state.rdev,
    state.target,
    state.version,
    state.seq,
    state.xattrSeq ?? 0,
  ];
}

export function columnsToNode(columns: readonly Column[]): NodeState {
  const [node, type, mode, uid, gid, sizeBytes, mtime, ctime, nlink, rdev, target, version, seq, xattrSeq] = columns;
  return {
    node: Number(node),
    type: String(type) as FileType,
    mode: Number(mode),
    uid: Number(uid),
    gid: Number(gid),
    sizeBytes: Number(sizeBytes),
    mtimeNs: BigInt(mtime ?? 0),
    ctimeNs: BigInt(ctime ?? 0),
    nlink: Number(nlink),
    rdev: Number(rdev),
    target: String(target),
    version: Number(version),
    seq: Number(seq),
    ...(xattrSeq === undefined || xattrSeq === 0 ? {} : { xattrSeq: Number(xattrSeq) }),
  };
}

const STAT_COLUMNS = 11;
type StatColumns = [string, number, number, number, number, string, string, number, number, number, number];

function statToColumns(stat: DiskStat): StatColumns {
  const { type, mode, uid, gid, sizeBytes, mtimeNs, ctimeNs, dev, ino, nlink, rdev } = stat;
  return [type, mode, uid, gid, sizeBytes, mtimeNs.toString(), ctimeNs.toString(), dev, ino, nlink, rdev];
}

function columnsToStat(columns: StatColumns): DiskStat {
  const [type, mode, uid, gid, sizeBytes, mtime, ctime, dev, ino, nlink, rdev] = columns;
  const [mtimeNs, ctimeNs] = [BigInt(mtime), BigInt(ctime)];
  return { type: type as FileType, mode, uid, gid, sizeBytes, mtimeNs, ctimeNs, dev, ino, nlink, rdev };
}

/** The stat of a disk row, with what is recorded of its extended attributes. */
export function diskToText(stat: DiskStat, xattrs: DiskXattrs | undefined): string {
  const columns = statToColumns(stat);
  return JSON.stringify(xattrs === undefined ? columns : [...columns, xattrs.digest, xattrs.refused]);
}

export function textToDisk(text: string): { stat: DiskStat; xattrs?: DiskXattrs } {
  const columns = JSON.parse(text) as StatColumns | [...StatColumns, string, string[]];
  const stat = columnsToStat(columns.slice(0, STAT_COLUMNS) as StatColumns);
  const [digest, refused] = columns.slice(STAT_COLUMNS) as [string?, string[]?];
  return digest === undefined || refused === undefined ? { stat } : { stat, xattrs: { digest, refused } };
}

/** The kind of place is a column of its own; this is the rest. */
export function placeToText(place: VersionPlace): string {
  if (place.at === "pending") return JSON.stringify([place.segment, place.offset, place.length]);
  if (place.at === "trash") return JSON.stringify([place.file, statToColumns(place.stat)]);
  return "";
}

export function textToPlace(at: VersionPlace["at"], text: string): VersionPlace {
  if (at === "pending") {
    const [segment, offset, length] = JSON.parse(text) as [number, number, number];
    return { at, segment, offset, length };
  }
  if (at === "trash") {
    const [file, stat] = JSON.parse(text) as [string, StatColumns];
    return { at, file, stat: columnsToStat(stat) };
  }
  return { at };
}

export function toVersion(row: readonly Column[]): VersionRow {
  const [node, seq, sizeBytes, hasRecipe, at, place] = checkedRow("versions", row);
  return {
    version: { node: Number(node), seq: Number(seq) },
    sizeBytes: Number(sizeBytes),
    hasRecipe: hasRecipe === 1,
    place: textToPlace(at as VersionPlace["at"], String(place)),
  };
}

export function toDiskRow([handle, ...row]: [Uint8Array, ...Column[]]): DiskRow {
  const [folder, name, node, stat, version] = checkedRow("disk", row, handle);
  return {
    node: Number(node),
    folder: Number(folder),
    name: String(name),
    handle,
    version: Number(version),
    ...textToDisk(String(stat)),
  };
}

export function toRange(row: readonly Column[]): OwnedNodes {
  const [first, count, device, instance] = checkedRow("node_ranges", row);
  return {
    first: Number(first),
    count: Number(count),
    owner: { device: String(device), instance: String(instance) },
  };
}

export function toName([folder, name]: readonly Column[]): { folder: number; name: string } {
  return { folder: Number(folder), name: String(name) };
}

type ChangeColumns = [[number, string, number][], Column[][], [number, number] | []];

/** All but the seq. */
export function changeToText(change: Change): string {
  const { bindings, nodes, replaces } = change;
  const columns: ChangeColumns = [
    bindings.map(({ folder, name, node }) => [folder, name, node]),
    nodes.map(nodeToColumns),
    replaces === undefined ? [] : [replaces.node, replaces.seq],
  ];
  return JSON.stringify(columns);
}

export function textToChange(seq: number, text: string): Change {
  const [bindings, nodes, [node, version]] = JSON.parse(text) as ChangeColumns;
  return {
    seq,
    bindings: bindings.map(([folder, name, bound]) => ({ folder, name, node: bound })),
    nodes: nodes.map(columnsToNode),
    replaces: node === undefined || version === undefined ? undefined : { node, seq: version },
  };
}

/** Name of a notice's conflict copy in its row. */
const COPY_FIELD = "keptBeside";

export function noticeToText({ conflictCopy, ...rest }: Notice & { conflictCopy?: string | undefined }): string {
  return JSON.stringify({ ...rest, [COPY_FIELD]: conflictCopy });
}

export function textToNotice(text: string): Notice {
  const { [COPY_FIELD]: conflictCopy, ...rest } = JSON.parse(text) as Notice & { [COPY_FIELD]?: string };
  return { ...rest, ...(conflictCopy === undefined ? {} : { conflictCopy }) } as Notice;
}

/** Ascending, as runs: [first, last, first, last…]. */
export function seqsToText(seqs: readonly number[]): string {
  const runs: number[] = [];
  for (const seq of seqs) {
    if (runs.at(-1) === seq - 1) runs[runs.length - 1] = seq;
    else runs.push(seq, seq);
  }
  return JSON.stringify(runs);
}

export function textToSeqs(text: string): number[] {
  const runs = JSON.parse(text) as number[];
  const seqs: number[] = [];
  for (let at = 0; at < runs.length; at += 2)
    for (let seq = runs[at] ?? 0; seq <= (runs[at + 1] ?? 0); seq++) seqs.push(seq);
  return seqs;
}
