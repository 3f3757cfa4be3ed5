// Supplies: bytes of a commit that the server needs once more from the client that made it, since a program on the
// server has destroyed what the commit copied. Asked for on the client's feed, as the last resort; answered there,
// piece by piece.
import type { Clock, Timer, VersionId } from "@runnel/shared";
import { LIMITS, RunnelError } from "@runnel/shared";
import type { ByteRange, TakeBytes } from "../content/content-store.ts";

/** Applying waits so long for a client that connects again, and for each piece. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Asks on a client's feed, if it is connected. */
export type AskClient = (instance: string, version: VersionId, ranges: readonly ByteRange[]) => void;

interface Asked {
  instance: string;
  version: VersionId;
  ranges: readonly ByteRange[];
  take: TakeBytes;
  /** Pieces are taken one after another. */
  taking: Promise<void>;
  leftBytes: number;
  timer: Timer | undefined;
  end(): void;
}

export class Supplies {
  readonly #clock: Clock;
  readonly #ask: AskClient;
  /** A client that did not come is not waited for again until it has. */
  readonly #gone = new Set<string>();
  readonly #asked = new Map<string, Asked>();

  constructor(clock: Clock, ask: AskClient) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /**
   * Resolves when the client has said all that it has of the ranges, or does not come. `take` is given pieces of them.
   * @throws what that does.
   */
  async ask(instance: string, version: VersionId, ranges: readonly ByteRange[], take: TakeBytes): Promise<void> {
    const leftBytes = ranges.reduce((sum, { length }) => sum + length, 0);
    if (leftBytes > LIMITS.lackedBytes || ranges.length > LIMITS.lackedRanges || this.#gone.has(instance)) return;
    const ended = Promise.withResolvers<void>();
    const asked: Asked = {
      instance,
      version,
      ranges,
      take,
      taking: Promise.resolve(),
      leftBytes,
      timer: undefined,
      end: ended.resolve,
    };
    this.#asked.set(keyOf(instance, version), asked);
    this.#wait(asked);
    this.#ask(instance, version, ranges);
    await ended.promise;
    this.#asked.delete(keyOf(instance, version));
    asked.timer?.cancel();
    await asked.taking;
  }

  /** A client is there. */
  attached(instance: string): void {
    this.#gone.delete(instance);
    for (const asked of this.#asked.values())
      if (asked.instance === instance) this.#ask(instance, asked.version, asked.ranges);
  }

  /** @throws Invalid for bytes that were not asked for. */
  have(instance: string, version: VersionId, offset: number, bytes: Uint8Array): void {
    const asked = this.#asked.get(keyOf(instance, version));
    // Come too late.
    if (asked === undefined) return;
    const end = offset + bytes.length;
    if (!asked.ranges.some((range) => offset >= range.offset && end <= range.offset + range.length))
      throw new RunnelError("Invalid", "have", "Bytes came that were not asked for.", { detail: { rule: "W160" } });
    asked.leftBytes -= bytes.length;
    asked.taking = asked.taking.then(() => asked.take(offset, bytes));
    asked.taking.catch(() => asked.end());
    if (asked.leftBytes <= 0) asked.end();
    else this.#wait(asked);
  }

  /** The client has no more of it. */
  haveNot(instance: string, version: VersionId): void {
    this.#asked.get(keyOf(instance, version))?.end();
  }

  #wait(asked: Asked): void {
    asked.timer?.cancel();
    asked.timer = this.#clock.after(ANSWER_TIMEOUT_MS, () => {
      this.#gone.add(asked.instance);
      asked.end();
    });
  }

  close(): void {
    for (const asked of this.#asked.values()) asked.end();
  }
}

function keyOf(instance: string, { node, seq }: VersionId): string {
  return `${instance} ${node}.${seq}`;
}
