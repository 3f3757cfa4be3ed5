// Files that were made by an exclusive CREATE, by the client's number for it: sent again, it succeeds. Kept for a
// while and for one life of the drive, so that a client that sends it again after that is told that the name exists.

const KEPT_MAX = 1024;

export class MadeOnce {
  readonly #numbers = new Map<number, string>();

  note(node: number, number: Uint8Array): void {
    for (const oldest of this.#numbers.keys()) {
      if (this.#numbers.size < KEPT_MAX) break;
      this.#numbers.delete(oldest);
    }
    this.#numbers.set(node, Buffer.from(number).toString("hex"));
  }

  isOf(node: number, number: Uint8Array): boolean {
    return this.#numbers.get(node) === Buffer.from(number).toString("hex");
  }
}
