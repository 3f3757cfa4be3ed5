// The place for what a program keeps on Linux: the XDG base directory specification's folder of state.
import { posix } from "node:path";
import type { Environment } from "../system.ts";

export function homeFolder(user: string, environment: Environment): string {
  const state = environment["XDG_STATE_HOME"];
  // The specification: a relative path is to be ignored.
  return posix.join(state?.startsWith("/") ? state : posix.join(user, ".local", "state"), "runnel");
}
