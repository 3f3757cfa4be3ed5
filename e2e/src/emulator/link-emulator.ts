// The WAN link emulator as its users see it, in this process or in one of its own. It stands as a TCP proxy between a
// client and a server and gives the connections through it one shared link: a rate per direction and a round-trip time,
// cuts, black holes, and exact counts of what passed.
//
// Directions are seen from the client: up is client → server, down is server → client.
//
// What is emulated, and what is not:
// - Rate: each direction sends one byte after another at its rate, whatever connection it belongs to, first come first
//   served.
// - Delay: half the round-trip time each way. Opening a connection costs one round trip before its first byte leaves,
//   as TCP's handshake does. There is no loss and no slow start: the model is a link that TCP has filled.
// - Queue: a direction takes from its senders at most max(64 KiB, one bandwidth-delay product) more than it has
//   delivered; then it stops reading. The kernels' socket buffers in front of it hold some MB more: what a sender could
//   write tells nothing.

export type Direction = "up" | "down";

export interface LinkShape {
  /** Bits per second from client to server; Infinity for no limit. */
  upBitsPerSecond: number;
  downBitsPerSecond: number;
  /** Round-trip time, milliseconds. */
  rttMs: number;
}

export interface DirectionCounts {
  /** TCP payload bytes taken from the sender. */
  sentBytes: number;
  /** TCP payload bytes handed to the receiver; behind sentBytes by what is under way, or was lost in a cut. */
  deliveredBytes: number;
  /**
   * A turnaround is counted when a segment is taken from the sender after at least one segment of the other direction
   * was delivered to that sender, on the same connection, since its last segment. So down.turnarounds is the number of
   * client bursts that the server answered: n requests one after another make n of them; n pipelined ones may make as
   * few as 1.
   */
  turnarounds: number;
}

export interface LinkCounts {
  up: DirectionCounts;
  down: DirectionCounts;
  /** Connections accepted. */
  connections: number;
  openConnections: number;
  /** Milliseconds since a byte was last taken or delivered; 0 while bytes are under way, black holes included. */
  quietMs: number;
}

export interface EmulatorSettings {
  /** Address that connections are forwarded to. */
  target: { host: string; port: number };
  shape?: Partial<LinkShape>;
  /**
   * Folder of recordings for debugging: every segment as one JSON line {ms, connection, direction, base64} in
   * recording.jsonl.
   */
  recordFolder?: string;
}

export interface LinkEmulator {
  /** Clients connect to 127.0.0.1 at this port. */
  readonly port: number;
  /** Changes the link for bytes that are taken from now on. */
  setShape(shape: Partial<LinkShape>): Promise<void>;
  /**
   * Closes all connections with a reset; what was under way is lost. With "refuse", new ones are refused until restore.
   */
  cut(newConnections: "accept" | "refuse"): Promise<void>;
  /**
   * From now on nothing is delivered in either direction, ends of connections included; the queues still take what
   * fits, new connections are accepted, and nobody gets an error: as when a router goes away. On restore everything
   * flows, as TCP's retransmissions would have it.
   */
  blackHole(): Promise<void>;
  /** A connection that comes and goes: cut and refusing for one time, there for the other, and again until restore. */
  flap(upMs: number, downMs: number): Promise<void>;
  /** Ends a cut, a black hole or the flapping. */
  restore(): Promise<void>;
  counts(): Promise<LinkCounts>;
  /** Sets bytes, turnarounds and connections to 0; who spoke last on each connection is forgotten too. */
  resetCounts(): Promise<void>;
  /** Closes everything. */
  close(): Promise<void>;
}

export const PLAIN_SHAPE: LinkShape = { upBitsPerSecond: Infinity, downBitsPerSecond: Infinity, rttMs: 0 };

/** The queue of one direction: never less than this, so that slow links still see whole segments. */
const QUEUE_BYTES_MIN = 64 * 1024;
/** And never more, so that a link without a rate is bounded too. */
const QUEUE_BYTES_MAX = 64 * 1024 * 1024;

export function queueBytesOf(bitsPerSecond: number, rttMs: number): number {
  if (rttMs === 0) return QUEUE_BYTES_MIN;
  return Math.min(QUEUE_BYTES_MAX, Math.max(QUEUE_BYTES_MIN, (bitsPerSecond / 8) * (rttMs / 1000)));
}
