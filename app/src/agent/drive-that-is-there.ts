// Chooses the drive of a mount where the one that was asked for is not there.
import type { MountSettings } from "./mount.ts";

export interface DrivesHere {
  /** The system maps a drive over NFS by itself. */
  mapsNfs: boolean;
  /** The addon of a kernel's drive lies here. */
  hasKernelDrive: boolean;
}

/**
 * Returns the settings with a drive over NFS where no other one can be: packages for macOS have no drive of macFUSE.
 * Who asks for FSKit is told what is missing.
 */
export function withDriveThatIsThere(settings: MountSettings, { mapsNfs, hasKernelDrive }: DrivesHere): MountSettings {
  const wantsKernelDrive = settings.isUnmounted !== true && settings.usesNfs !== true;
  if (!wantsKernelDrive || settings.usesFsKit === true || hasKernelDrive || !mapsNfs) return settings;
  return { ...settings, usesNfs: true };
}
