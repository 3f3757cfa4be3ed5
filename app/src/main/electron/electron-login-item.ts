// Starts the app at login on macOS and Windows, by Electron's call for it.
import { app } from "electron";
import type { LoginItem } from "../desktop.ts";

export class ElectronLoginItem implements LoginItem {
  readonly #command: { path: string; args: string[] };

  constructor([path = "", ...args]: readonly string[]) {
    this.#command = { path, args };
  }

  get(): Promise<boolean> {
    return Promise.resolve(app.getLoginItemSettings(this.#command).openAtLogin);
  }

  set(starts: boolean): Promise<void> {
    app.setLoginItemSettings({ ...this.#command, openAtLogin: starts });
    return Promise.resolve();
  }
}
