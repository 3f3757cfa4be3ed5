// The history on the disk: the savings ledger, and a copy of the activity log. SQLite as the agent's other indexes:
// never synced, so that nobody waits for a disk; a killed agent loses what it had not written yet, and a full disk is
// met by going on in memory.
import { type IndexDatabase, openDatabase, type Query } from "../replica/database.ts";
import type { ActivityEntry } from "./activity.ts";
import { HISTORY_FORMAT } from "./history-format.ts";
import { Ledger } from "./ledger.ts";

export class HistoryStore {
  readonly ledger: Ledger;
  readonly #db: IndexDatabase;
  readonly #entries: Query<ActivityEntry>;
  readonly #put: Query;
  readonly #drop: Query;

  constructor(db: IndexDatabase) {
    this.#db = db;
    this.ledger = new Ledger(db);
    this.#entries = db.query(
      `SELECT activity.id, turn, fromMs, toMs, coalesce(url, '') AS url, coalesce(mountpoint, '') AS mountpoint, kind, folder,
       name, count, bytes, detail FROM activity LEFT JOIN drives ON drives.id = drive ORDER BY turn`,
    );
    this.#put = db.query("INSERT OR REPLACE INTO activity VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#drop = db.query("DELETE FROM activity WHERE id = ?");
  }

  /** A sentence where the file was damaged, and begun anew. */
  get dropped(): string | undefined {
    return this.#db.dropped;
  }

  entries(): ActivityEntry[] {
    return this.#entries.all();
  }

  /** Writes in one transaction; what it is given is small. */
  atomic(work: () => void): void {
    this.#db.atomic(work);
  }

  putActivity({ put, dropped }: { put: readonly ActivityEntry[]; dropped: readonly number[] }): void {
    for (const id of dropped) this.#drop.run(id);
    for (const { id, turn, fromMs, toMs, kind, folder, name, count, bytes, detail, ...place } of put) {
      const drive = this.ledger.driveOf(place);
      this.#put.run(id, turn, fromMs, toMs, drive, kind, folder, name, count, bytes, detail);
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** `path`: of the file, which is made where it is missing. @throws as openDatabase. */
export function openHistoryStore(path: string): HistoryStore {
  return new HistoryStore(openDatabase(path, HISTORY_FORMAT));
}
