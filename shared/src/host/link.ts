// Link: a connected, ordered, reliable carrier of binary messages (a WebSocket, or a simulated line).

export interface LinkEvents {
  /** Receives a whole message. The buffer belongs to the receiver. */
  message(payload: Uint8Array): void;
  /** Called once; no message follows. `code` is a WebSocket close code, 1006 when the line broke. */
  closed(code: number, reason: string): void;
}

export interface Link {
  /** Sets the receiver; messages that came before are delivered then, in order. */
  listen(events: LinkEvents): void;
  /** Queues one message. The buffer must not be changed afterwards. After close it is dropped. */
  send(payload: Uint8Array): void;
  /**
   * Queues one message that is `head` and `body`, without joining them. `body` must not be changed until `gone` is
   * called, which happens unless the link ends first.
   */
  sendParts(head: Uint8Array, body: Uint8Array, gone: () => void): void;
  /** Bytes queued here and not yet handed to the operating system. */
  readonly bufferedBytes: number;
  /** All bytes given to and taken from the carrier so far, its own headers included (for a WebSocket: TCP payload). */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** The other end's IP address; "" where there is none. */
  readonly remoteAddress: string;
  /**
   * Proof that a client of the user who runs the server says in its hello (W165); undefined where a token identifies it
   * instead.
   */
  readonly ownerProof?: string | undefined;
  /** Fingerprint (32 bytes) of a key that the other end has proved with TLS to have, where it was asked to. */
  readonly peerKey?: Uint8Array | undefined;
  /**
   * From now on the link breaks when so many further bytes arrive, the carrier's own included; undefined: no more
   * limit. For whoever is not known yet.
   */
  limit(bytes: number | undefined): void;
  /** Ends the link; `closed` is called for the local side too. */
  close(code: number, reason: string): void;
}

export interface Dialer {
  /**
   * Connects. @throws RunnelError Unreachable with a sentence for a person; Invalid for a URL that cannot be used;
   * Denied when what answers is not the server that is meant. `signal` ends the attempt.
   */
  dial(url: string, signal?: AbortSignal): Promise<Link>;
}

export interface Listener {
  /** The port in use, for a listener asked to take any. */
  readonly port: number;
  close(): Promise<void>;
}

export interface Acceptor {
  /**
   * Accepts links at host:port. @throws RunnelError Busy when the port is in use, Denied beyond loopback without TLS.
   */
  listen(host: string, port: number, accept: (link: Link) => void): Promise<Listener>;
}
