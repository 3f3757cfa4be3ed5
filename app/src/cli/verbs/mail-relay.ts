// runnel mail-relay: an SMTP relay, in this process, that sends the bodies of mails through a volume, until a signal
// ends it.
import { join } from "node:path";
import { LIMITS, RealClock, RunnelError, givenAuthorities, givenIdentity, isLoopback } from "@runnel/shared/base";
import type { Command } from "commander";
import { AgentHome } from "../../agent/control/index.ts";
import { volumeUrl } from "../../agent/control/volume-url.ts";
import type { MailEvent } from "../../mail/transaction.ts";
import { parseDuration } from "../duration.ts";
import { endOfService } from "../end-of-service.ts";
import type { Output } from "../output.ts";
import { printable } from "../printable.ts";
import { parseSize } from "../size.ts";
import { addVerb } from "../verb.ts";
import { parseListen, hostAndPort } from "./serve.ts";

const LISTEN_DEFAULT = "127.0.0.1:10025";
/** Postfix keeps a mail for 5 days; what is put longer ago is put anew. */
const LIFE_DEFAULT = "7d";
const SMALLEST_DEFAULT = "32K";
const SIZE_DEFAULT = "64M";
const LOOPBACK = ["127.0.0.0/8", "::1"];
/** RFC 5321 §4.5.3.2: 5 minutes for most answers, 10 for that to a mail. */
const ANSWER_MS = 300_000;
const MAIL_ANSWER_MS = 600_000;
/** Half of what Postfix waits for the answer to a mail: there is time left to send it whole. */
const VOLUME_MS = 300_000;

interface RelayOptions {
  listen: string;
  next: string;
  to: string;
  for: string;
  smallest: string;
  size: string;
  allow?: string[];
  cert?: string;
  key?: string;
  nextCa?: string;
}

export function addMailRelay(program: Command, output: Output): void {
  addVerb(
    program,
    "mail-relay",
    "Takes mails by SMTP and passes them on until Ctrl-C; large bodies go through a volume, to a\nnext hop that is such a relay of the same volume. To all others it is plain SMTP.",
    ["mail-relay --to wss://example.org:7473/mail --next example.net:10025"],
  )
    .requiredOption("--to <volume>", "wss://HOST:PORT/VOLUME, written the same at both relays", volumeUrl)
    .requiredOption("--next <host:port>", "where all mails go on to")
    .option("--listen <host:port>", "where to listen", LISTEN_DEFAULT)
    .option("--allow <address...>", "who may connect beyond loopback: ADDRESS or ADDRESS/BITS; may be given again")
    .option("--for <duration>", "how long bodies lie in the volume: 24h, 7d", LIFE_DEFAULT)
    .option("--smallest <size>", "bodies from this size on go through the volume", SMALLEST_DEFAULT)
    .option("--size <size>", "the largest mail", SIZE_DEFAULT)
    .option("--cert <file>", "offers TLS (STARTTLS) with this certificate in PEM form, with its chain")
    .option("--key <file>", "the certificate's private key in PEM form")
    .option(
      "--next-ca <file>",
      "sends nothing to a next hop without TLS and a certificate of these authorities, in PEM",
    )
    .action((options: RelayOptions) => relay(options, output));
}

async function relay(options: RelayOptions, output: Output): Promise<void> {
  const { allowedList, listenForMail } = await import("../../mail/host/listen.ts");
  const asked = await readOptions(options);
  const { listen, next, allow, lifeMs, tls, authorities } = asked;
  allowedList(allow);

  const ended = endOfService();
  const [{ AgentVolume }, { dialNextHop }, { openSpool }] = await Promise.all([
    import("../../mail/host/agent-volume.ts"),
    import("../../mail/host/dial-next-hop.ts"),
    import("../../mail/host/spool.ts"),
  ]);
  const clock = new RealClock();
  const volume = new AgentVolume({ url: options.to, lifeMs, withinMs: VOLUME_MS }, clock);
  const spool = Promise.withResolvers<Awaited<ReturnType<typeof openSpool>>>();
  const hop = { ...next, ...authorities, answerMs: ANSWER_MS, mailAnswerMs: MAIL_ANSWER_MS };
  const listener = await listenForMail(
    { ...listen, ...tls, allowed: [...LOOPBACK, ...allow], silenceMs: 2 * MAIL_ANSWER_MS },
    {
      volume,
      connect: () => dialNextHop(hop, clock),
      openFiles: async () => (await spool.promise)(),
      say: (event) => console.error(printable(describe(event))),
    },
    asked,
  );
  const home = new AgentHome();
  home.make();
  // This process alone listens here: the folder is its own.
  const place = `${listen.host}-${listener.port}`.replaceAll(/[^\w.-]/g, "_");
  spool.resolve(await openSpool(join(home.mailFolder, place)));
  const at = `${listen.host}:${listener.port}`;
  output.result({ listen: at, next: options.next, volume: volume.url }, () => [
    `Taking mails at ${at}, passing them on to ${options.next}, bodies through ${volume.url}`,
  ]);
  await ended;
  await listener.close();
}

/** Reads and checks all that was typed, before anything is made or listened to. @throws RunnelError */
async function readOptions(options: RelayOptions) {
  const listen = parseListen(options.listen);
  const next = hostAndPort(options.next);
  if (next === undefined || next.port === 0)
    throw invalid(`"${options.next}" is no next hop. Write HOST:PORT: example.net:25.`);
  const { cert, key, nextCa, allow = [] } = options;
  if ((cert === undefined) !== (key === undefined)) throw invalid("--cert and --key go together. Name both files.");
  if (allow.length === 0 && !isLoopback(listen.host))
    throw invalid(`Anybody could send mails at ${options.listen}. Say who may: --allow 192.0.2.7`);
  const mailBytesMax = parseSize(options.size);
  if (mailBytesMax === 0 || mailBytesMax > LIMITS.mailBytes)
    throw invalid(`A mail has up to ${LIMITS.mailBytes} bytes, not ${options.size}. Write a size from 1 to 1G.`);
  const smallestBytes = parseSize(options.smallest);
  const lifeMs = parseDuration(options.for);
  const own = cert === undefined || key === undefined ? undefined : await givenIdentity(cert, key);
  const authorities = nextCa === undefined ? {} : { authorities: await givenAuthorities(nextCa) };
  const { isOwnPlace } = await import("../../mail/host/own-next-hop.ts");
  if (await isOwnPlace(next, listen))
    throw invalid(`${options.next} is this relay: its mails would go round. Name the next mail server with --next.`);
  const tls = own === undefined ? {} : { tls: { cert: own.certificate, key: own.key } };
  return { listen, next, allow, mailBytesMax, smallestBytes, lifeMs, tls, authorities };
}

function describe({ way, sizeBytes, sentBytes, reply, problem }: MailEvent): string {
  const why = problem === undefined ? "" : ` (${problem})`;
  return `mail ${way}: ${sizeBytes} bytes, sent ${sentBytes}: ${reply.code} ${reply.text}${why}`;
}

function invalid(sentence: string): RunnelError {
  return new RunnelError("Invalid", "read the command", sentence);
}
