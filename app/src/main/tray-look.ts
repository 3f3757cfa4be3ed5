// How the tray icon looks and what its menu offers, made from what the agent shows. Pure.
import type { Drive, Head } from "../agent-view.ts";
import type { MenuEntry, TrayLook } from "./shell.ts";

/** What a person may choose; each is done elsewhere. */
export interface TrayActs {
  openWindow(route: string): void;
  openFolder(path: string): void;
  setStartsAtLogin(starts: boolean): void;
  quit(): void;
  unmountAllAndQuit(): void;
}

export interface TrayFacts {
  /** undefined: the agent does not answer. */
  head: Head | undefined;
  drives: readonly Drive[];
  startsAtLogin: boolean;
}

/** Windows shows no more of a tooltip. */
const TOOLTIP_CHARACTERS_MAX = 127;
const LINE: MenuEntry = { label: "" };
export const NO_AGENT: Head = { state: "attention", sentence: "Runnel is starting.", next: null };

export function trayLook({ head = NO_AGENT, drives, startsAtLogin }: TrayFacts, acts: TrayActs): TrayLook {
  const conflicts = drives.reduce((sum, drive) => sum + drive.conflicts, 0);
  const open = (label: string, route: string): MenuEntry => ({ label, choose: () => acts.openWindow(route) });
  return {
    state: head.state,
    tooltip: clipped(`Runnel: ${head.sentence}`),
    menu: [
      { label: head.sentence },
      ...(head.next === null ? [] : [{ label: head.next }]),
      LINE,
      open("Open Runnel", "/"),
      ...drives.map(({ key: mountpoint }) => ({
        label: `Open ${mountpoint}`,
        choose: () => acts.openFolder(mountpoint),
      })),
      LINE,
      open("Savings", "/savings"),
      ...(conflicts === 0 ? [] : [open(conflicts === 1 ? "1 conflict" : `${conflicts} conflicts`, "/conflicts")]),
      open("Add a drive…", "/add"),
      open("Help", "/help"),
      LINE,
      {
        label: "Start at login",
        isChecked: startsAtLogin,
        choose: () => acts.setStartsAtLogin(!startsAtLogin),
      },
      { label: "Quit, and leave the drives mapped", choose: acts.quit },
      { label: "Unmap all drives and quit", choose: acts.unmountAllAndQuit },
    ],
  };
}

function clipped(text: string): string {
  return text.length <= TOOLTIP_CHARACTERS_MAX ? text : `${text.slice(0, TOOLTIP_CHARACTERS_MAX - 1)}…`;
}
