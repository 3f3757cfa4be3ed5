// The menu of the icon: everything that a person can do, for desktops that show nothing but the menu. Pure.
import type { AgentState, DriveFacts, Place } from "./agent-state.ts";
import { headOfState, nameOf } from "./agent-state.ts";
import { PAUSE_ENDS, type PauseEnd } from "./pause-ends.ts";
import { say } from "./say.ts";
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
  restartToUpdate(): void;
  quit(): void;
}

export interface AppFacts {
  /** It starts when its user logs in; undefined where that cannot be set. */
  startsAtLogin: boolean | undefined;
  /** Version that a restart installs; undefined while there is none. */
  readyVersion: string | undefined;
}

const LABEL_CHARACTERS_MAX = 80;

export function trayMenu(state: AgentState, { startsAtLogin, readyVersion }: AppFacts, acts: MenuActs): Menu {
  const [drives, lost] = state.kind === "live" ? [state.drives, state.lost] : [[], []];
  const count = drives.reduce((sum, drive) => sum + drive.conflicts.length, 0);
  const page = (label: string, route: Route): MenuItem => ({ label, act: () => acts.open(route) });
  return [
    [
      { label: short(headOfState(state).sentence) },
      page(say("menuOpen"), "/"),
      ...(state.kind === "stopped" ? [{ label: say("menuStart"), act: () => acts.startAgent() }] : []),
    ],
    [
      ...drives.map((drive) => driveItem(drive, acts)),
      ...lost.map((place) => lostItem(place, acts)),
      ...(drives.length > 1 ? [pauseItem(drives, undefined, acts)] : []),
      page(say("menuAdd"), "/add"),
    ],
    [
      page(say("menuSavings"), "/savings"),
      page(say("menuFolders"), "/folders"),
      page(say("menuConflicts", { count }), "/conflicts"),
      settings(startsAtLogin, page(say("menuDrivesAndServers"), "/settings"), acts),
      page(say("menuHelp"), "/help"),
    ],
    [
      ...(readyVersion === undefined
        ? []
        : [{ label: say("menuUpdate", { version: readyVersion }), act: () => acts.restartToUpdate() }]),
      { label: say("menuQuit"), act: () => acts.quit() },
    ],
  ];
}

/** Resumes where all are paused, else pauses. `mountpoint` undefined: all drives. */
function pauseItem(drives: readonly DriveFacts[], mountpoint: string | undefined, acts: MenuActs): MenuItem {
  const isAll = mountpoint === undefined;
  if (drives.every(({ pause }) => pause !== null))
    return { label: say(isAll ? "menuResumeAll" : "menuResume"), act: () => acts.resume(mountpoint) };
  const items = PAUSE_ENDS.map((end) => ({
    label: say("menuPauseEnd", { end }),
    act: () => acts.pause(mountpoint, end),
  }));
  return { label: say(isAll ? "menuPauseAll" : "menuPause"), items };
}

function driveItem(drive: DriveFacts, acts: MenuActs): MenuItem {
  const { mountpoint, sentence, pause, pausedFolders } = drive;
  return {
    label: short(nameOf(mountpoint)),
    items: [
      { label: short(sentence) },
      { label: say("menuOpenFolder"), act: () => acts.openFolder(mountpoint) },
      pauseItem([drive], mountpoint, acts),
      ...(pause === null && pausedFolders.length > 0
        ? [{ label: say("menuResumeFolders"), act: () => acts.resume(mountpoint) }]
        : []),
      { label: say("menuUnmount"), act: () => acts.unmount(mountpoint) },
    ],
  };
}

function lostItem(place: Place, acts: MenuActs): MenuItem {
  return {
    label: short(say("menuLost", { name: nameOf(place.mountpoint) })),
    items: [
      { label: say("menuMapAgain"), act: () => acts.mapAgain(place) },
      { label: say("menuForget"), act: () => acts.unmount(place.mountpoint) },
    ],
  };
}

function settings(startsAtLogin: boolean | undefined, opens: MenuItem, acts: MenuActs): MenuItem {
  const act = (): void => acts.setStartsAtLogin(!startsAtLogin);
  const atLogin = { label: say("menuStartAtLogin"), isChecked: startsAtLogin === true, act };
  return { label: say("menuSettings"), items: startsAtLogin === undefined ? [opens] : [opens, atLogin] };
}

function short(label: string): string {
  return label.length <= LABEL_CHARACTERS_MAX ? label : `${label.slice(0, LABEL_CHARACTERS_MAX - 1)}…`;
}
