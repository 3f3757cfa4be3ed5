// The contract of every engine of Disk. Each engine's test file calls diskContract; the suites are one file per side of
// the interface: files, names and paths, watching.
import { afterEach, beforeEach, describe } from "@jest/globals";
import type { DiskRoot } from "../../src/host/disk.ts";
import type { DiskContext, DiskUnderTest } from "./disk-context.ts";
import { describeFiles } from "./disk-files.ts";
import { describeFolders } from "./disk-folders.ts";
import { describeNames } from "./disk-names.ts";
import { describePaths } from "./disk-paths.ts";
import { describeWatching } from "./disk-watching.ts";

export function diskContract(name: string, makeDisk: () => Promise<DiskUnderTest>): void {
  describe(`Disk contract: ${name}`, () => {
    let made: DiskUnderTest;
    let root: DiskRoot;
    const context: DiskContext = {
      get disk() {
        return made.disk;
      },
      get root() {
        return root;
      },
      get folder() {
        return made.folder;
      },
      get makeRawName() {
        return made.makeRawName;
      },
    };

    beforeEach(async () => {
      made = await makeDisk();
      root = await made.disk.openRoot(made.folder);
    });
    afterEach(async () => {
      await root.close();
      await made.dispose();
    });

    describeFiles(context);
    describeFolders(context);
    describeNames(context);
    describePaths(context);
    describeWatching(context);
  });
}
