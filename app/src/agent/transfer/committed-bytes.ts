// Reads what is still here of a version that was committed from here, for a server that has lost bytes of it.
import type { VersionId } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";

/** @returns undefined when not all of the range is here. */
export async function bytesOfCommitted(
  cache: Cache,
  version: VersionId,
  offset: number,
  length: number,
): Promise<Uint8Array | undefined> {
  const content = cache.find(version);
  if (content === undefined) return undefined;
  using hold = cache.hold(content);
  try {
    return await cache.read(hold.content, offset, length);
  } catch (error) {
    if (isRunnelError(error)) return undefined;
    throw error;
  }
}
