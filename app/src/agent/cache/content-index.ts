// Tables of the cache's index (docs/FORMAT.md, "The agent's journal, cache and replica") and its prepared statements.
import type { DatabaseFormat, IndexDatabase, Query } from "../replica/database.ts";

/**
 * `node` 0: belongs to no version. `lineage`: the first content in a row of transformed ones; chunks are indexed by it,
 * so that an edit changes the rows of the edit only. `held`: bytes present. `indexed`: chunks of the recipe that are in
 * `chunks`. `runs`: what was written to contents without a recipe.
 */
export const CACHE_FORMAT: DatabaseFormat = {
  what: "cache index",
  version: 1,
  schema: `
    CREATE TABLE contents (
      id INTEGER PRIMARY KEY AUTOINCREMENT, lineage INTEGER NOT NULL, node INTEGER NOT NULL, version INTEGER NOT NULL,
      size INTEGER NOT NULL, oid BLOB, present BLOB NOT NULL, held INTEGER NOT NULL, used INTEGER NOT NULL,
      indexed INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX contentsByVersion ON contents (node, version) WHERE node <> 0;
    CREATE INDEX contentsByOid ON contents (oid);
    CREATE INDEX contentsByLineage ON contents (lineage);
    CREATE INDEX contentsByUse ON contents (used);
    CREATE TABLE recipes (content INTEGER PRIMARY KEY, recipe BLOB NOT NULL) STRICT;
    CREATE TABLE runs (
      content INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (content, offset)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE chunks (key INTEGER NOT NULL, lineage INTEGER NOT NULL, PRIMARY KEY (key, lineage)) STRICT, WITHOUT ROWID;
  `,
};

export interface ContentRow {
  id: number;
  lineage: number;
  node: number;
  version: number;
  size: number;
  oid: Uint8Array | null;
  present: Uint8Array;
  held: number;
  used: number;
  indexed: number;
}

/** Removes a content from the index; its chunks are the chunk index's to remove. */
export function removeRows({ remove, removeRecipe, removeRuns }: ContentStatements, id: number): void {
  for (const query of [remove, removeRecipe, removeRuns]) query.run(id);
}

export type ContentStatements = ReturnType<typeof prepareContentStatements>;

export function prepareContentStatements(db: IndexDatabase) {
  const query = <R>(sql: string): Query<R> => db.query<R>(sql);
  const ids = (sql: string): Query<{ id: number }> => db.query(sql);
  return {
    byId: query<ContentRow>("SELECT * FROM contents WHERE id = ?"),
    byVersion: ids("SELECT id FROM contents WHERE node = ? AND version = ? AND node <> 0"),
    byOid: ids("SELECT id FROM contents WHERE oid = ? AND node = 0 LIMIT 1"),
    anyByOid: ids("SELECT id FROM contents WHERE oid = ? ORDER BY node DESC LIMIT 1"),
    byLineage: ids("SELECT id FROM contents WHERE lineage = ?"),
    versionsOf: ids("SELECT id FROM contents WHERE node = ? AND node <> 0 ORDER BY version DESC"),
    /** The last use, least size, and how many: of those that were used lately. */
    lately: ids(
      "SELECT id FROM contents WHERE used > ? - 16384 AND node <> 0 AND oid NOT NULL AND size > ? ORDER BY used DESC LIMIT ?",
    ),
    /** id (null: the next one), lineage, node, version, size, used. */
    insert: query("INSERT INTO contents VALUES (?, ?, ?, ?, ?, NULL, x'', 0, ?, 0)"),
    lastId: query<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'contents'"),
    identify: query("UPDATE contents SET node = ?, version = ?, size = ?, oid = ? WHERE id = ?"),
    setPresent: query("UPDATE contents SET present = ?, held = ? WHERE id = ?"),
    setUsed: query("UPDATE contents SET used = ? WHERE id = ?"),
    setIndexed: query("UPDATE contents SET indexed = ? WHERE id = ?"),
    remove: query("DELETE FROM contents WHERE id = ?"),
    totals: query<{ held: number; used: number }>(
      "SELECT coalesce(sum(held), 0) AS held, coalesce(max(used), 0) AS used FROM contents",
    ),
    /** Bounds of their last use, the least one first. */
    leastUsed: query<{ id: number; used: number }>(
      "SELECT id, used FROM contents WHERE used > ? AND used <= ? ORDER BY used LIMIT 64",
    ),
    places: query<{ id: number; size: number }>("SELECT id, size FROM contents"),
    halfMade: ids("SELECT id FROM contents WHERE node = 0 AND oid IS NULL"),
    forgetVersions: query("UPDATE contents SET node = 0, version = 0"),
    withoutOid: ids("SELECT id FROM contents WHERE oid IS NULL"),

    recipe: query<{ recipe: Uint8Array }>("SELECT recipe FROM recipes WHERE content = ?"),
    putRecipe: query("INSERT OR REPLACE INTO recipes VALUES (?, ?)"),
    removeRecipe: query("DELETE FROM recipes WHERE content = ?"),

    /** content, end and beginning of a range. */
    runsIn: query<{ offset: number; length: number; digest: Uint8Array }>(
      "SELECT offset, length, digest FROM runs WHERE content = ? AND offset < ? AND offset + length > ?",
    ),
    putRun: query("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)"),
    removeRuns: query("DELETE FROM runs WHERE content = ?"),

    lineagesOf: query<{ lineage: number }>("SELECT lineage FROM chunks WHERE key = ? LIMIT 8"),
    /** Keys as text: they are longer than a number may be. */
    keysAfter: query<{ key: string }>(
      "SELECT DISTINCT CAST(key AS TEXT) AS key FROM chunks WHERE key > ? ORDER BY chunks.key LIMIT ?",
    ),
    putChunk: query("INSERT OR IGNORE INTO chunks VALUES (?, ?)"),
    removeChunk: query("DELETE FROM chunks WHERE key = ? AND lineage = ?"),
    unfinished: ids("SELECT id FROM contents JOIN recipes ON content = id WHERE indexed * 36 < length(recipe)"),
    sweepChunks: query("DELETE FROM chunks WHERE lineage NOT IN (SELECT lineage FROM contents)"),
  };
}
