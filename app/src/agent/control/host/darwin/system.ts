// macOS: as Linux, but for its paths, what it maps, how it tells of that, and where what is its user's lies.
import { darwinPaths } from "../../paths/darwin-paths.ts";
import { posixSystem } from "../posix/system.ts";
import type { System } from "../system.ts";
import { checkDrives } from "./drive-check.ts";
import { homeFolder } from "./home-folder.ts";
import { DarwinMountTable } from "./mount-table.ts";
import { opener } from "./opener.ts";

export const darwinSystem: System = {
  ...posixSystem,
  paths: darwinPaths,
  mountTable: (clock) => new DarwinMountTable(clock),
  mapsNfs: true,
  homeFolder,
  opener,
  checkDrives,
};
