// A window that shows the agent's page, sandboxed: nothing but that page is loaded in it, whatever it is led to.
import { BrowserWindow, type Rectangle, type Session, screen } from "electron";
import { say } from "../say.ts";
import type { WindowKind } from "../shell.ts";

const SIZES = { popover: { width: 400, height: 640 }, full: { width: 1000, height: 720 } };
const SMALLEST = { width: 400, height: 480 };
/** Between the popover and what it stands beside. */
const MARGIN = 8;

/** Denies everything that a page of ours never asks for. Called once for a session. */
export function guardSession(session: Session): void {
  session.setPermissionRequestHandler((_contents, _permission, answer) => answer(false));
  session.setPermissionCheckHandler(() => false);
  session.setDevicePermissionHandler(() => false);
}

export class PageWindow {
  readonly kind: WindowKind;
  readonly #window: BrowserWindow;
  #origin = "";
  #invite = "";

  constructor(kind: WindowKind, session: Session, preload: string) {
    const isPopover = kind === "popover";
    this.kind = kind;
    this.#window = new BrowserWindow({
      ...SIZES[kind],
      ...(isPopover ? {} : { minWidth: SMALLEST.width, minHeight: SMALLEST.height }),
      title: say("appName"),
      show: false,
      frame: !isPopover,
      resizable: !isPopover,
      skipTaskbar: isPopover,
      alwaysOnTop: isPopover,
      autoHideMenuBar: true,
      webPreferences: {
        session,
        preload,
        sandbox: true,
        contextIsolation: true,
        nodeIntegration: false,
        webviewTag: false,
        navigateOnDragDrop: false,
        spellcheck: false,
      },
    });
    if (isPopover) this.#window.on("blur", () => this.#window.hide());
    const contents = this.#window.webContents;
    const stay = (event: { preventDefault(): void; url: string }): void => {
      if (!this.#isOwn(event.url)) event.preventDefault();
    };
    contents.on("will-navigate", stay);
    contents.on("will-redirect", stay);
    contents.on("will-frame-navigate", stay);
    contents.on("will-attach-webview", (event) => event.preventDefault());
    contents.setWindowOpenHandler(() => ({ action: "deny" }));
  }

  get isDestroyed(): boolean {
    return this.#window.isDestroyed();
  }

  get isVisible(): boolean {
    return this.#window.isVisible();
  }

  /** True for a request that this window's page may make. */
  mayLoad(contentsId: number | undefined, url: string): boolean {
    return !this.isDestroyed && contentsId === this.#window.webContents.id && this.#isOwn(url);
  }

  /** The invite, once, for this window's own page only. */
  takeInvite(contentsId: number, frameUrl: string): string {
    if (!this.mayLoad(contentsId, frameUrl)) return "";
    const invite = this.#invite;
    this.#invite = "";
    return invite;
  }

  load(url: string, invite: string): void {
    this.#origin = new URL(url).origin;
    this.#invite = invite;
    // A page that does not come says so itself; the next one is loaded over it.
    this.#window.loadURL(url).catch(() => undefined);
  }

  /** `anchor`: where the icon is; without an extent where the system does not say. */
  show(anchor: Rectangle): void {
    if (this.kind === "popover") this.#window.setPosition(...placeBeside(anchor));
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
  }

  hide(): void {
    this.#window.hide();
  }

  destroy(): void {
    this.#window.destroy();
  }

  #isOwn(url: string): boolean {
    const asked = URL.parse(url.replace(/^ws:/, "http:"));
    return this.#origin !== "" && asked?.origin === this.#origin;
  }
}

/** A place for the popover: beside the icon, within the screen. */
function placeBeside(anchor: Rectangle): [x: number, y: number] {
  const hasPlace = anchor.width > 0;
  const { workArea } = hasPlace ? screen.getDisplayMatching(anchor) : screen.getPrimaryDisplay();
  const { width, height } = SIZES.popover;
  const right = workArea.x + workArea.width - width - MARGIN;
  const bottom = workArea.y + workArea.height - height - MARGIN;
  if (!hasPlace) return [right, workArea.y + MARGIN];
  const x = Math.round(anchor.x + anchor.width / 2 - width / 2);
  const isAtTop = anchor.y < workArea.y + workArea.height / 2;
  const y = isAtTop ? anchor.y + anchor.height + MARGIN : anchor.y - height - MARGIN;
  return [clamp(x, workArea.x + MARGIN, right), clamp(y, workArea.y + MARGIN, bottom)];
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}
