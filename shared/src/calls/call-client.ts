// The asking end of a connection: typed requests, checked answers.
import type { z } from "zod";
import { RunnelError } from "../errors.ts";
import type { Clock } from "../host/clock.ts";
import type { CallSchemas, CallTable, CallResult, CallPart } from "./call-table.ts";
import type { Carrier } from "./carrier.ts";
import { fromCallError, type Hello, parseMessage, ServerMessage } from "./envelope.ts";

export interface CallClientSettings {
  hello: Hello;
  clock: Clock;
  /** Time for the other end's hello. */
  deadlineMs: number;
  operation: string;
  /**
   * Sentences for a person about the other end: no hello in time; gone before it answered; an answer that is not as it
   * must be.
   */
  sentences: { silent: string; ended: string; notUnderstood: string };
}

interface Pending {
  schemas: CallSchemas;
  part: ((value: unknown) => void) | undefined;
  done(result: unknown): void;
  fail(error: RunnelError): void;
}

export class CallClient<T extends CallTable> {
  readonly #carrier: Carrier;
  readonly #table: T;
  readonly #settings: CallClientSettings;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #greeted: (hello: Hello | undefined) => void = () => undefined;
  #lost: RunnelError | undefined;

  private constructor(carrier: Carrier, table: T, settings: CallClientSettings) {
    this.#carrier = carrier;
    this.#table = table;
    this.#settings = settings;
    carrier.onText((text) => this.#read(text));
    carrier.onClose((error) => (error === undefined ? this.#end() : this.#refuse(error)));
  }

  /**
   * Exchanges hellos; whether the protocols fit is the caller's to judge.
   * @returns undefined when the connection ends before the other end's hello.
   * @throws RunnelError Unavailable when that does not come in time.
   */
  static async open<T extends CallTable>(
    carrier: Carrier,
    table: T,
    settings: CallClientSettings,
  ): Promise<{ client: CallClient<T>; hello: Hello } | undefined> {
    const client = new CallClient(carrier, table, settings);
    const { clock, deadlineMs, operation, sentences } = settings;
    const hello = await new Promise<Hello | undefined>((done, fail) => {
      const overdue = (): void => {
        client.close();
        fail(new RunnelError("Unavailable", operation, sentences.silent));
      };
      const timer = clock.after(deadlineMs, overdue, true);
      client.#greeted = (received) => {
        timer.cancel();
        done(received);
      };
      client.#send({ hello: settings.hello });
    });
    return hello === undefined ? undefined : { client, hello };
  }

  /** Asks; `part` takes what comes before the result. Aborting asks the other end to stop; the result still comes. */
  async ask<V extends keyof T & string>(
    verb: V,
    request: z.input<T[V]["asks"]>,
    part?: (part: CallPart<T[V]>) => void,
    signal?: AbortSignal,
  ): Promise<CallResult<T[V]>> {
    const schemas = this.#table[verb];
    if (this.#lost !== undefined) throw this.#lost;
    const id = this.#nextId++;
    const result = new Promise<unknown>((done, fail) => {
      this.#pending.set(id, { schemas: schemas as CallSchemas, part: part as Pending["part"], done, fail });
    });
    this.#send({ id, request: { verb, ...(request as object) } });
    const cancel = (): void => this.#send({ cancel: id });
    signal?.addEventListener("abort", cancel);
    try {
      return (await result) as CallResult<T[V]>;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  close(): void {
    this.#carrier.close();
  }

  #read(text: string): void {
    try {
      this.#take(parseMessage(ServerMessage, text));
    } catch (error) {
      this.#refuse(error);
    }
  }

  #take(message: ServerMessage): void {
    if ("hello" in message) {
      this.#greeted(message.hello);
      return;
    }
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    const { schemas, part, done, fail } = pending;
    if ("part" in message) {
      if (schemas.part !== undefined) part?.(schemas.part.parse(message.part));
      return;
    }
    // Parsed first: an answer that is not understood must fail the request, not lose it.
    const result = "error" in message ? undefined : schemas.gives.parse(message.result);
    this.#pending.delete(message.id);
    if ("error" in message) fail(fromCallError(message.error));
    else done(result);
  }

  #refuse(cause: unknown): void {
    const { operation, sentences } = this.#settings;
    this.#lose(new RunnelError("Version", operation, sentences.notUnderstood, { cause }));
    this.#carrier.close();
  }

  #end(): void {
    const { operation, sentences } = this.#settings;
    this.#lose(new RunnelError("Unavailable", operation, sentences.ended));
  }

  #lose(error: RunnelError): void {
    this.#lost ??= error;
    this.#greeted(undefined);
    for (const pending of this.#pending.values()) pending.fail(this.#lost);
    this.#pending.clear();
  }

  #send(message: unknown): void {
    void this.#carrier.send(JSON.stringify(message));
  }
}
