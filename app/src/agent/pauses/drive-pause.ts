// The pause of a drive: until its end nothing crosses the line. What is here stays readable, what is changed waits in
// the journal where the mode allows that, and nobody else waits for this client, whose leases are given back first.
import type { Clock, Timer } from "@runnel/shared";
import type { MountStatus, Pause } from "../mount-status.ts";
import type { MountSettings } from "../mount.ts";
import type { HappeningKind } from "../view/mount-watch.ts";
import type { Session } from "../wire/session.ts";
import { untilWords } from "./pause-words.ts";

export interface DrivePauseDeps {
  /** Has the pause, which outlives this process. */
  settings: Pick<MountSettings, "mountpoint" | "pause">;
  clock: Clock;
  session: Pick<Session, "suspend" | "wake">;
  happened(kind: HappeningKind, path: string, detail: string): void;
}

/** The wall clock may be set, and a machine may sleep: an end is looked for so often at the least. */
const LOOK_EVERY_MS = 30_000;
/** Interval at which a person is reminded of a pause without an end. */
export const REMIND_EVERY_MS = 24 * 3_600_000;

export class DrivePause {
  readonly #deps: DrivePauseDeps;
  #timer: Timer | undefined;
  #reminders = 0;

  constructor(deps: DrivePauseDeps) {
    this.#deps = deps;
  }

  /** Returns null while there is none. */
  status(): MountStatus["pause"] {
    const { pause } = this.#deps.settings;
    return pause === undefined ? null : { ...pause, until: untilWords(pause, this.#nowMs), reminders: this.#reminders };
  }

  /** Takes what a former mount left, before anything is asked of the server. */
  async begin(): Promise<void> {
    const { pause } = this.#deps.settings;
    if (pause === undefined) return;
    this.#reminders = this.#remindersDue(pause);
    await this.#follow();
  }

  /** Takes the pause that the settings have now. Resolves when nothing crosses the line any more, or all may again. */
  async changed(): Promise<void> {
    const { pause } = this.#deps.settings;
    this.#reminders = 0;
    if (pause === undefined) this.#end("");
    else {
      this.#deps.happened("paused", "", untilWords(pause, this.#nowMs));
      await this.#follow();
    }
  }

  close(): void {
    this.#timer?.cancel();
  }

  get #nowMs(): number {
    return Number(this.#deps.clock.wallNs() / 1_000_000n);
  }

  async #follow(): Promise<void> {
    const { settings, clock, session, happened } = this.#deps;
    const { pause } = settings;
    this.#timer?.cancel();
    if (pause === undefined) return;
    const nowMs = this.#nowMs;
    if (pause.untilMs !== null && pause.untilMs <= nowMs) return this.#end("Its time was over.");
    const due = this.#remindersDue(pause);
    if (due > this.#reminders) {
      this.#reminders = due;
      happened(
        "paused",
        "",
        `${untilWords(pause, nowMs)}, since ${new Date(pause.sinceMs).toLocaleDateString("en-GB")}`,
      );
    }
    const leftMs = Math.min(LOOK_EVERY_MS, pause.untilMs === null ? Infinity : pause.untilMs - nowMs);
    this.#timer = clock.after(leftMs, () => void this.#follow());
    await session.suspend(
      `Paused ${untilWords(pause, nowMs)}: nothing is sent or fetched. Resume it: runnel resume ${settings.mountpoint}`,
    );
  }

  #remindersDue({ sinceMs, untilMs }: Pause): number {
    return untilMs === null ? Math.max(0, Math.floor((this.#nowMs - sinceMs) / REMIND_EVERY_MS)) : 0;
  }

  #end(why: string): void {
    const { settings, session, happened } = this.#deps;
    this.#timer?.cancel();
    delete settings.pause;
    session.wake();
    happened("resumed", "", why);
  }
}
