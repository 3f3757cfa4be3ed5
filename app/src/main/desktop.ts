// The desktop app, over whatever shell shows it: the icon says how the agent is, the menu holds everything, a click
// opens the agent's page, a link fills its form. It keeps no state of the drives itself.
import { type Clock, isRunnelError, RunnelError } from "@runnel/shared";
import { type AgentState, headOfState, type Place } from "./agent-state.ts";
import { AgentWatch, type AgentWatchDeps } from "./agent-watch.ts";
import { inviteAmong } from "./invite-link.ts";
import { Notices } from "./notices.ts";
import type { Shell, WindowKind } from "./shell.ts";
import { endOfPause, type PauseEnd } from "./pause-ends.ts";
import { say } from "./say.ts";
import { type Route, trayMenu } from "./tray-menu.ts";
import { whyUpdateWaits } from "./updates/line-for-updates.ts";
import { Updates, type UpdateSource } from "./updates/updates.ts";

/** Word of the command line: no window at first. */
export const QUIET = "--quiet";

/** Makes the app start when its user logs in. */
export interface LoginItem {
  /** Resolves to undefined where that cannot be set. */
  get(): Promise<boolean | undefined>;
  set(starts: boolean): Promise<void>;
}

export interface DesktopDeps extends Pick<AgentWatchDeps, "connect" | "start" | "hasCrashed"> {
  clock: Clock;
  shell: Shell;
  loginItem: LoginItem;
  /** Source of newer versions of the app; undefined where the system has other ways to them. */
  updateSource?: UpdateSource | undefined;
}

export class Desktop {
  readonly #deps: DesktopDeps;
  readonly #watch: AgentWatch;
  readonly #notices: Notices;
  readonly #updates: Updates | undefined;
  #startsAtLogin: boolean | undefined;
  #shown = "";
  #hasToldFailure = false;
  /** Windows that were open when the agent ended: they come back with it. */
  #reopens: WindowKind[] = [];
  /** A page that a person asked for while there was no agent. */
  #pending: { kind: WindowKind; route: Route; invite: string } | undefined;

  constructor(deps: DesktopDeps) {
    const { clock, shell, connect, start, hasCrashed, updateSource } = deps;
    this.#deps = deps;
    this.#notices = new Notices(clock, ({ opens, ...notice }) =>
      shell.notify({ ...notice, act: () => this.#open("full", opens) }),
    );
    this.#watch = new AgentWatch({
      clock,
      connect,
      start,
      hasCrashed,
      changed: (state) => this.#changed(state),
      restarted: (mapped, missing) => this.#restarted(mapped, missing),
      missing: (count) =>
        this.#notices.tell({ title: say("missingTitle"), body: say("missing", { count }), opens: "/" }),
    });
    if (updateSource === undefined) return;
    this.#updates = new Updates({
      ...updateSource,
      clock,
      whyWait: () => whyUpdateWaits(this.#watch.state, () => this.#asksMetered()),
      changed: () => this.#updateChanged(),
      failed: (sentence) => shell.tell(say("failedTitle"), sentence),
    });
  }

  /** Runs until it is closed. `words` are those that the app was started with. */
  async run(words: readonly string[]): Promise<void> {
    const { shell, loginItem } = this.#deps;
    this.#startsAtLogin = await loginItem.get();
    shell.begin(() => {
      if (!shell.hide("popover") && !shell.reveal("popover")) this.#open("popover", "/");
    });
    this.#show();
    this.startedAgain(words);
    await this.#watch.run();
  }

  /** The app was started again, or the system handed it a link: shows what the words ask for. */
  startedAgain(words: readonly string[]): void {
    const found = inviteAmong(words);
    if (found !== undefined && "problem" in found) this.#deps.shell.tell(say("notInviteTitle"), found.problem);
    else if (found !== undefined) this.#open("full", "/add", found.invite);
    else if (!words.includes(QUIET)) this.#open("full", "/");
  }

  /** Ends the app; the agent and its drives stay. */
  close(): void {
    this.#watch.close();
    this.#notices.close();
    this.#updates?.close();
  }

  #changed(state: AgentState): void {
    const { shell } = this.#deps;
    if (state.kind === "live") {
      this.#hasToldFailure = false;
      this.#notices.update(state.drives);
      const kinds = this.#reopens.splice(0);
      const pending = this.#pending;
      this.#pending = undefined;
      for (const kind of kinds) if (kind !== pending?.kind) this.#open(kind, "/");
      if (pending !== undefined) this.#open(pending.kind, pending.route, pending.invite);
    } else if (state.kind !== "starting") {
      // A popover that comes back by itself would be in the way.
      this.#reopens.push(...shell.closeWindows().filter((kind) => kind === "full"));
      if (state.kind === "failed" && state.why === "unreachable") this.#tellFailure(state.sentence);
    }
    this.#show();
  }

  /** Tells once that there is no agent, and again whenever a person asked for one. */
  #tellFailure(sentence: string): void {
    const title = say("cannotStartTitle");
    if (this.#pending !== undefined) this.#deps.shell.tell(title, sentence);
    else if (!this.#hasToldFailure) this.#notices.tell({ title, body: sentence, opens: "/" });
    this.#pending = undefined;
    this.#hasToldFailure = true;
  }

  #restarted(mapped: number, missing: number): void {
    const body = missing > 0 ? say("missing", { count: missing }) : say("restarted", { count: mapped });
    this.#notices.tell({ title: say("restartedTitle"), body, opens: "/" });
  }

  #show(): void {
    const { shell } = this.#deps;
    const { state } = this.#watch;
    const facts = { startsAtLogin: this.#startsAtLogin, readyVersion: this.#updates?.readyVersion };
    const menu = trayMenu(state, facts, {
      open: (route) => this.#open("full", route),
      openFolder: (mountpoint) => this.#attempt(() => this.#openFolder(mountpoint)),
      unmount: (mountpoint) => this.#attempt(() => this.#unmount(mountpoint)),
      mapAgain: (place) => this.#attempt(() => this.#mapAgain(place)),
      pause: (mountpoint, end) => this.#attempt(() => this.#pause(mountpoint, end)),
      resume: (mountpoint) => this.#attempt(() => this.#resume(mountpoint)),
      startAgent: () => this.#watch.wake(),
      setStartsAtLogin: (starts) => this.#attempt(() => this.#setStartsAtLogin(starts)),
      restartToUpdate: () => this.#attempt(async () => this.#updates?.install()),
      quit: () => shell.quit(),
    });
    const head = headOfState(state);
    // A menu that is open must not be replaced by one that is the same.
    const shown = JSON.stringify([head, menu]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    shell.setIcon({ state: head.state, tooltip: head.sentence, menu });
  }

  #open(kind: WindowKind, route: Route, invite = ""): void {
    const { shell } = this.#deps;
    if (route === "/" && shell.reveal(kind)) return;
    const client = this.#watch.client;
    if (client === undefined) {
      this.#pending = { kind, route, invite };
      this.#watch.wake();
      return;
    }
    this.#attempt(async () => {
      const { url, opens } = await client.ask("openPage", { way: "link" });
      const address = new URL(route, url);
      address.hash = new URL(opens).hash;
      shell.showPage({ kind, url: address.href, invite });
    });
  }

  async #openFolder(mountpoint: string): Promise<void> {
    const problem = await this.#deps.shell.openFolder(mountpoint);
    if (problem !== undefined) this.#deps.shell.tell(say("folderClosedTitle"), problem);
  }

  async #unmount(mountpoint: string): Promise<void> {
    await this.#watch.client?.ask("unmount", { mountpoint, force: false });
  }

  async #mapAgain({ url, mountpoint }: Place): Promise<void> {
    await this.#watch.client?.ask("mount", { url, mountpoint });
  }

  async #pause(mountpoint: string | undefined, end: PauseEnd): Promise<void> {
    const untilMs = endOfPause(end, Number(this.#deps.clock.wallNs() / 1_000_000n));
    await this.#watch.client?.ask("pause", { path: mountpoint, untilMs });
  }

  async #resume(mountpoint: string | undefined): Promise<void> {
    await this.#watch.client?.ask("resume", { path: mountpoint });
  }

  async #asksMetered(): Promise<boolean> {
    const { client } = this.#watch;
    if (client === undefined) throw new RunnelError("Unavailable", "ask the agent", say("agentSilent"));
    return (await client.ask("line", {})).isMetered;
  }

  #updateChanged(): void {
    const version = this.#updates?.readyVersion;
    if (version !== undefined)
      this.#notices.tell({ title: say("updateTitle", { version }), body: say("update"), opens: "/" });
    this.#show();
  }

  async #setStartsAtLogin(starts: boolean): Promise<void> {
    const { loginItem } = this.#deps;
    await loginItem.set(starts);
    this.#startsAtLogin = await loginItem.get();
    this.#show();
  }

  /** Tells a person what did not work of what was asked. */
  #attempt(work: () => Promise<void>): void {
    void work().catch((error: unknown) => {
      if (!isRunnelError(error)) throw error;
      this.#deps.shell.tell(say("failedTitle"), error.message);
    });
  }
}
