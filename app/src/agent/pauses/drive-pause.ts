// The pause of a drive: until its end nothing crosses the line. What is here stays readable, what is changed waits in
// the journal where the mode allows that, and nobody else waits for this client, whose leases are given back first.
import type { Clock } from "@runnel/shared";
import type { MountStatus } from "../mount-status.ts";
import type { MountSettings } from "../mount.ts";
import type { HappeningKind } from "../view/mount-watch.ts";
import type { Session } from "../wire/session.ts";
import { PauseTerm } from "./pause-term.ts";

export interface DrivePauseDeps {
  /** Has the pause, which outlives this process. */
  settings: Pick<MountSettings, "mountpoint" | "pause">;
  clock: Clock;
  session: Pick<Session, "suspend" | "wake">;
  happened(kind: HappeningKind, path: string, detail: string): void;
}

export class DrivePause {
  readonly #deps: DrivePauseDeps;
  #term: PauseTerm | undefined;
  /** Resolves when nothing crosses the line any more. */
  #suspended: Promise<void> = Promise.resolve();

  constructor(deps: DrivePauseDeps) {
    this.#deps = deps;
  }

  /** Returns null while there is none. */
  status(): MountStatus["pause"] {
    return this.#term?.status() ?? null;
  }

  /** Takes what a former mount left, before anything is asked of the server. */
  async begin(): Promise<void> {
    this.#term = this.#termNow();
    this.#term?.follow();
    await this.#suspended;
  }

  /** Takes the pause that the settings have now. Resolves when nothing crosses the line any more, or all may again. */
  async changed(): Promise<void> {
    this.#term?.close();
    this.#term = this.#termNow();
    if (this.#term === undefined) return this.#end("");
    this.#deps.happened("paused", "", this.#term.words);
    this.#term.follow();
    await this.#suspended;
  }

  close(): void {
    this.#term?.close();
  }

  #termNow(): PauseTerm | undefined {
    const { settings, clock, session, happened } = this.#deps;
    if (settings.pause === undefined) return undefined;
    return new PauseTerm(settings.pause, {
      clock,
      over: () => this.#end("Its time was over."),
      goesOn: (words) => {
        this.#suspended = session.suspend(
          `Paused ${words}: nothing is sent or fetched. Resume it: runnel resume ${settings.mountpoint}`,
        );
      },
      remind: (words) => happened("paused", "", words),
    });
  }

  #end(why: string): void {
    const { settings, session, happened } = this.#deps;
    this.#term?.close();
    this.#term = undefined;
    this.#suspended = Promise.resolve();
    delete settings.pause;
    session.wake();
    happened("resumed", "", why);
  }
}
