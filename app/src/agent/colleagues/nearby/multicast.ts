// Messages of DNS that reach all on the links of this machine (mDNS, RFC 6762), whoever carries them.
import type { NearbyMessage } from "./nearby-messages.ts";

export interface MulticastEvents {
  /** Something came from this address of a link: as its reader made it, trusted by nobody. */
  heard(message: unknown, address: string): void;
  /** There is a link that was not there before. */
  joined(): void;
}

export interface MulticastLine {
  /** Says it on all links, if it can. */
  say(message: NearbyMessage): void;
  /** Resolves when nothing is listened to. */
  close(): Promise<void>;
}

/** Never throws, nor does its line: where there is no multicast nothing is heard. */
export type Multicast = (events: MulticastEvents) => MulticastLine;
