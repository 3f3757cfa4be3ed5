// The page's end of the calls: requests over a WebSocket, which is dialled anew as often as it breaks. Types alone come from shared/src, so that a page is small.

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;
const PROTOCOL = 1;

/** An error as the other end sent it: a sentence for a person, and its kind. */
export class CallFailure extends Error {
  readonly kind: string;
  constructor(kind: string, message: string) {
    super(message);
    this.name = "CallFailure";
    this.kind = kind;
  }
}

/** connecting: never heard of it. live: connected. lost: it was, and is dialled again. ended: the other end refuses this page; only a new one helps. */
export type LineState = "connecting" | "live" | "lost" | "ended";

interface Waiting {
  part: ((part: unknown) => void) | undefined;
  done(result: unknown): void;
  fail(error: CallFailure): void;
}

interface Answer {
  id?: number;
  part?: unknown;
  result?: unknown;
  error?: { kind: string; message: string };
  hello?: { version: string };
}

export interface CallsSettings {
  url: string;
  /** What proves to the other end that this page may ask; it goes in the hello. */
  session: string;
  version: string;
  /** Sentences for a person: the line is lost; a call was under way then. */
  sentences: { lost: string };
}

/** Code of a close by which the other end says that it does not know the session. */
const REFUSED = 4401;

export class Calls {
  readonly #settings: CallsSettings;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<() => void>();
  #socket: WebSocket | undefined;
  #nextId = 1;
  #delayMs = FIRST_DELAY_MS;
  #state: LineState = "connecting";

  constructor(settings: CallsSettings) {
    this.#settings = settings;
    this.#dial();
  }

  get state(): LineState {
    return this.#state;
  }

  /** Calls back at each change of the state. @returns what ends it. */
  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Asks; `part` takes what comes before the result. Aborting asks the other end to stop. @throws CallFailure */
  async ask<Result>(
    verb: string,
    request: object = {},
    options: { part?: (part: unknown) => void; signal?: AbortSignal } = {},
  ): Promise<Result> {
    if (this.#state !== "live") throw new CallFailure("Unavailable", this.#settings.sentences.lost);
    const id = this.#nextId++;
    const result = new Promise<unknown>((done, fail) => {
      this.#waiting.set(id, { part: options.part, done, fail });
    });
    this.#send({ id, request: { ...request, verb } });
    const cancel = (): void => this.#send({ cancel: id });
    options.signal?.addEventListener("abort", cancel);
    try {
      return (await result) as Result;
    } finally {
      options.signal?.removeEventListener("abort", cancel);
    }
  }

  #dial(): void {
    const { url, session, version } = this.#settings;
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ session }));
      socket.send(JSON.stringify({ hello: { protocol: PROTOCOL, version, features: [] } }));
    });
    socket.addEventListener("message", ({ data }) => this.#take(JSON.parse(String(data)) as Answer));
    socket.addEventListener("close", ({ code }) => this.#closed(code));
  }

  #take(answer: Answer): void {
    if (answer.hello !== undefined) {
      this.#delayMs = FIRST_DELAY_MS;
      this.#setState("live");
      return;
    }
    const waiting = this.#waiting.get(answer.id ?? 0);
    if (waiting === undefined) return;
    if ("part" in answer) {
      waiting.part?.(answer.part);
      return;
    }
    this.#waiting.delete(answer.id ?? 0);
    if (answer.error === undefined) waiting.done(answer.result);
    else waiting.fail(new CallFailure(answer.error.kind, answer.error.message));
  }

  #closed(code: number): void {
    for (const waiting of this.#waiting.values())
      waiting.fail(new CallFailure("Unavailable", this.#settings.sentences.lost));
    this.#waiting.clear();
    if (code === REFUSED) {
      this.#setState("ended");
      return;
    }
    if (this.#state === "live") this.#setState("lost");
    setTimeout(() => this.#dial(), this.#delayMs * (0.75 + Math.random() / 2));
    this.#delayMs = Math.min(LONGEST_DELAY_MS, 2 * this.#delayMs);
  }

  #setState(state: LineState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  #send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
