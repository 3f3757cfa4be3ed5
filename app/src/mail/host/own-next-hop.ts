// Finds out whether the next hop of a relay is the relay: each mail would go round in it until no connection is left.
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

interface Place {
  host: string;
  port: number;
}

/** Listening there is listening at each address; connecting there is connecting to loopback. */
const LOOPBACK_OF_ANY = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** Returns false for a name that nobody knows: the next hop may come later. A circle of several relays is not seen. */
export async function isOwnPlace(next: Place, listen: Place): Promise<boolean> {
  if (next.port !== listen.port) return false;
  const places = await addressesOf(listen.host);
  const listening = new BlockList();
  if (places.some((address) => LOOPBACK_OF_ANY.has(address))) {
    listening.addSubnet("127.0.0.0", 8, "ipv4");
    places.push("::1", ...interfaceAddresses());
  }
  for (const address of places) listening.addAddress(address, familyOf(address));
  const targets = (await addressesOf(next.host)).map((address) => LOOPBACK_OF_ANY.get(address) ?? address);
  return targets.some((address) => listening.check(address, familyOf(address)));
}

async function addressesOf(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => plain(address));
  } catch {
    return [];
  }
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => plain(address)));
}

/** Leaves out the zone of an address: it is the machine's own. */
function plain(address: string): string {
  return address.replace(/%.*$/, "");
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
