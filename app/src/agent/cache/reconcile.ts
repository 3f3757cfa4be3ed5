// At opening, index and files are made to agree.
import type { IndexDatabase } from "../replica/database.ts";
import type { ContentFiles } from "./content-files.ts";
import { type ContentStatements, removeRows } from "./content-index.ts";

/** Rows without a whole file go, and half-made ones; and files without a row. */
export async function reconcile(db: IndexDatabase, rows: ContentStatements, files: ContentFiles): Promise<void> {
  const remove = ({ id }: { id: number }): void => removeRows(rows, id);
  db.atomic(() => rows.halfMade.all().forEach(remove));
  const places = rows.places.all();
  const present = await files.sweep(new Map(places.map(({ id, size }) => [id, size])));
  db.atomic(() => places.filter(({ id }) => !present.has(id)).forEach(remove));
  if (db.lastEnd !== "closed") rows.sweepChunks.run();
}
