// Files with a lease: asked now and then whether somebody waits for its end. The system's own notice is a signal to the
// whole process, which belongs to whoever runs it.

/** The most that a program which wants to write to a leased file waits longer. */
const ASK_MS = 10;

export class LeasedFiles {
  readonly #leased = new Map<object, { stands: () => boolean; wanted: () => void }>();
  #timer: NodeJS.Timeout | undefined;

  /** `wanted` is called once, when `stands` is false for the first time. */
  add(file: object, stands: () => boolean, wanted: () => void): void {
    this.#leased.set(file, { stands, wanted });
    this.#timer ??= setInterval(() => this.#ask(), ASK_MS).unref();
  }

  delete(file: object): void {
    this.#leased.delete(file);
    if (this.#leased.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #ask(): void {
    for (const [file, { stands, wanted }] of this.#leased) {
      if (stands()) continue;
      this.delete(file);
      wanted();
    }
  }
}
