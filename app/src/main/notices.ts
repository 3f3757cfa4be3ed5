// Decides what a person is notified of, from one state of the agent to the next: a conflict that is new, a drive that
// was lost for a while or is back, what the server refuses, a problem such as a full disk. What was so already when the
// app started is on the icon, and is not notified of. Never a flood: a few at a time, then one that counts the rest.
import type { Clock, Timer } from "@runnel/shared";
import { type DriveFacts, nameOf } from "./agent-state.ts";
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

  #compare(drive: DriveFacts, before: KnownDrive): KnownDrive {
    const now = factsOf(drive);
    const name = nameOf(drive.mountpoint);
    const paths = [...now.conflicts].filter((path) => !before.conflicts.has(path));
    const [first] = paths;
    if (paths.length === 1 && first !== undefined)
      this.tell({ title: `${nameOf(first)} was changed twice`, body: conflictOf(name, first), opens: "/conflicts" });
    else if (paths.length > 1)
      this.tell({
        title: `${paths.length} files were changed twice`,
        body: `They were changed in two places, in ${name}. Both versions of each are kept.`,
        opens: "/conflicts",
      });
    if (now.refusal !== null && before.refusal === null)
      this.tell({ title: `${name} needs you`, body: now.refusal, opens: "/" });
    if (now.reminders > before.reminders)
      this.tell({
        title: `${drive.pause === null ? `A part of ${name}` : name} is still paused`,
        body: drive.sentence,
        opens: "/",
      });
    for (const [likeness, problem] of now.problems)
      if (!before.problems.has(likeness)) this.tell({ title: `${name} has a problem`, body: problem, opens: "/" });
    return { ...now, ...this.#followLine(drive, before) };
  }

  #followLine(drive: DriveFacts, { timer, isToldOffline }: KnownDrive): Pick<KnownDrive, "timer" | "isToldOffline"> {
    const { mountpoint, state, refusal, pause, unsentFiles, unsentNames } = drive;
    const name = nameOf(mountpoint);
    if (state === "offline" && refusal === null && pause === null) {
      if (isToldOffline) return { timer: undefined, isToldOffline };
      return { timer: timer ?? this.#clock.after(OFFLINE_MS, () => this.#lost(mountpoint)), isToldOffline };
    }
    timer?.cancel();
    if (isToldOffline && state !== "offline")
      this.tell({
        title: `${name} is back`,
        body: unsentFiles + unsentNames === 0 ? "Everything is saved on the server." : "What waited is being sent.",
        opens: "/",
      });
    return { timer: undefined, isToldOffline: isToldOffline && state === "offline" };
  }

  #lost(mountpoint: string): void {
    const known = this.#drives.get(mountpoint);
    if (known === undefined) return;
    this.#drives.set(mountpoint, { ...known, timer: undefined, isToldOffline: true });
    const body = "The server does not answer. Files that are kept here can be read; what you change is sent later.";
    this.tell({ title: `${nameOf(mountpoint)} is offline`, body, opens: "/" });
  }

  #endWindow(): void {
    const held = this.#held;
    this.#window = undefined;
    this.#shown = 0;
    this.#held = 0;
    if (held === 0) return;
    const title = held === 1 ? "One more thing happened" : `${held} more things happened`;
    this.tell({ title, body: "Open Runnel to see them.", opens: "/" });
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

function conflictOf(drive: string, path: string): string {
  return `${path} in ${drive} was changed in two places. Both are kept: compare them.`;
}
