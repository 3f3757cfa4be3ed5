// Gives each item of the feed to whoever it is for, and has it acknowledged where the protocol asks for that.
import type { Channel, FeedFromServer } from "@runnel/shared";
import type { Lease } from "./lease.ts";
import type { SessionEvents } from "./session-deps.ts";
import { supply } from "./supply.ts";

interface FeedReceivers {
  events: Partial<SessionEvents>;
  lease: Lease;
  acknowledge(seq: number): void;
}

export function takeFeedItem(item: FeedFromServer, feed: Channel, { events, lease, acknowledge }: FeedReceivers): void {
  switch (item[0]) {
    case "changes": {
      events.changes?.(item[1], item[2] ?? []);
      const last = item[1].at(-1);
      if (last !== undefined) acknowledge(last.seq);
      return;
    }
    case "content":
      events.content?.(item[1], item[2]);
      return;
    case "current":
      events.current?.(item[2]);
      lease.answered(item[1], true);
      return;
    case "not":
      lease.answered(item[1], false);
      return;
    case "listAgain":
      events.listAgain?.();
      acknowledge(item[1]);
      return;
    case "waiting":
      events.waiting?.(item[1], item[2], item[3]);
      return;
    case "lack":
      void supply(feed, item[1], item[2], async (offset, length) => events.lack?.(item[1], offset, length));
  }
}
