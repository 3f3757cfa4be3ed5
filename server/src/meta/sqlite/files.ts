// The files of a sqlite meta store in its folder. Does not load SQLite, so that any thread may use it.
/* oxlint-disable node/no-sync -- names of a database that is not in use */
import { rmSync } from "node:fs";
import { join } from "node:path";

/** The index over the commit log. */
export function metaFile(folder: string): string {
  return join(folder, "meta.db");
}

/** The chunk index, which may be deleted at any time. */
export function chunkFile(folder: string): string {
  return join(folder, "chunks.db");
}

/** A database with what SQLite keeps beside it. It must be closed. */
export function removeDatabase(path: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) rmSync(path + ending, { force: true });
}

/** Removes a meta store that is closed, or one found Corrupt, so that it can be created anew. */
export function removeSqliteMetaStore(folder: string): void {
  removeDatabase(metaFile(folder));
  removeDatabase(chunkFile(folder));
}
