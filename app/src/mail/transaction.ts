// A mail on its way through a relay. Nothing is kept: each command is answered as the next hop answers it, and a mail
// is acknowledged when the next hop has acknowledged it. Bodies go through the volume where both sides know it, and
// within the mail where they do not, or cannot be put or had just now.
import { LIMITS, type RunnelError, isRunnelError } from "@runnel/shared/base";
import type { CutPart, MailFile, MailFiles, MailVolume } from "./mail-files.ts";
import type { NextHop } from "./next-hop.ts";
import { type MailReference, type ReferencedPart, WHOLE, formatReference } from "./reference.ts";
import { CANNOT_GET, EXTENSION, type Parameters, type Reply, isPositive } from "./smtp-words.ts";
import { knowsVolume, passAddress, passParameters } from "./smtp-words.ts";

export interface RelayDeps {
  volume: MailVolume;
  connect(): Promise<NextHop>;
  /** @throws RunnelError NoSpace, Io */
  openFiles(): Promise<MailFiles>;
  /** Tells whoever runs the relay. */
  say(event: MailEvent): void;
}

export interface RelaySettings {
  /** Size of a body from which on it goes through the volume. */
  smallestBytes: number;
  mailBytesMax: number;
}

/** Tells of a mail, for the log. */
export interface MailEvent {
  sizeBytes: number;
  /** Bytes that were sent to the next hop. */
  sentBytes: number;
  way: "parts" | "whole" | "plain";
  reply: Reply;
  /** Why bodies did not go through the volume, or did not come. */
  problem?: string;
}

/** Mails of one connection, one after another. */
export class Transaction {
  readonly #deps: RelayDeps;
  readonly #settings: RelaySettings;
  #hop: NextHop | undefined;
  /** Commands of the mail that is on its way, which the next hop has taken. */
  #envelope: string[] = [];
  #isUtf8 = false;
  #isFramed = false;
  /** The next hop is told that the content is framed. */
  #framesNext = false;

  constructor(deps: RelayDeps, settings: RelaySettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  async mail(sender: string, given: Parameters): Promise<Reply> {
    const { [EXTENSION]: frame, ...parameters } = given;
    const hop = await this.#freshHop();
    if ("code" in hop) return hop;
    this.#isFramed = frame === true;
    if (frame !== undefined && frame !== true) return { code: 501, text: `5.5.4 ${EXTENSION} has no value` };
    this.#isUtf8 = parameters["SMTPUTF8"] === true;
    this.#framesNext = knowsVolume(hop.extensions, this.#deps.volume.url);
    const address = passAddress(sender, this.#isUtf8);
    if (address === undefined) return { code: 553, text: "5.1.7 The sender's address is not right" };
    const passed = passParameters("MAIL", parameters, hop.extensions);
    if (typeof passed !== "string") return passed;
    const line = `MAIL FROM:<${address}>${passed}${this.#framesNext ? ` ${EXTENSION}` : ""}`;
    return this.#command(line);
  }

  async recipient(address: string, given: Parameters): Promise<Reply> {
    const hop = this.#hop;
    if (hop === undefined) return { code: 503, text: "5.5.1 MAIL comes first" };
    const passed = passAddress(address, this.#isUtf8);
    if (passed === undefined) return { code: 553, text: "5.1.3 The recipient's address is not right" };
    const parameters = passParameters("RCPT", given, hop.extensions);
    if (typeof parameters !== "string") return parameters;
    return this.#command(`RCPT TO:<${passed}>${parameters}`);
  }

  async data(content: AsyncIterable<Uint8Array>): Promise<Reply> {
    try {
      await using files = await this.#deps.openFiles();
      // A frame comes on top of a mail.
      const frameBytes = this.#isFramed ? LIMITS.mailReferenceBytes : 0;
      const came = await files.receive(content, this.#settings.mailBytesMax + frameBytes);
      const mail = this.#isFramed ? await this.#unframe(files, came) : came;
      const reply = "code" in mail ? mail : await this.#send(files, mail);
      return isPositive(reply) ? reply : this.#given(reply);
    } catch (error) {
      return this.#given(replyOf(error));
    } finally {
      this.#envelope = [];
    }
  }

  close(): void {
    this.#hop?.close();
    this.#hop = undefined;
    this.#envelope = [];
  }

  /** A mail that was begun and is not sent leaves the next hop in the middle of it. */
  #given(reply: Reply): Reply {
    this.close();
    return reply;
  }

  async #freshHop(): Promise<NextHop | Reply> {
    if (this.#envelope.length > 0 || this.#hop?.isOpen !== true) this.close();
    try {
      return (this.#hop ??= await this.#deps.connect());
    } catch (error) {
      return replyOf(error);
    }
  }

  async #command(line: string): Promise<Reply> {
    try {
      const reply = (await this.#hop?.command(line)) ?? AWAY;
      if (isPositive(reply)) this.#envelope.push(line);
      return reply;
    } catch (error) {
      return this.#given(replyOf(error));
    }
  }

  /** The mail that a content of another relay is. */
  async #unframe(files: MailFiles, came: MailFile): Promise<MailFile | Reply> {
    try {
      const { reference, restOffset, restBytes } = await files.readFrame(came);
      const rest = { path: came.path, offset: restOffset, sizeBytes: restBytes ?? came.sizeBytes - restOffset };
      const { mailBytesMax } = this.#settings;
      if ((reference ?? rest).sizeBytes > mailBytesMax)
        return { code: 552, text: `5.3.4 The mail has more than ${mailBytesMax} bytes` };
      if (reference === undefined) return rest;
      return await files.rebuild(rest, reference, (oid, sizeBytes) => this.#deps.volume.get(oid, sizeBytes));
    } catch (error) {
      const reply = { code: 451, text: `${CANNOT_GET} ${kindOf(error)}` };
      this.#deps.say({ sizeBytes: came.sizeBytes, sentBytes: 0, way: "parts", reply, problem: messageOf(error) });
      return reply;
    }
  }

  async #send(files: MailFiles, mail: MailFile): Promise<Reply> {
    const { sizeBytes } = mail;
    if (!this.#framesNext) return this.#sendAs("plain", sizeBytes, files.read(mail));
    let problem: string | undefined;
    const reference = await this.#put(files, mail).catch((error: unknown) => {
      problem = messageOf(error);
      return undefined;
    });
    if (reference === undefined) return this.#sendAs("whole", sizeBytes, chain(WHOLE, files.read(mail)), problem);
    const beginning = formatReference(reference);
    const reply = await this.#sendAs("parts", sizeBytes, chain(beginning, files.read(mail, reference.parts), LINE_END));
    if (!reply.text.startsWith(CANNOT_GET)) return reply;
    const again = await this.#beginAgain();
    if (!isPositive(again)) return again;
    return this.#sendAs("whole", sizeBytes, chain(WHOLE, files.read(mail)), reply.text);
  }

  /** Puts the bodies that are large enough. @returns undefined where there is none */
  async #put(files: MailFiles, mail: MailFile): Promise<MailReference | undefined> {
    const { digest, parts } = await files.cut(mail, this.#settings.smallestBytes);
    const referenced: ReferencedPart[] = [];
    for (const part of largest(parts)) {
      const { oid, sizeBytes } = await this.#deps.volume.put(part.path);
      const { offset, length, base64Line } = part;
      referenced.push({ offset, length, base64Line, oid, sizeBytes });
    }
    return referenced.length === 0 ? undefined : { sizeBytes: mail.sizeBytes, digest, parts: referenced };
  }

  async #sendAs(
    way: MailEvent["way"],
    sizeBytes: number,
    content: AsyncIterable<Uint8Array>,
    problem?: string,
  ): Promise<Reply> {
    const open = await this.#openHop();
    if (!isPositive(open)) return open;
    const hop = this.#hop;
    if (hop === undefined) return AWAY;
    let sentBytes = 0;
    const counted = async function* (): AsyncGenerator<Uint8Array> {
      for await (const bytes of content) {
        sentBytes += bytes.length;
        yield bytes;
      }
    };
    const reply = await hop.data(counted());
    this.#deps.say({ sizeBytes, sentBytes, way, reply, ...(problem === undefined ? {} : { problem }) });
    return reply;
  }

  /** A next hop may have hung up while a mail came slowly. Nothing of the mail was sent, so it is dialled again. */
  async #openHop(): Promise<Reply> {
    if (this.#hop?.isOpen === true) return OPEN;
    this.#hop?.close();
    this.#hop = await this.#deps.connect();
    if (knowsVolume(this.#hop.extensions, this.#deps.volume.url) !== this.#framesNext) return AWAY;
    return this.#beginAgain();
  }

  /** The same sender and recipients once more: the next hop has taken each of them just now. */
  async #beginAgain(): Promise<Reply> {
    const hop = this.#hop;
    let reply: Reply = AWAY;
    for (const line of this.#envelope) {
      reply = (await hop?.command(line)) ?? AWAY;
      if (!isPositive(reply)) return { code: 451, text: `4.3.0 The next hop answered otherwise before: ${reply.text}` };
    }
    return reply;
  }
}

const OPEN: Reply = { code: 250, text: "2.0.0 Open" };
const AWAY: Reply = { code: 451, text: "4.4.1 The next hop is away" };
const LINE_END = Buffer.from("\r\n");

/** The parts that are worth most, in their order. */
function largest(parts: readonly CutPart[]): readonly CutPart[] {
  const chosen = parts.toSorted((a, b) => b.length - a.length).slice(0, LIMITS.mailParts);
  return chosen.toSorted((a, b) => a.offset - b.offset);
}

async function* chain(...all: readonly (Uint8Array | AsyncIterable<Uint8Array>)[]): AsyncGenerator<Uint8Array> {
  for (const each of all) {
    if (each instanceof Uint8Array) yield each;
    else yield* each;
  }
}

/** Trying again helps, unless the mail itself is wrong. */
function replyOf(error: unknown): Reply {
  if (!isRunnelError(error)) return { code: 451, text: "4.3.0 The relay failed" };
  switch (error.kind) {
    case "TooLarge":
      return { code: 552, text: `5.3.4 ${error.message}` };
    case "Invalid":
      return { code: 554, text: `5.6.0 ${error.message}` };
    case "NoSpace":
      return { code: 452, text: "4.3.1 The relay's disk is full" };
    default:
      return { code: 451, text: `4.4.1 ${error.message}` };
  }
}

function kindOf(error: unknown): RunnelError["kind"] | "Failed" {
  return isRunnelError(error) ? error.kind : "Failed";
}

function messageOf(error: unknown): string {
  return isRunnelError(error) ? `${error.kind}: ${error.message}` : String(error);
}
