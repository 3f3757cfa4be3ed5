// Networks that whoever runs the server names by their addresses: which of them a client is in. Where they say nothing
// of a client, what the server sees of it is a guess (networks.ts).
import { BlockList, isIP } from "node:net";
import { type AddressRange, RunnelError, addressRange } from "@runnel/shared";

export interface NetworkSettings {
  name: string;
  /** Ranges ADDRESS/BITS, or single addresses. */
  ranges: readonly string[];
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

export class NamedNetworks {
  /** Each with a list for each family: in one of both, IPv4 would also be what IPv6 has for it. */
  readonly #networks: { name: string; lists: Record<AddressRange["family"], BlockList> }[];

  /** @throws Invalid with what is wrong with which of them */
  constructor(settings: readonly NetworkSettings[] = []) {
    const taken: { name: string; range: AddressRange; text: string }[] = [];
    this.#networks = settings.map(({ name, ranges }) => {
      if (name === "") throw invalid("A network has no name. Write NAME=ADDRESS/BITS: berlin=10.1.0.0/16.");
      if (taken.some((each) => each.name === name))
        throw invalid(`The network ${name} is named twice. Name all its addresses at once: ${name}=…,…`);
      if (ranges.length === 0) throw invalid(`The network ${name} has no addresses.`);
      const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
      for (const text of ranges) {
        const range = parseRange(name, text);
        const other = taken.find((each) => each.name !== name && overlap(each.range, range));
        if (other !== undefined)
          throw invalid(`${text} of the network ${name} and ${other.text} of ${other.name} have addresses in common.`);
        taken.push({ name, range, text });
        add(lists[range.family], range);
      }
      return { name, lists };
    });
  }

  /**
   * Returns the name of a client's network: by the address that the server sees, which it cannot choose; where that is
   * in none, as behind a translation of addresses that several sites share, by those that it says are its own.
   */
  networkOf(seen: string, own: readonly string[]): string | undefined {
    for (const address of [seen, ...own]) {
      const plain = plainOf(address);
      const version = isIP(plain);
      if (version === 0) continue;
      const family = version === 4 ? "ipv4" : "ipv6";
      const found = this.#networks.find(({ lists }) => lists[family].check(plain, family));
      if (found !== undefined) return found.name;
    }
    return undefined;
  }
}

function parseRange(name: string, text: string): AddressRange {
  const range = addressRange(text);
  if (range !== undefined) return range;
  throw invalid(`${text} of the network ${name} is no range of addresses. Write ADDRESS/BITS: 10.1.0.0/16.`);
}

function overlap(one: AddressRange, other: AddressRange): boolean {
  if (one.family !== other.family) return false;
  const isIn = (range: AddressRange, { address }: AddressRange): boolean => {
    const list = new BlockList();
    add(list, range);
    return list.check(address, range.family);
  };
  // The larger range has the other whole, or they have nothing in common.
  return one.bits <= other.bits ? isIn(one, other) : isIn(other, one);
}

function add(list: BlockList, { address, bits, family }: AddressRange): void {
  list.addSubnet(address, bits, family);
}

/** A system that listens for both families writes IPv4 as IPv6; a zone is the machine's own. */
function plainOf(address: string): string {
  const [plain = ""] = address.split("%");
  return MAPPED.exec(plain)?.[1] ?? plain;
}

function invalid(sentence: string): RunnelError {
  return new RunnelError("Invalid", "serve", sentence);
}
