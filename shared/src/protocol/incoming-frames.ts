// Frames of the other side that wait for their turn, or to be unfolded: they are handled one after another, in the
// order in which they came.
import { type Frame, FRAME } from "./frame.ts";
import { type HeldBytes, WAITING_BYTES } from "./held-bytes.ts";

export interface IncomingDeps {
  /** Counts what waits. */
  held: HeldBytes;
  /** Resolves when so many bytes may be handled. */
  turn(bytes: number): Promise<void>;
  unfold(payload: Uint8Array): Promise<Uint8Array>;
  /** Returns true for a frame that nobody handles any more. */
  isUnwanted(frame: Frame): boolean;
  handle(frame: Frame, payload: Uint8Array): void;
  refuse(error: unknown): void;
}

interface WaitingFrame {
  frame: Frame;
  /** Size in memory, unfolded. */
  bytes: number;
}

export class IncomingFrames {
  readonly #deps: IncomingDeps;
  /** Frames that came last, in order, and those before them, the next one last: no end costs by the length. */
  #latest: WaitingFrame[] = [];
  #next: WaitingFrame[] = [];
  #isHandling = false;

  constructor(deps: IncomingDeps) {
    this.#deps = deps;
  }

  /** True while a frame waits or is being unfolded. */
  get isBehind(): boolean {
    return this.#isHandling;
  }

  /** @throws TooLarge: more waits than may. */
  put(frame: Frame, bytes: number): void {
    this.#deps.held.add(bytes + WAITING_BYTES);
    this.#latest.push({ frame: { ...frame, payload: withoutSlab(frame.payload) }, bytes });
    if (!this.#isHandling) void this.#handleAll();
  }

  /** Drops all that waits: the connection has ended. */
  drop(): void {
    for (const { bytes } of [...this.#next, ...this.#latest]) this.#deps.held.less(bytes + WAITING_BYTES);
    this.#next = [];
    this.#latest = [];
  }

  async #handleAll(): Promise<void> {
    this.#isHandling = true;
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      try {
        await this.#handleOne(next);
      } catch (error) {
        this.#deps.refuse(error);
      }
    }
    this.#isHandling = false;
  }

  #take(): WaitingFrame | undefined {
    if (this.#next.length === 0) {
      this.#next = this.#latest.toReversed();
      this.#latest = [];
    }
    return this.#next.pop();
  }

  async #handleOne({ frame, bytes }: WaitingFrame): Promise<void> {
    const { held, turn, unfold, isUnwanted, handle } = this.#deps;
    // Bulk is paced by its acknowledgements.
    if (frame.kind !== FRAME.bulk && !isUnwanted(frame)) await turn(bytes);
    const isUnfolded = frame.isCompressed && !isUnwanted(frame);
    const payload = isUnfolded ? await unfold(frame.payload) : frame.payload;
    held.less(bytes + WAITING_BYTES);
    if (!isUnwanted(frame)) handle(frame, payload);
  }
}

/** Returns bytes that keep no more memory than they take: what is read from a socket shares its slab with much else. */
function withoutSlab(payload: Uint8Array): Uint8Array {
  return payload.length < payload.buffer.byteLength / 2 ? new Uint8Array(payload) : payload;
}
