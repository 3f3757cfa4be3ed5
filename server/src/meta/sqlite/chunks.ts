// The chunk index in a database file of its own: the first 64 bits of a digest → one place where it may be found (the
// last one told). A hint, never trusted, so the file is not synced and whatever is wrong with it is answered by making
// it anew.
import type Database from "better-sqlite3";
import { DIGEST_BYTES, digestAt } from "@runnel/shared/model";
import type { Recipe, VersionId } from "@runnel/shared";
import type { ChunkTable } from "../meta-tables.ts";
import { openChunkFile, tellAnew } from "./database.ts";
import { chunkFile, removeDatabase } from "./files.ts";

const CHUNK_FORMAT = 1;
const SCHEMA =
  "CREATE TABLE chunks (key INTEGER PRIMARY KEY, node INTEGER NOT NULL, seq INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL) STRICT";

type Found = ReturnType<ChunkTable["find"]>;

/** SQLite's integers are signed. */
function keyOf(digests: Uint8Array, index: number): bigint {
  return new DataView(digests.buffer, digests.byteOffset + index * DIGEST_BYTES, 8).getBigInt64(0);
}

export class SqliteChunks implements ChunkTable {
  readonly #folder: string;
  #database: Database.Database | undefined;
  #put: Database.Statement | undefined;
  #find: Database.Statement | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  #open(): { database: Database.Database; put: Database.Statement; find: Database.Statement } {
    this.#database ??= openChunkFile(this.#folder, SCHEMA, CHUNK_FORMAT);
    const database = this.#database;
    this.#put ??= database.prepare("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?)");
    this.#find ??= database.prepare("SELECT node, seq, offset, length FROM chunks WHERE key = ?").raw(true);
    return { database, put: this.#put, find: this.#find };
  }

  #orAnew<T>(otherwise: T, work: () => T): T {
    try {
      return work();
    } catch (error) {
      tellAnew(error);
      this.clear();
      return otherwise;
    }
  }

  put(version: VersionId, recipe: Recipe): void {
    this.#orAnew(undefined, () => {
      const { database, put } = this.#open();
      // Puts of one turn are one transaction.
      if (!database.inTransaction) {
        database.exec("BEGIN");
        queueMicrotask(() => this.#commit());
      }
      let offset = 0;
      for (const [index, length] of recipe.lengths.entries()) {
        put.run(keyOf(digestAt(recipe, index), 0), version.node, version.seq, offset, length);
        offset += length;
      }
    });
  }

  #commit(): void {
    this.#orAnew(undefined, () => {
      if (this.#database?.inTransaction === true) this.#database.exec("COMMIT");
    });
  }

  find(digests: Uint8Array): Found {
    const count = digests.length / DIGEST_BYTES;
    return this.#orAnew<Found>(
      Array.from({ length: count }, () => undefined),
      () => {
        const { find } = this.#open();
        return Array.from({ length: count }, (_, index) => {
          const row = find.get(keyOf(digests, index)) as [number, number, number, number] | undefined;
          if (row === undefined) return undefined;
          const [node, seq, offset, length] = row;
          return { version: { node, seq }, offset, length };
        });
      },
    );
  }

  clear(): void {
    try {
      this.#drop();
      removeDatabase(chunkFile(this.#folder));
    } catch {
      // A folder that cannot be written has no chunk index; the next call tries again.
    }
  }

  close(): void {
    this.#commit();
    this.#drop();
  }

  #drop(): void {
    const database = this.#database;
    this.#database = this.#put = this.#find = undefined;
    database?.close();
  }
}
