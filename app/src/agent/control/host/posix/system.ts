// Linux. macOS is the same but for what ../darwin/ has.
import type { System } from "../system.ts";
import { posixPaths } from "../../paths/posix-paths.ts";
import { placeSocket } from "./local-socket.ts";
import { LinuxMountTable } from "./mount-table.ts";
import { replace, syncFolder } from "./names.ts";

export const posixSystem: System = {
  paths: posixPaths,
  mountTable: (clock) => new LinuxMountTable(clock),
  placeSocket,
  replace,
  hasUserNumbers: true,
  mapsNfs: false,
  asksBySignal: true,
  syncFolder,
};
