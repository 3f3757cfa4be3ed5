// Tests of the addons that fail on Windows because something is missing there, each with what. Under Wine a test that
// matches must fail (build-all.long.test.ts); on Windows itself it is left out (scripts/scenarios.ts).

export interface Absent {
  /** Titles, whose parts are joined by " › ". */
  absent: RegExp;
  why: string;
  /** Missing in Wine only. */
  isOfWine: boolean;
}

const onWindows = (absent: RegExp, why: string): Absent => ({ absent, why, isOfWine: false });
const underWine = (absent: RegExp, why: string): Absent => ({ absent, why, isOfWine: true });

export const ABSENT_ON_WINDOWS: readonly Absent[] = [
  onWindows(/opens regular files only|lists every name once|may itself be reached by symlinks/, "no symlinks are made"),
  onWindows(
    /keeps symlinks as they are|changes a final symlink itself|lists no folder through/,
    "no symlinks are made",
  ),
  onWindows(/follows no symlink on the way/, "no symlinks are made"),
  onWindows(/handles › are of anything/, "no fifos are made"),
  onWindows(
    /exactly the permissions asked for|makes it with its parents|only where it need not have/,
    "no modes are kept",
  ),
  onWindows(/to the nanosecond/, "times are kept to 100 ns"),
  onWindows(/replaces, keeps or exchanges|both for an exchange|exchanges a file and a folder/, "nothing is exchanged"),
  onWindows(/› extended attributes › are set/, "there are none"),
  onWindows(/› watching ›/, "nothing is watched"),
  underWine(/keeps serving a file that has lost its name|handles › are not used again/, "Wine's file system"),
  onWindows(/cuts real files as/, "it cuts an addon that is built here"),
  underWine(/holes are told, made and kept|holes take no blocks/, "Wine's file system"),
  underWine(/unsaved bytes is committed when the drive closes/, "Wine keeps the name of an open file that was removed"),
  onWindows(/WinFsp drive.*gives a file a second name/, "a network drive has no hard links"),
  onWindows(/WinFsp drive.*truncate by path/, "a file is opened to be cut, and saved at its close"),
  onWindows(/WinFsp drive.*a failed close has been told/, "a close cannot fail"),
  onWindows(/WinFsp drive.*a program may give up/, "nobody is told of it"),
  onWindows(/WinFsp drive.*holes are of whole blocks/, "programs cannot ask for them"),
  onWindows(
    /WinFsp drive.*› (of )?extended attributes/,
    "WinFsp carries 16 KiB a file, none empty, names without case",
  ),
  underWine(/longer than the system's limit for one call/, "Wine's file system"),
];
