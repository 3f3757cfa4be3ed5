// The folder engine: one served folder's root, for the salvage that comes before the meta store is made anew and for
// the store that serves it afterwards.
import type { Clock, Disk, Executor } from "@runnel/shared";
import type { ContentEngine } from "../content-store.ts";
import { OWNED_BY_ROOT } from "./disk/attributes.ts";
import type { FolderSettings } from "./folder-store.ts";
import { openFolderStore } from "./folder-store.ts";
import { salvage } from "./salvage/salvage.ts";

export interface FolderEngineOptions {
  disk: Disk;
  /** The served folder's path. */
  folder: string;
  clock: Clock;
  executor: Executor;
  /** Asked for when the store is opened: only then a volume without an id gets one. */
  settings(): Promise<FolderSettings>;
  /** The volume's id; undefined when it is lost with the meta store. */
  knownVolume(): Promise<string | undefined>;
  /** Owners of salvaged files; by default those of a server that is root. */
  ownership?: FolderSettings["ownership"];
  warn(message: string, error?: unknown): void;
}

/** @throws what opening the folder does. */
export async function openFolderEngine(options: FolderEngineOptions): Promise<ContentEngine> {
  const { disk, folder, clock, executor, ownership = OWNED_BY_ROOT, warn } = options;
  const root = await disk.openRoot(folder);
  return {
    salvage: async (log) => salvage({ root, log, executor, volume: await options.knownVolume(), ownership, warn }),
    open: async (meta, callbacks) =>
      openFolderStore({ disk, root, meta, clock, callbacks, executor, settings: await options.settings() }),
    close: () => root.close(),
  };
}
