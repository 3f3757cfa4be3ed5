// mDNS on the links of this machine, one socket for each of its IPv4 addresses. Nothing that comes there, and no fault
// of a socket, gets further than this file; datagrams that are long, that lack what they say they have, or that come
// from no link of the machine are not read.
import { Socket, type SocketOptions } from "node:dgram";
import { BlockList, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { type Clock, LIMITS, type Timer } from "@runnel/shared";
import multicastDns from "multicast-dns";
import type { MulticastEvents, MulticastLine } from "./multicast.ts";
import type { NearbyMessage } from "./nearby-messages.ts";
import { isWholeMessage } from "./whole-message.ts";

/** Links that come and go are noticed so late. */
const LOOK_MS = 2_000;
const LINKS_MAX = 8;
const MDNS_PORT = 5353;

/** Talks on the links that `addressesOf` names; left out: on those of this machine with others on them. */
export function lanMulticast(
  clock: Clock,
  port: number = MDNS_PORT,
  addressesOf: () => Link[] = ownLinks,
): (events: MulticastEvents) => MulticastLine {
  return (events) => new LanMulticast(clock, port, addressesOf, events);
}

/** An address of this machine, with the length of its network's prefix: `10.0.0.7/24`. */
export interface Link {
  address: string;
  cidr: string;
}

class LanMulticast implements MulticastLine {
  readonly #clock: Clock;
  readonly #port: number;
  readonly #linksOf: () => Link[];
  readonly #events: MulticastEvents;
  readonly #sockets = new Map<string, multicastDns.MulticastDNS>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(clock: Clock, port: number, linksOf: () => Link[], events: MulticastEvents) {
    this.#clock = clock;
    this.#port = port;
    this.#linksOf = linksOf;
    this.#events = events;
    this.#look();
  }

  say(message: NearbyMessage): void {
    for (const socket of this.#sockets.values())
      if (message.type === "query") socket.query(message, ignore);
      else socket.respond(message, ignore);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await Promise.all([...this.#sockets.keys()].map((address) => this.#leave(address)));
  }

  #look(): void {
    const links = this.#linksOf().slice(0, LINKS_MAX);
    for (const address of this.#sockets.keys())
      if (!links.some((link) => link.address === address)) void this.#leave(address);
    for (const link of links) if (!this.#sockets.has(link.address)) this.#join(link);
    this.#timer = this.#clock.after(LOOK_MS, () => this.#look());
  }

  #join({ address, cidr }: Link): void {
    const mayRead = onLink(cidr);
    const socket = new BoundedSocket(mayRead);
    const opened = multicastDns({ socket, port: this.#port, interface: address, bind: "0.0.0.0" });
    this.#sockets.set(address, opened);
    opened.on("error", () => void this.#leave(address));
    opened.on("warning", ignore);
    opened.on("ready", () => {
      if (!this.#isClosed && this.#sockets.get(address) === opened) this.#events.joined();
    });
    const heard = (message: unknown, from: { address: string }): void => {
      if (!this.#isClosed) this.#events.heard(message, from.address);
    };
    opened.on("query", heard);
    opened.on("response", heard);
  }

  async #leave(address: string): Promise<void> {
    const socket = this.#sockets.get(address);
    if (socket === undefined) return;
    this.#sockets.delete(address);
    try {
      await new Promise<void>((resolve) => socket.destroy(() => resolve()));
    } catch {
      // It was never open.
    }
  }
}

type MayRead = (datagram: unknown, from: unknown) => boolean;

/** A socket whose reader gets those datagrams only that it may read. */
class BoundedSocket extends Socket {
  readonly #mayRead: MayRead;

  constructor(mayRead: MayRead) {
    // @ts-expect-error -- its types say that nobody may make one; node:dgram's own function does nothing else.
    super({ type: "udp4", reuseAddr: true } satisfies SocketOptions);
    this.#mayRead = mayRead;
  }

  override emit(...said: unknown[]): boolean {
    const [event, datagram, from] = said;
    if (event === "message" && !this.#mayRead(datagram, from)) return false;
    return super.emit(...(said as ["close"]));
  }
}

/** Tells which datagrams may be read: short ones, with all that they say, of a machine on the link (RFC 6762 §11). */
export function onLink(cidr: string): MayRead {
  const [network = "", prefix = ""] = cidr.split("/");
  const here = new BlockList();
  here.addSubnet(network, Number(prefix), "ipv4");
  return (datagram, from) => {
    const { address } = from as { address: string };
    if (!(datagram instanceof Uint8Array) || datagram.length > LIMITS.nearbyBytes) return false;
    return isIPv4(address) && here.check(address) && isWholeMessage(datagram);
  };
}

function ownLinks(): Link[] {
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .flatMap(({ address, cidr, family, internal }) =>
      internal || family !== "IPv4" || cidr === null ? [] : { address, cidr },
    );
}

function ignore(): void {
  // A message that cannot be said or read is as if nobody were there.
}
