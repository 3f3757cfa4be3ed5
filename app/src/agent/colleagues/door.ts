// The one place at which a device can be reached by its colleagues: it is open while a drive offers something, and
// shared by all drives of the agent. Who comes has to show a ticket (incoming-colleague.ts).
import { networkInterfaces } from "node:os";
import {
  type Acceptor,
  type Clock,
  Crowd,
  type Executor,
  FailedTries,
  FailedTriesByAddress,
  LIMITS,
  type Link,
  type Listener,
  RunnelError,
  TIMING,
  type TlsIdentity,
  WsAcceptor,
  isLoopback,
  isRunnelError,
} from "@runnel/shared";
import { IncomingColleague } from "./incoming-colleague.ts";
import { type Offer, textOf } from "./offer.ts";

export interface DoorDeps {
  clock: Clock;
  executor: Executor;
  software: string;
  identity(): Promise<TlsIdentity>;
  /** Left out: WebSockets with TLS. */
  acceptor?(identity: TlsIdentity): Acceptor;
}

/** Hosts to listen at: all addresses, where there is IPv6 or not. */
const HOSTS = ["::", "0.0.0.0"];

export class ColleagueDoor {
  readonly #deps: DoorDeps;
  readonly #offers = new Set<Offer>();
  readonly #incoming = new Set<IncomingColleague>();
  readonly #unauthenticated = new Crowd(LIMITS.colleagueConnections);
  readonly #failedTickets: FailedTriesByAddress;
  readonly #cutOffs: FailedTries;
  #listener: Promise<Listener> | undefined;
  /** Opening and closing come one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: DoorDeps) {
    this.#deps = deps;
    const { failedTickets, cutOffs } = LIMITS;
    const { ticketRefillMs, cutOffRefillMs } = TIMING;
    this.#failedTickets = new FailedTriesByAddress(deps.clock, { atOnce: failedTickets, refillMs: ticketRefillMs });
    this.#cutOffs = new FailedTries(deps.clock, { atOnce: cutOffs, refillMs: cutOffRefillMs });
  }

  /** Lets colleagues have what is offered. Resolves to the port. @throws as an Acceptor, ownIdentity. */
  async open(offer: Offer): Promise<number> {
    this.#offers.add(offer);
    return this.#inTurn(async () => {
      this.#listener ??= this.#listen();
      try {
        return (await this.#listener).port;
      } catch (error) {
        this.#listener = undefined;
        this.#offers.delete(offer);
        throw error;
      }
    });
  }

  /** Gives nothing of it away any more. Resolves when nothing is listened to, unless another drive offers something. */
  async close(offer: Offer): Promise<void> {
    if (!this.#offers.delete(offer)) return;
    await this.#inTurn(async () => {
      if (this.#offers.size > 0 || this.#listener === undefined) return;
      const listener = await this.#listener;
      this.#listener = undefined;
      for (const incoming of this.#incoming)
        incoming.close(new RunnelError("Unreachable", "getChunks", "The drive is gone."));
      await listener.close();
    });
  }

  /** A device has lost its right. */
  shutOut(key: Uint8Array): void {
    const sentence = "The device has lost its right.";
    for (const incoming of this.#incoming)
      if (incoming.key !== undefined && textOf(incoming.key) === textOf(key))
        incoming.close(new RunnelError("Revoked", "getChunks", sentence));
  }

  async #listen(): Promise<Listener> {
    const { acceptor = acceptorOf } = this.#deps;
    const own = acceptor(await this.#deps.identity());
    for (const host of HOSTS.slice(0, -1)) {
      try {
        return await own.listen(host, 0, (link) => this.#accept(link));
      } catch (error) {
        // A machine without IPv6.
        if (isRunnelError(error, "Busy", "Denied")) throw error;
      }
    }
    return own.listen(HOSTS.at(-1) ?? "", 0, (link) => this.#accept(link));
  }

  #accept(link: Link): void {
    const leave = this.#unauthenticated.enter(link.remoteAddress, () =>
      incoming.close(new RunnelError("Busy", "hello", "Too many connections say nothing.")),
    );
    const { clock, executor, software } = this.#deps;
    const incoming: IncomingColleague = new IncomingColleague({
      link,
      clock,
      executor,
      software,
      offers: () => this.#offers,
      failedTickets: this.#failedTickets,
      cutOffs: this.#cutOffs,
      admitted: () => {
        leave();
        this.#boundAdmitted(incoming.key);
      },
      ended: () => {
        leave();
        this.#incoming.delete(incoming);
      },
    });
    this.#incoming.add(incoming);
  }

  /** A device that has shown tickets takes no more than its share of the connections, and all take no more than fit. */
  #boundAdmitted(key: Uint8Array | undefined): void {
    const admitted = [...this.#incoming].filter((one) => one.isAdmitted);
    const its = admitted.filter((one) => key && one.key && textOf(one.key) === textOf(key));
    if (its.length > LIMITS.deviceColleagueConnections)
      its[0]?.close(new RunnelError("Busy", "getChunks", "The device has too many connections."));
    else if (admitted.length > LIMITS.admittedColleagueConnections)
      admitted[0]?.close(new RunnelError("Busy", "getChunks", "Too many connections of devices are open."));
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}

function acceptorOf(identity: TlsIdentity): Acceptor {
  const { colleagueConnections: unopened, admittedColleagueConnections: admitted } = LIMITS;
  // Silent ones, also those that are closed and not gone yet, leave places for the others.
  const room = { connections: 4 * unopened + admitted, unopened };
  return new WsAcceptor({ identity: () => identity, asksForKeys: true }, room);
}

/** Addresses of this machine at which others may reach it. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .map(({ address }) => address)
    .filter((address) => !isLoopback(address) && !/^fe80:/i.test(address))
    .slice(0, LIMITS.colleagueAddresses);
}
