// A desktop in memory: keeps what it was asked to show, and does what a test says a person did.
import type { Notice, Shell, ShellEvents, TrayLook } from "../shell.ts";

export class MemoryShell implements Shell {
  events: ShellEvents | undefined;
  tray: TrayLook | undefined;
  readonly windows: string[] = [];
  readonly notices: Notice[] = [];
  readonly folders: string[] = [];
  hasQuit = false;
  hasWindow = false;
  #startsAtLogin = false;

  listen(events: ShellEvents): void {
    this.events = events;
  }

  showTray(look: TrayLook): void {
    this.tray = look;
  }

  showWindow(url: string, isNew: boolean): void {
    if (isNew || !this.hasWindow) this.windows.push(url);
    this.hasWindow = true;
  }

  notify(notice: Notice): void {
    this.notices.push(notice);
  }

  openFolder(path: string): void {
    this.folders.push(path);
  }

  startsAtLogin(): boolean {
    return this.#startsAtLogin;
  }

  setStartsAtLogin(starts: boolean): void {
    this.#startsAtLogin = starts;
  }

  quit(): void {
    this.hasQuit = true;
  }

  /** Does what a person does who chooses an entry of the menu. @throws Error when there is none of that label. */
  choose(label: string): void {
    const entry = this.tray?.menu.find((each) => each.label === label);
    if (entry?.choose === undefined) throw new Error(`The menu has no "${label}".`);
    entry.choose();
  }
}
