// The message bus of the user's session (D-Bus Specification), for a few calls. Each has a deadline: who is asked may
// hang, or die without a word.
import dbus, { type Message, type MessageBus } from "dbus-next";
import type { Clock } from "@runnel/shared/base";
import { openBus } from "../../../machine/host/linux/open-bus.ts";

/** A keyring may ask a person whether a program may have a secret. */
const ANSWER_MS = 10_000;

export type BusCall = Pick<Message, "destination" | "path" | "interface" | "member" | "signature" | "body">;

export class SessionBus {
  readonly #bus: MessageBus;
  readonly #clock: Clock;
  readonly #failed: Promise<never>;

  private constructor(bus: MessageBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#failed = new Promise((_, fail) => {
      bus.on("error", fail);
    });
    this.#failed.catch(() => undefined);
  }

  /** @throws Error when nobody listens there. */
  static async connect(address: string, clock: Clock): Promise<SessionBus> {
    const bus = new SessionBus(openBus(address), clock);
    const connected = new Promise<void>((done) => {
      bus.#bus.once("connect", () => done());
    });
    try {
      await bus.#within(connected, "the session's bus does not answer");
      return bus;
    } catch (error) {
      bus.close();
      throw error;
    }
  }

  /** Resolves to the values of the answer. @throws Error with the other side's words, or when it answers too late. */
  async call(call: BusCall): Promise<unknown[]> {
    const answer = await this.#within(
      this.#bus.call(new dbus.Message(call)),
      `no answer to ${call.member} in ${ANSWER_MS / 1000} seconds`,
    );
    return answer?.body ?? [];
  }

  variant(signature: string, value: unknown): unknown {
    return new dbus.Variant(signature, value);
  }

  close(): void {
    this.#bus.disconnect();
  }

  async #within<T>(answer: Promise<T>, otherwise: string): Promise<T> {
    answer.catch(() => undefined);
    const { promise: overdue, reject } = Promise.withResolvers<never>();
    const timer = this.#clock.after(ANSWER_MS, () => reject(new Error(otherwise)), true);
    try {
      return await Promise.race([answer, this.#failed, overdue]);
    } finally {
      timer.cancel();
    }
  }
}
