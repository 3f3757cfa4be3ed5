// Result of a look at something that drives need on this computer, and how such looks are made.
import { access } from "node:fs/promises";

/** Result of a look, for a person. */
export interface Checked {
  /** Subject, in a word or two. */
  about: string;
  isFine: boolean;
  sentence: string;
  /** Says what to do about it; null where nothing is to be done. */
  next: string | null;
}

/** Subject of what shows drives. */
export const DRIVES = "Drives";

/** Says whether this process may open a file so; `mode` as of access(2). */
export function opens(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
