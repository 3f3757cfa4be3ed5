// The memory engine of MetaStore: for simulations and as the reference the sqlite engine is tested against.
import { RunnelError } from "@runnel/shared/model";
import type { Creation } from "../first-rows.ts";
import { firstFacts, firstRoot } from "../first-rows.ts";
import { MemoryChunks, MemoryTables } from "./tables.ts";
import { MetaCore } from "../meta-core.ts";
import { MetaFront } from "../meta-front.ts";
import type { MetaStore } from "../meta-store.ts";
import { ownCopy } from "../own-copy.ts";

/** State that outlives a store, like a folder on disk. One store at a time uses it. */
export class MemoryMetaImage {
  readonly tables = new MemoryTables();
  readonly chunks = new MemoryChunks();

  /** Only while no store uses it: all since the last checkpoint, allocation or attachment is lost. */
  cutPower(): void {
    this.tables.loseUnsynced();
    this.chunks.clear();
  }
}

/** Opens the store like openSqliteMetaStore. @throws Exists, NotFound. */
export async function openMemoryMetaStore(
  image: MemoryMetaImage,
  options: { create?: Creation } = {},
): Promise<MetaStore> {
  const { tables, chunks } = image;
  if (options.create !== undefined) {
    if (tables.isCreated) throw new RunnelError("Exists", "create meta store", "There is a meta store already.");
    tables.putFacts(firstFacts(options.create));
    tables.putNode(firstRoot());
    tables.checkpoint();
  }
  if (!tables.isCreated) throw new RunnelError("NotFound", "open meta store", "There is no meta store.");
  const core = new MetaCore({ read: tables, write: tables, transactions: tables, chunks });
  return new MetaFront(async (method, ...args) => {
    const given = ownCopy(args);
    // The callers' turn comes first, as with a worker.
    await Promise.resolve();
    const run = core[method] as (...values: unknown[]) => unknown;
    return ownCopy(run.apply(core, given)) as never;
  });
}
