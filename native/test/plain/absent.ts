// Tests of the addons that fail on Windows because something is missing there, each with what. Under Wine a test that
// matches must fail (build-all.long.test.ts); on Windows itself it is left out (scripts/scenarios.ts).
import type { PlainResult } from "./run.ts";

/** A title, whose parts are joined by " › ", and what is missing. */
export type Absent = readonly [title: RegExp, why: string];

export const ABSENT_ON_WINDOWS: readonly Absent[] = [
  [/opens regular files only|lists every name once|may itself be reached by symlinks/, "no symlinks are made"],
  [/keeps symlinks as they are|changes a final symlink itself|lists no folder through/, "no symlinks are made"],
  [/follows no symlink on the way/, "no symlinks are made"],
  [/handles › are of anything/, "no fifos are made"],
  [/exactly the permissions asked for|makes it with its parents|only where it need not have/, "no modes are kept"],
  [/writes a whole file, with what is to be set of it/, "no modes are kept"],
  [/to the nanosecond|makes a whole file, open, with its identity/, "times are kept to 100 ns"],
  [/replaces, keeps or exchanges|both for an exchange|exchanges a file and a folder/, "nothing is exchanged"],
  [/› extended attributes › are set/, "there are none"],
  [/› watching ›/, "nothing is watched"],
  [/cuts real files as/, "it cuts an addon that is built here"],
  [/WinFsp drive.*gives a file a second name/, "a network drive has no hard links"],
  [/WinFsp drive.*(truncate by path|the agent (cuts it|was asked to cut it))/, "a file is opened to be cut"],
  [/WinFsp drive.*(a failed close has been told|a reader does not keep others)/, "a close cannot fail"],
  [/WinFsp drive.*a program may give up/, "nobody is told of it"],
  [/WinFsp drive.*holes are of whole blocks/, "programs cannot ask for them"],
  [/WinFsp drive.*› (of )?extended attributes/, "WinFsp carries 16 KiB a file, none empty, names without case"],
];

export const ABSENT_UNDER_WINE: readonly Absent[] = [
  ...ABSENT_ON_WINDOWS,
  [/handles › are not used again/, "Wine's file system"],
  [/holes are told, made and kept|holes take no blocks/, "Wine's file system"],
  [/longer than the system's limit for one call/, "Wine's file system"],
];

/** Fail under Wine 8 as well, where Wine 10 cannot be had. */
export const ABSENT_UNDER_OLDER_WINE: readonly Absent[] = [
  [/has lost its name|unsaved bytes is committed when the drive/, "it keeps the name of an open file that was removed"],
];

/** Returns what is not as it should be: nothing of anything, where all is well. */
export function faultsOf(results: readonly PlainResult[], absent: readonly Absent[]) {
  const isNamed = (title: string): boolean => absent.some(([named]) => named.test(title));
  const ran = results.filter(({ outcome }) => outcome !== "skipped");
  return {
    failed: ran.filter(({ title, outcome }) => outcome !== "passed" && !isNamed(title)),
    passedThoughNamed: ran.filter(({ title, outcome }) => outcome === "passed" && isNamed(title)),
    namedInVain: absent.filter(([named]) => !ran.some(({ title }) => named.test(title))),
  };
}

export const NO_FAULTS: ReturnType<typeof faultsOf> = { failed: [], passedThoughNamed: [], namedInVain: [] };
