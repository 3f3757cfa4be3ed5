// States of a change of this client, whatever it changes. One that is recorded is kept until the server has it, or
// nobody wants it any more: recorded → sent → committed → settled, or unsent until it can be sent. One that is not
// recorded is settled by its answer, whatever that is. Pure: events in, states out; who sends, records and shows learns
// what there is to do.

/**
 * begun: it has a number, and no record. recorded: it is in the journal. unwanted: a program here has removed its file
 * since, so that it is not kept when it fails. unsent: it waits to be sent, by an attempt of its own. settled: nobody
 * asks for its result any more.
 */
export type ChangeState = "begun" | "recorded" | "sent" | "unwanted" | "committed" | "unsent" | "settled";
/** drop: its file was removed by a program here, or a person gave it up, or another change has taken its place. */
export type ChangeEvent = "record" | "send" | "answer" | "fail" | "settle" | "drop";

/** Steps that are not here cannot happen. */
export const NEXT_STATES: Readonly<Record<ChangeState, Partial<Record<ChangeEvent, ChangeState>>>> = {
  begun: { record: "recorded", settle: "settled" },
  recorded: { send: "sent", fail: "unsent", drop: "unwanted" },
  sent: { answer: "committed", fail: "unsent", drop: "unwanted" },
  unwanted: { send: "unwanted", answer: "committed", fail: "settled", drop: "unwanted" },
  committed: { settle: "settled", drop: "committed" },
  unsent: { send: "sent", drop: "settled" },
  settled: {},
};

/** @throws TypeError for a step that cannot happen. */
export function nextState(state: ChangeState, event: ChangeEvent): ChangeState {
  const next = NEXT_STATES[state][event];
  if (next === undefined) throw new TypeError(`A change that is ${state} cannot ${event}.`);
  return next;
}
