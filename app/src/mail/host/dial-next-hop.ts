// SMTP to the next hop over TCP, with TLS where it offers that (RFC 3207). The client of the kept library makes its own
// envelope: no parameters of others, no ORCPT for each recipient, no answer before the mail is sent.
import { type Socket, connect, isIP } from "node:net";
import { hostname } from "node:os";
import { connect as connectTls } from "node:tls";
import { type Clock, LIMITS, RunnelError } from "@runnel/shared/base";
import { DotStuffing } from "../line-ends.ts";
import type { NextHop } from "../next-hop.ts";
import { type Extensions, type Reply, isPositive, readExtensions } from "../smtp-words.ts";

export interface NextHopSettings {
  host: string;
  port: number;
  /** Certificates of authorities in PEM form: without TLS that they vouch for nothing is sent. */
  authorities?: string;
  /** Time for a connection and each answer, and for the answer to a mail. */
  answerMs: number;
  mailAnswerMs: number;
}

const CONTINUE = 354;

/** @throws RunnelError Unreachable */
export async function dialNextHop(settings: NextHopSettings, clock: Clock): Promise<NextHop> {
  const hop = new SmtpClient(connect({ host: settings.host, port: settings.port, noDelay: true }), settings, clock);
  try {
    await hop.greet();
    return hop;
  } catch (error) {
    hop.close();
    throw error;
  }
}

class SmtpClient implements NextHop {
  extensions: Extensions = new Map();
  readonly #settings: NextHopSettings;
  readonly #clock: Clock;
  #socket: Socket;
  #received = "";
  #failure: RunnelError | undefined;
  #wake: () => void = () => undefined;

  constructor(socket: Socket, settings: NextHopSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#socket = socket;
    this.#listen(socket);
  }

  get isOpen(): boolean {
    return this.#failure === undefined && this.#received === "";
  }

  async greet(): Promise<void> {
    this.#mustBe(await this.#reply(this.#settings.answerMs), "greets");
    await this.#hello();
    const { authorities } = this.#settings;
    if (this.extensions.has("STARTTLS")) await this.#startTls();
    else if (authorities !== undefined) throw this.#fail("offers no TLS, and --next-ca asks for it");
  }

  async command(line: string): Promise<Reply> {
    return settled(await this.#ask(line));
  }

  async data(content: AsyncIterable<Uint8Array>): Promise<Reply> {
    const ready = await this.#ask("DATA");
    // Another answer than 354 that looks well is none: nothing was sent.
    if (ready.code !== CONTINUE) return isPositive(ready) ? unexpected(ready) : settled(ready);
    const stuffing = new DotStuffing();
    try {
      for await (const bytes of content) if (bytes.length > 0) await this.#write(stuffing.take(bytes));
    } catch (error) {
      // The rest is not to be had: a mail that is not ended is no mail.
      this.close();
      throw error;
    }
    // An answer to a mail that has not ended may refuse it, and cannot take it.
    if (this.#received !== "") {
      const early = settled(await this.#reply(this.#settings.answerMs));
      this.close();
      return isPositive(early) ? unexpected(early) : early;
    }
    await this.#write(stuffing.end());
    return settled(await this.#reply(this.#settings.mailAnswerMs));
  }

  close(): void {
    this.#failure ??= new RunnelError("Unreachable", "speak with the next hop", "The connection was ended.");
    this.#socket.destroy();
    this.#wake();
  }

  async #ask(line: string): Promise<Reply> {
    // An answer to nothing would be taken for that to the next command.
    if (this.#received !== "") throw this.#fail("answers what it was not asked");
    await this.#write(Buffer.from(`${line}\r\n`));
    return this.#reply(this.#settings.answerMs);
  }

  async #hello(): Promise<void> {
    const reply = await this.command(`EHLO ${hostname()}`);
    this.extensions = isPositive(reply) ? readExtensions(reply.text) : new Map();
    if (!isPositive(reply)) this.#mustBe(await this.command(`HELO ${hostname()}`), "answers HELO");
  }

  async #startTls(): Promise<void> {
    this.#mustBe(await this.command("STARTTLS"), "answers STARTTLS");
    // Whatever came in clear behind the answer would be taken for what comes under TLS.
    if (this.#received !== "") throw this.#fail("says something between STARTTLS and TLS");
    const { host, authorities } = this.#settings;
    const plain = this.#socket;
    plain.removeAllListeners("data").removeAllListeners("close").removeAllListeners("error");
    plain.on("error", () => undefined);
    const socket = connectTls({
      socket: plain,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(authorities === undefined ? { rejectUnauthorized: false } : { ca: authorities }),
    });
    this.#socket = socket;
    const timer = this.#clock.after(this.#settings.answerMs, () => void this.#fail("does not begin TLS"));
    // The error's code says why: nobody vouches for it, another name, no TLS.
    const secured = Promise.withResolvers<void>();
    const failed = (error?: NodeJS.ErrnoException): void =>
      secured.reject(this.#fail(`has no TLS that is to be trusted (${error?.code ?? "closed"})`));
    const closed = (): void => failed();
    socket.once("secureConnect", secured.resolve).once("error", failed).once("close", closed);
    try {
      await secured.promise;
    } finally {
      timer.cancel();
      socket
        .on("error", () => undefined)
        .off("error", failed)
        .off("close", closed);
    }
    this.#listen(socket);
    await this.#hello();
  }

  #listen(socket: Socket): void {
    socket.on("data", (bytes) => {
      this.#received += bytes.toString("latin1");
      if (this.#received.length > LIMITS.mailReplyBytes) this.#fail("says more than an answer has");
      this.#wake();
    });
    const ended = (): void => void this.#fail("is away");
    socket.on("error", ended).on("close", ended);
  }

  #fail(why: string): RunnelError {
    const { host, port } = this.#settings;
    const sentence = `The next hop ${host}:${port} ${why}`;
    this.#failure ??= new RunnelError("Unreachable", "speak with the next hop", sentence);
    this.#socket.destroy();
    this.#wake();
    return this.#failure;
  }

  #mustBe(reply: Reply, what: string): void {
    if (!isPositive(reply)) throw this.#fail(`${what} with ${reply.code} ${reply.text}`);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#socket.write(bytes)) return;
    const isDrained = new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#socket.once("drain", resolve);
    });
    await this.#inTime(isDrained, this.#settings.mailAnswerMs);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The next answer, of one line or several. @throws RunnelError Unreachable */
  async #reply(withinMs: number): Promise<Reply> {
    let isLate = false;
    const timer = this.#clock.after(withinMs, () => {
      isLate = true;
      this.#fail("does not answer");
    });
    try {
      for (;;) {
        const reply = this.#takeReply();
        if (reply !== undefined) return reply;
        if (this.#failure !== undefined || isLate) throw this.#failure ?? this.#fail("does not answer");
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      timer.cancel();
    }
  }

  async #inTime(done: Promise<void>, withinMs: number): Promise<void> {
    const timer = this.#clock.after(withinMs, () => void this.#fail("takes nothing"));
    try {
      await done;
    } finally {
      timer.cancel();
    }
  }

  #takeReply(): Reply | undefined {
    const [, all] = /^((?:\d{3}-[^\n]*\n)*\d{3}(?:[ \r][^\n]*)?\n)/.exec(this.#received) ?? [];
    if (all === undefined) {
      if (/^(?!\d{3}[ \r\n-])[^\n]*\n/m.test(this.#received)) throw this.#fail("does not speak SMTP");
      return undefined;
    }
    this.#received = this.#received.slice(all.length);
    const lines = all.trimEnd().split(/\r?\n/);
    return { code: Number(all.slice(0, 3)), text: lines.map((line) => line.slice(4)).join("\n") };
  }
}

/** An answer to a command or a mail: it is taken, or refused for now or for ever. Anything else refuses it for now. */
function settled(reply: Reply): Reply {
  const kind = Math.trunc(reply.code / 100);
  return kind === 2 || kind === 4 || kind === 5 ? reply : unexpected(reply);
}

function unexpected({ code, text }: Reply): Reply {
  return { code: 451, text: `4.5.0 The next hop answered ${code} ${text}` };
}
