// The thread of the sqlite engine: owns the connections, runs a MetaCore over them, and answers the calls of
// sqlite-meta-store.ts in their order.
import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type Database from "better-sqlite3";
import { RunnelError, isRunnelError } from "@runnel/shared/model";
import { MetaCore } from "../meta-core.ts";
import type { Transactions } from "../meta-tables.ts";
import { SqliteChunks } from "./chunks.ts";
import { createMetaFile, fromSqliteError, openMetaFile } from "./database.ts";
import { hasRoom } from "./room.ts";
import { SqliteTables } from "./tables.ts";
import type { Answer, Call, Opening, ThrownError } from "./meta-store.ts";

class SqliteTransactions implements Transactions {
  readonly #writer: Database.Database;
  readonly #tables: SqliteTables;
  readonly #closing: () => void;
  #isDurable = false;

  constructor(writer: Database.Database, tables: SqliteTables, closing: () => void) {
    this.#writer = writer;
    this.#tables = tables;
    this.#closing = closing;
  }

  begin(isDurable: boolean): void {
    this.#isDurable = isDurable;
    if (isDurable) this.#writer.pragma("synchronous = FULL");
    this.#writer.exec("BEGIN IMMEDIATE");
  }

  /** The reading connection does not see an open transaction. */
  park(): void {}
  resume(): void {}

  #end(): void {
    if (this.#isDurable) this.#writer.pragma("synchronous = NORMAL");
    this.#isDurable = false;
  }

  commit(): void {
    this.#tables.storeFacts();
    this.#writer.exec("COMMIT");
    this.#end();
  }

  /** SQLite may have rolled back by itself (disk full, I/O error). */
  rollback(): void {
    this.#tables.forget();
    if (this.#writer.inTransaction) this.#writer.exec("ROLLBACK");
    this.#end();
  }

  checkpoint(): void {
    if (!this.#hasCheckpointed()) {
      throw new RunnelError("Busy", "checkpoint meta store", "Somebody reads the meta store.");
    }
  }

  #hasCheckpointed(): boolean {
    try {
      const [done] = this.#writer.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
      return done?.busy === 0;
    } catch (error) {
      // A statement of this process is under way, in a transaction or in the middle of its rows.
      if ((error as { code?: unknown }).code === "SQLITE_LOCKED") return false;
      throw error;
    }
  }

  close(): void {
    this.#closing();
  }
}

function openCore({ folder, create }: Opening): MetaCore {
  if (create !== undefined) createMetaFile(folder, create);
  const { reader, writer } = openMetaFile(folder);
  const write = new SqliteTables(writer, { isWriter: true });
  const read = new SqliteTables(reader, { isWriter: false });
  const chunks = new SqliteChunks(folder);
  const transactions = new SqliteTransactions(writer, write, () => {
    chunks.close();
    reader.close();
    // The last connection to close checkpoints and removes the WAL.
    writer.close();
  });
  const core = new MetaCore({ read, write, transactions, chunks });
  try {
    core.facts();
  } catch (error) {
    core.close();
    throw error;
  }
  return core;
}

function thrown(error: unknown): ThrownError {
  const known = fromSqliteError(error, () => hasRoom((workerData as Opening).folder));
  if (!isRunnelError(known))
    return { message: known instanceof Error ? (known.stack ?? known.message) : String(known) };
  const { kind, operation, message, detail } = known;
  return { message, runnel: { kind, operation, detail } };
}

function answer(work: () => unknown): Answer {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    return { ok: false, error: thrown(error) };
  }
}

/** Calls what may be any method: its arguments were checked by the types on the other side. */
function run(core: MetaCore, { method, args }: Call): unknown {
  const called = core[method] as (...given: unknown[]) => unknown;
  return called.apply(core, args);
}

function serve(port: MessagePort): void {
  let core: MetaCore | undefined;
  const opened = answer(() => void (core = openCore(workerData as Opening)));
  port.postMessage([opened]);
  const open = core;
  if (open === undefined) return;
  port.on("message", (calls: Call[]) => {
    port.postMessage(calls.map((call) => answer(() => run(open, call))));
    if (calls.some(({ method }) => method === "close")) port.close();
  });
}

if (parentPort !== null) serve(parentPort);
