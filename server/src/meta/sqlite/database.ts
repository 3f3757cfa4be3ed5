// The database files of a meta store in one folder: `meta.db` (the index over the commit log) and `chunks.db` (the
// chunk index, which may be deleted at any time). Schema, format number, and the settings by which a commit is atomic
// at once and durable at a checkpoint.
//
// meta.db runs in WAL mode with synchronous=NORMAL: a commit writes the WAL and syncs nothing, so it survives a killed
// process, and after a power cut the WAL is valid up to some earlier commit, never torn: the index is then behind the
// commit log and is rolled forward. A commit under synchronous=FULL syncs the WAL, and with it all commits before. A
// checkpoint syncs the WAL, copies it into the database file and syncs that.
/* oxlint-disable node/no-sync -- a database is made and opened before its volume is */
import { closeSync, existsSync, fsyncSync, openSync, renameSync } from "node:fs";
import { checkPages } from "@runnel/native";
import Database from "better-sqlite3";
import { RunnelError } from "@runnel/shared/model";
import type { Creation } from "../first-rows.ts";
import { META_FORMAT, firstFacts, firstRoot } from "../first-rows.ts";
import { chunkFile, metaFile, removeDatabase } from "./files.ts";
import { SqliteTables } from "./tables.ts";

/** "RnlM": tells file(1) and a stray database apart. */
const APPLICATION_ID = 0x526e_6c4d;
/** Pages of WAL (4 KiB each) after which SQLite checkpoints by itself, should nobody call checkpoint(). */
const AUTOCHECKPOINT_PAGES = 16_384;
/** Page cache of a connection, in KiB (SQLite takes it negative). */
const CACHE_KIB = 8192;

/** Tables of the store. For the content of `crc` see sqlite-rows.ts. */
const SCHEMA = `
CREATE TABLE facts (
  id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL, epoch TEXT NOT NULL, seq INTEGER NOT NULL, up_seq INTEGER NOT NULL,
  log_segment INTEGER NOT NULL, log_offset INTEGER NOT NULL, next_node INTEGER NOT NULL, forgotten_seq INTEGER NOT NULL, crc INTEGER NOT NULL
) STRICT;
CREATE TABLE nodes (
  node INTEGER PRIMARY KEY, type TEXT NOT NULL, mode INTEGER NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, nlink INTEGER NOT NULL, rdev INTEGER NOT NULL, target TEXT NOT NULL,
  version INTEGER NOT NULL, seq INTEGER NOT NULL, xattrs INTEGER NOT NULL, crc INTEGER NOT NULL
) STRICT;
CREATE TABLE xattrs (node INTEGER PRIMARY KEY, xattrs BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE last_names (
  node INTEGER PRIMARY KEY, folder INTEGER NOT NULL, name TEXT NOT NULL, instance TEXT NOT NULL, crc INTEGER NOT NULL
) STRICT;
CREATE TABLE bindings (
  folder INTEGER NOT NULL, name TEXT NOT NULL, node INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (folder, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX bindings_by_node ON bindings (node, folder, name);
CREATE TABLE versions (
  node INTEGER NOT NULL, seq INTEGER NOT NULL, size_bytes INTEGER NOT NULL, has_recipe INTEGER NOT NULL, place_at TEXT NOT NULL,
  place TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (node, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX versions_without_recipe ON versions (node, seq) WHERE has_recipe = 0;
CREATE TABLE recipes (
  node INTEGER NOT NULL, seq INTEGER NOT NULL, recipe BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (node, seq)
) STRICT;
CREATE TABLE changes (seq INTEGER PRIMARY KEY, change TEXT NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE results (
  instance TEXT NOT NULL, n INTEGER NOT NULL, digest BLOB NOT NULL, node INTEGER NOT NULL, seq INTEGER NOT NULL, version INTEGER NOT NULL,
  conflict INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (instance, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE attached (instance TEXT PRIMARY KEY, crc INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE disk (
  folder INTEGER NOT NULL, name TEXT NOT NULL, node INTEGER NOT NULL, handle BLOB NOT NULL, stat TEXT NOT NULL, version INTEGER NOT NULL,
  crc INTEGER NOT NULL, PRIMARY KEY (folder, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX disk_by_node ON disk (node, folder, name);
CREATE INDEX disk_by_handle ON disk (handle, folder, name);
`;

/**
 * Tables that later versions have added: an older store gets them when it is opened, and is none the worse for versions
 * that do not know of them.
 */
const ADDED = `
CREATE TABLE IF NOT EXISTS notices (
  place INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, key TEXT NOT NULL, notice TEXT NOT NULL, crc INTEGER NOT NULL, UNIQUE (kind, key)
) STRICT;
CREATE TABLE IF NOT EXISTS passed (
  id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, waiting TEXT NOT NULL, crc INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS write_lease (
  id INTEGER PRIMARY KEY CHECK (id = 1), instance TEXT NOT NULL, crc INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS nodes_without_name ON nodes (seq, node) WHERE nlink = 0;
CREATE INDEX IF NOT EXISTS versions_without_bytes ON versions (node, seq) WHERE place_at IN ('lost', 'empty');
CREATE TABLE IF NOT EXISTS node_ranges (
  first INTEGER PRIMARY KEY, count INTEGER NOT NULL, device TEXT NOT NULL, instance TEXT NOT NULL, crc INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS node_ranges_by_device ON node_ranges (device, count, first);
CREATE TABLE IF NOT EXISTS terms (instance TEXT PRIMARY KEY, term_ms INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/**
 * An error of SQLite as one of ours; others pass through. `hasRoom`: asked where SQLite names no cause. It knows a full
 * disk by ENOSPC alone; a quota that is used up (EDQUOT) is an I/O error to it.
 */
export function fromSqliteError(error: unknown, hasRoom: () => boolean): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  // IOERR_DATA: a page is not as it was written.
  const isCorrupt = code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB" || code === "SQLITE_IOERR_DATA";
  const isUnnamed = !isCorrupt && (code.startsWith("SQLITE_IOERR") || code === "SQLITE_CANTOPEN");
  if (code === "SQLITE_FULL" || (isUnnamed && !hasRoom())) {
    return new RunnelError("NoSpace", "use meta store", "The server's disk with its log and index is full.", {
      cause: error,
    });
  }
  const kind = isCorrupt ? "Corrupt" : "Io";
  return new RunnelError(kind, "use meta store", `${code}: ${message}`, { cause: error });
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes a database beside and renames it, so that a crash leaves a whole one or none. */
export function createMetaFile(folder: string, creation: Creation): void {
  const path = metaFile(folder);
  if (existsSync(path)) throw new RunnelError("Exists", "create meta store", "There is a meta store already.");
  checkPages(Database);
  const making = `${path}.new`;
  removeDatabase(making);
  const database = new Database(making);
  database.exec(`BEGIN; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${META_FORMAT};`);
  const tables = new SqliteTables(database, { isWriter: false });
  tables.putFacts(firstFacts(creation));
  tables.putNode(firstRoot());
  database.exec("COMMIT");
  database.close();
  renameSync(making, path);
  syncFolder(folder);
}

/** @throws Version for a newer format, Corrupt for anything that is no meta store of ours. */
function checkFormat(database: Database.Database): void {
  const format = Number(database.pragma("user_version", { simple: true }));
  if (database.pragma("application_id", { simple: true }) !== APPLICATION_ID || format < 1) {
    throw new RunnelError("Corrupt", "open meta store", "The file is not a meta store.");
  }
  if (format > META_FORMAT) {
    throw new RunnelError(
      "Version",
      "open meta store",
      `The meta store was written by a newer Runnel (format ${format}; this one reads up to ${META_FORMAT}): update Runnel.`,
      {
        detail: { need: format },
      },
    );
  }
}

function checkWhole(database: Database.Database): void {
  const wrongPage = Number(database.prepare("SELECT runnel_wrong_page()").pluck().get());
  if (wrongPage > 0)
    throw new RunnelError("Corrupt", "open meta store", `Page ${wrongPage} of the database is damaged.`);
}

function connect(path: string): Database.Database {
  const database = new Database(path, { fileMustExist: true });
  database.pragma(`cache_size = -${CACHE_KIB}`);
  database.pragma("temp_store = memory");
  return database;
}

/** Two connections: reads on `reader` see what is committed while a transaction is open on `writer`. */
export function openMetaFile(folder: string): { reader: Database.Database; writer: Database.Database } {
  const path = metaFile(folder);
  if (!existsSync(path)) throw new RunnelError("NotFound", "open meta store", "There is no meta store.");
  checkPages(Database);
  const writer = connect(path);
  try {
    checkFormat(writer);
    checkWhole(writer);
    writer.pragma("journal_mode = WAL");
    writer.pragma("synchronous = NORMAL");
    writer.pragma(`wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`);
    writer.exec(ADDED);
    const reader = connect(path);
    reader.pragma("query_only = ON");
    return { reader, writer };
  } catch (error) {
    writer.close();
    throw error;
  }
}

/**
 * Costs bandwidth only, but a disk that rots is worth knowing. To the process's log: nobody else hears of what this
 * thread does by itself.
 */
export function tellAnew(error: unknown): void {
  console.error("The index of chunks could not be used and is begun anew.", error);
}

/** The chunk index; not synced, a damaged or missing one is made anew. */
export function openChunkFile(folder: string, schema: string, format: number): Database.Database {
  checkPages(Database);
  const path = chunkFile(folder);
  const open = (): Database.Database => {
    const database = new Database(path);
    try {
      database.pragma("journal_mode = WAL");
      database.pragma("synchronous = OFF");
      if (database.pragma("user_version", { simple: true }) === format) return database;
      if (Number(database.pragma("user_version", { simple: true })) !== 0) throw new Error("another format");
      database.exec(`BEGIN; ${schema}; PRAGMA user_version = ${format}; COMMIT`);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  };
  try {
    return open();
  } catch (error) {
    tellAnew(error);
    removeDatabase(path);
    return open();
  }
}
