// Rows that were asked for last, by their keys: while a program works in a folder, nearly all questions of a drive are
// about the same few of them.
import { RecentMap } from "@runnel/shared";
import type { IndexDatabase, Query, Value } from "./database.ts";

/** Rows kept of a table; some 300 bytes each. */
const ROWS_MAX = 2048;

/** Answers `get` of a query for one row by its key. Whatever changes rows of the table says so here. */
export class RecentRows<R> {
  readonly #query: Pick<Query<R>, "get">;
  /** Undefined for a key that has no row. */
  readonly #rows = new RecentMap<Value, R | undefined>(ROWS_MAX);

  constructor(db: IndexDatabase, query: Pick<Query<R>, "get">) {
    this.#query = query;
    db.onUndone(() => this.#rows.clear());
  }

  get(...key: Value[]): Readonly<R> | undefined {
    const known = keyOf(key);
    const row = this.#rows.get(known);
    if (row !== undefined || this.#rows.has(known)) return row;
    const read = this.#query.get(...key);
    this.#rows.set(known, read);
    return read;
  }

  /** Keeps what the row is now: it need not be read. */
  keep(row: R | undefined, ...key: Value[]): void {
    this.#rows.set(keyOf(key), row);
  }

  forget(...key: Value[]): void {
    this.#rows.delete(keyOf(key));
  }

  clear(): void {
    this.#rows.clear();
  }

  /** A statement that changes the row whose key is the first of its values. */
  changing(statement: Query): Pick<Query, "run"> {
    return {
      run: (...values) => {
        this.forget(...values.slice(0, 1));
        return statement.run(...values);
      },
    };
  }
}

/** Names hold no "/". */
function keyOf(key: readonly Value[]): Value {
  return key.length === 1 ? (key[0] ?? null) : key.join("/");
}
