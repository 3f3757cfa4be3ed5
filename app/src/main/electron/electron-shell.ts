// The shell over Electron: tray, notifications, windows.
import { join } from "node:path";
import {
  app,
  dialog,
  ipcMain,
  Menu,
  type MenuItemConstructorOptions,
  nativeImage,
  Notification,
  session,
} from "electron";
import { shell as system, Tray } from "electron";
import type { DesktopSystem } from "../host/desktop-system.ts";
import type { Menu as ShellMenu, MenuItem, Shell, ShellIcon } from "../shell.ts";
import type { ShellNotice, ShellPage, WindowKind } from "../shell.ts";
import { say } from "../say.ts";
import { guardSession, PageWindow } from "./page-window.ts";

/** Names a session in memory: no page leaves anything on the disk. */
const PARTITION = "runnel";
/** Notifications that can still be clicked; the system forgets older ones. */
const NOTICES_MAX = 20;
/** Schemes that a page of ours uses. */
const REQUESTS = { urls: ["<all_urls>"] };

export class ElectronShell implements Shell {
  readonly #folder: string;
  readonly #system: DesktopSystem;
  readonly #session = session.fromPartition(PARTITION);
  readonly #windows = new Map<WindowKind, PageWindow>();
  /** Without a reference to it, a notification loses its click. */
  readonly #notices = new Set<Notification>();
  #tray: Tray | undefined;
  #iconClicked: () => void = () => undefined;

  /** `folder`: that of the bundle, with the icons and the preload script. Made when the app is ready. */
  constructor(folder: string, desktop: DesktopSystem) {
    this.#folder = folder;
    this.#system = desktop;
    guardSession(this.#session);
    this.#session.webRequest.onBeforeRequest(REQUESTS, ({ url, webContentsId }, answer) => {
      answer({ cancel: ![...this.#windows.values()].some((window) => window.mayLoad(webContentsId, url)) });
    });
    ipcMain.handle("takeInvite", ({ sender, senderFrame }) => {
      const url = senderFrame?.url ?? "";
      return [...this.#windows.values()].map((window) => window.takeInvite(sender.id, url)).join("");
    });
    // An app of the tray goes on without windows.
    app.on("window-all-closed", () => undefined);
  }

  begin(iconClicked: () => void): void {
    this.#iconClicked = iconClicked;
  }

  setIcon({ state, tooltip, menu }: ShellIcon): void {
    const image = this.#image(state);
    if (this.#tray === undefined) {
      this.#tray = new Tray(image);
      this.#tray.on("click", () => this.#iconClicked());
    } else this.#tray.setImage(image);
    this.#tray.setToolTip(tooltip);
    const whole = Menu.buildFromTemplate(templateOf(menu));
    if (!this.#system.menuTakesClicks) this.#tray.setContextMenu(whole);
    else this.#tray.removeAllListeners("right-click").on("right-click", () => this.#tray?.popUpContextMenu(whole));
  }

  notify({ title, body, act }: ShellNotice): void {
    if (!Notification.isSupported()) return;
    const notice = new Notification({ title, body });
    this.#notices.add(notice);
    notice.on("click", () => act());
    for (const oldest of this.#notices) {
      if (this.#notices.size <= NOTICES_MAX) break;
      this.#notices.delete(oldest);
    }
    notice.show();
  }

  reveal(kind: WindowKind): boolean {
    const window = this.#window(kind);
    window?.show(this.#anchor());
    return window !== undefined;
  }

  hide(kind: WindowKind): boolean {
    const window = this.#window(kind);
    if (window?.isVisible !== true) return false;
    window.hide();
    return true;
  }

  showPage({ kind, url, invite }: ShellPage): void {
    const window = this.#window(kind) ?? new PageWindow(kind, this.#session, join(this.#folder, "preload.cjs"));
    this.#windows.set(kind, window);
    window.load(url, invite);
    window.show(this.#anchor());
  }

  closeWindows(): WindowKind[] {
    const open = [...this.#windows.values()].filter(({ isDestroyed }) => !isDestroyed);
    const visible = open.filter(({ isVisible }) => isVisible).map(({ kind }) => kind);
    for (const window of open) window.destroy();
    this.#windows.clear();
    return visible;
  }

  tell(title: string, body: string): void {
    void dialog.showMessageBox({ type: "warning", title: say("appName"), message: title, detail: body });
  }

  async openFolder(path: string): Promise<string | undefined> {
    const problem = await system.openPath(path);
    return problem === "" ? undefined : say("folderClosed", { path, problem });
  }

  quit(): void {
    app.quit();
  }

  /** Closes windows and icon. */
  close(): void {
    this.closeWindows();
    this.#tray?.destroy();
  }

  #window(kind: WindowKind): PageWindow | undefined {
    const window = this.#windows.get(kind);
    return window?.isDestroyed === true ? undefined : window;
  }

  #anchor(): Electron.Rectangle {
    return this.#tray?.getBounds() ?? { x: 0, y: 0, width: 0, height: 0 };
  }

  #image(state: ShellIcon["state"]): Electron.NativeImage {
    return nativeImage.createFromPath(join(this.#folder, "icons", this.#system.iconOf(state)));
  }
}

function templateOf(menu: ShellMenu): MenuItemConstructorOptions[] {
  return menu.flatMap((group, index) => [
    ...(index === 0 ? [] : [{ type: "separator" } as const]),
    ...group.map(itemOf),
  ]);
}

function itemOf({ label, act, items, isChecked }: MenuItem): MenuItemConstructorOptions {
  const shared = { label: label.replaceAll("&", "&&") };
  if (items !== undefined) return { ...shared, submenu: items.map(itemOf) };
  if (act === undefined) return { ...shared, enabled: false };
  return {
    ...shared,
    click: () => act(),
    ...(isChecked === undefined ? {} : { type: "checkbox", checked: isChecked }),
  };
}
