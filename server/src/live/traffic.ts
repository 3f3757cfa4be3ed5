// Counts what crossed the wire, and the contents that it was for. Numbers are added to; nothing is made for a message.

/** Bytes of a connection, or of several. */
export interface Carried {
  sentBytes: number;
  receivedBytes: number;
}

/** Contents of a volume that devices saved and fetched, and what of them was data on the wire. */
export interface Counted {
  /** Bytes of contents that were saved. */
  savedBytes: number;
  savedWireBytes: number;
  /** Bytes of contents that were asked for and answered. */
  fetchedBytes: number;
  fetchedWireBytes: number;
}

export class Traffic implements Counted {
  savedBytes = 0;
  savedWireBytes = 0;
  fetchedBytes = 0;
  fetchedWireBytes = 0;

  /** A content was saved. */
  saved(contentBytes: number, wireBytes: number): void {
    this.savedBytes += contentBytes;
    this.savedWireBytes += wireBytes;
  }

  /** Part of a content is at the client that asked for it. */
  fetched(contentBytes: number, wireBytes: number): void {
    this.fetchedBytes += contentBytes;
    this.fetchedWireBytes += wireBytes;
  }

  add(other: Counted): void {
    this.saved(other.savedBytes, other.savedWireBytes);
    this.fetched(other.fetchedBytes, other.fetchedWireBytes);
  }
}
