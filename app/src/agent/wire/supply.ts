// The client's answer to `lack`: bytes of a version that it committed, as far as they are still here (W160).
import type { Channel, VersionId } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";

/** Other items go between such pieces. */
const PIECE_BYTES = 64 * 1024;

/**
 * `read` gives a range of the version, or undefined when not all of it is here. Ends quietly with the connection: the
 * server asks again on the next one.
 */
export async function supply(
  feed: Channel,
  { node, seq }: VersionId,
  ranges: readonly (readonly [offset: number, length: number])[],
  read: (offset: number, length: number) => Promise<Uint8Array | undefined>,
): Promise<void> {
  try {
    for (const [offset, length] of ranges) {
      for (let done = 0; done < length; done += PIECE_BYTES) {
        const bytes = await read(offset + done, Math.min(PIECE_BYTES, length - done));
        if (bytes !== undefined) feed.send(["have", [node, seq], offset + done, bytes]);
      }
    }
    feed.send(["haveNot", [node, seq]]);
  } catch (error) {
    if (!isRunnelError(error)) throw error;
  }
}
