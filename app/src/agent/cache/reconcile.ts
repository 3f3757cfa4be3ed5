// At opening, index and files are made to agree.
import type { IndexDatabase } from "../replica/database.ts";
import type { ContentFiles } from "./content-files.ts";
import type { ContentStatements } from "./content-index.ts";

/** Rows without a whole file go, half-made ones, those that nothing can be said of any more; and files without a row. */
export async function reconcile(
  db: IndexDatabase,
  rows: ContentStatements,
  files: ContentFiles,
  boot: string,
): Promise<void> {
  const remove = ({ id }: { id: number }): void => {
    rows.remove.run(id);
    rows.removeRecipe.run(id);
  };
  db.atomic(() => rows.useless.all(boot || "unknown boot").forEach(remove));
  const places = rows.places.all();
  const present = await files.sweep(new Map(places.map(({ id, size }) => [id, size])));
  db.atomic(() => places.filter(({ id }) => !present.has(id)).forEach(remove));
  if (db.lastEnd !== "closed") rows.sweepChunks.run();
}
