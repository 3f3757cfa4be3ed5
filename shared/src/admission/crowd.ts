// Connections that have not authenticated yet, by the network they come from. When there are too many, one of the
// network that has most is dropped by chance: a newcomer is always let in, and a connection that takes only the time of
// a handshake mostly stays, so that silent connections lock nobody out, even from behind the same address.

interface Member {
  network: string;
  turnOut(): void;
}

/** Golden ratio as a fraction of 2^32: its multiples are spread evenly. */
const GOLDEN_RATIO = 0x9e3779b9;

export class Crowd {
  private readonly most: number;
  private readonly networks = new Map<string, Member[]>();
  private count = 0;
  private turnedOut = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** `turnOut`: has to make room. Returns what it leaves by, once it is known or gone. */
  enter(address: string, turnOut: () => void): () => void {
    if (this.count >= this.most) this.evictOldest();
    const member = { network: networkOf(address), turnOut };
    const members = this.networks.get(member.network);
    if (members === undefined) this.networks.set(member.network, [member]);
    else members.push(member);
    this.count++;
    return () => this.leave(member);
  }

  private evictOldest(): void {
    let busiest: Member[] = [];
    for (const members of this.networks.values()) if (members.length > busiest.length) busiest = members;
    const chance = Math.imul(this.turnedOut++, GOLDEN_RATIO) >>> 0;
    const chosen = busiest[chance % busiest.length];
    if (chosen === undefined) return;
    this.leave(chosen);
    chosen.turnOut();
  }

  private leave(member: Member): void {
    const members = this.networks.get(member.network) ?? [];
    const at = members.indexOf(member);
    if (at === -1) return;
    members.splice(at, 1);
    if (members.length === 0) this.networks.delete(member.network);
    this.count--;
  }
}

/** Returns the network that one subscriber has: an IPv4 address, of IPv6 a /64 at least. */
export function networkOf(address: string): string {
  if (!address.includes(":") || /^::ffff:\d/i.test(address)) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const after = tail === undefined ? [] : tail.split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length;
  groups.push(...Array.from({ length: Math.max(0, missing) }, () => "0"));
  return [...groups, ...after].slice(0, 4).join(":");
}
