// Tells whether two clients are on one network, as the server sees their addresses: the same /24 of IPv4, the same /64
// of IPv6, or both on this machine. Behind one router they mostly share an address. A guess: it opens no door.
import { isLoopback } from "@runnel/shared";

const IPV4 = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i;
const NETWORK_GROUPS = 4;

export function isSameNetwork(one: string, other: string): boolean {
  if (isLoopback(one) || isLoopback(other)) return isLoopback(one) && isLoopback(other);
  const network = networkOf(one);
  return network !== undefined && network === networkOf(other);
}

function networkOf(address: string): string | undefined {
  const [, head] = IPV4.exec(address) ?? [];
  if (head !== undefined) return head;
  const [plain = ""] = address.split("%");
  if (!plain.includes(":")) return undefined;
  const [before = "", after] = plain.split("::");
  const groups = before.split(":").filter((group) => group !== "");
  if (after !== undefined) while (groups.length < NETWORK_GROUPS) groups.push("0");
  return groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16))
    .join(":");
}
