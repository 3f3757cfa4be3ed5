// Options that a cache is opened with.
import type { Clock, DiskRoot, Executor } from "@runnel/shared";

export interface CacheOptions {
  root: DiskRoot;
  /**
   * Folder of the sparse files in the root, used for nothing else: what is not known in it is removed. Made if missing.
   */
  folder?: string;
  /** The index: an absolute path, or ":memory:". */
  path: string;
  executor: Executor;
  clock: Clock;
  /** A second root that `adopt` may take files from. */
  adoptFrom?: DiskRoot;
  /** The system's current boot; "" = unknown. */
  boot?: string;
}
