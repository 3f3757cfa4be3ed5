// The savings ledger: counts by hour, drive and folder, kept in the agent's home ([F190], [F191]). What is old becomes
// coarser and is never dropped: the sums over all time stay right.
import type { IndexDatabase, Query } from "../replica/database.ts";
import { COUNTED, type Counted, type Counts, countsBy, type FolderCounts } from "./meter.ts";
import { HOUR_MS, type LedgerRow, sumOf } from "./savings.ts";

export interface DrivePlace {
  url: string;
  mountpoint: string;
}

export interface LedgerBounds {
  rowsMax: number;
  drivesMax: number;
  /** Folders of a drive that an hour tells apart. */
  foldersMax: number;
}

export const LEDGER_BOUNDS: LedgerBounds = { rowsMax: 50_000, drivesMax: 256, foldersMax: 64 };

/** Part of the rows that is made coarser at once. */
const FOLDED_SHARE = 4;
const DAY_HOURS = 24;
const MONTH_HOURS = 30 * DAY_HOURS;
/** Number of the drive that stands for those that are not told apart any more. */
const OTHER_DRIVES = 0;

/** Rows that are asked for: those from an hour on, of one drive or all. */
export interface LedgerQuery {
  sinceMs: number;
  mountpoint?: string | undefined;
}

type Row = { hour: number; drive: number; folder: string } & Counts;
type Sums = { url: string; mountpoint: string; folder: string } & Counts;

const COLUMNS = COUNTED.join(", ");
const SUMS = COUNTED.map((counted) => `sum(${counted}) AS ${counted}`).join(", ");
const CHOSEN = "FROM savings JOIN drives ON drives.id = drive WHERE hour >= ? AND (? = '' OR mountpoint = ?)";

export class Ledger {
  readonly #db: IndexDatabase;
  readonly #bounds: LedgerBounds;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #drives = new Map<string, number>();
  /** Folders that the hour has rows of, by drive. */
  #folders = new Map<number, Set<string>>();
  #hour = -1;

  constructor(db: IndexDatabase, bounds: LedgerBounds = LEDGER_BOUNDS) {
    this.#db = db;
    this.#bounds = bounds;
    this.#statements = prepare(db);
  }

  /** Adds counts of a drive to the hour of a wall clock, which may have jumped. */
  add(place: DrivePlace, wallMs: number, folders: readonly FolderCounts[]): void {
    if (folders.length === 0) return;
    const hour = Math.max(0, Math.floor(wallMs / HOUR_MS));
    this.#db.atomic(() => {
      const drive = this.driveOf(place);
      for (const { folder, counts } of folders) this.#put(hour, drive, this.#told(hour, drive, folder), counts);
      if ((this.#statements.count.get()?.n ?? 0) > this.#bounds.rowsMax) this.#fold();
    });
  }

  /** Returns the number of a drive, which is given one where it has none. */
  driveOf({ url, mountpoint }: DrivePlace): number {
    const key = `${url}\n${mountpoint}`;
    const known = this.#drives.get(key);
    if (known !== undefined) return known;
    const { drive, makeDrive, drives } = this.#statements;
    const id = drive.get(url, mountpoint)?.id;
    if (id === undefined && (drives.get()?.n ?? 0) >= this.#bounds.drivesMax) this.#forgetOldest();
    const made = id ?? makeDrive.insert(url, mountpoint);
    this.#statements.useDrive.run(made);
    this.#drives.set(key, made);
    return made;
  }

  total({ sinceMs, mountpoint = "" }: LedgerQuery): Counts {
    return sumOf(this.#statements.total.all(hourOf(sinceMs), mountpoint, mountpoint).map(countsOf));
  }

  /** Sums by hour, in order. */
  byHour({ sinceMs, mountpoint = "" }: LedgerQuery): { hour: number; counts: Counts }[] {
    const rows = this.#statements.byHour.all(hourOf(sinceMs), mountpoint, mountpoint);
    return rows.map((row) => ({ hour: row.hour, counts: countsOf(row) }));
  }

  /** Sums by folder, those that programs worked with most first. */
  byFolder({ sinceMs, mountpoint = "" }: LedgerQuery, limit: number): Omit<LedgerRow, "hour">[] {
    return this.#statements.byFolder.all(hourOf(sinceMs), mountpoint, mountpoint, limit).map(withPlace);
  }

  byDrive({ sinceMs, mountpoint = "" }: LedgerQuery, limit: number): Omit<LedgerRow, "hour">[] {
    return this.#statements.byDrive.all(hourOf(sinceMs), mountpoint, mountpoint, limit).map(withPlace);
  }

  /** Yields all rows, some at a time, by hour, drive and folder. */
  *pages(sinceMs: number, limit: number): Generator<LedgerRow[]> {
    let [hour, drive, folder] = [hourOf(sinceMs), -1, ""];
    for (;;) {
      const rows = this.#statements.page.all(hour, drive, folder, limit);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map((row) => ({ ...withPlace(row), hour: row.hour }));
      ({ hour, drive, folder } = last);
    }
  }

  /** Returns the folder under which an hour counts: of very many the rest counts for the drive as a whole. */
  #told(hour: number, drive: number, folder: string): string {
    if (hour !== this.#hour) [this.#hour, this.#folders] = [hour, new Map<number, Set<string>>()];
    let known = this.#folders.get(drive);
    if (known === undefined) {
      known = new Set(this.#statements.folders.all(hour, drive).map((row) => row.folder));
      this.#folders.set(drive, known);
    }
    if (known.has(folder)) return folder;
    if (known.size >= this.#bounds.foldersMax) return "";
    known.add(folder);
    return folder;
  }

  #put(hour: number, drive: number, folder: string, counts: Counts): void {
    this.#statements.put.run(hour, drive, folder, ...COUNTED.map((counted) => counts[counted]));
  }

  /** Makes the oldest rows coarser: a row a day and drive, and if that is too many, a month. */
  #fold(): void {
    const { nthHour, count } = this.#statements;
    const until = nthHour.get(Math.floor(this.#bounds.rowsMax / FOLDED_SHARE))?.hour ?? 0;
    for (const hours of [DAY_HOURS, MONTH_HOURS]) {
      this.#replace(this.#statements.before.all(until), (row) => ({
        ...row,
        hour: row.hour - (row.hour % hours),
        folder: "",
      }));
      if ((count.get()?.n ?? 0) <= this.#bounds.rowsMax) break;
    }
    this.#hour = -1;
  }

  /** Counts the drive that was not used for longest among the other ones. */
  #forgetOldest(): void {
    const { oldestDrive, ofDrive, removeDrive, makeOther } = this.#statements;
    const oldest = oldestDrive.get()?.id;
    if (oldest === undefined) return;
    makeOther.run();
    this.#replace(ofDrive.all(oldest), (row) => ({ ...row, drive: OTHER_DRIVES, folder: "" }));
    removeDrive.run(oldest);
    this.#drives.clear();
    this.#hour = -1;
  }

  #replace(rows: readonly Row[], by: (row: Row) => Row): void {
    for (const { hour, drive, folder } of rows) this.#statements.remove.run(hour, drive, folder);
    for (const row of rows.map(by)) this.#put(row.hour, row.drive, row.folder, row);
  }
}

function prepare(db: IndexDatabase) {
  const rows = (sql: string): Query<Row> => db.query(sql);
  const sums = (sql: string): Query<Sums & { hour: number; drive: number }> => db.query(sql);
  const counts = (sql: string): Query<{ n: number }> => db.query(sql);
  const ids = (sql: string): Query<{ id: number }> => db.query(sql);
  const added = COUNTED.map((counted: Counted) => `${counted} = ${counted} + excluded.${counted}`).join(", ");
  const worked = "sum(read) + sum(written)";
  return {
    put: db.query(
      `INSERT INTO savings (hour, drive, folder, ${COLUMNS}) VALUES (?, ?, ?, ${COUNTED.map(() => "?").join(", ")}) ON CONFLICT DO UPDATE SET ${added}`,
    ),
    count: counts("SELECT count(*) AS n FROM savings"),
    folders: db.query<{ folder: string }>("SELECT folder FROM savings WHERE hour = ? AND drive = ?"),
    nthHour: db.query<{ hour: number }>("SELECT hour FROM savings ORDER BY hour LIMIT 1 OFFSET ?"),
    before: rows("SELECT * FROM savings WHERE hour <= ?"),
    ofDrive: rows("SELECT * FROM savings WHERE drive = ?"),
    remove: db.query("DELETE FROM savings WHERE hour = ? AND drive = ? AND folder = ?"),

    drive: ids("SELECT id FROM drives WHERE url = ? AND mountpoint = ?"),
    drives: counts("SELECT count(*) AS n FROM drives"),
    makeDrive: db.query("INSERT INTO drives (url, mountpoint, used) VALUES (?, ?, 0)"),
    makeOther: db.query(`INSERT OR IGNORE INTO drives (id, url, mountpoint, used) VALUES (${OTHER_DRIVES}, '', '', 0)`),
    useDrive: db.query("UPDATE drives SET used = (SELECT max(used) + 1 FROM drives) WHERE id = ?"),
    oldestDrive: ids(`SELECT id FROM drives WHERE id <> ${OTHER_DRIVES} ORDER BY used LIMIT 1`),
    removeDrive: db.query("DELETE FROM drives WHERE id = ?"),

    total: sums(`SELECT ${SUMS} ${CHOSEN} HAVING count(*) > 0`),
    byHour: sums(`SELECT hour, ${SUMS} ${CHOSEN} GROUP BY hour ORDER BY hour`),
    byFolder: sums(
      `SELECT url, mountpoint, folder, ${SUMS} ${CHOSEN} GROUP BY drive, folder ORDER BY ${worked} DESC LIMIT ?`,
    ),
    byDrive: sums(
      `SELECT url, mountpoint, '' AS folder, ${SUMS} ${CHOSEN} GROUP BY drive ORDER BY ${worked} DESC LIMIT ?`,
    ),
    page: sums(
      `SELECT hour, drive, url, mountpoint, folder, ${COLUMNS} FROM savings JOIN drives ON drives.id = drive
       WHERE (hour, drive, folder) > (?, ?, ?) ORDER BY hour, drive, folder LIMIT ?`,
    ),
  };
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}

function countsOf(row: Counts): Counts {
  return countsBy((counted) => row[counted]);
}

function withPlace(row: Sums): Omit<LedgerRow, "hour"> {
  const { url, mountpoint, folder } = row;
  return { url, mountpoint, folder, counts: countsOf(row) };
}
