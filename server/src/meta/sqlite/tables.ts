// MetaTables over a connection to meta.db. Statements are prepared once. The writer remembers what only it changes, the
// facts, the number of results of an instance, names asked for last; a rollback forgets that.
import type Database from "better-sqlite3";
import { RunnelError, decodeCbor, decodeRecipe, encodeCbor, encodeRecipe, noticeKey } from "@runnel/shared/model";
import type { Change, Entry, NodeState, Notice, NumberSpan, Recipe, VersionId, Xattr } from "@runnel/shared";
import type { AttachedInstance, DiskRow, Passed, VersionRow } from "../meta-store.ts";
import type { Facts, LastName, MetaTables, OwnedNodes, StoredResult } from "../meta-tables.ts";
import { type PlacedName, RecentNames } from "./recent-names.ts";
import * as rows from "./rows.ts";
import type { Column } from "./rows.ts";

const NODE_COLUMNS =
  "n.node, n.type, n.mode, n.uid, n.gid, n.size_bytes, CAST(n.mtime_ns AS TEXT), CAST(n.ctime_ns AS TEXT), n.nlink, n.rdev, n.target, n.version, n.seq, n.xattrs, n.crc";
const NODE_VALUES = "?, ?, ?, ?, ?, ?, CAST(? AS INTEGER), CAST(? AS INTEGER), ?, ?, ?, ?, ?, ?, ?";
const VERSION_COLUMNS = "node, seq, size_bytes, has_recipe, place_at, place, crc";
const RANGE_COLUMNS = "first, count, device, instance, crc";
const DISK_COLUMNS = "handle, folder, name, node, stat, version, crc";

export class SqliteTables implements MetaTables {
  readonly #database: Database.Database;
  readonly #isWriter: boolean;
  readonly #statements = new Map<string, Database.Statement>();
  #facts: Facts | undefined;
  #areFactsStored = true;
  readonly #names = new RecentNames();
  readonly #resultCounts = new Map<string, number>();

  constructor(database: Database.Database, options: { isWriter: boolean }) {
    this.#database = database;
    this.#isWriter = options.isWriter;
  }

  /** After a rollback. */
  forget(): void {
    this.#facts = undefined;
    this.#areFactsStored = true;
    this.#names.clear();
    this.#resultCounts.clear();
  }

  #prepare(sql: string): Database.Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      if (statement.reader) statement.raw(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #row<Row = Column[]>(sql: string, ...given: unknown[]): Row | undefined {
    return this.#prepare(sql).get(...given) as Row | undefined;
  }

  #rows<Row = Column[]>(sql: string, ...given: unknown[]): Row[] {
    return this.#prepare(sql).all(...given) as Row[];
  }

  #run(sql: string, ...given: unknown[]): number {
    return this.#prepare(sql).run(...given).changes;
  }

  /** Columns, then their checksum. */
  #put(sql: string, columns: readonly Column[]): void {
    this.#run(sql, ...columns, rows.checksum(columns));
  }

  facts(): Facts {
    if (this.#facts !== undefined) return this.#facts;
    const row = this.#row(
      "SELECT format, epoch, seq, up_seq, log_segment, log_offset, next_node, forgotten_seq, crc FROM facts",
    );
    if (row === undefined) throw new RunnelError("Corrupt", "read facts", "There are no facts.");
    const [formatVersion, epoch, ...numbers] = rows.checkedRow("facts", row);
    const [seq = 0, appliedSeq = 0, logSegment = 0, logOffset = 0, nextNode = 0, forgottenSeq = 0] =
      numbers.map(Number);
    const facts = {
      formatVersion: Number(formatVersion),
      epoch: String(epoch),
      seq,
      appliedSeq,
      logSegment,
      logOffset,
      nextNode,
      forgottenSeq,
    };
    if (this.#isWriter) this.#facts = facts;
    return facts;
  }

  /** The writer's are stored once for all changes of a transaction: at its end (`storeFacts`). */
  putFacts(facts: Facts): void {
    if (!this.#isWriter) return this.#store(facts);
    this.#facts = facts;
    this.#areFactsStored = false;
  }

  /** Called before a transaction is committed. */
  storeFacts(): void {
    if (this.#areFactsStored || this.#facts === undefined) return;
    this.#store(this.#facts);
    this.#areFactsStored = true;
  }

  #store(facts: Facts): void {
    const { formatVersion, epoch, seq, appliedSeq, logSegment, logOffset, nextNode, forgottenSeq } = facts;
    this.#put("INSERT OR REPLACE INTO facts VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [
      formatVersion,
      epoch,
      seq,
      appliedSeq,
      logSegment,
      logOffset,
      nextNode,
      forgottenSeq,
    ]);
  }

  node(node: number): NodeState | undefined {
    const row = this.#row(`SELECT ${NODE_COLUMNS} FROM nodes n WHERE node = ?`, node);
    return row && rows.columnsToNode(rows.checkedRow("nodes", row));
  }

  putNode(state: NodeState): void {
    this.#put(`INSERT OR REPLACE INTO nodes VALUES (${NODE_VALUES})`, rows.nodeToColumns(state));
  }

  xattrs(node: number): Xattr[] {
    const row = this.#row<[Uint8Array, number]>("SELECT xattrs, crc FROM xattrs WHERE node = ?", node);
    if (row === undefined) return [];
    const [bytes, crc] = row;
    if (rows.checksum([node], bytes) !== crc) throw rows.corrupt("xattrs");
    return decodeCbor(bytes, bytes.length) as Xattr[];
  }

  putXattrs(node: number, xattrs: readonly Xattr[]): void {
    if (xattrs.length === 0) {
      this.#run("DELETE FROM xattrs WHERE node = ?", node);
      return;
    }
    const bytes = encodeCbor(xattrs);
    this.#run("INSERT OR REPLACE INTO xattrs VALUES (?, ?, ?)", node, bytes, rows.checksum([node], bytes));
  }

  lastName(node: number): LastName | undefined {
    const row = this.#row("SELECT node, folder, name, instance, crc FROM last_names WHERE node = ?", node);
    if (row === undefined) return undefined;
    const [, folder, name, instance] = rows.checkedRow("last_names", row);
    return { folder: Number(folder), name: String(name), instance: String(instance) };
  }

  putLastName(node: number, { folder, name, instance }: LastName): void {
    this.#put("INSERT OR REPLACE INTO last_names VALUES (?, ?, ?, ?, ?)", [node, folder, name, instance]);
  }

  binding(folder: number, name: string): number | undefined {
    const row = this.#row("SELECT folder, name, node, crc FROM bindings WHERE folder = ? AND name = ?", folder, name);
    return row && Number(rows.checkedRow("bindings", row)[2]);
  }

  putBinding(folder: number, name: string, node: number): void {
    this.#names.changed({ folder, name }, node);
    this.#put("INSERT OR REPLACE INTO bindings VALUES (?, ?, ?, ?)", [folder, name, node]);
  }

  removeBinding(folder: number, name: string): void {
    this.#names.changed({ folder, name });
    this.#run("DELETE FROM bindings WHERE folder = ? AND name = ?", folder, name);
  }

  hasNames(folder: number): boolean {
    return this.#row("SELECT 1 FROM bindings WHERE folder = ? LIMIT 1", folder) !== undefined;
  }

  namesOf(node: number): readonly PlacedName[] {
    const known = this.#names.get(node);
    if (known !== undefined) return known;
    const found = this.#rows("SELECT folder, name, node, crc FROM bindings WHERE node = ? ORDER BY folder, name", node);
    const names = found.map((row) => rows.toName(rows.checkedRow("bindings", row)));
    if (this.#isWriter) this.#names.put(node, names);
    return names;
  }

  list(folder: number, after: string, limit: number): Entry[] {
    const found = this.#rows(
      `SELECT b.folder, b.name, b.node, b.crc, ${NODE_COLUMNS} FROM bindings b LEFT JOIN nodes n ON n.node = b.node
       WHERE b.folder = ? AND b.name > ? ORDER BY b.name LIMIT ?`,
      folder,
      after,
      limit,
    );
    return found.map((row) => {
      const { name } = rows.toName(rows.checkedRow("bindings", row.slice(0, 4)));
      return { name, state: rows.columnsToNode(rows.checkedRow("nodes", row.slice(4))) };
    });
  }

  nameless(after: number, upTo: number, limit: number): { node: number; seq: number }[] {
    const sql = "SELECT node, seq FROM nodes WHERE nlink = 0 AND seq > ? AND seq <= ? ORDER BY seq, node LIMIT ?";
    const found = this.#rows<[number, number]>(sql, after, upTo, limit);
    return found.map(([node, seq]) => ({ node, seq }));
  }

  removeNode(node: number): void {
    for (const table of ["nodes", "xattrs", "last_names", "versions", "recipes"])
      this.#run(`DELETE FROM ${table} WHERE node = ?`, node);
  }

  version({ node, seq }: VersionId): VersionRow | undefined {
    const row = this.#row(`SELECT ${VERSION_COLUMNS} FROM versions WHERE node = ? AND seq = ?`, node, seq);
    return row && rows.toVersion(row);
  }

  versionsOf(node: number): VersionRow[] {
    return this.#rows(`SELECT ${VERSION_COLUMNS} FROM versions WHERE node = ? ORDER BY seq`, node).map(rows.toVersion);
  }

  withoutBytes(node: number): VersionId[] {
    const found = this.#rows(
      "SELECT seq FROM versions WHERE node = ? AND place_at IN ('lost', 'empty') ORDER BY seq",
      node,
    );
    return found.map(([seq]) => ({ node, seq: Number(seq) }));
  }

  putVersion({ version, sizeBytes, hasRecipe, place }: VersionRow): void {
    const columns = [version.node, version.seq, sizeBytes, hasRecipe ? 1 : 0, place.at, rows.placeToText(place)];
    this.#put("INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)", columns);
  }

  removeVersion({ node, seq }: VersionId): void {
    this.#run("DELETE FROM versions WHERE node = ? AND seq = ?", node, seq);
    this.#run("DELETE FROM recipes WHERE node = ? AND seq = ?", node, seq);
  }

  withoutRecipe(limit: number, after: number): VersionId[] {
    const found = this.#rows(
      `SELECT v.node, v.seq FROM versions v CROSS JOIN nodes n ON n.node = v.node AND n.version = v.seq
       WHERE v.has_recipe = 0 AND v.node > ? AND v.place_at <> 'lost' AND n.nlink > 0 ORDER BY v.node LIMIT ?`,
      after,
      limit,
    );
    return found.map(([node, seq]) => ({ node: Number(node), seq: Number(seq) }));
  }

  recipe({ node, seq }: VersionId): Recipe | undefined {
    const row = this.#row<[Uint8Array, number]>(
      "SELECT recipe, crc FROM recipes WHERE node = ? AND seq = ?",
      node,
      seq,
    );
    if (row === undefined) return undefined;
    const [bytes, crc] = row;
    if (rows.checksum([node, seq], bytes) !== crc) throw rows.corrupt("recipes");
    return decodeRecipe(bytes);
  }

  putRecipe({ node, seq }: VersionId, recipe: Recipe): void {
    const bytes = encodeRecipe(recipe);
    this.#run(
      "INSERT OR REPLACE INTO recipes VALUES (?, ?, ?, ?)",
      node,
      seq,
      bytes,
      rows.checksum([node, seq], bytes),
    );
  }

  changesAfter(seq: number, limit: number): Change[] {
    const found = this.#rows("SELECT seq, change, crc FROM changes WHERE seq > ? ORDER BY seq LIMIT ?", seq, limit);
    return found.map((row) => {
      const [at, text] = rows.checkedRow("changes", row);
      return rows.textToChange(Number(at), String(text));
    });
  }

  putChange(change: Change): void {
    this.#put("INSERT INTO changes VALUES (?, ?, ?)", [change.seq, rows.changeToText(change)]);
  }

  removeChangesUpTo(seq: number): void {
    this.#run("DELETE FROM changes WHERE seq <= ?", seq);
  }

  result(instance: string, n: number): StoredResult | undefined {
    const row = this.#row<[Uint8Array, ...Column[]]>(
      "SELECT digest, instance, n, node, seq, version, conflict, crc FROM results WHERE instance = ? AND n = ?",
      instance,
      n,
    );
    if (row === undefined) return undefined;
    const [digest, ...rest] = row;
    const [, , node, seq, version, conflict] = rows.checkedRow("results", rest, digest);
    return {
      digest,
      result: { node: Number(node), seq: Number(seq), version: Number(version), conflict: conflict === 1 },
    };
  }

  putResult(instance: string, n: number, { digest, result }: StoredResult): void {
    const { node, seq, version } = result;
    const conflict = result.conflict ? 1 : 0;
    const crc = rows.checksum([instance, n, node, seq, version, conflict], digest);
    const count = this.countResults(instance);
    const put = "INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    const row = [instance, n, digest, node, seq, version, conflict, crc];
    if (this.#run(`INSERT ${put} ON CONFLICT DO NOTHING`, ...row) > 0) this.#resultCounts.set(instance, count + 1);
    else this.#run(`REPLACE ${put}`, ...row);
  }

  removeResultsUpTo(instance: string, n: number, but: readonly NumberSpan[]): void {
    const kept = JSON.stringify(but);
    this.#run(
      "DELETE FROM results WHERE instance = ? AND n <= ? AND NOT EXISTS (SELECT 1 FROM json_each(?) WHERE n BETWEEN value ->> 0 AND value ->> 1)",
      instance,
      n,
      kept,
    );
    this.#resultCounts.delete(instance);
  }

  removeOldResults(kept: number): void {
    const newest = "SELECT seq FROM results ORDER BY seq DESC LIMIT 1 OFFSET ?";
    const isAway = "instance NOT IN (SELECT instance FROM attached)";
    this.#run(`DELETE FROM results WHERE seq < (${newest}) AND ${isAway}`, kept - 1);
    this.#resultCounts.clear();
  }

  countResults(instance: string): number {
    const known = this.#resultCounts.get(instance);
    if (known !== undefined) return known;
    const count = Number(this.#row("SELECT count(*) FROM results WHERE instance = ?", instance)?.[0]);
    if (this.#isWriter) this.#resultCounts.set(instance, count);
    return count;
  }

  rangeWith(node: number): OwnedNodes | undefined {
    const row = this.#row(
      `SELECT ${RANGE_COLUMNS} FROM node_ranges WHERE first <= ? ORDER BY first DESC LIMIT 1`,
      node,
    );
    const range = row && rows.toRange(row);
    return range !== undefined && node < range.first + range.count ? range : undefined;
  }

  rangesOf(device: string): OwnedNodes[] {
    const found = this.#rows(`SELECT ${RANGE_COLUMNS} FROM node_ranges WHERE device = ? ORDER BY count, first`, device);
    return found.map(rows.toRange);
  }

  countRanges(device: string): number {
    return Number(this.#row("SELECT count(*) FROM node_ranges WHERE device = ?", device)?.[0]);
  }

  putRange({ first, count, owner: { device, instance } }: OwnedNodes): void {
    this.#put("INSERT OR REPLACE INTO node_ranges VALUES (?, ?, ?, ?, ?)", [first, count, device, instance]);
  }

  removeRange(first: number): void {
    this.#run("DELETE FROM node_ranges WHERE first = ?", first);
  }

  attached(): AttachedInstance[] {
    const terms = new Map(
      this.#rows("SELECT instance, term_ms, crc FROM terms").map((row) => {
        const [instance, termMs] = rows.checkedRow("terms", row);
        return [String(instance), Number(termMs)];
      }),
    );
    const found = this.#rows("SELECT instance, crc FROM attached ORDER BY instance");
    return found.map((row) => {
      const instance = String(rows.checkedRow("attached", row)[0]);
      return { instance, termMs: terms.get(instance) ?? 0 };
    });
  }

  putAttached({ instance, termMs }: AttachedInstance): void {
    this.#put("INSERT OR REPLACE INTO attached VALUES (?, ?)", [instance]);
    this.#put("INSERT OR REPLACE INTO terms VALUES (?, ?, ?)", [instance, termMs]);
  }

  removeAttached(instance: string): void {
    this.#run("DELETE FROM attached WHERE instance = ?", instance);
    this.#run("DELETE FROM terms WHERE instance = ?", instance);
  }

  writeLease(): string {
    const row = this.#row("SELECT instance, crc FROM write_lease");
    return row === undefined ? "" : String(rows.checkedRow("write_lease", row)[0]);
  }

  putWriteLease(instance: string): void {
    this.#put("INSERT OR REPLACE INTO write_lease VALUES (1, ?, ?)", [instance]);
  }

  #diskRows(where: string, ...given: unknown[]): DiskRow[] {
    return this.#rows<[Uint8Array, ...Column[]]>(`SELECT ${DISK_COLUMNS} FROM disk WHERE ${where}`, ...given).map(
      rows.toDiskRow,
    );
  }

  diskRow(folder: number, name: string): DiskRow | undefined {
    return this.#diskRows("folder = ? AND name = ?", folder, name)[0];
  }

  diskRows(folder: number): DiskRow[] {
    return this.#diskRows("folder = ? ORDER BY name", folder);
  }

  hasDiskRows(folder: number): boolean {
    return this.#row("SELECT 1 FROM disk WHERE folder = ? LIMIT 1", folder) !== undefined;
  }

  diskRowsOfNode(node: number): DiskRow[] {
    return this.#diskRows("node = ? ORDER BY folder, name", node);
  }

  diskRowByHandle(handle: Uint8Array): DiskRow | undefined {
    return this.#diskRows("handle = ? ORDER BY folder, name LIMIT 1", handle)[0];
  }

  putDiskRow({ folder, name, node, handle, stat, version, xattrs }: DiskRow): void {
    const text = rows.diskToText(stat, xattrs);
    const crc = rows.checksum([folder, name, node, text, version], handle);
    this.#run(
      "INSERT OR REPLACE INTO disk VALUES (?, ?, ?, ?, ?, ?, ?)",
      folder,
      name,
      node,
      handle,
      text,
      version,
      crc,
    );
  }

  removeDiskRow(folder: number, name: string): void {
    this.#run("DELETE FROM disk WHERE folder = ? AND name = ?", folder, name);
  }

  countDiskRows(): number {
    return Number(this.#row("SELECT count(*) FROM disk")?.[0]);
  }

  passed(): Passed {
    const row = this.#row("SELECT seq, waiting, crc FROM passed");
    if (row === undefined) return { seq: 0, waiting: [] };
    const [seq, waiting] = rows.checkedRow("passed", row);
    return { seq: Number(seq), waiting: rows.textToSeqs(String(waiting)) };
  }

  putPassed({ seq, waiting }: Passed): void {
    this.#put("INSERT OR REPLACE INTO passed VALUES (1, ?, ?, ?)", [seq, rows.seqsToText(waiting)]);
  }

  notices(): Notice[] {
    const found = this.#rows("SELECT kind, key, notice, crc FROM notices ORDER BY place");
    return found.map((row) => rows.textToNotice(String(rows.checkedRow("notices", row)[2])));
  }

  putNotice(notice: Notice): void {
    this.#put("INSERT OR REPLACE INTO notices (kind, key, notice, crc) VALUES (?, ?, ?, ?)", [
      notice.kind,
      noticeKey(notice),
      rows.noticeToText(notice),
    ]);
  }

  removeNotice(notice: Notice): void {
    this.#run("DELETE FROM notices WHERE kind = ? AND key = ?", notice.kind, noticeKey(notice));
  }
}
