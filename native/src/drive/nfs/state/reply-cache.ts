// Answers to calls that must not be carried out twice: a client that lost its connection sends a call again, under the
// same number, and gets the answer of the first.
import { hash } from "node:crypto";
import type { Clock } from "@runnel/shared/model";
import type { Answer } from "../connection.ts";
import type { Call } from "../wire/rpc.ts";

const KEPT_MAX = 1024;
/** Clients send again within a minute or two. */
const KEPT_MS = 120_000;

interface Kept {
  answer: Promise<Answer>;
  untilMs: number;
}

export class ReplyCache {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Carries a call out, unless it has been, or is being, under its number. */
  answer(call: Call, uid: number, carryOut: () => Promise<Answer>): Promise<Answer> {
    const nowMs = this.#clock.bootMs();
    for (const [key, { untilMs }] of this.#kept) {
      if (untilMs > nowMs && this.#kept.size < KEPT_MAX) break;
      this.#kept.delete(key);
    }
    const { xid, procedure, params } = call;
    const key = `${xid} ${procedure} ${uid} ${hash("sha1", params, "base64")}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known.answer;
    const answer = carryOut();
    this.#kept.set(key, { answer, untilMs: nowMs + KEPT_MS });
    return answer;
  }
}
