// The desktop app over a shell without a screen, and an agent that a test plays.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type Clock, RunnelError, settle, SimulatedClock, wallMs } from "@runnel/shared";
import type { AgentClient } from "../../src/main/agent-watch.ts";
import { RETRY_MS } from "../../src/main/agent-watch.ts";
import type { DriveFacts, Place } from "../../src/main/agent-state.ts";
import { Desktop } from "../../src/main/desktop.ts";
import { MemoryShell } from "../../src/main/memory/memory-shell.ts";
import { MemoryUpdater } from "../../src/main/memory/memory-updater.ts";
import { FIRST_LOOK_MS, LINE_LOOK_MS } from "../../src/main/updates/updates.ts";
import { newPair, signed } from "../cli/updates/signed-lists.ts";
import { driveFacts } from "./facts.ts";
import { listOf, offerOf, released } from "./updates/releases.ts";

const INVITE = `runnel://host:7473/docs#${"A".repeat(43)}.${"B".repeat(22)}`;

/** An agent that a test ends, kills, and lets fail. */
class PlayedAgents {
  drives: readonly DriveFacts[] = [];
  lost: Place[] = [];
  resting: Place[] = [];
  /** Sentence of a start that fails. */
  failure: string | undefined;
  starts = 0;
  pages = 0;
  asked: string[] = [];
  isMetered = false;
  #hasCrashed = false;
  #end: (() => void) | undefined;
  #part: ((part: unknown) => void) | undefined;

  connect(): Promise<AgentClient | undefined> {
    if (this.#end === undefined) return Promise.resolve(undefined);
    const ask = (verb: string, request: object, part?: (part: never) => void): Promise<unknown> => {
      this.asked.push(`${verb} ${JSON.stringify(request)}`);
      switch (verb) {
        case "view":
          this.#part = part as (part: unknown) => void;
          this.#tell();
          return new Promise((_done, fail) => {
            this.#end = () => fail(new RunnelError("Unavailable", "ask", "The agent ended."));
          });
        case "status":
          return Promise.resolve({ head: this.#head(), mounts: this.drives, lost: this.lost, resting: this.resting });
        case "openPage": {
          this.pages++;
          return Promise.resolve({ url: "http://127.0.0.1:5/", opens: `http://127.0.0.1:5/#ticket${this.pages}` });
        }
        case "reconnect": {
          const mapped = [...this.lost, ...this.resting].filter(({ url }) => !url.endsWith("/gone"));
          const failed = this.resting.filter(({ url }) => url.endsWith("/gone"));
          this.lost = [];
          this.resting = failed;
          this.drives = [...this.drives, ...mapped.map((place) => driveFacts(place))];
          return Promise.resolve({ mapped, failed });
        }
        case "mount":
          this.lost = [];
          this.drives = [driveFacts()];
          return Promise.resolve({});
        case "line":
          return Promise.resolve({ isMetered: this.isMetered });
        default:
          return Promise.resolve({});
      }
    };
    return Promise.resolve({ ask, close: () => undefined } as unknown as AgentClient);
  }

  start(): Promise<void> {
    this.starts++;
    if (this.failure !== undefined)
      return Promise.reject(new RunnelError("Unavailable", "start the agent", this.failure));
    this.#end = () => undefined;
    return Promise.resolve();
  }

  hasCrashed(): Promise<boolean> {
    return Promise.resolve(this.#hasCrashed);
  }

  /** Ends the agent; `crashes`: as a kill does. */
  end(crashes: boolean): void {
    this.#hasCrashed = crashes;
    if (crashes) this.lost = this.drives.map(({ url, mountpoint }) => ({ url, mountpoint }));
    this.drives = [];
    const end = this.#end;
    this.#end = undefined;
    end?.();
  }

  /** Has these drives from now on. */
  show(drives: readonly DriveFacts[]): void {
    this.drives = drives;
    this.#tell();
  }

  #head(): object {
    const isOffline = this.drives.some(({ state }) => state === "offline");
    return { state: isOffline ? "offline" : "fine", sentence: isOffline ? "Offline." : "All is well.", next: null };
  }

  #tell(): void {
    const drives = this.drives.map((drive) => ({ ...drive, key: drive.mountpoint }));
    this.#part?.({ snapshot: { head: this.#head(), lists: { drives }, omitted: {} } });
  }
}

let clock: SimulatedClock;
let shell: MemoryShell;
let agents: PlayedAgents;
let startsAtLogin: boolean;
let desktop: Desktop;

const KEYS = newPair();
const EXE = released("Runnel-app-1.1.0-x64.exe", "the newer app");
let updater: MemoryUpdater;
let logged: string[];

beforeEach(() => {
  clock = new SimulatedClock();
  shell = new MemoryShell();
  agents = new PlayedAgents();
  startsAtLogin = false;
  updater = new MemoryUpdater();
  updater.offered = offerOf("1.1.0", [EXE]);
  updater.file = EXE;
  logged = [];
  desktop = new Desktop({
    clock: clock satisfies Clock,
    shell,
    loginItem: {
      get: () => Promise.resolve(startsAtLogin),
      set: (starts) => {
        startsAtLogin = starts;
        return Promise.resolve();
      },
    },
    connect: () => agents.connect(),
    start: () => agents.start(),
    hasCrashed: () => agents.hasCrashed(),
    updateSource: {
      current: "1.0.0",
      place: { url: "https://example.org/updates.json", keys: [KEYS.key] },
      updater,
      fetchList: () => Promise.resolve(signed(listOf("1.1.0", [EXE], wallMs(clock)), KEYS)),
      look: () => updater.lookAtFile(),
      discard: () => updater.discard(),
      log: (sentence) => logged.push(sentence),
    },
  });
});

async function begin(...words: string[]): Promise<void> {
  void desktop.run(words);
  await settle();
}

describe("the agent", () => {
  test("is started when none runs, and shown", async () => {
    await begin("--quiet");
    expect(agents.starts).toBe(1);
    expect(shell.icon).toMatchObject({ state: "fine", tooltip: "All is well." });
    expect(shell.windows.size).toBe(0);
  });

  test("that was killed is started again, its drives are mapped again, and a person is told", async () => {
    await begin("--quiet");
    agents.show([driveFacts()]);
    await settle();
    agents.end(true);
    await settle();
    expect(shell.icon).toMatchObject({ state: "attention" });
    expect(agents.starts).toBe(1);
    await clock.advance(RETRY_MS);
    await settle();
    expect(agents.starts).toBe(2);
    expect(agents.drives).toMatchObject([{ url: "wss://host:1/docs", mountpoint: "/home/ada/Docs" }]);
    expect(shell.icon).toMatchObject({ state: "fine" });
    expect(shell.notices.map(({ title, body }) => [title, body])).toEqual([
      ["Runnel was started again", "The drive is back."],
    ]);
  });

  test("that cannot be started is tried again, later each time; it is said once", async () => {
    agents.failure = "The agent could not start: the disk is full.";
    await begin("--quiet");
    expect(shell.icon).toMatchObject({ state: "attention", tooltip: agents.failure });
    for (const delayMs of [RETRY_MS, 2 * RETRY_MS, 4 * RETRY_MS]) {
      const before = agents.starts;
      await clock.advance(delayMs - 1);
      await settle();
      expect(agents.starts).toBe(before);
      await clock.advance(1);
      await settle();
      expect(agents.starts).toBe(before + 1);
    }
    expect(shell.notices.map(({ title }) => title)).toEqual(["Runnel Cannot Start"]);
    expect(shell.told).toEqual([]);
    // A person who asks for a window is told, and does not wait for the next attempt.
    shell.choose("Open Runnel");
    await settle();
    expect(shell.told).toEqual([{ title: "Runnel Cannot Start", body: agents.failure }]);
    agents.failure = undefined;
    shell.choose("Open Runnel");
    await settle();
    expect(shell.windows.get("full")?.page.url).toBe("http://127.0.0.1:5/#ticket1");
  });

  test("that a person has stopped is left alone until it is asked for", async () => {
    await begin("--quiet");
    agents.end(false);
    await settle();
    await clock.advance(3_600_000);
    await settle();
    expect(agents.starts).toBe(1);
    expect(shell.icon).toMatchObject({ state: "paused", tooltip: "Runnel was stopped." });
    shell.choose("Start");
    await settle();
    expect(agents.starts).toBe(2);
    expect(shell.icon).toMatchObject({ state: "fine" });
  });
});

describe("windows", () => {
  test("a start opens one, another start shows it, and a new agent gives it a new page", async () => {
    await begin();
    expect(shell.windows.get("full")?.page).toEqual({ kind: "full", url: "http://127.0.0.1:5/#ticket1", invite: "" });
    desktop.startedAgain([]);
    await settle();
    expect(agents.pages).toBe(1);
    agents.end(true);
    await settle();
    expect(shell.windows.size).toBe(0);
    await clock.advance(RETRY_MS);
    await settle();
    expect(shell.windows.get("full")?.page.url).toBe("http://127.0.0.1:5/#ticket2");
  });

  test("a click on the icon shows the popover, another one hides it", async () => {
    await begin("--quiet");
    shell.clickIcon();
    await settle();
    expect(shell.windows.get("popover")?.isVisible).toBe(true);
    shell.clickIcon();
    expect(shell.windows.get("popover")?.isVisible).toBe(false);
    shell.clickIcon();
    expect(shell.windows.get("popover")?.isVisible).toBe(true);
    expect(agents.pages).toBe(1);
  });

  test("a link fills the form and asks the agent for nothing; a broken one is refused", async () => {
    await begin("--quiet");
    desktop.startedAgain(["electron", "--", INVITE]);
    await settle();
    expect(shell.windows.get("full")?.page).toEqual({
      kind: "full",
      url: "http://127.0.0.1:5/add#ticket1",
      invite: INVITE,
    });
    expect(agents.asked.filter((asked) => /^(mount|login)/.test(asked))).toEqual([]);
    desktop.startedAgain(["runnel://host/docs"]);
    expect(shell.told).toEqual([
      { title: "Not an Invite", body: "This link is not a whole invite. Ask for a new one." },
    ]);
  });

  test("a link that comes before the agent is there waits for it", async () => {
    await begin(INVITE);
    expect(shell.windows.get("full")?.page).toMatchObject({ invite: INVITE });
  });
});

describe("drives that are kept", () => {
  test("are mapped when the app starts; one that cannot be is told of, and waits in the menu", async () => {
    agents.resting = [
      { url: "wss://host:1/docs", mountpoint: "/home/ada/Docs" },
      { url: "wss://host:1/gone", mountpoint: "/home/ada/Gone" },
    ];
    await begin("--quiet");
    await settle();
    expect(agents.drives.map(({ mountpoint }) => mountpoint)).toEqual(["/home/ada/Docs"]);
    expect(shell.notices.map(({ body }) => body)).toEqual([
      "One drive is not mapped: map again from the menu of the icon.",
    ]);
    expect(shell.menuLines()).toContain("Gone (not mapped)");
  });
});

describe("the menu", () => {
  test("holds everything", async () => {
    await begin("--quiet");
    agents.lost = [{ url: "wss://host:1/old", mountpoint: "/home/ada/Old" }];
    agents.show([driveFacts({ conflicts: [{ path: "a", conflictCopy: "b", seq: 1, by: "desk", atMs: 1 }] })]);
    await settle();
    expect(shell.menuLines()).toEqual([
      "All is well.",
      "Open Runnel",
      "-",
      "Docs",
      "  Connected.",
      "  Open Folder",
      "  Pause",
      "    For One Hour",
      "    Until Tomorrow Morning",
      "    Until I Resume",
      "  Unmount",
      "Old (not mapped)",
      "  Map Again",
      "  Forget",
      "Add a Drive…",
      "-",
      "Savings",
      "Folders",
      "Conflicts (1)",
      "Settings",
      "  Drives and Servers",
      "  [ ] Start at Login",
      "Help",
      "-",
      "Quit; the Drives Stay",
    ]);
    shell.choose("Docs", "Open Folder");
    shell.choose("Docs", "Unmount");
    shell.choose("Old (not mapped)", "Map Again");
    shell.choose("Settings", "Start at Login");
    shell.choose("Savings");
    shell.choose("Quit; the Drives Stay");
    await settle();
    expect(shell.openedFolders).toEqual(["/home/ada/Docs"]);
    expect(agents.asked).toContain('unmount {"mountpoint":"/home/ada/Docs","force":false}');
    expect(agents.asked).toContain('mount {"url":"wss://host:1/old","mountpoint":"/home/ada/Old"}');
    expect(shell.menuLines()).toContain("  [x] Start at Login");
    expect(new URL(shell.windows.get("full")?.page.url ?? "").pathname).toBe("/savings");
    expect(shell.hasQuit).toBe(true);
  });

  test("pauses a drive, or all, and resumes them", async () => {
    await begin("--quiet");
    const [docs, music] = [driveFacts(), driveFacts({ mountpoint: "/home/ada/Music" })];
    const pause = { sinceMs: 0, untilMs: null, until: "until you resume it", reminders: 0 };
    agents.show([docs, { ...music, pause }]);
    await settle();
    shell.choose("Docs", "Pause", "For One Hour");
    shell.choose("Music", "Resume");
    shell.choose("Pause All Drives", "Until I Resume");
    agents.show([docs, music].map((drive) => ({ ...drive, pause })));
    await settle();
    shell.choose("Resume All Drives");
    await settle();
    const hourMs = Number(clock.wallNs() / 1_000_000n) + 3_600_000;
    expect(agents.asked.filter((each) => /^(pause|resume)/.test(each))).toEqual([
      `pause {"path":"/home/ada/Docs","untilMs":${hourMs}}`,
      'resume {"path":"/home/ada/Music"}',
      'pause {"untilMs":null}',
      "resume {}",
    ]);
    expect(shell.menuLines()).toContain("  Resume");
    agents.show([{ ...docs, pausedFolders: [{ ...pause, path: "Films" }] }]);
    await settle();
    shell.choose("Docs", "Resume Folders");
    await settle();
    expect(agents.asked.at(-1)).toBe('resume {"path":"/home/ada/Docs"}');
  });
});

describe("a newer version", () => {
  const RESTART = "Restart to Update to 1.1.0";

  test("is offered in the menu and told once; a restart is a person's, and leaves the agent alone", async () => {
    await begin("--quiet");
    expect(shell.menuLines().at(-1)).toBe("Quit; the Drives Stay");
    expect(shell.menuLines()).not.toContain(RESTART);
    await clock.advance(FIRST_LOOK_MS);
    await settle();
    expect(shell.menuLines().slice(-2)).toEqual([RESTART, "Quit; the Drives Stay"]);
    expect(shell.notices.map(({ title, body }) => [title, body])).toEqual([
      ["Runnel 1.1.0 is ready", "Choose Restart to Update in the menu of the icon. The drives stay."],
    ]);
    expect(updater.installs).toHaveLength(0);
    const asked = agents.asked.length;
    shell.choose(RESTART);
    await settle();
    expect(updater.installs).toHaveLength(1);
    expect(agents.asked).toHaveLength(asked);
    updater.installs[0]?.(new Error("no"));
    expect(shell.told).toEqual([
      { title: "That Did Not Work", body: "1.1.0 could not be installed. The version that runs stays." },
    ]);
  });

  test("waits while a drive is paused or the agent says that the line is metered", async () => {
    const pause = { sinceMs: 1, untilMs: null, until: "until you resume", reminders: 0 };
    await begin("--quiet");
    agents.show([driveFacts({ pause })]);
    await settle();
    await clock.advance(FIRST_LOOK_MS);
    await settle();
    agents.show([driveFacts()]);
    agents.isMetered = true;
    await settle();
    await clock.advance(LINE_LOOK_MS);
    await settle();
    expect(logged).toEqual(["1.1.0 waits. A drive is paused.", "1.1.0 waits. The line is metered."]);
    expect(updater.downloads).toEqual([]);
    expect(shell.menuLines()).not.toContain(RESTART);
    agents.isMetered = false;
    await clock.advance(LINE_LOOK_MS);
    await settle();
    expect(shell.menuLines()).toContain(RESTART);
  });

  test("that is changed before a person restarts is not installed, and that is said", async () => {
    await begin("--quiet");
    await clock.advance(FIRST_LOOK_MS);
    await settle();
    updater.file = { ...EXE, sizeBytes: 1 };
    updater.offered = undefined;
    shell.choose(RESTART);
    await settle();
    expect(updater.installs).toHaveLength(0);
    expect(shell.told).toMatchObject([{ title: "That Did Not Work" }]);
    expect(shell.menuLines()).not.toContain(RESTART);
  });
});
