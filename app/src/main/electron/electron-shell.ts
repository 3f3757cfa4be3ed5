// The desktop by Electron. Its window shows the agent's own page, in a sandbox: no Node, no preload, no other place to go to.
import { join } from "node:path";
import { app, BrowserWindow, Menu, nativeImage, Notification, session, shell, Tray } from "electron";
import { linkAmong } from "../links.ts";
import type { MenuEntry, Notice, Shell, ShellEvents, TrayLook } from "../shell.ts";

const WIDTH = 980;
const HEIGHT = 720;
const LEAST_WIDTH = 400;
const LEAST_HEIGHT = 480;
const SCHEME = "runnel";

export class ElectronShell implements Shell {
  readonly #icons: string;
  #tray: Tray | undefined;
  #window: BrowserWindow | undefined;
  #look: TrayLook | undefined;
  #events: ShellEvents | undefined;

  private constructor(icons: string) {
    this.#icons = icons;
  }

  /** `icons`: the folder of the tray's pictures. @returns undefined when the app runs already: that one has been asked to show itself. */
  static async open(icons: string): Promise<ElectronShell | undefined> {
    if (!app.requestSingleInstanceLock()) return undefined;
    const made = new ElectronShell(icons);
    app.on("second-instance", (_event, words) => made.#startedAgain(words));
    app.on("open-url", (_event, url) => made.#events?.link(url));
    // The tray stays when the window goes.
    app.on("window-all-closed", () => undefined);
    await app.whenReady();
    app.setAsDefaultProtocolClient(SCHEME);
    session.defaultSession.setPermissionRequestHandler((_contents, _permission, answer) => answer(false));
    return made;
  }

  listen(events: ShellEvents): void {
    this.#events = events;
    const link = linkAmong(process.argv);
    if (link !== undefined) events.link(link);
  }

  showTray(look: TrayLook): void {
    const former = this.#look;
    this.#look = look;
    const image = (): Electron.NativeImage => nativeImage.createFromPath(join(this.#icons, `${look.state}.png`));
    if (this.#tray === undefined) {
      this.#tray = new Tray(image());
      this.#tray.on("click", () => this.#events?.asked());
    } else if (former?.state !== look.state) this.#tray.setImage(image());
    this.#tray.setToolTip(look.tooltip);
    // A menu that is open would close each time that it is set anew.
    if (former === undefined || menuKey(former.menu) !== menuKey(look.menu))
      this.#tray.setContextMenu(Menu.buildFromTemplate(look.menu.map((entry) => this.#item(entry))));
  }

  showWindow(url: string, isNew: boolean): void {
    if (this.#window === undefined) this.#window = this.#makeWindow();
    else if (!isNew) {
      this.#window.show();
      this.#window.focus();
      return;
    }
    void this.#window.loadURL(url);
    this.#window.show();
  }

  get hasWindow(): boolean {
    return this.#window !== undefined;
  }

  notify({ title, body, chosen }: Notice): void {
    const notification = new Notification({ title, body });
    notification.on("click", chosen);
    notification.show();
  }

  openFolder(path: string): void {
    void shell.openPath(path);
  }

  startsAtLogin(): boolean {
    return app.getLoginItemSettings().openAtLogin;
  }

  setStartsAtLogin(openAtLogin: boolean): void {
    app.setLoginItemSettings({ openAtLogin });
  }

  quit(): void {
    app.quit();
  }

  /** By its label, since the entry of the look that is shown by then is the one to choose. */
  #item({ label, choose, isChecked }: MenuEntry): Electron.MenuItemConstructorOptions {
    if (label === "") return { type: "separator" };
    const click = (): void => this.#look?.menu.find((entry) => entry.label === label)?.choose?.();
    if (isChecked !== undefined) return { label, type: "checkbox", checked: isChecked, click };
    return { label, enabled: choose !== undefined, click };
  }

  #makeWindow(): BrowserWindow {
    const window = new BrowserWindow({
      width: WIDTH,
      height: HEIGHT,
      minWidth: LEAST_WIDTH,
      minHeight: LEAST_HEIGHT,
      title: "Runnel",
      show: false,
      autoHideMenuBar: true,
      webPreferences: { sandbox: true, contextIsolation: true, nodeIntegration: false },
    });
    window.on("closed", () => {
      this.#window = undefined;
    });
    const { webContents } = window;
    webContents.setWindowOpenHandler(() => ({ action: "deny" }));
    webContents.on("will-navigate", (event, url) => {
      if (new URL(url).origin !== new URL(webContents.getURL()).origin) event.preventDefault();
    });
    webContents.on("did-fail-load", () => this.#events?.pageEnded());
    webContents.on("render-process-gone", () => this.#events?.pageEnded());
    return window;
  }

  #startedAgain(words: readonly string[]): void {
    const link = linkAmong(words);
    if (link === undefined) this.#events?.asked();
    else this.#events?.link(link);
  }
}

function menuKey(menu: readonly MenuEntry[]): string {
  return JSON.stringify(menu.map(({ label, isChecked }) => [label, isChecked]));
}
