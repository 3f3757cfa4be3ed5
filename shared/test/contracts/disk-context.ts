// A disk under the contract of Disk, and what its suites are given of it.
import type { Disk, DiskRoot } from "../../src/host/disk.ts";

export interface DiskUnderTest {
  disk: Disk;
  /** Absolute path of an empty folder that is there. */
  folder: string;
  /**
   * Makes a file in `folder` whose name is these bytes, by other means than the disk; missing where the engine cannot
   * have one.
   */
  makeRawName?: (name: Uint8Array) => Promise<void>;
  dispose(): Promise<void>;
}

/** The context of a suite; `root` is the folder, opened anew for each test. */
export interface DiskContext {
  readonly disk: Disk;
  readonly root: DiskRoot;
  readonly folder: string;
  readonly makeRawName: DiskUnderTest["makeRawName"];
}
