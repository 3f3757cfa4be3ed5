// Mails through two relays with TLS between them, each with an agent of its own, and a volume of a server that both
// know; a bare sender before them and a bare mailbox behind.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, jest, test } from "@jest/globals";
import { OBJECTS_FOLDER } from "@runnel/shared";
import { type Device, Sandbox, type ServerProcess, mustRun, noise } from "../src/harness/index.ts";
import { freePort } from "../src/installers/packs.ts";
import { makeMail } from "../src/mail/make-mail.ts";
import { type RelayProcess, startRelay } from "../src/mail/relay-process.ts";
import { Mailbox, Sender, sendMail } from "../src/mail/smtp-ends.ts";

jest.setTimeout(60_000);

const FILE_BYTES = 300_000;
const plans = noise(FILE_BYTES, 1);
const withPlans = makeMail({ attachments: [{ name: "plans.bin", bytes: plans }] });

let sandbox: Sandbox;
let server: ServerProcess;
let volume: string;
let mailbox: Mailbox;
let sending: Device;
let near: RelayProcess;
let far: RelayProcess;

beforeAll(async () => {
  sandbox = new Sandbox();
  server = await sandbox.startServer({ volumes: { mail: sandbox.makeFolder("served") } });
  volume = `${server.url}/mail`;
  mailbox = await Mailbox.start();
  sending = sandbox.device("a");
  const port = await freePort();
  const tls = ["--cert", sandbox.path("right.pem"), "--key", sandbox.path("right.key")];
  await Promise.all(["right", "wrong"].map(makeCertificate));
  [far, near] = await Promise.all([
    startRelay(sandbox.device("b"), { volume, next: mailbox.port, args: ["--listen", `127.0.0.1:${port}`, ...tls] }),
    startRelay(sending, { volume, next: port, args: ["--next-ca", sandbox.path("right.pem")] }),
  ]);
});

afterAll(async () => {
  mailbox?.close();
  await sandbox.cleanup();
}, 60_000);

beforeEach(() => {
  mailbox.mails.length = 0;
  mailbox.answer = () => undefined;
});

async function makeCertificate(name: string): Promise<void> {
  const kind = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -addext subjectAltName=IP:127.0.0.1";
  const line = `req -x509 ${kind} -keyout ${name}.key -out ${name}.pem -subj /CN=${name}`;
  await mustRun("openssl", line.split(" "), { cwd: sandbox.folder });
}

const objects = (): string[] =>
  existsSync(sandbox.path("served", OBJECTS_FOLDER)) ? readdirSync(sandbox.path("served", OBJECTS_FOLDER)) : [];
const received = (): Buffer[] => mailbox.mails.map(({ content }) => content);
/** Bytes that the near relay has sent of its last mail. */
const sentBytes = (relay = near): number => Number(/sent (\d+)/.exec(relay.said.at(-1) ?? "")?.[1]);

test("a mail arrives byte for byte; equal attachments are one object, whatever mail and lines they come in", async () => {
  const other = makeMail({ subject: "Again", attachments: [{ name: "p", bytes: plans }], lineCharacters: 60 });
  for (const mail of [withPlans, other]) {
    expect(await sendMail(near.port, mail, { to: ["ben@b.example", "eve@b.example"] })).toMatch(/^250/);
    expect(near.said.at(-1)).toMatch(/^mail parts: /);
    expect(sentBytes()).toBeLessThan(1500);
  }
  expect(received()).toEqual([withPlans, other]);
  expect(mailbox.mails[1]?.envelope).toEqual([
    "MAIL FROM:<ada@a.example>",
    "RCPT TO:<ben@b.example>",
    "RCPT TO:<eve@b.example>",
  ]);
  expect(objects()).toHaveLength(1);
  const spools = ["a", "b"].map((name) => sandbox.path("home", name, "mail"));
  for (const spool of spools)
    for (const place of readdirSync(spool)) expect(readdirSync(join(spool, place))).toEqual([]);
});

test("small, empty, odd and dotted mails arrive as they are", async () => {
  const odd = [
    "",
    "\r\n",
    ".\r\n",
    "..\r\n.\r\n",
    "no header",
    `x: ${"y".repeat(70_000)}\r\n\r\nz\0\0\u00E9\r\n.a\r\n`,
  ];
  const mails = odd.map((text) => Buffer.from(text === "" || text.endsWith("\r\n") ? text : `${text}\r\n`));
  mails.push(Buffer.from(`\r\n${"line of a text\r\n".repeat(5000)}.\r\n`));
  mails.push(Buffer.from("runnel-mail/1 parts\r\nmessage 5 0\r\nrest 5\r\nhello\r\n"));
  const { sender } = await Sender.to(near.port);
  for (const mail of mails) {
    await sender.say("MAIL FROM:<ada@a.example>");
    await sender.say("RCPT TO:<ben@b.example>");
    expect(await sender.content(mail)).toMatch(/^250/);
  }
  sender.close();
  expect(received()).toEqual(mails);
});

test("each command is answered as the next hop answers it, with its parameters", async () => {
  mailbox.answer = (line) => (line.startsWith("RCPT TO:<eve") ? "550 5.1.1 Nobody of that name" : undefined);
  const { sender, hello } = await Sender.to(near.port);
  expect(hello).toContain(`XRUNNELOID 1 ${volume}`);
  const mail = "MAIL FROM:<> SIZE=500 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=a+2Bb+3D";
  expect(await sender.say(mail)).toMatch(/^250/);
  expect(await sender.say("RCPT TO:<eve@b.example>")).toBe("550 5.1.1 Nobody of that name");
  const rcpt = "RCPT TO:<jürgen@b.example> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;x+3Dy@b.example";
  expect(await sender.say(rcpt)).toMatch(/^250/);
  expect(await sender.say("RCPT TO:<zoe@b.example> PRIVATE=1")).toMatch(/^555/);
  mailbox.answer = (line) => (line === "." ? "452 4.2.2 The box is full" : undefined);
  expect(await sender.content(withPlans)).toBe("452 4.2.2 The box is full");
  mailbox.answer = () => undefined;
  for (const line of [mail.replace("SIZE=500 ", ""), rcpt]) expect(await sender.say(line)).toMatch(/^250/);
  expect(await sender.content(withPlans)).toMatch(/^250/);
  expect(mailbox.mails).toEqual([{ envelope: [mail.replace("SIZE=500 ", ""), rcpt], content: withPlans }]);
  sender.close();
});

test("a line end that stands alone, a mail that is too large and a content that is no frame are refused by name", async () => {
  const texts = ["a\nb\r\n", "a\rb\r\n", "a\r\n.\nMAIL FROM:<x@y>\r\n"];
  for (const answer of await Promise.all(texts.map((text) => sendMail(near.port, Buffer.from(text)))))
    expect(answer).toMatch(/^554 5\.6\.0 A line of the mail has a CR or LF/);
  const { sender } = await Sender.to(far.port);
  for (const content of ["hello\r\n", "runnel-mail/1 parts\r\n", `runnel-mail/1 parts\r\n${"x".repeat(20_000)}\r\n`]) {
    await sender.say("MAIL FROM:<ada@a.example> XRUNNELOID");
    await sender.say("RCPT TO:<ben@b.example>");
    expect(await sender.content(Buffer.from(content))).toMatch(/^451 4\.3\.0 XRUNNELOID (Invalid|TooLarge)/);
  }
  // An object that nobody has, and a cut in the middle.
  const digest = "0".repeat(64);
  await sender.say("MAIL FROM:<ada@a.example> XRUNNELOID");
  await sender.say("RCPT TO:<ben@b.example>");
  const lost = `message 5 ${digest}\r\npart 0 5 raw runnel:${digest}?size=5\r\nrest 0\r\n\r\n`;
  expect(await sender.content(Buffer.from(`runnel-mail/1 parts\r\n${lost}`))).toMatch(
    /^451 4\.3\.0 XRUNNELOID NotFound/,
  );
  await sender.say("MAIL FROM:<ada@a.example>");
  await sender.say("RCPT TO:<ben@b.example>");
  expect(await sender.say("DATA")).toMatch(/^354/);
  sender.raw(withPlans.subarray(0, 100_000));
  sender.close();
  expect(await sendMail(near.port, Buffer.from("after\r\n"))).toMatch(/^250/);
  expect(received()).toEqual([Buffer.from("after\r\n")]);
});

test("a next hop that does not know the volume gets the mail plain; one that is away, or that nobody vouches for with TLS, is tried again later", async () => {
  const [other, alone, wary] = await Promise.all([
    startRelay(sending, { volume: `${server.url}/other`, next: far.port }),
    startRelay(sending, { volume, next: 1 }),
    startRelay(sending, { volume, next: far.port, args: ["--next-ca", sandbox.path("wrong.pem")] }),
  ]);
  expect(await sendMail(wary.port, withPlans)).toMatch(/^451 4\.4\.1 The next hop \S+ has no TLS .*SIGNED/);
  await wary.kill();
  expect(await sendMail(other.port, withPlans)).toMatch(/^250/);
  expect(other.said.at(-1)).toMatch(/^mail plain: /);
  expect(received()).toEqual([withPlans]);
  expect(await other.stop()).toBe(0);
  expect(await sendMail(alone.port, withPlans)).toMatch(/^451 4\.4\.1 The next hop 127\.0\.0\.1:1 is away/);
  await alone.kill();
});

test("mails whose objects cannot be had, or be put, go whole in the same connection", async () => {
  const [photo, video] = [2, 3].map((seed) =>
    makeMail({ attachments: [{ name: "it", bytes: noise(FILE_BYTES, seed) }] }),
  );
  const runtime = { XDG_RUNTIME_DIR: sandbox.makeFolder("elsewhere") };
  const port = await freePort();
  const [blind, before] = await Promise.all([
    startRelay(sandbox.device("c", runtime), { volume, next: mailbox.port, args: ["--listen", `127.0.0.1:${port}`] }),
    startRelay(sending, { volume, next: port }),
  ]);
  expect(await sendMail(before.port, photo ?? Buffer.alloc(0))).toMatch(/^250/);
  expect(blind.said[0]).toMatch(/^mail parts: .*: 451 4\.3\.0 XRUNNELOID/);
  expect(before.said.map((each) => each.split(":")[0])).toEqual(["mail parts", "mail whole"]);
  await server.stop();
  expect(await sendMail(near.port, video ?? Buffer.alloc(0))).toMatch(/^250/);
  expect(near.said.at(-1)).toMatch(/^mail whole: .*\(\w+: /);
  expect(received()).toEqual([photo, video]);
});
