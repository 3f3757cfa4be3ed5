// A descriptor that is closed only when no call uses it any more: the system gives its number to the next file at once,
// and a late call would then read or write that one.
import { coreAddon } from "./core-addon.ts";
import { systemCall } from "./system-call.ts";

export class HeldDescriptor {
  readonly fd: number;
  #users = 0;
  #isClosed = false;
  #whenUnused: (() => void) | undefined;

  constructor(fd: number) {
    this.fd = fd;
  }

  /** Runs a call with the descriptor. @throws Error after close. */
  async use<T>(operation: string, call: (fd: number) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error(`${operation} after close`);
    this.#users++;
    try {
      return await systemCall(operation, call(this.fd));
    } finally {
      this.#users--;
      if (this.#users === 0) this.#whenUnused?.();
    }
  }

  /** Refuses new calls, waits for those under way, then closes. @throws Error the second time. */
  async close(): Promise<void> {
    if (this.#isClosed) throw new Error("closed twice");
    this.#isClosed = true;
    if (this.#users > 0) {
      await new Promise<void>((resolve) => {
        this.#whenUnused = resolve;
      });
    }
    await systemCall("close", coreAddon().close(this.fd));
  }
}
