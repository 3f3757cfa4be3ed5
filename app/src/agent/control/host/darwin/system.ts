// macOS: as Linux, but for its paths, what it maps, and how it tells of that.
import { darwinPaths } from "../../paths/darwin-paths.ts";
import { posixSystem } from "../posix/system.ts";
import type { System } from "../system.ts";
import { DarwinMountTable } from "./mount-table.ts";

export const darwinSystem: System = {
  ...posixSystem,
  paths: darwinPaths,
  mountTable: (clock) => new DarwinMountTable(clock),
  mapsNfs: true,
};
