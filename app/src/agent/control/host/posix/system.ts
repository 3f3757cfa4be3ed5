// Linux and macOS as far as they are the same.
import type { System } from "../system.ts";
import { posixPaths } from "../../paths/posix-paths.ts";
import { claimHome } from "./home-claim.ts";
import { startInBackground } from "./launcher.ts";
import { placeSocket } from "./local-socket.ts";
import { LinuxMountTable } from "./mount-table.ts";
import { replace, syncFolder } from "./names.ts";

type PosixSystem = Omit<System, "homeFolder" | "opener" | "checkDrives">;

export const posixSystem: PosixSystem = {
  paths: posixPaths,
  mountTable: (clock) => new LinuxMountTable(clock),
  placeSocket,
  replace,
  hasUserNumbers: true,
  mapsNfs: false,
  asksBySignal: true,
  syncFolder,
  claimHome,
  startInBackground,
};
