// The client's answers to `lack`: bytes of a version that it committed, as far as they are still here (W160). One is
// answered after another, and no faster than the line takes them.
import type { Channel, Clock, Connection, VersionId } from "@runnel/shared";
import { LIMITS, RunnelError, isRunnelError, sleep } from "@runnel/shared";

/** Other items go between such pieces. */
const PIECE_BYTES = 64 * 1024;
/** No further piece is read while more than this waits to be sent. */
const UNSENT_BYTES_MAX = 4 * PIECE_BYTES;
const POLL_MS = 5;

export interface SupplyDeps {
  clock: Clock;
  connection: Pick<Connection, "isOpen"> & { readonly link: Pick<Connection["link"], "bufferedBytes"> };
  feed: Pick<Channel, "send">;
  /** Reads a range of the version. @returns undefined when not all of it is here. */
  read(version: VersionId, offset: number, length: number): Promise<Uint8Array | undefined>;
}

type Ranges = readonly (readonly [offset: number, length: number])[];

export class Supply {
  readonly #deps: SupplyDeps;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: SupplyDeps) {
    this.#deps = deps;
  }

  /**
   * Answers once those before have been answered. Ends quietly with the connection: the server asks again on the next
   * one. @throws Invalid when it asks for more than may be asked for, TooLarge when too many wait.
   */
  ask(version: VersionId, ranges: Ranges): void {
    if (ranges.reduce((sum, [, length]) => sum + length, 0) > LIMITS.lackedBytes)
      throw new RunnelError("Invalid", "feed", "The server asks for too much of a version once more.", {
        detail: { limit: LIMITS.lackedBytes, rule: "W160" },
      });
    if (this.#waiting >= LIMITS.lacks)
      throw new RunnelError("TooLarge", "feed", "The server asks on without waiting for an answer.", {
        detail: { limit: LIMITS.lacks, rule: "W160" },
      });
    this.#waiting++;
    this.#last = this.#last.then(() => this.#answer(version, ranges)).finally(() => this.#waiting--);
  }

  async #answer(version: VersionId, ranges: Ranges): Promise<void> {
    const { clock, connection, feed, read } = this.#deps;
    const { node, seq } = version;
    try {
      for (const [offset, length] of ranges) {
        for (let done = 0; done < length; done += PIECE_BYTES) {
          if (!connection.isOpen) return;
          const bytes = await read(version, offset + done, Math.min(PIECE_BYTES, length - done));
          if (bytes === undefined) continue;
          feed.send(["have", [node, seq], offset + done, bytes]);
          while (connection.isOpen && connection.link.bufferedBytes > UNSENT_BYTES_MAX) await sleep(clock, POLL_MS);
        }
      }
      feed.send(["haveNot", [node, seq]]);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
    }
  }
}
