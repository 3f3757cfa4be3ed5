// The leases of an attachment, which hold together: the one on what is followed, the write leases of this client, which
// last no longer, and those of others, of which the first one says nothing.
import type { Channel, Clock, Connection } from "@runnel/shared";
import { HeldElsewhere, type HeldElsewhereDeps } from "./held-elsewhere.ts";
import type { Keepalive } from "../wire/keepalive.ts";
import { Lease } from "./lease.ts";
import type { SessionEvents } from "../wire/session-deps.ts";
import { WriteLeases } from "./write-leases.ts";

export interface LeasesDeps {
  clock: Clock;
  keepalive: Keepalive;
  events: Partial<SessionEvents>;
  /** Features that the server offers. */
  features(): readonly string[];
  /** @returns undefined while there is none; so too the feed. */
  connection(): Connection | undefined;
  feed(): Channel | undefined;
  /** Programs use the drive, or somebody waits for an answer. */
  isUsed(): boolean;
  namesOf: HeldElsewhereDeps["namesOf"] | undefined;
  ask: HeldElsewhereDeps["ask"];
}

export class Leases {
  readonly lease: Lease;
  readonly writeLeases: WriteLeases;
  readonly elsewhere: HeldElsewhere;

  constructor({ clock, keepalive, events, features, connection, feed, isUsed, namesOf, ask }: LeasesDeps) {
    // The drive knows nothing of folders: while others have some, it asks for everything, and is answered here.
    const changed = (): void => events.lease?.(this.elsewhere.isEmpty ? this.lease.untilMs : 0);
    this.lease = new Lease({
      clock,
      keepalive,
      connection,
      feed,
      isUsed,
      changed,
      interrupted: () => this.writeLeases.lost(),
      measured: () => events.silence?.(keepalive.line.silenceMs),
    });
    this.writeLeases = new WriteLeases({
      clock,
      keepalive,
      events,
      feed,
      hasLease: () => this.lease.isHeld,
      isOffered: () => features().includes("write-lease"),
    });
    this.elsewhere = new HeldElsewhere({ namesOf: namesOf ?? (() => []), ask, changed });
  }
}
