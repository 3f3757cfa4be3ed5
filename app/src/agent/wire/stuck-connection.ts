// Notices that the line is there again while a connection over it is stuck: after an outage TCP sends again ever more
// seldom, so that the connection may stay silent for as long once more as the outage was. A new one is dialed
// meanwhile.
import type { Clock } from "@runnel/shared";
import { sleep } from "@runnel/shared";
import { type Dialed, closeUnused } from "./open-connection.ts";
import type { Keepalive } from "./keepalive.ts";

const POLL_MS = 50;
/**
 * Time that a living server needs to answer, more than the line. A server that was stopped answers on both connections
 * at about the same time.
 */
const ANSWER_MS = 200;
const ANSWER_ROUND_TRIPS = 2;
const GRACE_MS = 100;

export interface ReplacementDeps {
  clock: Clock;
  keepalive: Keepalive;
  /** It is the session's connection still. */
  isInUse(): boolean;
  /** Asks on the connection what a living server answers at once. Rejects when it is not answered. */
  ask(): Promise<void>;
  dial(ending: AbortSignal): Promise<Dialed>;
}

/**
 * Dials what takes the connection's place. @returns undefined when something came on it, or it has ended; never
 * rejects.
 */
export async function dialReplacement({
  clock,
  keepalive,
  isInUse,
  ask,
  dial,
}: ReplacementDeps): Promise<Dialed | undefined> {
  const beganMs = keepalive.time.nowMs;
  let isAnswered = false;
  const isStuck = (): boolean => isInUse() && !isAnswered && keepalive.lastReceivedMs <= beganMs;
  const staysStuck = async (forMs: number): Promise<boolean> => {
    const untilMs = keepalive.time.nowMs + forMs;
    while (isStuck() && keepalive.time.nowMs < untilMs) await sleep(clock, POLL_MS);
    return isStuck();
  };
  const end = keepalive.time.watch();
  const over = new AbortController();
  try {
    ask().then(
      () => (isAnswered = true),
      () => undefined,
    );
    if (!(await staysStuck(ANSWER_MS + ANSWER_ROUND_TRIPS * keepalive.line.roundTripMs))) return undefined;
    const dialing = dial(over.signal).catch(() => undefined);
    const revived = staysStuck(Infinity).then(() => "revived" as const);
    const dialed = await Promise.race([dialing, revived]);
    if (dialed !== undefined && dialed !== "revived") {
      keepalive.answeredElsewhere();
      if (await staysStuck(GRACE_MS + keepalive.line.roundTripMs)) return dialed;
    }
    void dialing.then((unused) => unused && closeUnused(unused));
    return undefined;
  } finally {
    over.abort();
    end();
  }
}
