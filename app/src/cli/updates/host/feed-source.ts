// Reads the list of updates, and where this copy of Runnel is to look for it: a file beside the product, which whoever
// packs it puts there (installers/src/feed.ts). A clone has none.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RunnelError, fromSystemError } from "@runnel/shared/base";
import { FEED_BYTES_MAX, FeedPlace } from "../signed-feed.ts";

/** Path beside the folder `app` that the program lies in, as sources or as one file. */
export function placeFileFor(program: string): string {
  const [, product = ""] = /^(.*)[\\/]app[\\/]/.exec(program) ?? [];
  return join(product, "update-feed.json");
}

const PLACE_FILE = placeFileFor(fileURLToPath(import.meta.url));

const FETCH_MS = 15_000;

/** @returns undefined when this copy names none. @throws RunnelError Corrupt */
export async function readFeedPlace(path = PLACE_FILE): Promise<FeedPlace | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (fromSystemError(cause, "read a file").kind === "NotFound") return undefined;
    throw cause;
  }
  try {
    return FeedPlace.parse(JSON.parse(text));
  } catch (cause) {
    throw new RunnelError("Corrupt", "look for an update", `${path} is damaged: install Runnel anew.`, { cause });
  }
}

/** @throws RunnelError Unreachable, TooLarge */
export async function fetchFeed(url: string, deadlineMs = FETCH_MS): Promise<string> {
  const pieces: Uint8Array[] = [];
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(deadlineMs) });
    if (!answer.ok) throw new Error(`It was answered ${answer.status}.`);
    let bytes = 0;
    for await (const piece of answer.body ?? []) {
      bytes += piece.length;
      pieces.push(piece);
      if (bytes > FEED_BYTES_MAX) break;
    }
  } catch (cause) {
    throw new RunnelError("Unreachable", "look for an update", `The list of updates at ${url} cannot be fetched.`, {
      cause,
    });
  }
  return Buffer.concat(pieces).toString();
}
