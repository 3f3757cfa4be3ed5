// Two carriers that are connected in memory, without a limit: for tests of what is spoken over them. Texts arrive in a
// later turn.
import type { Carrier } from "../../src/calls/carrier.ts";

export class MemoryCarrier implements Carrier {
  other: MemoryCarrier | undefined;
  #room: { promise: Promise<void>; resolve(): void } | undefined;
  #take: (text: string) => void = () => undefined;
  #closed: (error?: unknown) => void = () => undefined;
  #isClosed = false;

  send(text: string): Promise<void> | undefined {
    const { other } = this;
    if (this.#isClosed) return undefined;
    queueMicrotask(() => {
      if (other !== undefined && !other.#isClosed) other.#take(text);
    });
    return this.#room?.promise;
  }

  onText(take: (text: string) => void): void {
    this.#take = take;
  }

  onClose(closed: (error?: unknown) => void): void {
    this.#closed = closed;
  }

  /** There is no room until the function that it returns is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#room = { promise, resolve };
    return () => {
      this.#room = undefined;
      resolve();
    };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#room?.resolve();
    queueMicrotask(() => {
      this.#closed();
      this.other?.close();
    });
  }
}

export function memoryCarriers(): [MemoryCarrier, MemoryCarrier] {
  const [one, two] = [new MemoryCarrier(), new MemoryCarrier()];
  one.other = two;
  two.other = one;
  return [one, two];
}
