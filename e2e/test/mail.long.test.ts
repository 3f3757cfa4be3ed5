// Mails between two real Postfix, through two relays: into the maildir byte for byte, also when relays are killed, the
// volume is away, or the other side knows nothing of objects.
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { Sandbox, type Device, type ServerProcess, noise, waitFor } from "../src/harness/index.ts";
import { DebianRoot, debianObstacle } from "../src/installers/debian-root.ts";
import { freePort } from "../src/installers/packs.ts";
import { makeMail } from "../src/mail/make-mail.ts";
import { Postfix, documentedSettings, installPostfix } from "../src/mail/postfix.ts";
import { type RelayProcess, startRelay } from "../src/mail/relay-process.ts";
import { sendMail } from "../src/mail/smtp-ends.ts";

const ALL_MS = 10 * 60_000;
const ARRIVES_MS = 45_000;
const MAILS = 20;

jest.setTimeout(5 * 60_000);

const why = debianObstacle();
const testInDebian = why === undefined ? test : test.skip;
const shown = why === undefined ? "" : ` (skipped: ${why})`;

let sandbox: Sandbox;
let debian: DebianRoot;
let server: ServerProcess;
let volume: string;
let devices: Record<"near" | "far", Device>;
let near: RelayProcess;
let far: RelayProcess;
let sending: Postfix;
let receiving: Postfix;

beforeAll(async () => {
  if (why !== undefined) return;
  sandbox = new Sandbox(ALL_MS);
  debian = await DebianRoot.make(sandbox);
  await installPostfix(debian);
  server = await sandbox.startServer({ volumes: { mail: sandbox.makeFolder("served") } });
  volume = `${server.url}/mail`;
  devices = { near: sandbox.device("near"), far: sandbox.device("far") };
  const [relayA, postfixA, postfixB] = [await freePort(), await freePort(), await freePort()];
  const { main, service } = documentedSettings({ relayA, postfixB });
  receiving = await Postfix.start(debian, {
    name: "b",
    port: postfixB,
    service,
    main: [
      "virtual_mailbox_domains = b.example",
      "virtual_mailbox_base = /var/vmail-b",
      "virtual_mailbox_maps = inline:{ben@b.example=ben/, eve@b.example=eve/}",
      "virtual_uid_maps = static:5000",
      "virtual_gid_maps = static:5000",
    ],
  });
  far = await startRelay(devices.far, { volume, next: receiving.port });
  near = await startRelay(devices.near, { volume, next: far.port, args: ["--listen", `127.0.0.1:${relayA}`] });
  sending = await Postfix.start(debian, { name: "a", port: postfixA, main });
}, ALL_MS);

afterAll(async () => {
  if (why !== undefined) return;
  try {
    await debian?.close();
  } finally {
    await sandbox?.cleanup();
  }
}, 120_000);

/** Mails as Postfix delivers them: its own lines in front, and line ends of this system. */
const asDelivered = (mail: Buffer): string => mail.toString("latin1").replaceAll("\r\n", "\n");

async function arrives(mail: Buffer, user: string): Promise<void> {
  const end = asDelivered(mail);
  const isThere = (): boolean => receiving.delivered(user).some((each) => each.toString("latin1").endsWith(end));
  await waitFor(isThere, ARRIVES_MS, `a mail; ${near.said.join("\n")}\n${sending.log().slice(-2000)}`);
}

const mailWith = (subject: string, seed: number): Buffer =>
  makeMail({ subject, attachments: [{ name: "plans.bin", bytes: noise(400_000, seed) }] });

describe("between two Postfix", () => {
  testInDebian(`bodies go through the volume, and the mail arrives as it was sent${shown}`, async () => {
    for (const subject of ["first", "second"]) {
      const mail = mailWith(subject, 1);
      expect(await sendMail(sending.port, mail, { to: ["ben@b.example", "eve@b.example"] })).toMatch(/^250/);
      await arrives(mail, "ben");
      await arrives(mail, "eve");
    }
    // A mail may arrive before who sent it has read that it was taken.
    await waitFor(() => near.said.length >= 2, ARRIVES_MS, "the relay to say so");
    expect(near.said).toHaveLength(2);
    for (const line of near.said) expect(line).toMatch(/^mail parts: \d+ bytes, sent \d{3,4}: 250 2\.0\.0 Ok: queued/);
  });

  testInDebian(`who is unknown there is refused by name, and others get the mail${shown}`, async () => {
    const mail = mailWith("to some", 1);
    const to = ["nobody@b.example", "ben@b.example"];
    expect(await sendMail(sending.port, mail, { from: "ben@b.example", to })).toMatch(/^250/);
    await arrives(mail, "ben");
    const bounced = (): boolean => receiving.delivered("ben").some((each) => each.includes("Undelivered Mail"));
    await waitFor(bounced, ARRIVES_MS, "the bounce");
    expect(sending.log()).toMatch(/nobody@b\.example.*status=bounced.*550 5\.1\.1/);
  });

  testInDebian.each(["near", "far"] as const)(
    `no mail is lost when the %s relay is killed in the middle${shown}`,
    async (which) => {
      const mails = Array.from({ length: MAILS }, (_, at) => mailWith(`${which} ${at}`, 10 + (at % 4)));
      const relay = which === "near" ? near : far;
      const before = relay.said.length;
      const sent = mails.map((mail) => sendMail(sending.port, mail));
      await waitFor(() => relay.said.length > before, ARRIVES_MS, "the first of them");
      await relay.kill();
      for (const answer of await Promise.all(sent)) expect(answer).toMatch(/^250/);
      // Something was in flight, and waits.
      await waitFor(async () => (await sending.queued()) > 0, ARRIVES_MS, "the queue");
      const args = ["--listen", `127.0.0.1:${relay.port}`];
      const next = which === "near" ? far.port : receiving.port;
      const again = await startRelay(devices[which], { volume, next, args });
      if (which === "near") near = again;
      else far = again;
      for (const mail of mails) await arrives(mail, "ben");
      await waitFor(async () => (await sending.queued()) === 0, ARRIVES_MS, "an empty queue");
    },
  );

  testInDebian(`no mail is lost when both agents are killed in the middle${shown}`, async () => {
    const mails = Array.from({ length: MAILS }, (_, at) => mailWith(`agents ${at}`, 20 + (at % 4)));
    const before = near.said.length;
    const sent = mails.map((mail) => sendMail(sending.port, mail));
    await waitFor(() => near.said.length > before, ARRIVES_MS, "the first of them");
    for (const device of Object.values(devices)) await device.killAgent();
    for (const answer of await Promise.all(sent)) expect(answer).toMatch(/^250/);
    for (const mail of mails) await arrives(mail, "ben");
  });

  testInDebian(`whoever comes by the relay may not send on to others${shown}`, async () => {
    expect(await sendMail(far.port, mailWith("on", 1), { to: ["zoe@c.example"] })).toMatch(/^554 5\.7\.1/);
    expect(await sendMail(near.port, mailWith("on", 1), { to: ["zoe@c.example"] })).toMatch(/^554 5\.7\.1/);
  });

  testInDebian(`a next hop that knows nothing of objects gets plain SMTP${shown}`, async () => {
    await near.stop();
    const args = ["--listen", `127.0.0.1:${near.port}`];
    near = await startRelay(devices.near, { volume, next: receiving.port, args });
    const mail = mailWith("plain", 1);
    expect(await sendMail(sending.port, mail)).toMatch(/^250/);
    await arrives(mail, "ben");
    expect(near.said).toEqual([expect.stringMatching(/^mail plain: (\d+) bytes, sent \1: 250 2\.0\.0/)]);
    await near.stop();
    near = await startRelay(devices.near, { volume, next: far.port, args });
  });

  testInDebian(`mails go whole while the volume is away, and wait while the other relay is${shown}`, async () => {
    await server.kill();
    const whole = mailWith("whole", 30);
    expect(await sendMail(sending.port, whole)).toMatch(/^250/);
    await arrives(whole, "ben");
    expect(near.said.at(-1)).toMatch(/^mail whole: /);
    await far.kill();
    const later = mailWith("later", 31);
    expect(await sendMail(sending.port, later)).toMatch(/^250/);
    await waitFor(() => /status=deferred.*451 4\.4\.1/.test(sending.log()), ARRIVES_MS, "a deferral");
    far = await startRelay(devices.far, { volume, next: receiving.port, args: ["--listen", `127.0.0.1:${far.port}`] });
    await arrives(later, "ben");
  });
});
