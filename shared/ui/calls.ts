// A face's end of the calls: requests over a line that is dialled anew as often as it breaks. No code comes from
// shared/src, so that a page is small.

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

/**
 * connecting: never heard of it. live: connected. lost: it was, and is dialled again. ended: the other end refuses this
 * page; only a new one helps.
 */
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

/** A line that carries texts both ways. What it calls back, it calls after it was dialled, not within. */
export interface Line {
  send(text: string): void;
  close(): void;
}

export interface LineEvents {
  opened(): void;
  text(text: string): void;
  /** `isRefused`: the other end will not have this face, however often it dials. */
  closed(isRefused: boolean): void;
}

export interface CallsSettings {
  dial(events: LineEvents): Line;
  version: string;
  /** Sentence for a person: the line is lost. */
  lost: string;
  /**
   * Dials that fail one after another before the other end is held to be gone for good; undefined: it may come back at
   * the same address at any time.
   */
  dialsMax?: number;
}

export class Calls {
  readonly #settings: CallsSettings;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<() => void>();
  #line: Line | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #nextId = 1;
  #delayMs = FIRST_DELAY_MS;
  /** Dials that failed since the line was live. */
  #failedDials = 0;
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
    if (this.#state !== "live") throw new CallFailure("Unavailable", this.#settings.lost);
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

  /** Ends it: nothing is asked or dialled any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#setState("ended");
    this.#line?.close();
  }

  #dial(): void {
    const { dial, version } = this.#settings;
    const line = dial({
      opened: () => line.send(JSON.stringify({ hello: { protocol: PROTOCOL, version, features: [] } })),
      text: (text) => this.#take(JSON.parse(text) as Answer),
      closed: (isRefused) => this.#closed(isRefused),
    });
    this.#line = line;
  }

  #take(answer: Answer): void {
    if (answer.hello !== undefined) {
      this.#delayMs = FIRST_DELAY_MS;
      this.#failedDials = 0;
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

  #closed(isRefused: boolean): void {
    for (const waiting of this.#waiting.values()) waiting.fail(new CallFailure("Unavailable", this.#settings.lost));
    this.#waiting.clear();
    if (this.#state !== "live") this.#failedDials++;
    const isGone = this.#failedDials >= (this.#settings.dialsMax ?? Infinity);
    if (isRefused || isGone) this.#setState("ended");
    if (this.#state === "ended") return;
    if (this.#state === "live") this.#setState("lost");
    this.#timer = setTimeout(() => this.#dial(), this.#delayMs * (0.75 + Math.random() / 2));
    this.#delayMs = Math.min(LONGEST_DELAY_MS, 2 * this.#delayMs);
  }

  #setState(state: LineState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  #send(message: object): void {
    if (this.#state === "live") this.#line?.send(JSON.stringify(message));
  }
}
