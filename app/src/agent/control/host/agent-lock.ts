// Keeps a home to a single agent. The lock is one that the system holds for a process and drops when it ends, however
// it ends, so no record of a dead agent can be taken for a living one. SQLite's exclusive transaction is that lock on
// every system.
import { DatabaseSync } from "node:sqlite";
import { RunnelError } from "@runnel/shared/base";

/** SQLITE_BUSY (sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;

export interface AgentLock {
  release(): void;
}

/** Takes the lock at once or returns undefined while another process has it. @throws RunnelError Io */
export function takeLock(path: string): AgentLock | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    // Nothing is ever written to it: it needs no journal.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    const held = database;
    return { release: () => held.close() };
  } catch (error) {
    if (database?.isOpen) database.close();
    if ((error as { errcode?: unknown }).errcode === SQLITE_BUSY) return undefined;
    throw new RunnelError(
      "Io",
      "lock the agent's home",
      `Runnel cannot lock ${path}. Set RUNNEL_HOME to a folder on a local disk.`,
      { cause: error },
    );
  }
}
