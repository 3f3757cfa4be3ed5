// Resume of a feed: what a client missed since its seq, or "list again" when that is not kept any more.
import type { Change } from "@runnel/shared";
import { LIMITS, isRunnelError, nextTurn } from "@runnel/shared";
import type { Volume } from "../volume/volume.ts";
import type { Attachment } from "./attachment.ts";

const PAGE = 1000;
const FOLLOWED_IN_TURN = 10_000;

export interface Replay {
  /** Seq up to which the client is then current. */
  upTo: number;
  /** Changes that the client follows. */
  due: Change[];
}

/**
 * Collects what is due; undefined when the client must list again. The attachment's own feed is held back meanwhile.
 */
export async function replayFeed(
  volume: Volume,
  attachment: Attachment,
  seq: number,
  follows: "all" | number[],
): Promise<Replay | undefined> {
  const { holder } = attachment;
  if (follows === "all") holder.followsAll = true;
  else await followAll(volume, attachment, follows);
  if (seq > volume.seq) return forgetFollows(attachment);
  const due: Change[] = [];
  let at = seq;
  try {
    for (;;) {
      const page = await volume.meta.changesAfter(at, PAGE);
      for (const change of page) if (holder.touches(change)) due.push(change);
      at = page.at(-1)?.seq ?? at;
      if (due.length > LIMITS.feedBacklogItems) return forgetFollows(attachment);
      if (page.length < PAGE) break;
    }
  } catch (error) {
    if (isRunnelError(error, "Gone")) return forgetFollows(attachment);
    throw error;
  }
  return { upTo: at, due };
}

/** A few in each turn of the event loop: they may be very many. */
async function followAll(volume: Volume, { holder }: Attachment, folders: number[]): Promise<void> {
  for (let at = 0; at < folders.length; at += FOLLOWED_IN_TURN) {
    for (const folder of folders.slice(at, at + FOLLOWED_IN_TURN)) volume.feed.follow(holder, folder);
    await new Promise<void>(nextTurn);
  }
}

function forgetFollows(attachment: Attachment): undefined {
  attachment.holder.followsAll = false;
  attachment.holder.follows.clear();
  return undefined;
}
