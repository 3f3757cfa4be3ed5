// The index of a supply in SQLite, never synced, made anew where it is damaged (docs/FORMAT.md, "Supplies"). Main
// thread.
import { type Recipe, DIGEST_BYTES, digestKey } from "@runnel/shared";
import {
  type DatabaseFormat,
  type IndexDatabase,
  type Query,
  openDatabase,
  removeDatabase,
} from "../replica/database.ts";
import {
  type ChunkPlace,
  type PlacedChunk,
  SUPPLY_LIMITS,
  type SupplyFile,
  type SupplyIndex,
  type SupplyTotals,
} from "@runnel/shared/supply";

export const SUPPLY_FORMAT: DatabaseFormat = {
  what: "index of a supply",
  version: 1,
  schema: `
    CREATE TABLE files (
      id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, sizeBytes INTEGER NOT NULL, stamp TEXT NOT NULL,
      scan INTEGER NOT NULL, isWhole INTEGER NOT NULL) STRICT;
    CREATE TABLE chunks (
      key INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
      PRIMARY KEY (key, file)) STRICT, WITHOUT ROWID;
    CREATE INDEX chunksOfFile ON chunks (file);`,
};

/** Places of one chunk that are looked at. */
const PLACES_MAX = 8;

export class SqliteSupplyIndex implements SupplyIndex {
  readonly #path: string;
  readonly #db: IndexDatabase;
  readonly #statements: ReturnType<typeof prepare>;
  /** Kept, since counting rows takes as long as there are many. */
  #chunks: number;

  private constructor(db: IndexDatabase, path: string) {
    this.#path = path;
    this.#db = db;
    this.#statements = prepare(db);
    this.#chunks = this.#statements.chunks.get()?.n ?? 0;
  }

  /** @throws as openDatabase. */
  static open(path: string): SqliteSupplyIndex {
    return new SqliteSupplyIndex(openDatabase(path, SUPPLY_FORMAT), path);
  }

  /** An index that nothing is known in yet. @throws as openDatabase. */
  static openNew(path: string): SqliteSupplyIndex {
    removeDatabase(path);
    return SqliteSupplyIndex.open(path);
  }

  get totals(): SupplyTotals {
    return this.#statements.totals.get() ?? { files: 0, bytes: 0 };
  }

  /** No more chunks are taken in. */
  get isFull(): boolean {
    return this.#chunks >= SUPPLY_LIMITS.chunks;
  }

  get lastScan(): number {
    return this.#statements.lastScan.get()?.n ?? 0;
  }

  fileAt(path: string): SupplyFile | undefined {
    return this.#statements.fileAt.get(path);
  }

  file(id: number): SupplyFile | undefined {
    return this.#statements.file.get(id);
  }

  /** A file in place of what was known of the path; its chunks are to come. */
  begin(file: Pick<SupplyFile, "path" | "sizeBytes" | "stamp">, scan: number): number {
    return this.#db.atomic(() => {
      const former = this.fileAt(file.path);
      if (former !== undefined) this.forget(former.id);
      return this.#statements.putFile.insert(file.path, file.sizeBytes, file.stamp, scan, 0);
    });
  }

  /** Chunks of a file that follow one another from an offset on. */
  put(file: number, recipe: Recipe, offset: number): void {
    const { putChunk } = this.#statements;
    this.#db.atomic(() => {
      let at = offset;
      for (const [index, length] of recipe.lengths.entries()) {
        this.#chunks += putChunk.run(keyAt(recipe.digests, index), file, at, length);
        at += length;
      }
    });
  }

  /** The chunk at an offset of a file that has an index of its own. */
  putPlaces(file: number, places: readonly PlacedChunk[]): void {
    const { putChunk } = this.#statements;
    this.#db.atomic(() => {
      for (const { digest, offset, length } of places)
        this.#chunks += putChunk.run(keyAt(digest, 0), file, offset, length);
    });
  }

  isWhole(file: number): void {
    this.#statements.setWhole.run(file);
  }

  seen(file: number, scan: number): void {
    this.#statements.seen.run(scan, file);
  }

  /** Forgets the chunks of a file, too. */
  forget(file: number): void {
    this.#db.atomic(() => {
      this.#chunks -= this.#statements.dropChunks.run(file);
      this.#statements.dropFile.run(file);
    });
  }

  /** Ids of some files that a scan did not come to: they are gone. */
  unseen(scan: number): number[] {
    return this.#statements.unseen.all(scan).map(({ id }) => id);
  }

  /** Places that a chunk is likely to be at. */
  places(digests: Uint8Array, index: number, length: number): ChunkPlace[] {
    return this.#statements.places.all(keyAt(digests, index), length);
  }

  /** Leaves nothing of it on the disk. */
  closeAndRemove(): void {
    this.#db.close();
    removeDatabase(this.#path);
  }

  close(): void {
    this.#db.close();
  }
}

function prepare(db: IndexDatabase) {
  const query = <R>(sql: string): Query<R> => db.query<R>(sql);
  return {
    totals: query<SupplyTotals>(
      "SELECT count(*) AS files, coalesce(sum(sizeBytes), 0) AS bytes FROM files WHERE isWhole = 1",
    ),
    chunks: query<{ n: number }>("SELECT count(*) AS n FROM chunks"),
    lastScan: query<{ n: number }>("SELECT coalesce(max(scan), 0) AS n FROM files"),
    fileAt: query<SupplyFile>("SELECT id, path, sizeBytes, stamp, isWhole FROM files WHERE path = ?"),
    file: query<SupplyFile>("SELECT id, path, sizeBytes, stamp, isWhole FROM files WHERE id = ?"),
    putFile: query("INSERT INTO files (path, sizeBytes, stamp, scan, isWhole) VALUES (?, ?, ?, ?, ?)"),
    setWhole: query("UPDATE files SET isWhole = 1 WHERE id = ?"),
    seen: query("UPDATE files SET scan = ? WHERE id = ?"),
    dropFile: query("DELETE FROM files WHERE id = ?"),
    dropChunks: query("DELETE FROM chunks WHERE file = ?"),
    unseen: query<{ id: number }>("SELECT id FROM files WHERE scan <> ? LIMIT 256"),
    putChunk: query("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?)"),
    places: query<ChunkPlace>(
      `SELECT file, offset, length FROM chunks WHERE key = ? AND length = ? LIMIT ${PLACES_MAX}`,
    ),
  };
}

/** SQLite's integers are signed. */
function keyAt(digests: Uint8Array, index: number): bigint {
  return BigInt.asIntN(64, digestKey(digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES)));
}
