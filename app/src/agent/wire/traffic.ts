// Counts what a session has moved, over all its connections.
import type { Connection } from "@runnel/shared";

/** TCP payload by direction; bulk and control frames within. */
export interface WireTraffic {
  sent: number;
  received: number;
  sentBulk: number;
  receivedBulk: number;
  sentControl: number;
  receivedControl: number;
}

export class Traffic {
  #past: WireTraffic = {
    sent: 0,
    received: 0,
    sentBulk: 0,
    receivedBulk: 0,
    sentControl: 0,
    receivedControl: 0,
  };

  /** Sums of the connections that have ended, and of this one. */
  upTo(connection: Connection | undefined): WireTraffic {
    const past = this.#past;
    if (connection === undefined) return { ...past };
    const { counts, link } = connection;
    return {
      sent: past.sent + link.sentBytes,
      received: past.received + link.receivedBytes,
      sentBulk: past.sentBulk + counts.sentBulk,
      receivedBulk: past.receivedBulk + counts.receivedBulk,
      sentControl: past.sentControl + counts.sentControl,
      receivedControl: past.receivedControl + counts.receivedControl,
    };
  }

  ended(connection: Connection): void {
    this.#past = this.upTo(connection);
  }
}
