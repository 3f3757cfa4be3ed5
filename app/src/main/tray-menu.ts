// The menu of the icon: everything that a person can do, for desktops that show nothing but the menu. Pure.
import type { AgentState, DriveFacts, Place } from "./agent-state.ts";
import { headOfState, nameOf } from "./agent-state.ts";
import { PAUSE_ENDS, type PauseEnd } from "./pause-ends.ts";
import type { Menu, MenuItem } from "./shell.ts";

/** Routes of the window. */
export type Route = "/" | "/savings" | "/folders" | "/conflicts" | "/add" | "/settings" | "/help";

export interface MenuActs {
  open(route: Route): void;
  openFolder(mountpoint: string): void;
  unmount(mountpoint: string): void;
  mapAgain(place: Place): void;
  /** `mountpoint` undefined: all drives. */
  pause(mountpoint: string | undefined, how: PauseEnd): void;
  resume(mountpoint: string | undefined): void;
  startAgent(): void;
  setStartsAtLogin(starts: boolean): void;
  quit(): void;
}

const LABEL_CHARACTERS_MAX = 80;

/** `startsAtLogin`: undefined where that cannot be set. */
export function trayMenu(state: AgentState, startsAtLogin: boolean | undefined, acts: MenuActs): Menu {
  const [drives, lost] = state.kind === "live" ? [state.drives, state.lost] : [[], []];
  const conflicts = drives.reduce((sum, drive) => sum + drive.conflicts.length, 0);
  const page = (label: string, route: Route): MenuItem => ({ label, act: () => acts.open(route) });
  return [
    [
      { label: short(headOfState(state).sentence) },
      page("Open Runnel", "/"),
      ...(state.kind === "stopped" ? [{ label: "Start", act: () => acts.startAgent() }] : []),
    ],
    [
      ...drives.map((drive) => driveItem(drive, acts)),
      ...lost.map((place) => lostItem(place, acts)),
      ...(drives.length > 1 ? [pauseItem(drives, undefined, "All Drives", acts)] : []),
      page("Add a Drive…", "/add"),
    ],
    [
      page("Savings", "/savings"),
      page("Folders", "/folders"),
      page(conflicts === 0 ? "Conflicts" : `Conflicts (${conflicts})`, "/conflicts"),
      settings(startsAtLogin, page("Drives and Servers", "/settings"), acts),
      page("Help", "/help"),
    ],
    [{ label: "Quit; the Drives Stay", act: () => acts.quit() }],
  ];
}

const END_LABELS: Record<PauseEnd, string> = {
  hour: "For One Hour",
  tomorrow: "Until Tomorrow Morning",
  resume: "Until I Resume",
};

/** Resumes where all are paused, else pauses. */
function pauseItem(
  drives: readonly DriveFacts[],
  mountpoint: string | undefined,
  which: string,
  acts: MenuActs,
): MenuItem {
  if (drives.every(({ pause }) => pause !== null))
    return { label: `Resume ${which}`.trim(), act: () => acts.resume(mountpoint) };
  const items = PAUSE_ENDS.map((end) => ({ label: END_LABELS[end], act: () => acts.pause(mountpoint, end) }));
  return { label: `Pause ${which}`.trim(), items };
}

function driveItem(drive: DriveFacts, acts: MenuActs): MenuItem {
  const { mountpoint, sentence, pause, pausedFolders } = drive;
  return {
    label: short(nameOf(mountpoint)),
    items: [
      { label: short(sentence) },
      { label: "Open Folder", act: () => acts.openFolder(mountpoint) },
      pauseItem([drive], mountpoint, "", acts),
      ...(pause === null && pausedFolders.length > 0
        ? [{ label: "Resume Folders", act: () => acts.resume(mountpoint) }]
        : []),
      { label: "Unmount", act: () => acts.unmount(mountpoint) },
    ],
  };
}

function lostItem(place: Place, acts: MenuActs): MenuItem {
  return {
    label: short(`${nameOf(place.mountpoint)} (not mapped)`),
    items: [
      { label: "Map Again", act: () => acts.mapAgain(place) },
      { label: "Forget", act: () => acts.unmount(place.mountpoint) },
    ],
  };
}

function settings(startsAtLogin: boolean | undefined, opens: MenuItem, acts: MenuActs): MenuItem {
  const act = (): void => acts.setStartsAtLogin(!startsAtLogin);
  const atLogin = { label: "Start at Login", isChecked: startsAtLogin === true, act };
  return { label: "Settings", items: startsAtLogin === undefined ? [opens] : [opens, atLogin] };
}

function short(label: string): string {
  return label.length <= LABEL_CHARACTERS_MAX ? label : `${label.slice(0, LABEL_CHARACTERS_MAX - 1)}…`;
}
