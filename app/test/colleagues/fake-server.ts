// Knows who has which chunks of a version, who is sent some, and who waits for news. So each client is told to take
// and nothing is on its way to anybody. Tickets are real ones.
import {
  type ChunkSpan,
  type Clock,
  type RequestOf,
  type SentResultOf,
  TIMING,
  TicketKey,
  commonSpans,
  spansFrom,
  wallMs,
  withoutSpans,
} from "@runnel/shared";

export interface Listener {
  name: string;
  shutOut(key: Uint8Array): void;
  colleagues(areThere: boolean): void;
}

interface Member {
  number: number;
  place: NonNullable<RequestOf<"announce">["place"]>;
  has: Map<number, ChunkSpan[]>;
}

export class FakeServer {
  /** At which it says that devices are. */
  addresses = ["127.0.0.1"];
  /** Count of questions for who has something. */
  locates = 0;
  readonly #clock: Clock;
  readonly #epoch: string;
  readonly ticketKey = new TicketKey();
  readonly #members = new Map<Listener, Member>();

  constructor(clock: Clock, epoch: string) {
    this.#clock = clock;
    this.#epoch = epoch;
  }

  announce(listener: Listener, { place, has }: RequestOf<"announce">): SentResultOf<"announce"> {
    const known = this.#members.get(listener);
    const own = place ?? known?.place;
    if (own === undefined) throw new Error("no place was said");
    const member = { number: this.#members.size, has: new Map<number, ChunkSpan[]>(), ...known, place: own };
    this.#members.set(listener, member);
    for (const [{ node }, spans] of has) member.has.set(node, spansFrom(spans));
    for (const each of this.#members.keys()) each.colleagues(this.#othersOf(each).length > 0);
    return {
      ticketKey: this.ticketKey.publicKey,
      nowMs: wallMs(this.#clock),
      others: this.#othersOf(listener).length,
    };
  }

  locate(listener: Listener, { version, wanted, without }: RequestOf<"locate">): SentResultOf<"locate"> {
    this.locates++;
    const key = this.#members.get(listener)?.place.key ?? new Uint8Array(32);
    const isExcluded = (other: Uint8Array): boolean => without.some((each) => Buffer.compare(each, other) === 0);
    const holders = this.#othersOf(listener)
      .filter(([, { place }]) => !isExcluded(place.key))
      .map(([{ name }, member]) => {
        return { name, member, has: commonSpans(spansFrom(wanted), member.has.get(version.node) ?? []) };
      })
      .filter(({ has }) => has.length > 0);
    const untilMs = wallMs(this.#clock) + TIMING.ticketMs;
    const hinted = spansFrom(holders.flatMap(({ has }) => has));
    return {
      ticket: this.ticketKey.sign({ epoch: this.#epoch, version, key, untilMs }),
      colleagues: holders.map(({ name, member: { number, place } }) => ({
        member: number,
        name,
        key: place.key,
        port: place.port,
        addresses: this.addresses,
      })),
      hints: holders.map(({ member: { number }, has }) => [number, packed(has)]),
      yours: packed(withoutSpans(spansFrom(wanted), hinted)),
    };
  }

  left(listener: Listener): void {
    this.#members.delete(listener);
    for (const each of this.#members.keys()) each.colleagues(this.#othersOf(each).length > 0);
  }

  shutOut(name: string): void {
    for (const [listener, { place }] of this.#members) {
      if (listener.name !== name) continue;
      this.left(listener);
      for (const each of this.#members.keys()) each.shutOut(place.key);
    }
  }

  #othersOf(listener: Listener): [Listener, Member][] {
    return [...this.#members].filter(([other, { place }]) => other !== listener && place.port !== 0);
  }
}

function packed(spans: readonly ChunkSpan[]): [number, number][] {
  return spans.map(({ from, count }) => [from, count]);
}
