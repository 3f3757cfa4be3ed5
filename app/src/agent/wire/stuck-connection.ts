// Notices that the line is there again while a connection over it is stuck: after an outage TCP sends again ever more seldom, so that the connection may stay
// silent for as long once more as the outage was. A new one is dialed beside it.
import type { Clock } from "@runnel/shared";
import { sleep } from "@runnel/shared";
import { type Dialed, letGo } from "./open-connection.ts";
import type { SignsOfLife } from "./signs-of-life.ts";

const LOOK_EVERY_MS = 50;
/** What a living server needs to answer, more than the line. A server that was stopped answers on both connections at about the same time. */
const ANSWER_MS = 200;
const ANSWER_ROUND_TRIPS = 2;
const GRACE_MS = 100;

export interface StuckParts {
  clock: Clock;
  signs: SignsOfLife;
  /** It is the session's connection still. */
  isInUse(): boolean;
  /** Asks on the connection what a living server answers at once. Rejects when it is not answered. */
  ask(): Promise<void>;
  dial(ending: AbortSignal): Promise<Dialed>;
}

/** What takes the connection's place; undefined when something was heard on it, or it has ended. Never rejects. */
export async function dialedBeside({ clock, signs, isInUse, ask, dial }: StuckParts): Promise<Dialed | undefined> {
  const beganMs = signs.time.nowMs;
  let isAnswered = false;
  const isStuck = (): boolean => isInUse() && !isAnswered && signs.lastHeardMs <= beganMs;
  const staysStuck = async (forMs: number): Promise<boolean> => {
    const untilMs = signs.time.nowMs + forMs;
    while (isStuck() && signs.time.nowMs < untilMs) await sleep(clock, LOOK_EVERY_MS);
    return isStuck();
  };
  const end = signs.time.watch();
  const over = new AbortController();
  try {
    ask().then(
      () => (isAnswered = true),
      () => undefined,
    );
    if (!(await staysStuck(ANSWER_MS + ANSWER_ROUND_TRIPS * signs.line.roundTripMs))) return undefined;
    const dialing = dial(over.signal).catch(() => undefined);
    const heard = staysStuck(Infinity).then(() => "heard" as const);
    const dialed = await Promise.race([dialing, heard]);
    if (dialed !== undefined && dialed !== "heard") {
      signs.answeredBeside();
      if (await staysStuck(GRACE_MS + signs.line.roundTripMs)) return dialed;
    }
    void dialing.then((unused) => unused && letGo(unused));
    return undefined;
  } finally {
    over.abort();
    end();
  }
}
