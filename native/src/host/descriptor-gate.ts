// Bounds the files that a process has open at once through its disks. Beyond a bound an opening waits until another
// file is closed; where the system has no descriptor left, it is tried again.
import { type Clock, isRunnelError } from "@runnel/shared/model";

/** Whoever waits may have a file open that the others wait for: none waits longer. */
const WAIT_MS = 1000;
/** The drives close what they can spare, sockets end. */
const AGAIN_MS = 20;
const TRIES_MAX = 500;

export class DescriptorGate {
  readonly #clock: Clock;
  readonly #most: number;
  #open = 0;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  /** Opens when there is room; what it has opened counts until `leave`. */
  async enter<T>(open: () => Promise<T>): Promise<T> {
    if (this.#open >= this.#most) await this.#turn(WAIT_MS);
    this.#open++;
    try {
      return await this.#opened(open);
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  leave(): void {
    this.#open--;
    const [next] = this.#waiting;
    next?.();
  }

  async #opened<T>(open: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await open();
      } catch (error) {
        if (!isExhausted(error) || tries === TRIES_MAX) throw error;
      }
      await this.#turn(AGAIN_MS);
    }
  }

  /** Resolves when another file was closed, in the order of the calls, or that time has passed. */
  #turn(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        timer.cancel();
        this.#waiting.delete(go);
        resolve();
      };
      const timer = this.#clock.after(withinMs, go);
      this.#waiting.add(go);
    });
  }
}

/** The process, or the system, has as many files open as it may. */
function isExhausted(error: unknown): boolean {
  const { code } = (isRunnelError(error) ? (error.cause ?? {}) : {}) as { code?: unknown };
  return code === "EMFILE" || code === "ENFILE";
}
