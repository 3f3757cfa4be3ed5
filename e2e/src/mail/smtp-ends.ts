// Both ends of SMTP, as bare as can be: a sender that says what it is told, and a mailbox that keeps the bytes as they
// came. They share no line with the product.
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

const END = Buffer.from("\r\n.\r\n");

/** A line with the code first: "250 2.0.0 Ok". */
export type Answer = string;

/** A connection that says one line, or one mail, and hears one answer. */
export class Sender {
  readonly #socket: Socket;
  #heard = "";
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes) => {
      this.#heard += bytes.toString("latin1");
      this.#wake();
    });
    socket.on("error", () => undefined).on("close", () => this.#wake());
  }

  static async to(port: number): Promise<{ sender: Sender; hello: Answer }> {
    const sender = new Sender(connect(port, "127.0.0.1"));
    await sender.#answer();
    return { sender, hello: await sender.say("EHLO sender.example") };
  }

  async say(line: string): Promise<Answer> {
    this.#socket.write(`${line}\r\n`);
    return this.#answer();
  }

  /** Sends bytes after DATA, with the end that SMTP has. */
  async content(bytes: Uint8Array): Promise<Answer> {
    const ready = await this.say("DATA");
    if (!ready.startsWith("354")) return ready;
    this.#socket.write(stuffed(bytes));
    return this.#answer();
  }

  /** Bytes as they are; nothing is awaited. */
  raw(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #answer(): Promise<Answer> {
    for (;;) {
      const [whole] = /^(?:\d{3}-[^\n]*\n)*\d{3}(?: [^\n]*)?\n/.exec(this.#heard) ?? [];
      if (whole !== undefined) {
        this.#heard = this.#heard.slice(whole.length);
        return whole.trimEnd();
      }
      if (this.#socket.closed || this.#socket.readableEnded) throw new Error(`It ended: ${this.#heard}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** Sends a mail of a sender to recipients, whole. @returns the last answer, or the first that refuses */
export async function sendMail(
  port: number,
  content: Uint8Array,
  { from = "ada@a.example", to = ["ben@b.example"] }: { from?: string; to?: readonly string[] } = {},
): Promise<Answer> {
  const { sender } = await Sender.to(port);
  try {
    for (const line of [`MAIL FROM:<${from}>`, ...to.map((each) => `RCPT TO:<${each}>`)]) {
      const answer = await sender.say(line);
      if (!answer.startsWith("2")) return answer;
    }
    return await sender.content(content);
  } finally {
    sender.close();
  }
}

/** Dots doubled, and the end; a mail has whole lines. */
function stuffed(bytes: Uint8Array): Buffer {
  const text = Buffer.from(bytes).toString("latin1");
  const lines = text.replaceAll(/(^|\r\n)\./g, "$1..");
  return Buffer.from(`${lines}${lines === "" || lines.endsWith("\r\n") ? "" : "\r\n"}.\r\n`, "latin1");
}

export interface ReceivedMail {
  /** The lines of MAIL and RCPT. */
  envelope: string[];
  content: Buffer;
}

/** Takes every mail, unless `answer` says otherwise, and keeps its bytes. */
export class Mailbox {
  readonly mails: ReceivedMail[] = [];
  /** Bytes that came, commands included. */
  receivedBytes = 0;
  /** The answer to a line, or to a mail as "."; undefined for that of a mailbox that takes it. */
  answer: (line: string) => string | undefined = () => undefined;
  /** Lines that it says to EHLO, after the first line. */
  extensions = ["PIPELINING", "8BITMIME", "SMTPUTF8", "DSN"];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
  }

  static async start(): Promise<Mailbox> {
    const mailbox = new Mailbox();
    mailbox.#server.listen(0, "127.0.0.1");
    await once(mailbox.#server, "listening");
    return mailbox;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }

  #serve(socket: Socket): void {
    let held = Buffer.alloc(0);
    let envelope: string[] = [];
    let isContent = false;
    socket.on("error", () => undefined);
    socket.write("220 mailbox.example\r\n");
    const takeContent = (): boolean => {
      // The end may be the first line: an empty mail.
      const at = held.subarray(0, 3).equals(END.subarray(2)) ? -2 : held.indexOf(END);
      if (at === -1) return false;
      const content = Buffer.from(
        held
          .subarray(0, at + 2)
          .toString("latin1")
          .replaceAll(/(^|\r\n)\.\./g, "$1."),
        "latin1",
      );
      held = held.subarray(at + END.length);
      isContent = false;
      const answer = this.answer(".") ?? "250 kept";
      if (answer.startsWith("2")) this.mails.push({ envelope, content });
      envelope = [];
      socket.write(`${answer}\r\n`);
      return true;
    };
    const takeLine = (): boolean => {
      const at = held.indexOf("\r\n");
      if (at === -1) return false;
      const line = held.subarray(0, at).toString();
      held = held.subarray(at + 2);
      const hello = ["250-mailbox.example", ...this.extensions.map((each) => `250-${each}`), "250 HELP"].join("\r\n");
      const answer = this.answer(line) ?? (line === "DATA" ? "354 go on" : line.startsWith("EHLO") ? hello : "250 ok");
      isContent = answer.startsWith("354");
      if (/^(MAIL|RCPT)/.test(line) && answer.startsWith("2")) envelope.push(line);
      socket.write(`${answer}\r\n`);
      return true;
    };
    socket.on("data", (bytes: Buffer) => {
      this.receivedBytes += bytes.length;
      held = Buffer.concat([held, bytes]);
      while (isContent ? takeContent() : takeLine());
    });
  }
}
