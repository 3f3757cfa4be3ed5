// The desktop that the tray app stands on: a tray icon, a window, notifications, links, start at login. electron/ has the real one, memory/ one for tests.
import type { StateName } from "../../../shared/ui/widgets/state-icon.tsx";

export interface MenuEntry {
  /** "" is a line between two groups. */
  label: string;
  /** Left out: it only says something. */
  choose?: () => void;
  isChecked?: boolean;
}

export interface TrayLook {
  state: StateName;
  tooltip: string;
  menu: readonly MenuEntry[];
}

export interface Notice {
  title: string;
  body: string;
  chosen(): void;
}

export interface ShellEvents {
  /** A person clicked on the tray icon, or started the program once more. */
  asked(): void;
  /** A link of ours was opened: runnel://… */
  link(url: string): void;
  /** The window's page has ended and needs a new address. */
  pageEnded(): void;
}

export interface Shell {
  /** Called once, before anything else. */
  listen(events: ShellEvents): void;
  showTray(look: TrayLook): void;
  /** Shows the one window, at this address; one that is there already is brought to the front as it is, unless `isNew`. */
  showWindow(url: string, isNew: boolean): void;
  readonly hasWindow: boolean;
  notify(notice: Notice): void;
  openFolder(path: string): void;
  startsAtLogin(): boolean;
  setStartsAtLogin(starts: boolean): void;
  quit(): void;
}
