// A shell without a screen: keeps what is shown, and lets a test click on it.
import type { Menu, MenuItem, Shell, ShellIcon, ShellNotice, ShellPage, WindowKind } from "../shell.ts";

export class MemoryShell implements Shell {
  icon: ShellIcon | undefined;
  readonly notices: ShellNotice[] = [];
  readonly told: { title: string; body: string }[] = [];
  readonly openedFolders: string[] = [];
  /** Windows that are there, with the page that each shows. */
  readonly windows = new Map<WindowKind, { page: ShellPage; isVisible: boolean }>();
  hasQuit = false;
  /** Clicks on the icon. */
  clickIcon: () => void = () => undefined;

  begin(iconClicked: () => void): void {
    this.clickIcon = iconClicked;
  }

  /** The menu as lines; items of items are indented, and groups have a dash between them. */
  menuLines(): string[] {
    return linesOf(this.icon?.menu ?? []);
  }

  /** Chooses the item that these labels lead to. */
  choose(...labels: string[]): void {
    let items: readonly MenuItem[] = this.icon?.menu.flat() ?? [];
    let chosen: MenuItem | undefined;
    for (const label of labels) {
      chosen = items.find((item) => item.label === label);
      items = chosen?.items ?? [];
    }
    if (chosen?.act === undefined) throw new Error(`There is no ${labels.join(" › ")} to choose.`);
    chosen.act();
  }

  setIcon(icon: ShellIcon): void {
    this.icon = icon;
  }

  notify(notice: ShellNotice): void {
    this.notices.push(notice);
  }

  reveal(kind: WindowKind): boolean {
    const window = this.windows.get(kind);
    if (window !== undefined) window.isVisible = true;
    return window !== undefined;
  }

  hide(kind: WindowKind): boolean {
    const window = this.windows.get(kind);
    const wasVisible = window?.isVisible === true;
    if (window !== undefined) window.isVisible = false;
    return wasVisible;
  }

  showPage(page: ShellPage): void {
    this.windows.set(page.kind, { page, isVisible: true });
  }

  closeWindows(): WindowKind[] {
    const visible = [...this.windows].filter(([, { isVisible }]) => isVisible).map(([kind]) => kind);
    this.windows.clear();
    return visible;
  }

  tell(title: string, body: string): void {
    this.told.push({ title, body });
  }

  openFolder(path: string): Promise<string | undefined> {
    this.openedFolders.push(path);
    return Promise.resolve(undefined);
  }

  quit(): void {
    this.hasQuit = true;
  }
}

function linesOf(menu: Menu): string[] {
  return menu.flatMap((group, index) => [...(index === 0 ? [] : ["-"]), ...group.flatMap(lineOf)]);
}

function lineOf({ label, items = [], isChecked }: MenuItem): string[] {
  const mark = isChecked === undefined ? "" : isChecked ? "[x] " : "[ ] ";
  return [`${mark}${label}`, ...items.flatMap(lineOf).map((line) => `  ${line}`)];
}
