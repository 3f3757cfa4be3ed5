// Contents that move on an attachment now. Whoever moves them adds to numbers; rates and names are worked out when
// somebody looks. Fetches of one file go on from one another and are one transfer.
import { type Clock, SmoothedRate } from "@runnel/shared";

export type Direction = "up" | "down";

/** Numbers of a transfer, which its worker adds to. */
export interface Progress {
  /** Bytes of the content that are there, whatever way they came. */
  doneBytes: number;
  /** Bytes of those that came as data, before they were compressed. */
  movedBytes: number;
  /** Bytes of data on the wire. */
  wireBytes: number;
}

export function noProgress(): Progress {
  return { doneBytes: 0, movedBytes: 0, wireBytes: 0 };
}

/** A fetch that ended may be gone on with. */
const LINGER_MS = 2_000;
/** Fetched files that are remembered for that. */
const LINGERING_MAX = 32;

let lastId = 0;

export class LiveTransfer implements Disposable {
  readonly id = ++lastId;
  readonly direction: Direction;
  readonly node: number;
  totalBytes: number;
  progress: Progress;
  /** Bytes that the client had. */
  reusedBytes = 0;
  /** Requests that work on it. */
  users = 0;
  idleSinceMs = 0;
  readonly #clock: Clock;
  readonly #rate: SmoothedRate;
  readonly #ended: (transfer: LiveTransfer) => void;

  constructor(
    { direction, node, totalBytes }: { direction: Direction; node: number; totalBytes: number },
    progress: Progress,
    clock: Clock,
    ended: (transfer: LiveTransfer) => void,
  ) {
    this.direction = direction;
    this.node = node;
    this.totalBytes = totalBytes;
    this.progress = progress;
    this.#clock = clock;
    this.#rate = new SmoothedRate(clock.bootMs(), progress.movedBytes);
    this.#ended = ended;
  }

  /** Data of the content moved, up to this offset of it. */
  moved(rawBytes: number, wireBytes: number, upTo: number): void {
    const { progress } = this;
    progress.movedBytes += rawBytes;
    progress.wireBytes += wireBytes;
    if (upTo > progress.doneBytes) progress.doneBytes = upTo;
  }

  /** All of the content up to this offset is there, and the client had so many bytes of it. */
  had(bytes: number, upTo: number): void {
    this.reusedBytes += Math.max(0, bytes);
    if (upTo > this.progress.doneBytes) this.progress.doneBytes = upTo;
  }

  /** Returns the rate of now, smoothed. */
  bytesPerSecond(): number {
    this.#rate.sample(this.#clock.bootMs(), this.progress.movedBytes);
    return this.#rate.perSecond;
  }

  [Symbol.dispose](): void {
    if (--this.users > 0) return;
    this.idleSinceMs = this.#clock.bootMs();
    this.#ended(this);
  }
}

export class AttachmentTransfers {
  readonly #clock: Clock;
  /** Fetches by node; the one that was asked for last comes last. */
  readonly #fetched = new Map<number, LiveTransfer>();
  readonly #saved = new Set<LiveTransfer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A fetch of a file begins, or goes on; ends with the disposal. */
  fetch(node: number, totalBytes: number, offset: number): LiveTransfer {
    const before = this.#fetched.get(node);
    const isGoingOn = before !== undefined && before.totalBytes === totalBytes && this.#isLive(before);
    const transfer = isGoingOn ? before : this.#begin("down", node, totalBytes, noProgress(), () => undefined);
    if (!isGoingOn) transfer.progress.doneBytes = offset;
    transfer.users++;
    this.#fetched.delete(node);
    this.#fetched.set(node, transfer);
    for (const [oldest, { users }] of this.#fetched) {
      if (this.#fetched.size <= LINGERING_MAX) break;
      if (users === 0) this.#fetched.delete(oldest);
    }
    return transfer;
  }

  /** A save begins; ends with the disposal. */
  save(node: number, totalBytes: number, progress: Progress): LiveTransfer {
    const transfer = this.#begin("up", node, totalBytes, progress, (ended) => this.#saved.delete(ended));
    transfer.users = 1;
    this.#saved.add(transfer);
    return transfer;
  }

  /** Lists what moves now. */
  list(): LiveTransfer[] {
    const fetched = [...this.#fetched.values()].filter((transfer) => this.#isLive(transfer));
    return [...fetched, ...this.#saved].toSorted((a, b) => a.id - b.id);
  }

  #isLive({ users, idleSinceMs, progress, totalBytes }: LiveTransfer): boolean {
    if (users > 0) return true;
    return progress.doneBytes < totalBytes && this.#clock.bootMs() - idleSinceMs < LINGER_MS;
  }

  #begin(
    direction: Direction,
    node: number,
    totalBytes: number,
    progress: Progress,
    ended: (transfer: LiveTransfer) => void,
  ): LiveTransfer {
    return new LiveTransfer({ direction, node, totalBytes }, progress, this.#clock, ended);
  }
}
