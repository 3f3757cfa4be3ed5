// Node ids that the server gave to this instance for what it makes: valid within one epoch.
import { checkResult } from "@runnel/shared";
import type { SessionDeps } from "./session-deps.ts";

interface Asked {
  readonly isResponsive: boolean;
  /** @throws Unreachable */
  ask(name: "newNodes", body: object): Promise<unknown>;
}

export class NodeRange {
  #next = 0;
  #end = 0;
  #epoch = "";
  #asked: Promise<void> | undefined;
  readonly #session: Asked;
  readonly #reserved: SessionDeps["reservedNodes"];

  /** `reserved`: where further ids come from while there is no line. */
  constructor(session: Asked, reserved: SessionDeps["reservedNodes"]) {
    this.#session = session;
    this.#reserved = reserved;
  }

  get isEmpty(): boolean {
    return this.#next >= this.#end;
  }

  /** Takes the range that an attach brought; ids of another epoch mean nothing in this one. */
  attached(epoch: string, given: readonly [first: number, count: number] | null): void {
    if (given !== null) this.#take(given);
    else if (epoch !== this.#epoch) this.#take([0, 0]);
    this.#epoch = epoch;
  }

  /** @throws Unreachable when the range is used up and there are no further ones. */
  async newNode(): Promise<number> {
    const [node] = await this.newNodes(1);
    return node;
  }

  /** Takes so many at the most, at least one. @throws as newNode */
  async newNodes(most: number): Promise<readonly [first: number, count: number]> {
    while (this.isEmpty) {
      this.#asked ??= this.#further()
        .then((range) => this.#take(range))
        .finally(() => {
          this.#asked = undefined;
        });
      await this.#asked;
    }
    const first = this.#next;
    this.#next = Math.min(first + most, this.#end);
    return [first, this.#next - first];
  }

  async #further(): Promise<readonly [first: number, count: number]> {
    const reserved = this.#session.isResponsive ? undefined : await this.#reserved?.();
    return reserved ?? checkResult("newNodes", await this.#session.ask("newNodes", {}));
  }

  #take([first, count]: readonly [number, number]): void {
    this.#next = first;
    this.#end = first + count;
  }
}
