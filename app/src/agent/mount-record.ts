// Records of drives, as they are written down for the agent after this one.
import type { MountRecord } from "./control/host/agent-home.ts";
import type { Mount } from "./mount.ts";

type WithSettings = Pick<Mount, "settings">;

export function placeOf({ settings: { url, mountpoint } }: WithSettings): MountRecord {
  return { url, mountpoint };
}

/** Returns its place, and the settings that it is mounted with again. */
export function recordOf(mount: WithSettings): MountRecord {
  const { cacheFolder, cacheBytes, mapOwner, isAsync, unsentBytes, ...others } = mount.settings;
  const { usesFsKit, usesNfs, secretPath, isKept, pause, pausedFolders, ...shared } = others;
  const { colleagues, colleaguesUpBytes, isMetered } = shared;
  const modes = { mapOwner, isAsync, unsentBytes, usesFsKit, usesNfs };
  return {
    ...placeOf(mount),
    options: {
      cacheFolder,
      cacheBytes,
      ...modes,
      secretPath,
      isKept,
      pause,
      pausedFolders,
      colleagues,
      colleaguesUpBytes,
      isMetered,
    },
  };
}
