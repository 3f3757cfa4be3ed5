// Clients of a volume that serve each other's misses: who listens where, who has what, and the tickets by which they
// let each other in (W194 to W198). All of it is in memory, and only hints: it is forgotten with the connections.
import {
  type ChunkSpan,
  type Clock,
  type ColleaguePlace,
  LIMITS,
  type Recipe,
  type RequestOf,
  RunnelError,
  type SentResultOf,
  spansFrom,
  TicketKey,
  TIMING,
  type VersionId,
  longestOf,
  wallMs,
  withoutSpans,
} from "@runnel/shared";
import { type ColleagueListener, Member, type MemberFacts, keyOf } from "./member.ts";
import { NamedNetworks } from "./named-networks.ts";
import { VersionShare } from "./version-share.ts";

/** Versions of which something is known; of more the idle ones are looked for. */
const SWEEP_EVERY = 256;

/** Former members whose keys are known for as long as a ticket is good. */
const FORMER_MAX = 1024;

type Packed = [number, number][];

/** Contents on their way from the server to a client. */
export interface Sending extends Disposable {
  /** All up to this chunk has been sent. */
  upTo(chunk: number): void;
}

export interface ColleaguesDeps {
  clock: Clock;
  epoch: string;
  recipe(version: VersionId): Promise<Recipe | undefined>;
  /** Left out: none is named. */
  networks?: NamedNetworks;
}

export class Colleagues {
  readonly #deps: ColleaguesDeps;
  readonly #networks: NamedNetworks;
  #key: TicketKey | undefined;
  readonly #members = new Map<ColleagueListener, Member>();
  readonly #versions = new Map<string, VersionShare>();
  readonly #locating = new Map<ColleagueListener, number>();
  /** Keys of members that have left, or have another one: a ticket of theirs may still be good. */
  #former: { device: string; key: Uint8Array; untilMs: number }[] = [];
  #sinceSweep = 0;
  #lastNumber = 0;

  constructor(deps: ColleaguesDeps) {
    this.#deps = deps;
    this.#networks = deps.networks ?? new NamedNetworks();
  }

  /** @throws Invalid when nothing says where the client is; Busy when its device has announced itself too often. */
  announce(
    listener: ColleagueListener,
    facts: MemberFacts,
    { place, has }: RequestOf<"announce">,
  ): SentResultOf<"announce"> {
    const member = place === undefined ? this.#members.get(listener) : this.#placed(listener, facts, place);
    if (member === undefined) throw notAnnounced("announce");
    for (const [version, spans] of has) {
      const key = keyOf(version);
      const forgotten = member.setHas(key, spansFrom(spans));
      this.#versionOf(version).announced(member);
      for (const each of forgotten) this.#versions.get(each)?.announced(member);
    }
    return { ticketKey: this.#ticketKey.publicKey, nowMs: wallMs(this.#deps.clock), others: member.others };
  }

  #placed(listener: ColleagueListener, facts: MemberFacts, place: ColleaguePlace): Member {
    const known = this.#members.get(listener);
    if (known !== undefined) {
      this.#meet(known, -1);
      this.#noteFormer(known);
    } else this.#mustBeFew(facts.device);
    const member = known ?? new Member(facts, listener, place, 0);
    member.place = place;
    member.network = this.#networks.networkOf(facts.address, place.addresses);
    member.number = ++this.#lastNumber;
    this.#members.set(listener, member);
    member.others = [...this.#members.values()].filter(
      (other) => other !== member && other.listens && other.mayMeet(member),
    ).length;
    this.#meet(member, 1);
    return member;
  }

  /** @throws Busy when the device has announced itself too often at once; programs of the server's own user may. */
  #mustBeFew(device: string): void {
    if (device === "") return;
    const ofDevice = [...this.#members.values()].filter(({ facts }) => facts.device === device);
    if (ofDevice.length >= LIMITS.deviceAnnounces)
      throw new RunnelError("Busy", "announce", "This device has announced itself too often.", {
        detail: { limit: LIMITS.deviceAnnounces },
      });
  }

  /** Tells those whom a member may meet that it has come, or goes. */
  #meet(member: Member, change: 1 | -1): void {
    if (!member.listens) return;
    for (const other of this.#members.values()) {
      if (other === member || !other.mayMeet(member)) continue;
      other.others += change;
      if (other.others === (change === 1 ? 1 : 0)) other.listener.colleagues(other.others > 0);
    }
  }

  /** Waits for news while nothing else can be said. */
  async locate(
    listener: ColleagueListener,
    { version, wanted, without, hasTicket, waitMs }: RequestOf<"locate">,
    signal: AbortSignal,
  ): Promise<SentResultOf<"locate">> {
    const member = this.#members.get(listener);
    const recipe = await this.#deps.recipe(version);
    const asked = recipe === undefined ? spansFrom(wanted) : within(spansFrom(wanted), recipe.lengths.length);
    if (member === undefined || recipe === undefined) return { colleagues: [], hints: [], yours: pack(asked) };
    const excluded = new Set(without.map((key) => Buffer.from(key).toString("base64url")));
    const others = (): Set<Member> =>
      new Set(
        [...this.#members.values()].filter(
          (other) => other !== member && other.listens && !excluded.has(other.keyText) && member.mayMeet(other),
        ),
      );
    const share = this.#versionOf(version);
    const divide = (): ReturnType<VersionShare["divide"]> =>
      share.divide(member, asked, others(), (chunk) => recipe.lengths[chunk] ?? 0);
    let divided = divide();
    const untilMs = this.#deps.clock.bootMs() + waitMs;
    using place = this.#enter(listener);
    while (place.mayWait && divided.isComing && divided.holders.length === 0 && divided.yours.length === 0) {
      const leftMs = untilMs - this.#deps.clock.bootMs();
      if (leftMs <= 0 || signal.aborted) break;
      await share.news(leftMs, signal);
      divided = divide();
    }
    const { holders, yours } = divided;
    const unknown = holders.map((holder) => holder.member).filter(({ number }) => !member.knows.has(number));
    for (const { number } of unknown) member.knows.add(number);
    return {
      ...(hasTicket || holders.length === 0 ? {} : { ticket: this.#ticketFor(member, version) }),
      colleagues: unknown.map(describe),
      hints: holders.map((holder) => [holder.member.number, pack(holder.has)]),
      yours: pack(yours),
    };
  }

  /** Contents go to a client by a fetch. @returns undefined for one that nobody could ask for them. */
  sending(listener: ColleagueListener, version: VersionId, spans: readonly ChunkSpan[]): Sending | undefined {
    const member = this.#members.get(listener);
    if (member?.listens !== true) return undefined;
    const share = this.#versionOf(version);
    share.sending(member, spans);
    let sent = 0;
    return {
      upTo: (chunk) => {
        sent = chunk;
        share.sending(member, []);
      },
      [Symbol.dispose]: () => share.notSent(member, withoutSpans(spans, [{ from: 0, count: sent }])),
    };
  }

  /** The client's connection, or its attachment, has ended. */
  left(listener: ColleagueListener): void {
    const member = this.#members.get(listener);
    if (member === undefined) return;
    this.#meet(member, -1);
    this.#noteFormer(member);
    this.#members.delete(listener);
    for (const share of this.#versions.values()) share.left(member);
    this.#sweep();
  }

  /** A device has lost its right: those who let it in are told. */
  shutOut(device: string): void {
    for (const { listener, facts } of this.#members.values()) if (facts.device === device) this.left(listener);
    const keys = new Map(
      this.#former.filter((each) => each.device === device).map(({ key }) => [Buffer.from(key).toString("hex"), key]),
    );
    for (const key of keys.values())
      for (const { listener } of this.#members.values()) listener.shutOut(new Uint8Array(key));
  }

  #noteFormer({ facts: { device }, place: { key } }: Member): void {
    const nowMs = this.#deps.clock.bootMs();
    const recent = this.#former.filter(({ untilMs }) => untilMs > nowMs).slice(1 - FORMER_MAX);
    this.#former = [...recent, { device, key, untilMs: nowMs + TIMING.ticketMs }];
  }

  get #ticketKey(): TicketKey {
    return (this.#key ??= new TicketKey());
  }

  #ticketFor({ place }: Member, version: VersionId): Uint8Array {
    const { clock, epoch } = this.#deps;
    return this.#ticketKey.sign({ epoch, version, key: place.key, untilMs: wallMs(clock) + TIMING.ticketMs });
  }

  #enter(listener: ColleagueListener): Disposable & { mayWait: boolean } {
    const waiting = this.#locating.get(listener) ?? 0;
    this.#locating.set(listener, waiting + 1);
    return {
      // A client that asks on and on is answered at once.
      mayWait: waiting < LIMITS.locates,
      [Symbol.dispose]: () => {
        const left = (this.#locating.get(listener) ?? 1) - 1;
        if (left === 0) this.#locating.delete(listener);
        else this.#locating.set(listener, left);
      },
    };
  }

  #versionOf(version: VersionId): VersionShare {
    const key = keyOf(version);
    const known = this.#versions.get(key);
    if (known !== undefined) return known;
    if (++this.#sinceSweep >= SWEEP_EVERY) this.#sweep();
    const share = new VersionShare(this.#deps.clock, version);
    this.#versions.set(key, share);
    return share;
  }

  #sweep(): void {
    this.#sinceSweep = 0;
    for (const [key, share] of this.#versions) if (share.isIdle) this.#versions.delete(key);
  }
}

function describe({ number, facts, place }: Member): SentResultOf<"locate">["colleagues"][number] {
  const addresses = [...new Set([facts.address, ...place.addresses])].filter((address) => address !== "");
  return {
    member: number,
    name: facts.name,
    key: new Uint8Array(place.key),
    port: place.port,
    addresses: addresses.slice(0, LIMITS.colleagueAddresses),
  };
}

/** A list with room for the longest; what is left out is asked for again. */
function pack(spans: readonly ChunkSpan[]): Packed {
  return longestOf(spans, LIMITS.chunkSpans).map(({ from, count }) => [from, count]);
}

function within(spans: readonly ChunkSpan[], chunks: number): ChunkSpan[] {
  return withoutSpans(spans, [{ from: chunks, count: Number.MAX_SAFE_INTEGER - chunks }]);
}

function notAnnounced(operation: string): RunnelError {
  return new RunnelError("Invalid", operation, "The client has not said where it is.", { detail: { rule: "W194" } });
}
