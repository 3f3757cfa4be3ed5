// Gives each item of the feed to whoever it is for, and has it acknowledged where the protocol asks for that.
import type { Channel, FeedFromServer } from "@runnel/shared";
import type { Lease } from "./lease.ts";
import type { SessionEvents } from "./session-deps.ts";
import { supply } from "./supply.ts";
import type { WriteLease } from "./write-lease.ts";

interface FeedReceivers {
  events: Partial<SessionEvents>;
  lease: Lease;
  writeLease: WriteLease;
  /** The server is there, and cannot answer anything now. */
  toldToWait(): void;
  acknowledge(seq: number): void;
}

export function takeFeedItem(item: FeedFromServer, feed: Channel, receivers: FeedReceivers): void {
  const { events, lease, writeLease, toldToWait, acknowledge } = receivers;
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
      if (item[1] === 0) toldToWait();
      events.waiting?.(item[1], item[2], item[3]);
      return;
    case "granted":
      writeLease.granted(item[1], item[2]);
      return;
    case "refused":
      writeLease.refused(item[1], item[2]);
      return;
    case "recall":
      writeLease.recall();
      return;
    case "lack":
      void supply(feed, item[1], item[2], async (offset, length) => events.lack?.(item[1], offset, length));
  }
}
