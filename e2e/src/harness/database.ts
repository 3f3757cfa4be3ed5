// Changes a database of Runnel's as if it had been written so. In a process of its own: its pages have digests, which
// only one SQLite library of a process can have under it.
import { join } from "node:path";
import { pageChecks } from "@runnel/native";
import { mustRun } from "./run.ts";

const SCRIPT = `
import Database from "better-sqlite3";
const [, path, checks, sql] = process.argv;
new Database(":memory:").loadExtension(checks);
const database = new Database(path);
database.pragma("wal_checkpoint(TRUNCATE)");
database.exec(sql);
console.log(database.prepare("SELECT total_changes() AS changes").get().changes);
database.pragma("wal_checkpoint(TRUNCATE)");
database.close();
`;

/** Resolves to the number of rows changed. */
export async function changeDatabase(path: string, sql: string): Promise<number> {
  const args = ["--input-type=module", "-e", SCRIPT, path, pageChecks(), sql];
  const { stdout } = await mustRun(process.execPath, args, { cwd: join(import.meta.dirname, "../../../server") });
  return Number(stdout);
}
