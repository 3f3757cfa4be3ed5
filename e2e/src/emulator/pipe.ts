// A direction of one connection: what was read from one socket waits here until it is due, then goes to the other
// socket. Backpressure on both ends: it stops reading while its direction is full, and stops delivering while the
// receiver is.
import type { Socket } from "node:net";
import type { LinkDirection } from "./link-direction.ts";

interface Piece {
  dueMs: number;
  /** Bytes, the end of the sender's side, or its reset of the whole connection. */
  what: Uint8Array | "end" | "reset";
}

export interface PipeOwner {
  nowMs(): number;
  isBlackHole(): boolean;
  /** A byte was taken or delivered. */
  noticeActivity(): void;
  /** The sender's reset has reached the receiver's end of the link. */
  noticeReset(connection: number): void;
  /** A direction that was full has room again. */
  noticeRoom(direction: LinkDirection): void;
  record(pipe: Pipe, bytes: Uint8Array): void;
}

export class Pipe {
  readonly name: "up" | "down";
  readonly connection: number;
  readonly link: LinkDirection;
  /** The other direction of the same connection; set once, by whoever makes the pair. */
  opposite: Pipe | undefined;
  /** Something was delivered to our receiver since it last sent: its next segment is a turnaround. */
  hasDeliveredSince = false;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #openMs: number;
  readonly #owner: PipeOwner;
  #pieces: Piece[] = [];
  #isReceiverFull = false;
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    name: "up" | "down",
    connection: number,
    link: LinkDirection,
    ends: { from: Socket; to: Socket; openMs: number },
    owner: PipeOwner,
  ) {
    this.name = name;
    this.connection = connection;
    this.link = link;
    this.#from = ends.from;
    this.#to = ends.to;
    this.#openMs = ends.openMs;
    this.#owner = owner;
    this.#from.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#from.on("end", () => this.#push("end"));
    // Reset, also by a target that refuses. The news travels as far as bytes do; an ordinary close has said "end"
    // before.
    this.#from.on("error", () => this.#push("reset"));
    const deliverAgain = (): void => {
      this.#isReceiverFull = false;
      this.flush();
    };
    this.#to.on("drain", deliverAgain);
    this.#to.on("close", deliverAgain);
  }

  /** Delivers what is due, and sets the timer for what is not. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const wasFull = this.link.isFull;
    let delivered = 0;
    const nowMs = this.#owner.nowMs();
    for (const piece of this.#pieces) {
      if (piece.dueMs > nowMs || this.#isReceiverFull || this.#owner.isBlackHole()) break;
      delivered++;
      this.#deliver(piece);
    }
    this.#pieces.splice(0, delivered);
    const next = this.#pieces[0];
    if (next !== undefined && !this.#isReceiverFull && !this.#owner.isBlackHole()) {
      this.#timer = setTimeout(() => this.flush(), Math.ceil(next.dueMs - nowMs));
    }
    if (wasFull && !this.link.isFull) this.#owner.noticeRoom(this.link);
  }

  /** Reads again if it stopped and there is room. */
  resume(): void {
    if (!this.#isPaused || this.link.isFull) return;
    this.#isPaused = false;
    this.#from.resume();
  }

  /** Forgets what was under way. */
  abandon(): void {
    clearTimeout(this.#timer);
    for (const { what } of this.#pieces) if (typeof what !== "string") this.link.drop(what.length);
    this.#pieces = [];
  }

  #take(bytes: Uint8Array): void {
    this.#owner.noticeActivity();
    this.#owner.record(this, bytes);
    if (this.opposite?.hasDeliveredSince) {
      this.opposite.hasDeliveredSince = false;
      this.link.counts.turnarounds++;
    }
    const nowMs = this.#owner.nowMs();
    const step = this.link.pieceBytes;
    for (let at = 0; at < bytes.length; at += step) {
      const piece = bytes.subarray(at, at + step);
      this.#pieces.push({ dueMs: this.link.take(piece.length, nowMs, this.#openMs), what: piece });
    }
    if (this.link.isFull) {
      this.#isPaused = true;
      this.#from.pause();
    }
    if (this.#timer === undefined) this.flush();
  }

  #push(what: "end" | "reset"): void {
    this.#pieces.push({ dueMs: this.link.take(0, this.#owner.nowMs(), this.#openMs), what });
    if (this.#timer === undefined) this.flush();
  }

  #deliver({ what }: Piece): void {
    if (what === "end") this.#to.end();
    else if (what === "reset") this.#owner.noticeReset(this.connection);
    else if (this.#to.destroyed || this.#to.writableEnded) this.link.drop(what.length);
    else {
      this.#owner.noticeActivity();
      this.link.deliver(what.length);
      this.hasDeliveredSince = true;
      this.#isReceiverFull = !this.#to.write(what);
    }
  }
}
