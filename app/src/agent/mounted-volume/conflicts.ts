// Conflicts between clients of the volume, as its server lists them: asked for when the feed says that the list is
// another one. What was known last is shown while nobody can be asked.
import type { MountStatus } from "../mount-status.ts";
import type { Session } from "../wire/session.ts";
import { type AskedStatus, askVolumeStatus } from "../wire/volume-status.ts";

export type Conflict = MountStatus["conflicts"][number];

export interface ConflictsDeps {
  session: Session;
  /** Called for each that has come since the drive was first attached. */
  added(conflict: Conflict): void;
  log(message: string, error: unknown): void;
}

export class Conflicts {
  readonly #deps: ConflictsDeps;
  #known: readonly Conflict[] = [];
  /** Seq of the volume when the drive was first attached. */
  #since: number | undefined;
  #isAsking = false;
  /** The list has changed since it was asked for last. */
  #isOld = false;

  constructor(deps: ConflictsDeps) {
    this.#deps = deps;
  }

  list(): Conflict[] {
    return [...this.#known];
  }

  attached(seq: number): void {
    this.#since ??= seq;
  }

  /** The line is there: the server says on the feed if there are any, but not that there are none any more. */
  connected(): void {
    if (this.#known.length > 0) this.changed();
  }

  /** The server's list may be another one. */
  changed(): void {
    this.#isOld = true;
    if (!this.#isAsking) void this.#ask();
  }

  /** Asks the server how its volume is, and takes what it says of conflicts. @throws as `askVolumeStatus` */
  async status(): Promise<AskedStatus> {
    const asked = await askVolumeStatus(this.#deps.session);
    this.#take(asked.conflicts);
    return asked;
  }

  /** A person has seen to what the path is a conflict of. @returns the count. @throws Unreachable, ReadOnly */
  async settle(path: string): Promise<number> {
    const { session } = this.#deps;
    const { conflicts } = await this.status();
    const settled = conflicts.filter((each) => each.path === path || each.conflictCopy === path);
    for (const { seq } of settled) await session.withRequestTimeout(session.call("settle", { seq }), "settle");
    if (settled.length > 0) await this.status();
    return settled.length;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#isOld) {
      this.#isOld = false;
      try {
        await this.status();
      } catch (error) {
        // The server says so once more when the line is back.
        this.#deps.log("The server could not be asked for conflicts.", error);
      }
    }
    this.#isAsking = false;
  }

  #take(now: readonly Conflict[]): void {
    const known = new Set(this.#known.map(({ seq }) => seq));
    const since = this.#since ?? Infinity;
    this.#known = now;
    for (const conflict of now) if (conflict.seq > since && !known.has(conflict.seq)) this.#deps.added(conflict);
  }
}
