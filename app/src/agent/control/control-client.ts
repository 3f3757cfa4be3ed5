// A face's end of the control socket: typed requests, checked answers.
import { connect, type Socket } from "node:net";
import { type Clock, RunnelError } from "@runnel/shared";
import { LineSplitter } from "./line-splitter.ts";
import {
  AgentMessage,
  CONTROL_LIMITS,
  CONTROL_VERSION,
  fromWireError,
  type Hello,
  parseLine,
  Request,
  PARTS,
  type PartOf,
  type RequestOf,
  type ResultOf,
  RESULTS,
  type StreamVerb,
  type Verb,
} from "./messages.ts";

interface Pending {
  verb: Verb;
  part: ((value: unknown) => void) | undefined;
  done(result: unknown): void;
  fail(error: RunnelError): void;
}

export class ControlClient {
  readonly #socket: Socket;
  readonly #lines = new LineSplitter(CONTROL_LIMITS.answerLineBytes);
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #helloTaker: ((hello: Hello) => void) | undefined;
  #lost: RunnelError | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes) => this.#read(bytes));
    socket.on("error", () => undefined);
    socket.once("close", () =>
      this.#lose(new RunnelError("Unavailable", "ask the agent", "The agent ended before it answered. Try again.")),
    );
  }

  /**
   * Connects and exchanges hellos. Resolves to undefined when no agent listens there.
   * @throws RunnelError Version when it speaks another control version, Unavailable when it does not answer in time.
   */
  static async connect(
    path: string,
    settings: { version: string; clock: Clock; deadlineMs: number },
  ): Promise<{ client: ControlClient; hello: Hello } | undefined> {
    const socket = connect(path);
    const client = new ControlClient(socket);
    const hello = await new Promise<Hello | undefined>((done, fail) => {
      const timer = settings.clock.after(
        settings.deadlineMs,
        () => {
          socket.destroy();
          fail(new RunnelError("Unavailable", "reach the agent", "The agent does not answer. End it, then try again."));
        },
        true,
      );
      const end = (said: Hello | undefined): void => {
        timer.cancel();
        done(said);
      };
      client.#helloTaker = end;
      socket.once("connect", () =>
        client.#send({ hello: { control: CONTROL_VERSION, version: settings.version, pid: process.pid } }),
      );
      // Refused, no such socket, or closed before its hello (an agent that was just ending).
      socket.once("close", () => end(undefined));
    });
    if (hello === undefined) return undefined;
    if (hello.control !== CONTROL_VERSION) {
      client.close();
      throw new RunnelError(
        "Version",
        "reach the agent",
        `The agent that runs is of Runnel ${hello.version}, this command of ${settings.version}, and they do not understand each other. ` +
          `Run "runnel stop" to unmount its drives and end it, then try again.`,
        { detail: { need: hello.control } },
      );
    }
    return { client, hello };
  }

  /** Asks; `part` takes what comes before the result. Aborting asks the agent to stop, the result still comes. */
  async ask<V extends Verb>(
    request: RequestOf<V>,
    part?: V extends StreamVerb ? (part: PartOf<V>) => void : never,
    signal?: AbortSignal,
  ): Promise<ResultOf<V>> {
    if (this.#lost !== undefined) throw this.#lost;
    if (!Request.safeParse(request).success) {
      // Only lengths can be wrong with what a face asks; the agent would cut it off without a word.
      throw new RunnelError(
        "Invalid",
        "ask the agent",
        "A path, an address or a search is too long. Use shorter ones.",
      );
    }
    const verb = request.verb as V;
    const id = this.#nextId++;
    const result = new Promise<unknown>((done, fail) => {
      this.#pending.set(id, { verb, part: part as ((value: unknown) => void) | undefined, done, fail });
    });
    this.#send({ id, request });
    const cancel = (): void => this.#send({ cancel: id });
    signal?.addEventListener("abort", cancel);
    try {
      return (await result) as ResultOf<V>;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Uint8Array): void {
    try {
      for (const line of this.#lines.push(bytes)) this.#take(line);
    } catch (error) {
      this.#lose(
        new RunnelError(
          "Version",
          "ask the agent",
          `The agent's answer was not understood. Run "runnel stop", then try again.`,
          {
            cause: error,
          },
        ),
      );
      this.#socket.destroy();
    }
  }

  #take(line: string): void {
    const message = parseLine(AgentMessage, line, "read the agent's answer");
    if ("hello" in message) {
      this.#helloTaker?.(message.hello);
      return;
    }
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if ("part" in message) {
      const schema = pending.verb in PARTS ? PARTS[pending.verb as StreamVerb] : undefined;
      if (schema !== undefined) pending.part?.(schema.parse(message.part));
      return;
    }
    // Parsed first: an answer that is not understood must fail the request, not lose it.
    const settle =
      "error" in message
        ? () => pending.fail(fromWireError(message.error))
        : (
            (result: unknown) => () =>
              pending.done(result)
          )(RESULTS[pending.verb].parse(message.result));
    this.#pending.delete(message.id);
    settle();
  }

  #lose(error: RunnelError): void {
    this.#lost ??= error;
    for (const pending of this.#pending.values()) pending.fail(this.#lost);
    this.#pending.clear();
  }

  #send(message: unknown): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }
}
