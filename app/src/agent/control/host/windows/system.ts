// Windows.
import type { System } from "../system.ts";
import { windowsPaths } from "../../paths/windows-paths.ts";
import { checkDrives } from "./drive-check.ts";
import { claimHome, homeFolder } from "./home-folder.ts";
import { startInBackground } from "./launcher.ts";
import { placeSocket } from "./local-socket.ts";
import { WindowsMountTable } from "./mount-table.ts";
import { replace, syncFolder } from "./names.ts";
import { opener } from "./opener.ts";

export const windowsSystem: System = {
  paths: windowsPaths,
  mountTable: () => new WindowsMountTable(),
  placeSocket,
  replace: (from, to) => replace(from, to),
  hasUserNumbers: false,
  mapsNfs: false,
  asksBySignal: false,
  syncFolder,
  homeFolder,
  claimHome,
  opener,
  startInBackground,
  checkDrives,
};
