// Ranges of addresses as a person types them: ADDRESS/BITS, or a single address.
import { isIP } from "node:net";

export interface AddressRange {
  address: string;
  bits: number;
  family: "ipv4" | "ipv6";
}

const BITS = { ipv4: 32, ipv6: 128 } as const;
const MAPPED = /^::ffff:\d+\.\d+\.\d+\.\d+$/i;

/** Returns undefined for anything else: a name, a zone, IPv4 written as IPv6, bits that are left out or too many. */
export function addressRange(typed: string): AddressRange | undefined {
  const [, address = "", digits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(typed) ?? [];
  const version = isIP(address);
  const family = version === 4 ? "ipv4" : "ipv6";
  const bits = digits === undefined ? BITS[family] : Number(digits);
  return version === 0 || bits > BITS[family] || MAPPED.test(address) ? undefined : { address, bits, family };
}
