// Dials a server, and greets it.
import type { MachineChanges } from "../machine/machine-changes.ts";
import type { Clock, Dialer, Executor, Link, ResultOf } from "@runnel/shared";
import {
  Connection,
  LIMITS,
  PROTOCOL_FEATURES,
  PROTOCOL_VERSION,
  RunnelError,
  checkResult,
  hasBulkFrom,
} from "@runnel/shared";

export interface ConnectionDeps {
  url: string;
  clock: Clock;
  dialer: Dialer;
  executor: Executor;
  /** "Runnel 0.1.0 on ada-laptop": what others read when they wait for this client. */
  software: string;
  /** Left out where nobody knows when the machine slept, or its network changed. */
  machine?: MachineChanges;
  /** Resolves to the token that makes this device known to the server. */
  token?(): Promise<string | undefined> | string | undefined;
}

/** A link to a server. */
export interface Dialed {
  link: Link;
  /** Approximate time of a round trip, as measured while dialing. */
  roundTripMs: number;
  /** Token for this server. */
  token: string | undefined;
}

/** A connection that has said hello. */
export interface Greeting {
  connection: Connection;
  /**
   * Resolves to the server's own hello; rejects when it does not let this client in. What follows need not wait for it.
   */
  greeted: Promise<ResultOf<"hello">>;
}

/** Dialing takes two round trips, or three with TLS; through a tunnel of this machine one may be of no length. */
const DIAL_ROUND_TRIPS = 2;

/** @throws RunnelError Unreachable when nobody listens there or answers in time; Interrupted by `ending`. */
export async function dial({ clock, dialer, url, ...deps }: ConnectionDeps, ending: AbortSignal): Promise<Dialed> {
  const asked = deps.token?.();
  const token = asked instanceof Promise ? await asked : asked;
  const startMs = clock.bootMs();
  const link = await dialer.dial(url, ending);
  return { link, roundTripMs: (clock.bootMs() - startMs) / DIAL_ROUND_TRIPS, token };
}

/** Closes a link that came too late, or besides another. */
export function closeUnused({ link }: Pick<Dialed, "link">): void {
  link.close(CLOSE_NORMAL, "");
}

/** RFC 6455 §7.4.1. */
const CLOSE_NORMAL = 1000;

/** Says hello over a link. */
export function greet(
  deps: ConnectionDeps,
  { link, token }: Pick<Dialed, "link" | "token">,
  closed: (error: RunnelError) => void,
): Greeting {
  const { clock, executor, software } = deps;
  const connection = new Connection({
    link,
    isClient: true,
    clock,
    executor,
    mayHold: (bytes) => bytes <= LIMITS.clientHeldBytes,
    takesBulk: (operation) => hasBulkFrom("server", operation),
    opened: (_channel, operation) => {
      throw new RunnelError("Unsupported", operation, "A client opens all channels.");
    },
    closed,
  });
  const { ownerProof: proof } = link;
  const who = { ...(token === undefined ? {} : { token }), ...(proof === undefined ? {} : { proof }) };
  const greeted = connection
    .call("hello", { protocol: PROTOCOL_VERSION, software, features: [...PROTOCOL_FEATURES], ...who })
    .then((answer) => checkResult("hello", answer));
  greeted.catch(() => undefined);
  return { connection, greeted };
}
