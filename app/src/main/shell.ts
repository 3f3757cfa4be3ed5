// The seam between what the desktop app decides and what shows it: an icon with a menu, notifications, windows. Its
// engines are `electron/`, and `memory/` for tests.
import type { ViewState } from "../agent/view/head.ts";

export interface MenuItem {
  label: string;
  /** Chosen by a person; without it and without items the item is a line of text. */
  act?: () => void;
  items?: readonly MenuItem[];
  /** Shows a mark, or the place of one; undefined: has none. */
  isChecked?: boolean;
}

/** Groups of items with a line between two of them. */
export type Menu = readonly (readonly MenuItem[])[];

export interface ShellIcon {
  /** Shape of the icon. */
  state: ViewState;
  tooltip: string;
  menu: Menu;
}

export interface ShellNotice {
  title: string;
  body: string;
  /** The person clicked it. */
  act(): void;
}

/** `popover`: 400 × 640, beside the icon, gone when something else is clicked. `full`: a window. */
export type WindowKind = "popover" | "full";

export interface ShellPage {
  kind: WindowKind;
  /** Address with a ticket in it, which is good once. Nothing outside of its origin is ever loaded. */
  url: string;
  /** Text that the page may fetch once, by the bridge: an invite. "": none. */
  invite: string;
}

export interface Shell {
  /** Takes what a click on the icon does, which is not one on its menu. Called once. */
  begin(iconClicked: () => void): void;
  setIcon(icon: ShellIcon): void;
  notify(notice: ShellNotice): void;
  /** Shows the window of this kind as it is. @returns false when there is none. */
  reveal(kind: WindowKind): boolean;
  /** Hides the window of this kind where it is visible. @returns false when it was not. */
  hide(kind: WindowKind): boolean;
  /** Loads a page into the window of its kind, which is made if need be, and shows it. */
  showPage(page: ShellPage): void;
  /** Closes all windows: what they show has no agent any more. @returns the kinds that were visible. */
  closeWindows(): WindowKind[];
  /** Tells something that must not be missed, in a window of its own. */
  tell(title: string, body: string): void;
  /** Opens a folder in the system's file manager. Resolves with a sentence when that failed. */
  openFolder(path: string): Promise<string | undefined>;
  /** Ends the app. */
  quit(): void;
}
