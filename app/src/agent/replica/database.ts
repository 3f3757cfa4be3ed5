// The agent's SQLite files: indexes that can be rebuilt, so they are never synced (synchronous=OFF) and a damaged one
// is begun anew (docs/FORMAT.md, "The agent's journal, cache and replica"). Every page is checked when it is read, by
// core.node. The only place that imports better-sqlite3. Synchronous, main thread.
/* oxlint-disable node/no-sync -- names of a database that is about to be opened, before its mount is */
import { rmSync } from "node:fs";
import { checkPages, systemBoot } from "@runnel/native";
import Database from "better-sqlite3";
import { RunnelError, isRunnelError } from "@runnel/shared";
import { thisSystem } from "../control/host/this-system.ts";

export type Value = number | bigint | string | Uint8Array | null;
export type Row = Record<string, unknown>;

export interface DatabaseFormat {
  /** Name in messages: "replica", "cache index". */
  what: string;
  /** Stands in user_version. A file with a greater number is refused, one with a smaller number is upgraded. */
  version: number;
  /** Statements that make the tables. */
  schema: string;
  /** Statements that make of a format the next one; one without is begun anew. */
  upgrades?: Readonly<Record<number, string>>;
}

/**
 * End of the last process that had the file open. Killed: the process died, the system went on, so all that was written
 * is there.
 */
export type LastEnd = "none" | "closed" | "killed" | "powerCut";

/** Pages kept in memory, KiB. */
const PAGE_CACHE_KIB = 8 * 1024;
/** Bytes 18 and 19 of a file's header are 2 with a write-ahead log, else 1 (SQLite's file format, 1.3). */
const WAL_VERSIONS_AT = 18;
/** The write-ahead log is cut back to this size, bytes. */
const WAL_BYTES = 4 * 1024 * 1024;

/** A prepared statement whose failures are RunnelErrors: NoSpace, Corrupt, Io; Interrupted after close. */
export class Query<R = Row> {
  readonly #owner: IndexDatabase;
  readonly #sql: string;
  #statement: Database.Statement;

  constructor(owner: IndexDatabase, sql: string) {
    this.#owner = owner;
    this.#sql = sql;
    this.#statement = owner.prepare(sql);
  }

  get(...values: Value[]): R | undefined {
    return this.#do(() => this.#statement.get(...values) as R | undefined);
  }

  all(...values: Value[]): R[] {
    return this.#do(() => this.#statement.all(...values) as R[]);
  }

  /** Returns how many rows were changed. */
  run(...values: Value[]): number {
    return this.#do(() => this.#statement.run(...values).changes);
  }

  /** The rowid that the insert made. */
  insert(...values: Value[]): number {
    return this.#do(() => Number(this.#statement.run(...values).lastInsertRowid));
  }

  #do<T>(work: () => T): T {
    return this.#owner.orInMemory(() => {
      if (!this.#owner.has(this.#statement)) this.#statement = this.#owner.prepare(this.#sql);
      return work();
    });
  }
}

export class IndexDatabase {
  /** End of the last process that had it open; "none" for a new file, also where a damaged one was dropped. */
  readonly lastEnd: LastEnd;
  /** A sentence when the file was found damaged and dropped at opening. */
  readonly dropped: string | undefined;
  #db: Database.Database;
  readonly #path: string;
  readonly #what: string;
  #isInTransaction = false;
  #isInMemory = false;
  #wasDamageReported = false;
  readonly #damageListeners: ((sentence: string) => void)[] = [];
  readonly #undoneListeners: (() => void)[] = [];

  constructor(db: Database.Database, path: string, what: string, lastEnd: LastEnd, dropped: string | undefined) {
    this.#db = db;
    this.dropped = dropped;
    this.#path = path;
    this.#what = what;
    this.lastEnd = lastEnd;
  }

  query<R = Row>(sql: string): Query<R> {
    return new Query<R>(this, sql);
  }

  prepare(sql: string): Database.Statement {
    return this.#db.prepare(sql);
  }

  /** @returns false for a statement of the file, once all is in memory. */
  has(statement: Database.Statement): boolean {
    return statement.database === this.#db;
  }

  /**
   * Runs `work` in one transaction; nested calls join the outer one. A throw undoes all. It is run again when the disk
   * is full.
   */
  atomic<T>(work: () => T): T {
    if (this.#isInTransaction) return work();
    return this.orInMemory(() => {
      this.#isInTransaction = true;
      try {
        return this.#db.transaction(work)();
      } catch (error) {
        for (const tell of this.#undoneListeners) tell();
        throw error;
      } finally {
        this.#isInTransaction = false;
      }
    });
  }

  /**
   * Runs `work`; when the disk has no room for it, goes on in memory and runs it again. Nothing in these files is
   * precious.
   */
  orInMemory<T>(work: () => T): T {
    try {
      if (!this.#db.open) throw closed(this.#what);
      return work();
    } catch (error) {
      if (!this.#db.open) throw closed(this.#what);
      const failure = databaseError(error, this.#what);
      if (failure.kind === "Corrupt") this.#reportDamage();
      if (failure.kind !== "NoSpace" || this.#isInTransaction || this.#isInMemory) throw failure;
    }
    this.#moveToMemory();
    return this.orInMemory(work);
  }

  /** Called when a transaction was undone: what was read in it may not be so. */
  onUndone(tell: () => void): void {
    this.#undoneListeners.push(tell);
  }

  /**
   * Called with a sentence for a person when the file turns out to be damaged: at once for what was found at opening.
   */
  onDamage(report: (sentence: string) => void): void {
    this.#damageListeners.push(report);
    if (this.dropped !== undefined) report(this.dropped);
  }

  /** Makes all reads fail from here on; the next opening begins the file anew. */
  #reportDamage(): void {
    if (this.#wasDamageReported) return;
    this.#wasDamageReported = true;
    const sentence = `Damaged on this computer's disk: the ${this.#what}. Unmount and mount again: it is then made anew.`;
    for (const tell of this.#damageListeners) tell(sentence);
  }

  /** Marks a clean end and closes. Harmless when closed. */
  close(): void {
    if (!this.#db.open) return;
    try {
      this.orInMemory(() => this.#db.prepare("UPDATE life SET isClosed = 1").run());
      if (this.#isInMemory) this.#putBack();
    } catch (error) {
      // A damaged file is dropped at the next opening.
      if (!isRunnelError(error, "Corrupt")) throw error;
    } finally {
      this.#db.close();
    }
  }

  /** The file stays as the last transaction left it: a smaller truth, as after a kill. */
  #moveToMemory(): void {
    const image = this.#db.serialize();
    // The header's two versions: a write-ahead log is not possible in memory.
    image.fill(1, WAL_VERSIONS_AT, WAL_VERSIONS_AT + 2);
    const file = this.#db;
    this.#db = new Database(image);
    this.#isInMemory = true;
    file.close();
  }

  #putBack(): void {
    try {
      rmSync(`${this.#path}.new`, { force: true });
      this.#db.prepare("VACUUM INTO ?").run(`${this.#path}.new`);
      for (const suffix of ["-wal", "-shm"]) rmSync(this.#path + suffix, { force: true });
      thisSystem.replace(`${this.#path}.new`, this.#path);
    } catch {
      // The disk is still full: the next process begins with what the file had.
      rmSync(`${this.#path}.new`, { force: true });
    }
  }
}

/**
 * Opens or makes the file; ":memory:" is a file of its own. Damage that SQLite sees at open means beginning anew: after
 * a power cut the whole file is checked for it. `boot` names the system's current boot, "" for unknown (then every
 * unclean end counts as a power cut).
 * @throws RunnelError Version for a newer format, Io, NoSpace, Denied.
 */
export function openDatabase(path: string, format: DatabaseFormat, boot: string = systemBoot()): IndexDatabase {
  checkPages(Database);
  let dropped: string | undefined;
  try {
    return openOnce(path, format, boot);
  } catch (error) {
    const failure = databaseError(error, `open ${format.what}`);
    if (failure.kind !== "Corrupt") throw failure;
    if (!(failure instanceof OlderFormat))
      dropped = `Damaged on this computer's disk: the ${format.what}. It is made anew.`;
  }
  removeDatabase(path);
  try {
    return openOnce(path, format, boot, dropped);
  } catch (error) {
    throw databaseError(error, `open ${format.what}`);
  }
}

/** Removes the file of a database that nobody has open. */
export function removeDatabase(path: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

function openOnce(path: string, format: DatabaseFormat, boot: string, dropped?: string): IndexDatabase {
  const db = new Database(path);
  try {
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = OFF");
    db.pragma(`cache_size = -${PAGE_CACHE_KIB}`);
    db.pragma(`journal_size_limit = ${WAL_BYTES}`);
    const version = Number(db.pragma("user_version", { simple: true }));
    if (version > format.version) throw newerFormat(format, version);
    if (version !== format.version && !upgrade(db, format, version)) return begin(db, path, format, boot, dropped);
    const wrongPage = Number(db.prepare("SELECT runnel_wrong_page()").pluck().get());
    if (wrongPage > 0)
      throw new RunnelError("Corrupt", `open ${format.what}`, `Page ${wrongPage} of the ${format.what} is damaged.`);
    const lastEnd = endOf(db, format, boot);
    db.prepare("UPDATE life SET isClosed = 0, boot = ?").run(boot);
    return new IndexDatabase(db, path, format.what, lastEnd, undefined);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Begun anew like a damaged one, but nobody has to know. */
class OlderFormat extends RunnelError {}

/**
 * A file without our tables. Other tables in it (an older format) make it Corrupt, so that the caller begins with an
 * empty file.
 */
function begin(
  db: Database.Database,
  path: string,
  format: DatabaseFormat,
  boot: string,
  dropped: string | undefined,
): IndexDatabase {
  const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema").get() as { n: number };
  if (tables.n > 0) throw new OlderFormat("Corrupt", `open ${format.what}`, `The ${format.what} has an older format.`);
  db.transaction(() => {
    db.exec("CREATE TABLE life (id INTEGER PRIMARY KEY, isClosed INTEGER NOT NULL, boot TEXT NOT NULL) STRICT");
    db.exec(format.schema);
    db.prepare("INSERT INTO life VALUES (1, 0, ?)").run(boot);
    db.pragma(`user_version = ${format.version}`);
  })();
  return new IndexDatabase(db, path, format.what, "none", dropped);
}

/** Makes the tables of an older format those of this one. @returns false where there is no way. */
function upgrade(db: Database.Database, { upgrades = {}, version }: DatabaseFormat, from: number): boolean {
  const steps = Array.from({ length: version - from }, (_, step) => upgrades[from + step]);
  if (steps.includes(undefined)) return false;
  db.transaction(() => {
    for (const step of steps) db.exec(step ?? "");
    db.pragma(`user_version = ${version}`);
  })();
  return true;
}

function endOf(db: Database.Database, format: DatabaseFormat, boot: string): LastEnd {
  const life = db.prepare("SELECT isClosed, boot FROM life").get() as { isClosed: number; boot: string } | undefined;
  if (life === undefined) throw new RunnelError("Corrupt", `open ${format.what}`, `The ${format.what} lacks a row.`);
  if (life.isClosed === 1) return "closed";
  if (boot !== "" && life.boot === boot) return "killed";
  // Nothing was synced: pages may be missing. The whole check also compares indexes with their tables.
  const verdict = db.pragma("integrity_check(1)", { simple: true });
  if (verdict !== "ok") {
    throw new RunnelError("Corrupt", `open ${format.what}`, `The ${format.what} is damaged: ${String(verdict)}`);
  }
  return "powerCut";
}

function newerFormat(format: DatabaseFormat, version: number): RunnelError {
  const message = `The ${format.what} was written by a newer Runnel (format ${version}; this one reads up to ${format.version}): update Runnel.`;
  return new RunnelError("Version", `open ${format.what}`, message, { detail: { need: version } });
}

function closed(what: string): RunnelError {
  return new RunnelError("Interrupted", `use ${what}`, `The ${what} has been closed.`);
}

function databaseError(error: unknown, operation: string): RunnelError {
  if (error instanceof RunnelError) return error;
  const code = String((error as { code?: unknown } | null)?.code ?? "");
  const message = error instanceof Error ? error.message : String(error);
  if (!code.startsWith("SQLITE_")) throw error;
  // SHMSIZE: a shared memory file that cannot grow.
  const isFull = code === "SQLITE_FULL" || code === "SQLITE_IOERR_SHMSIZE";
  // IOERR_DATA: a page is not as it was written.
  const isDamage =
    code.startsWith("SQLITE_CORRUPT") || ["SQLITE_IOERR_DATA", "SQLITE_NOTADB", "SQLITE_SCHEMA"].includes(code);
  const kind = isFull ? "NoSpace" : isDamage ? "Corrupt" : "Io";
  return new RunnelError(kind, operation, message, { cause: error });
}
