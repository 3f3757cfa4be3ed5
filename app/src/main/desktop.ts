// The tray app: shows on the desktop what the agent shows, and does what a person chooses there. The agent does the work and goes on without it.
import type { Calls } from "../../../shared/ui/calls.ts";
import type { ViewStore } from "../../../shared/ui/view-store.ts";
import type { AgentLists, Head } from "../agent-view.ts";
import { routeOfLink } from "./links.ts";
import { type NoticeFacts, noticesBetween } from "./notices.ts";
import type { Shell } from "./shell.ts";
import { trayLook } from "./tray-look.ts";

export interface DesktopDeps {
  shell: Shell;
  calls: Calls;
  store: ViewStore<Head, AgentLists>;
}

export class Desktop {
  readonly #deps: DesktopDeps;
  #before: NoticeFacts | undefined;
  #route = "/";

  constructor(deps: DesktopDeps) {
    this.#deps = deps;
    deps.shell.listen({
      asked: () => void this.#open("/", false),
      link: (url) => {
        const route = routeOfLink(url);
        if (route !== undefined) void this.#open(route, true);
      },
      pageEnded: () => void this.#open(this.#route, true),
    });
    deps.store.listen(() => this.#show());
    this.#show();
  }

  #show(): void {
    const { shell, store } = this.#deps;
    const { line, shown } = store.get();
    const drives = shown?.lists.drives ?? [];
    const head = line === "live" ? shown?.head : undefined;
    shell.showTray(
      trayLook(
        { head, drives, startsAtLogin: shell.startsAtLogin() },
        {
          openWindow: (route) => void this.#open(route, true),
          openFolder: (path) => shell.openFolder(path),
          setStartsAtLogin: (starts) => {
            shell.setStartsAtLogin(starts);
            this.#show();
          },
          quit: () => shell.quit(),
          unmountAllAndQuit: () => void this.#stop(),
        },
      ),
    );
    if (head === undefined) return;
    const now = { head, drives };
    for (const { title, body, route } of noticesBetween(this.#before, now))
      shell.notify({ title, body, chosen: () => void this.#open(route, true) });
    this.#before = now;
  }

  /** Shows the window; asks the agent for a new page where there is none, or where another route is wanted. */
  async #open(route: string, isNew: boolean): Promise<void> {
    const { shell, calls } = this.#deps;
    this.#route = route;
    if (!isNew && shell.hasWindow) {
      shell.showWindow("", false);
      return;
    }
    try {
      const { opens } = await calls.ask<{ opens: string }>("openPage", { way: "link" });
      const page = new URL(opens);
      page.pathname = route.split("?", 1)[0] ?? "/";
      page.search = route.slice(page.pathname.length);
      shell.showWindow(page.href, true);
    } catch (error) {
      this.#refused("Runnel cannot show its window", error);
    }
  }

  async #stop(): Promise<void> {
    const { shell, calls } = this.#deps;
    try {
      await calls.ask("stop", { force: false });
      shell.quit();
    } catch (error) {
      this.#refused("The drives are still mapped", error);
    }
  }

  #refused(title: string, error: unknown): void {
    const body = error instanceof Error ? error.message : String(error);
    this.#deps.shell.notify({ title, body, chosen: () => undefined });
  }
}
