// Interface to what differs by operating system in the desktop app: a folder here for each system, with the same file
// names, and one place that chooses (this-desktop.ts). What Electron has a call for on each system is electron/'s.
import type { Clock } from "@runnel/shared";
import type { ViewState } from "../../agent/view/head.ts";
import type { LoginItem } from "../desktop.ts";

/** Files by which a system starts the app, where it wants files for that. */
export interface DesktopEntries {
  /** Starts the app at login by this command. */
  loginItem(command: readonly string[]): LoginItem;
  /**
   * Makes the app what opens runnel:// links, which follow this command. Resolves also where the desktop lets nobody
   * choose. @throws RunnelError when the file cannot be written
   */
  takeLinks(command: readonly string[], clock: Clock): Promise<void>;
}

/** The way in which packages of a system are replaced by newer ones. */
export interface OwnUpdates {
  /** Class of electron-updater. */
  readonly updater: "MacUpdater" | "NsisUpdater";
  /** True where the updater takes any package unless a file beside the app names the publisher. */
  readonly needsPublisher: boolean;
}

export interface DesktopSystem {
  /** Returns the name of the tray's icon, a file of icons/. */
  iconOf(state: ViewState): string;
  /** True where a menu that is set takes every click of the icon, so that it is shown at the right ones only. */
  readonly menuTakesClicks: boolean;
  /** Undefined where Electron has calls for both. */
  readonly entries: DesktopEntries | undefined;
  /** Undefined where packages are updated by what has installed them. */
  readonly ownUpdates: OwnUpdates | undefined;
  /** Paths of Node below the program's folder, the best first. */
  readonly nodes: readonly string[];
  /** Paths of the command line's launcher below the program's folder `app`, the best first. */
  readonly launchers: readonly [string, ...string[]];
}
