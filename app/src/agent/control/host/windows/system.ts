// Windows.
import type { System } from "../system.ts";
import { windowsPaths } from "../../paths/windows-paths.ts";
import { placeSocket } from "./local-socket.ts";
import { WindowsMountTable } from "./mount-table.ts";
import { replace, syncFolder } from "./names.ts";

export const windowsSystem: System = {
  paths: windowsPaths,
  mountTable: () => new WindowsMountTable(),
  placeSocket,
  replace: (from, to) => replace(from, to),
  hasUserNumbers: false,
  mapsNfs: false,
  asksBySignal: false,
  syncFolder,
};
