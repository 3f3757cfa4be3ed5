// The SQLite extension in core.node that checks pages (native/src/pages/), for whoever opens databases.
import { addonPath } from "../load.ts";

/**
 * A path for Database.loadExtension. Loaded once, by any connection, it is under all databases that this process opens
 * later: their pages end with digests, and reading one that is not as it was written fails (SQLITE_IOERR_DATA). `SELECT
 * runnel_wrong_page()` reads the whole file: 0 = all is right.
 */
export function pageChecks(): string {
  return addonPath("core");
}

/** A class of databases: better-sqlite3's. */
type DatabaseClass = new (path: string) => { loadExtension(path: string): unknown; close(): unknown };

let isChecking = false;

/** From here on every page of a database is checked when it is read [F70]. */
export function checkPages(Database: DatabaseClass): void {
  if (isChecking) return;
  const database = new Database(":memory:");
  database.loadExtension(pageChecks());
  database.close();
  isChecking = true;
}
