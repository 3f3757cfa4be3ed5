// The answering end of a connection: reads requests, hands them to their handlers, sends what these answer.
import { fromSystemError, isRunnelError, RunnelError } from "../errors.ts";
import type { Clock, Timer } from "../host/clock.ts";
import type { Call, CallTable } from "./call-table.ts";
import type { Carrier } from "./carrier.ts";
import { ClientMessage, type Hello, parseMessage, toCallError } from "./envelope.ts";

export interface CallServerSettings {
  hello: Hello;
  clock: Clock;
  /** A connection that has not said hello by then is closed. */
  helloMs: number;
  /** Requests that are not yet answered. */
  requestsMax: number;
  table: CallTable;
  /** Throws when the other end may not ask a verb of the table, before its request is looked at. */
  authorize?(verb: string): void;
  /** Answers a request that fits the schema of its verb. What it throws is sent as an error. */
  handle(verb: string, request: unknown, call: Call): Promise<unknown>;
  /** A request was refused before it came to its handler; `verb` is "" for a message that is no request. */
  refused?(verb: string, error: unknown): void;
  /** The other end broke the rules, or a request failed in a way that is a fault of this one. */
  problem?(error: unknown): void;
}

export class CallServer {
  readonly #carrier: Carrier;
  readonly #settings: CallServerSettings;
  readonly #calls = new Map<number, AbortController>();
  #helloTimer: Timer | undefined;
  #isFinishing = false;

  constructor(carrier: Carrier, settings: CallServerSettings) {
    this.#carrier = carrier;
    this.#settings = settings;
    this.#helloTimer = settings.clock.after(settings.helloMs, () => carrier.close());
    carrier.onText((text) => this.#read(text));
    carrier.onClose((error) => {
      if (error !== undefined) settings.problem?.(error);
      this.#helloTimer?.cancel();
      for (const call of this.#calls.values()) call.abort();
    });
    this.#send({ hello: settings.hello });
  }

  /** Answers what was asked, takes nothing more, and closes. What goes on until it is cancelled is cancelled. */
  finish(): void {
    this.#isFinishing = true;
    for (const call of this.#calls.values()) call.abort();
    if (this.#calls.size === 0) this.#carrier.close();
  }

  #read(text: string): void {
    try {
      this.#take(parseMessage(ClientMessage, text));
    } catch (error) {
      this.#settings.refused?.("", error);
      this.#settings.problem?.(error);
      this.#carrier.close();
    }
  }

  #take(message: ClientMessage): void {
    if ("hello" in message) {
      this.#helloTimer?.cancel();
      this.#helloTimer = undefined;
      // The other end has our hello and can inform its user; nothing it says could be understood here.
      if (message.hello.protocol !== this.#settings.hello.protocol) this.#carrier.close();
      return;
    }
    if (this.#helloTimer !== undefined) throw invalid("No hello came first.");
    if ("cancel" in message) {
      this.#calls.get(message.cancel)?.abort();
      return;
    }
    if (this.#isFinishing) return;
    if (this.#calls.has(message.id) || this.#calls.size >= this.#settings.requestsMax)
      throw invalid("A request came twice, or too many came at once.");
    void this.#answer(message.id, message.request);
  }

  async #answer(id: number, request: { verb: string }): Promise<void> {
    const { verb } = request;
    const call = new AbortController();
    const { signal } = call;
    this.#calls.set(id, call);
    try {
      const asked = this.#accepted(request);
      const result = await this.#settings.handle(verb, asked, { signal, part: (part) => this.#part(id, part, signal) });
      this.#send({ id, result });
    } catch (error) {
      if (!isRunnelError(error)) this.#settings.problem?.(error);
      this.#send({ id, error: toCallError(fromSystemError(error, verb)) });
    } finally {
      this.#calls.delete(id);
      if (this.#isFinishing && this.#calls.size === 0) this.#carrier.close();
    }
  }

  /** @throws as #parse */
  #accepted(request: { verb: string }): unknown {
    try {
      return this.#parse(request);
    } catch (error) {
      this.#settings.refused?.(request.verb, error);
      throw error;
    }
  }

  /** @throws RunnelError Unsupported, Invalid; what authorize() throws */
  #parse(request: { verb: string }): unknown {
    const { verb } = request;
    const { table } = this.#settings;
    const schemas = Object.hasOwn(table, verb) ? table[verb] : undefined;
    if (schemas === undefined) {
      const sentence = `Version ${this.#settings.hello.version} does not know "${verb}". Update it.`;
      throw new RunnelError("Unsupported", "read a request", sentence);
    }
    this.#settings.authorize?.(verb);
    const { success, data, error: cause } = schemas.asks.safeParse(request);
    if (success) return data;
    throw new RunnelError("Invalid", verb, "The request has a shape that is not known here.", { cause });
  }

  async #part(id: number, part: unknown, signal: AbortSignal): Promise<void> {
    const room = this.#send({ id, part });
    if (room === undefined || signal.aborted) return;
    await new Promise<void>((done) => {
      const end = (): void => {
        signal.removeEventListener("abort", end);
        done();
      };
      void room.then(end);
      signal.addEventListener("abort", end);
    });
  }

  #send(message: unknown): Promise<void> | undefined {
    return this.#carrier.send(JSON.stringify(message));
  }
}

function invalid(sentence: string): RunnelError {
  return new RunnelError("Invalid", "read a call's message", sentence);
}
