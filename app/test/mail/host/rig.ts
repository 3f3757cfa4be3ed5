// A relay's sockets for tests: what they are given to listen with, and next hops that say what a test tells them.
import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { RealClock } from "@runnel/shared";
import { type NextHopSettings, dialNextHop } from "../../../src/mail/host/dial-next-hop.ts";
import { type ListenSettings, type MailListener, listenForMail } from "../../../src/mail/host/listen.ts";
import type { NextHop } from "../../../src/mail/next-hop.ts";
import type { RelayDeps } from "../../../src/mail/transaction.ts";

const VOLUME = "wss://a:1/mail";

/** Takes all mails, and keeps nothing. */
export const willingHop: NextHop = {
  extensions: new Map(),
  isOpen: true,
  command: async () => ({ code: 250, text: "ok" }),
  data: async () => ({ code: 250, text: "kept" }),
  close: () => undefined,
};

export async function never(): Promise<never> {
  throw new Error("It is not needed.");
}

export class SmtpRig {
  readonly #closing: (() => unknown)[] = [];

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).toReversed()) await close();
  }

  async listen(settings: Partial<ListenSettings> = {}, deps: Partial<RelayDeps> = {}): Promise<MailListener> {
    const volume = { url: VOLUME, put: never, get: async function* () {} };
    const listener = await listenForMail(
      { host: "127.0.0.1", port: 0, allowed: ["127.0.0.1"], silenceMs: 60_000, ...settings },
      { volume, connect: async () => willingHop, openFiles: never, say: () => undefined, ...deps },
      { smallestBytes: 1, mailBytesMax: 1000 },
    );
    this.#closing.push(() => listener.close());
    return listener;
  }

  /** Connects; what it hears is awaited by what it says. */
  speak(port: number, localAddress?: string): Speaker {
    const socket = connect({ port, host: "127.0.0.1", ...(localAddress === undefined ? {} : { localAddress }) });
    this.#closing.push(() => socket.destroy());
    return new Speaker(socket);
  }

  /** Port of a next hop that serves each connection as `talk` says. */
  async hop(talk: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      this.#closing.push(() => socket.destroy());
      talk(socket.on("error", () => undefined));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#closing.push(() => server.close());
    return (server.address() as AddressInfo).port;
  }

  async dial(port: number, settings: Partial<NextHopSettings> = {}): Promise<NextHop> {
    const times = { answerMs: 60_000, mailAnswerMs: 60_000 };
    const hop = await dialNextHop({ host: "127.0.0.1", port, ...times, ...settings }, new RealClock());
    this.#closing.push(() => hop.close());
    return hop;
  }
}

/** A connection that hears lines. */
export class Speaker {
  readonly socket: Socket;
  #heard = "";
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (bytes) => {
      this.#heard += bytes.toString();
      this.#wake();
    });
    const over = (): void => {
      this.#isOver = true;
      this.#wake();
    };
    socket.on("error", over).on("close", over);
  }

  say(text: string): void {
    this.socket.write(text);
  }

  /** The next line that matches, with all before it. @throws when the connection ends before */
  async hear(pattern: RegExp): Promise<string> {
    for (;;) {
      const at = pattern.exec(this.#heard);
      if (at !== null) {
        const end = at.index + at[0].length;
        const heard = this.#heard.slice(0, end);
        this.#heard = this.#heard.slice(end);
        return heard;
      }
      if (this.#isOver) throw new Error(`It ended: ${this.#heard}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  get unheard(): string {
    return this.#heard;
  }
}

/** A next hop that answers each line as a table says: by its first word, or "." for a mail. */
export function answering(
  answers: Readonly<Record<string, string | ((socket: Socket) => void)>>,
): (socket: Socket) => void {
  return (socket) => {
    const usual: typeof answers = { DATA: "354 go on\r\n", ...answers };
    let isMail = false;
    let held = "";
    socket.write("220 hop\r\n");
    const take = (bytes: Buffer): void => {
      held += bytes.toString("latin1");
      for (let end = held.indexOf("\r\n"); end !== -1; end = held.indexOf("\r\n")) {
        const line = held.slice(0, end);
        held = held.slice(end + 2);
        if (isMail && line !== ".") continue;
        const word = isMail ? "." : (line.split(" ")[0] ?? "");
        isMail = word === "DATA";
        const answer = usual[word] ?? "250 ok\r\n";
        if (typeof answer === "string") socket.write(answer);
        else answer(socket);
      }
    };
    socket.on("data", take);
  };
}
