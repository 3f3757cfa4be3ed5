// Tells how a system writes where its files are, and where drives of it may be: decisions about text only, so that each
// form is tested on every system. Which form is this system's is in ../host/this-system.ts.
import type { PlatformPath } from "node:path";

export interface PathForm {
  /** Joins, cuts and resolves paths of files. */
  readonly files: PlatformPath;
  /** Places that a drive takes: empty folders, or names (letters and shares) that no other drive has. */
  readonly mountPoints: "folders" | "names";
  /** Says whether a path means the same wherever it is read: the agent's working folder is another than a face's. */
  isAbsolute(path: string): boolean;
  /** Returns the one spelling of a path; a relative one is taken from the working folder. */
  spell(path: string): string;
  /** Returns the names on the way to an absolute path, from the root that it begins with, as the system follows it. */
  split(path: string): { root: string; names: string[] };
  /** Returns the names of a path that leads on from a folder. */
  namesOf(relative: string): string[];
  /** Returns what spelled paths of one file have in common where the system takes letters for each other. */
  fold(path: string): string;
  /** Returns the letter or share that a spelled path is or begins with; undefined for others, and where none are. */
  driveOf(path: string): string | undefined;
  /**
   * Returns the folder that is there while a drive has a letter; undefined for a share, which nobody may look at before
   * it is there: Windows would look for a server of that name in the network, and tell whoever answers who asks.
   */
  folderAt(drive: string): string | undefined;
  /** Says in a sentence why a spelled path is none of a file; undefined for all others. */
  whyNoPath(path: string): string | undefined;
  /** Says in a sentence why no drive can be at a spelled path, by its name alone; undefined where one may be. */
  whyNoDrive(path: string): string | undefined;
  /** Returns the path that programs open for a path of the volume; "" is the drive itself. */
  onDrive(mountpoint: string, path: string): string;
  /** Returns the path of the volume, parts separated by "/", for a spelled path at or in the drive. */
  inVolume(mountpoint: string, path: string): string;
}
