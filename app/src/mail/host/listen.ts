// SMTP from whoever sends mails to the relay: the kept library speaks it, a transaction answers.
import { type AddressInfo, BlockList, isIPv6 } from "node:net";
import type { Readable } from "node:stream";
import { LIMITS, RunnelError, addressRange, cannotListen } from "@runnel/shared/base";
import { SMTPServer, type SMTPServerAddress, type SMTPServerError, type SMTPServerSession } from "smtp-server";
import { type Parameters, type Reply, extensionLine, isPositive } from "../smtp-words.ts";
import { Transaction, type RelayDeps, type RelaySettings } from "../transaction.ts";

export interface ListenSettings {
  host: string;
  port: number;
  /** Addresses, and networks as ADDRESS/BITS, that may connect. */
  allowed: readonly string[];
  tls?: { cert: string; key: string };
  /** A connection that says nothing for so long is ended; a sender waits longer for the answer to its mail. */
  silenceMs: number;
}

export interface MailListener {
  readonly port: number;
  close(): Promise<void>;
}

/** @throws RunnelError when it cannot listen there */
export async function listenForMail(
  settings: ListenSettings,
  deps: RelayDeps,
  relay: RelaySettings,
): Promise<MailListener> {
  const allowed = allowedList(settings.allowed);
  const transactions = new Map<string, Transaction>();
  const of = (session: SMTPServerSession): Transaction => {
    let found = transactions.get(session.id);
    if (found === undefined) transactions.set(session.id, (found = new Transaction(deps, relay)));
    return found;
  };
  const server = new SMTPServer({
    ...settings.tls,
    disabledCommands: ["AUTH", ...(settings.tls === undefined ? ["STARTTLS"] : [])],
    authOptional: true,
    disableReverseLookup: true,
    hideDSN: false,
    lenientAddressParsing: true,
    // A transaction tells a frame from its mail, and refuses what is too large.
    size: relay.mailBytesMax + LIMITS.mailReferenceBytes,
    maxClients: LIMITS.mailConnections,
    maxRecipients: LIMITS.mailRecipients,
    socketTimeout: settings.silenceMs,
    logger: false,
    onConnect(session, answer) {
      const { remoteAddress } = session;
      if (!allowed.check(remoteAddress, isIPv6(remoteAddress) ? "ipv6" : "ipv4"))
        return answer(refusal({ code: 554, text: "5.7.1 This relay is not for you" }));
      advertise(server, session, [`SIZE ${relay.mailBytesMax}`, extensionLine(deps.volume.url)]);
      return answer();
    },
    onMailFrom: ({ address, args }, session, answer) => {
      void of(session).mail(address, parametersOf(args)).then(answerWith(answer));
    },
    onRcptTo: ({ address, args }, session, answer) => {
      void of(session).recipient(address, parametersOf(args)).then(answerWith(answer));
    },
    onData: (stream: Readable, session, answer) => {
      void of(session)
        .data(stream)
        .then((reply) => (isPositive(reply) ? answer(null, oneLine(reply)) : answer(refusal(reply))));
    },
    onClose: (session) => {
      transactions.get(session.id)?.close();
      transactions.delete(session.id);
    },
  });
  // Fails one connection, whose sender tries again.
  server.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once("error", (error) => reject(cannotListen(settings.host, settings.port, error)));
    server.listen(settings.port, settings.host, resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  return { port, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** The library has no option for lines of EHLO, whose reply is the only one that is a list; its SIZE is another. */
function advertise(server: SMTPServer, session: SMTPServerSession, lines: readonly string[]): void {
  const connection = [...server.connections].find((each) => each.session === session);
  if (connection === undefined) return;
  const send = connection.send.bind(connection);
  const ownLines = (text: readonly string[]): string[] => [
    ...text.filter((each) => !each.startsWith("SIZE")),
    ...lines,
  ];
  connection.send = (code, text, context) => send(code, Array.isArray(text) ? ownLines(text) : text, context);
}

function parametersOf(args: SMTPServerAddress["args"]): Parameters {
  return args === false ? {} : args;
}

function answerWith(answer: (error?: Error | null) => void): (reply: Reply) => void {
  return (reply) => (isPositive(reply) ? answer() : answer(refusal(reply)));
}

function refusal(reply: Reply): SMTPServerError {
  return Object.assign(new Error(oneLine(reply)), { responseCode: reply.code });
}

function oneLine({ text }: Reply): string {
  return text.replaceAll("\n", " ");
}

/** @throws RunnelError Invalid */
export function allowedList(allowed: readonly string[]): BlockList {
  const list = new BlockList();
  for (const each of allowed) {
    const range = addressRange(each);
    if (range === undefined) {
      const sentence = `"${each}" is no address. Write ADDRESS or ADDRESS/BITS: 192.0.2.0/24.`;
      throw new RunnelError("Invalid", "read the command", sentence);
    }
    list.addSubnet(range.address, range.bits, range.family);
  }
  return list;
}
