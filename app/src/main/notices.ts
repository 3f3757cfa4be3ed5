// Decides what a person is notified of, from one state of the agent to the next: a conflict that is new, a drive that
// was lost for a while or is back, what the server refuses, a problem such as a full disk. What was so already when the
// app started is on the icon, and is not notified of. Never a flood: a few at a time, then one that counts the rest.
import type { Clock, Timer } from "@runnel/shared";
import { type DriveFacts, nameOf } from "./agent-state.ts";
import { say } from "./say.ts";
import type { Route } from "./tray-menu.ts";

export interface Notice {
  title: string;
  body: string;
  /** Page that a click opens. */
  opens: Route;
}

/** A drive that is back within this time was never lost, for a person. */
export const OFFLINE_MS = 10_000;
/** Notices that are shown within a window of time; what comes beyond is counted, and told when the window ends. */
export const NOTICES_MAX = 3;
export const WINDOW_MS = 60_000;

interface KnownDrive {
  conflicts: ReadonlySet<string>;
  /** Sentences by what stays the same of them: a figure that changes is no new problem. */
  problems: ReadonlyMap<string, string>;
  refusal: string | null;
  /** Number of reminders of a pause that a person was to get. */
  reminders: number;
  /** Runs while it is offline and nobody was told. */
  timer: Timer | undefined;
  isToldOffline: boolean;
}

export class Notices {
  readonly #clock: Clock;
  readonly #notify: (notice: Notice) => void;
  readonly #drives = new Map<string, KnownDrive>();
  #isFirst = true;
  #window: Timer | undefined;
  #shown = 0;
  #held = 0;

  constructor(clock: Clock, notify: (notice: Notice) => void) {
    this.#clock = clock;
    this.#notify = notify;
  }

  /** Takes how the drives are now. */
  update(drives: readonly DriveFacts[]): void {
    const gone = new Set(this.#drives.keys());
    for (const drive of drives) {
      gone.delete(drive.mountpoint);
      const known = this.#drives.get(drive.mountpoint);
      // A drive that was added while the app runs is told of from its first moment.
      const before = known ?? (this.#isFirst ? factsOf(drive) : NOTHING);
      this.#drives.set(drive.mountpoint, this.#compare(drive, before));
    }
    for (const mountpoint of gone) {
      this.#drives.get(mountpoint)?.timer?.cancel();
      this.#drives.delete(mountpoint);
    }
    this.#isFirst = false;
  }

  /** Tells at once, within the bound. */
  tell(notice: Notice): void {
    this.#window ??= this.#clock.after(WINDOW_MS, () => this.#endWindow());
    if (this.#shown < NOTICES_MAX) {
      this.#shown++;
      this.#notify(notice);
    } else this.#held++;
  }

  close(): void {
    this.#window?.cancel();
    for (const { timer } of this.#drives.values()) timer?.cancel();
  }

  #compare(facts: DriveFacts, before: KnownDrive): KnownDrive {
    const now = factsOf(facts);
    const drive = nameOf(facts.mountpoint);
    const paths = [...now.conflicts].filter((path) => !before.conflicts.has(path));
    const [first] = paths;
    if (paths.length === 1 && first !== undefined)
      this.tell({
        title: say("conflictTitle", { name: nameOf(first) }),
        body: say("conflict", { path: first, drive }),
        opens: "/conflicts",
      });
    else if (paths.length > 1)
      this.tell({
        title: say("conflictsTitle", { count: paths.length }),
        body: say("conflicts", { drive }),
        opens: "/conflicts",
      });
    if (now.refusal !== null && before.refusal === null)
      this.tell({ title: say("refusedTitle", { drive }), body: now.refusal, opens: "/" });
    if (now.reminders > before.reminders)
      this.tell({
        title: say(facts.pause === null ? "partStillPausedTitle" : "stillPausedTitle", { drive }),
        body: facts.sentence,
        opens: "/",
      });
    for (const [likeness, problem] of now.problems)
      if (!before.problems.has(likeness))
        this.tell({ title: say("problemTitle", { drive }), body: problem, opens: "/" });
    return { ...now, ...this.#followLine(facts, before) };
  }

  #followLine(facts: DriveFacts, { timer, isToldOffline }: KnownDrive): Pick<KnownDrive, "timer" | "isToldOffline"> {
    const { mountpoint, state, refusal, pause, unsentFiles, unsentNames } = facts;
    if (state === "offline" && refusal === null && pause === null) {
      if (isToldOffline) return { timer: undefined, isToldOffline };
      return { timer: timer ?? this.#clock.after(OFFLINE_MS, () => this.#lost(mountpoint)), isToldOffline };
    }
    timer?.cancel();
    if (isToldOffline && state !== "offline")
      this.tell({
        title: say("backTitle", { drive: nameOf(mountpoint) }),
        body: say(unsentFiles + unsentNames === 0 ? "backSaved" : "backSending"),
        opens: "/",
      });
    return { timer: undefined, isToldOffline: isToldOffline && state === "offline" };
  }

  #lost(mountpoint: string): void {
    const known = this.#drives.get(mountpoint);
    if (known === undefined) return;
    this.#drives.set(mountpoint, { ...known, timer: undefined, isToldOffline: true });
    const drive = nameOf(mountpoint);
    this.tell({ title: say("offlineTitle", { drive }), body: say("offline"), opens: "/" });
  }

  #endWindow(): void {
    const held = this.#held;
    this.#window = undefined;
    this.#shown = 0;
    this.#held = 0;
    if (held === 0) return;
    this.tell({ title: say("moreTitle", { count: held }), body: say("more"), opens: "/" });
  }
}

const NOTHING: KnownDrive = {
  conflicts: new Set(),
  problems: new Map(),
  refusal: null,
  reminders: 0,
  timer: undefined,
  isToldOffline: false,
};

function factsOf({ conflicts, problems, refusal, pause, pausedFolders }: DriveFacts): KnownDrive {
  return {
    ...NOTHING,
    conflicts: new Set(conflicts.map(({ path }) => path)),
    problems: new Map(problems.map((problem) => [problem.replaceAll(/\d+/g, "0"), problem])),
    refusal,
    reminders: pausedFolders.reduce((sum, { reminders }) => sum + reminders, pause?.reminders ?? 0),
  };
}
