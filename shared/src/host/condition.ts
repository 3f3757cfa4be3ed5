// A condition that several wait for, each time anew: all who wait now are told of the next change, or of what failed.

export class Condition {
  #next = newPromise();

  /** Resolves with the next `notify`. @throws what `fail` is given. */
  wait(): Promise<void> {
    return this.#next.promise;
  }

  notify(): void {
    this.#next.resolve();
    this.#next = newPromise();
  }

  fail(error: Error): void {
    this.#next.reject(error);
    this.#next = newPromise();
  }
}

/** It may fail while nobody waits. */
function newPromise(): PromiseWithResolvers<void> {
  const next = Promise.withResolvers<void>();
  next.promise.catch(() => undefined);
  return next;
}
