// Records of what the drive has answered before this side heard of it: there is no way back, so that each is tried
// until the journal has space for it.
import { type Clock, isRunnelError, sleep } from "@runnel/shared";

export interface RecordingsDeps {
  clock: Clock;
  log(message: string, error: unknown): void;
}

/** Interval at which it is tried again to record what the journal had no space for. */
const AGAIN_MS = 1_000;

export class Recordings {
  readonly #deps: RecordingsDeps;
  /** First attempts at what is not recorded yet. */
  readonly #first = new Set<Promise<unknown>>();
  /** Failure of the last attempt; it was logged. */
  #problem: unknown;
  /** Until it is tried again. */
  #pause: Promise<void> | undefined;
  #isEnding = false;

  constructor(deps: RecordingsDeps) {
    this.#deps = deps;
  }

  /**
   * Records, however often that fails for want of space; `record` may say that it is not wanted any more. @throws what
   * it fails with when the drive has ended, or the journal is closed: it is in the drive's log only.
   */
  async untilDone(record: () => Promise<void> | true): Promise<void> {
    // While others wait to be tried again it waits with them: all are recorded in their order.
    const first = this.#pause === undefined ? Promise.resolve(record()) : Promise.reject(this.#problem);
    this.#first.add(first);
    try {
      for (let attempt = first; !(await this.#isDone(attempt)); attempt = Promise.resolve(record())) {
        this.#pause ??= sleep(this.#deps.clock, AGAIN_MS).finally(() => (this.#pause = undefined));
        await this.#pause;
      }
    } finally {
      this.#first.delete(first);
    }
  }

  /** Resolves when all that programs were answered before is in the journal. @throws what that fails with. */
  async done(): Promise<void> {
    await Promise.all(this.#first);
  }

  /** Lets what fails from here on be. */
  end(): void {
    this.#isEnding = true;
  }

  async #isDone(attempt: Promise<void | true>): Promise<boolean> {
    try {
      await attempt;
      if (this.#pause === undefined) this.#problem = undefined;
      return true;
    } catch (error) {
      if (this.#isEnding || isRunnelError(error, "Interrupted")) throw error;
      if (this.#problem === undefined) this.#deps.log("Changes could not be recorded yet.", error);
      this.#problem = error;
      return false;
    }
  }
}
