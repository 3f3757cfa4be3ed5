// Gives each item of the feed to whoever it is for, and has it acknowledged where the protocol asks for that.
import type { Channel, Clock, Connection, FeedFromServer } from "@runnel/shared";
import { FEED_FROM_SERVER, RunnelError, check, fromSystemError, isRunnelError } from "@runnel/shared";
import { unreachable } from "./refusals.ts";
import type { Lease } from "../leases/lease.ts";
import type { SessionEvents } from "./session-deps.ts";
import { Supply, type SupplyDeps } from "./supply.ts";
import type { HeldElsewhere } from "../leases/held-elsewhere.ts";
import type { WriteLeases } from "../leases/write-leases.ts";

interface FeedReceivers {
  clock: Clock;
  events: Partial<SessionEvents>;
  lease: Lease;
  writeLeases: WriteLeases;
  elsewhere: HeldElsewhere;
  /** The server is there, and cannot answer anything now. */
  toldToWait(): void;
}

/** Takes the feed in the order of the connection: whoever gets the answer to a change finds it applied. */
export function followFeed(connection: Connection, feed: Channel, receivers: FeedReceivers): void {
  const end = (error: unknown): void => {
    // Requests that wait on the connection are asked again on the next one, whyever the server ended this feed.
    const known = fromSystemError(error, "feed");
    connection.close(isRunnelError(known, "Invalid") ? known : unreachable("feed", known));
  };
  const { clock, events } = receivers;
  const read: SupplyDeps["read"] = async (version, offset, length) => events.lack?.(version, offset, length);
  const supply = new Supply({ clock, connection, feed, read });
  let unacknowledged = 0;
  /** Items that came in one turn of the loop are acknowledged together: acks are cumulative. */
  const acknowledge = (seq: number): void => {
    if (unacknowledged === 0) {
      queueMicrotask(() => {
        feed.send(["ack", unacknowledged]);
        unacknowledged = 0;
      });
    }
    unacknowledged = seq;
  };
  feed.result().then(() => end(new RunnelError("Unreachable", "feed", "The server ended the feed.")), end);
  feed.listen((message) => {
    try {
      takeFeedItem(check(FEED_FROM_SERVER, message, "feed item"), receivers, { feed, supply, acknowledge });
    } catch (error) {
      end(error);
    }
  });
}

function takeFeedItem(
  item: FeedFromServer,
  { events, lease, writeLeases, elsewhere, toldToWait }: FeedReceivers,
  { feed, supply, acknowledge }: { feed: Channel; supply: Supply; acknowledge(seq: number): void },
): void {
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
      elsewhere.leaseAnswered();
      events.current?.(item[2]);
      lease.answered(item[1], true);
      return;
    case "not":
      elsewhere.leaseAnswered();
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
      writeLeases.granted(item[1], item[2], item[3]);
      return;
    case "refused":
      writeLeases.refused(item[1], item[2]);
      return;
    case "noticed":
      events.noticed?.();
      return;
    case "shutOut":
      events.shutOut?.(item[1]);
      return;
    case "colleagues":
      events.colleagues?.(item[1]);
      return;
    case "recall":
      writeLeases.recall(item[1]);
      return;
    case "others":
      elsewhere.told(feed, item[1], item[2]);
      return;
    case "lack":
      supply.ask(item[1], item[2]);
  }
}
