// `mail`: bytes that cross the line for a set of mails with equal and edited attachments: those between two relays and
// to the volume, beside the same mails by plain SMTP, and by SMTP of which the whole stream is compressed.
import { gzipSync } from "node:zlib";
import { type Device, Sandbox, noise } from "../src/harness/index.ts";
import { makeMail } from "../src/mail/make-mail.ts";
import { startRelay } from "../src/mail/relay-process.ts";
import { Mailbox, sendMail } from "../src/mail/smtp-ends.ts";
import { type BenchContext, type Benchmark, type Result, type Row, formatTable } from "./benchmark.ts";

const MAILS = { full: 40, small: 20, tiny: 5 };
const ATTACHMENTS = 10;
const SMALLEST_BYTES = 200_000;
const STEP_BYTES = 200_000;
/** Some mails have an attachment in which somebody has changed a little. */
const EDITED_EVERY = 4;
const EDIT = Buffer.from("a sentence that is new");
const MB = 1e6;

/** Ten files of 0.2 to 2 MB, half of them as text compresses; a mail has one of them, each fourth an edited one. */
function mails(count: number): Buffer[] {
  const files = Array.from({ length: ATTACHMENTS }, (_, at) => attachment(at));
  return Array.from({ length: count }, (_, at) => {
    const whole = files[at % ATTACHMENTS] ?? Buffer.alloc(0);
    const middle = Math.floor(whole.length / 2);
    const edited = Buffer.concat([whole.subarray(0, middle), EDIT, Buffer.from(String(at)), whole.subarray(middle)]);
    const bytes = at % EDITED_EVERY === EDITED_EVERY - 1 ? edited : whole;
    return makeMail({ subject: `Mail ${at}`, attachments: [{ name: `file-${at % ATTACHMENTS}.bin`, bytes }] });
  });
}

function attachment(at: number): Buffer {
  const bytes = Buffer.from(noise(SMALLEST_BYTES + at * STEP_BYTES, at + 1));
  // Every other one has four bits in a byte: text compresses about so far.
  return at % 2 === 0 ? bytes : Buffer.from(bytes.map((byte) => 0x40 + (byte & 0x0f)));
}

/** Sends them, and returns the bytes that crossed the link to the mailbox's side, both ways. */
async function byRelays(sandbox: Sandbox, all: readonly Buffer[]): Promise<{ near: number; far: number }> {
  const server = await sandbox.startServer({ volumes: { mail: sandbox.makeFolder("served") } });
  const mailbox = await Mailbox.start();
  // The volume lies beside the receiving relay; both name it by one address, and what comes out of it is counted too.
  const toVolume = await sandbox.startEmulator(server.port);
  const volume = `ws://127.0.0.1:${toVolume.port}/mail`;
  const far = await startRelay(sandbox.device("far"), { volume, next: mailbox.port });
  const toRelay = await sandbox.startEmulator(far.port);
  const sending: Device = sandbox.device("near");
  const near = await startRelay(sending, { volume, next: toRelay.port });
  for (const mail of all) {
    const answer = await sendMail(near.port, mail);
    if (!answer.startsWith("250")) throw new Error(answer);
  }
  mailbox.mails.forEach(({ content }, at) => {
    if (!content.equals(all[at] ?? Buffer.alloc(0))) throw new Error(`Mail ${at} is another one.`);
  });
  const [relayed, put] = [await toRelay.counts(), await toVolume.counts()];
  mailbox.close();
  // Into the volume goes what is put, out of it what is got.
  return { near: relayed.up.sentBytes + relayed.down.sentBytes + put.up.sentBytes, far: put.down.sentBytes };
}

async function plain(all: readonly Buffer[]): Promise<number> {
  const mailbox = await Mailbox.start();
  for (const mail of all) await sendMail(mailbox.port, mail);
  mailbox.close();
  return mailbox.receivedBytes;
}

export const mailBenchmark: Benchmark = {
  name: "mail",
  about: "bytes of mails with equal attachments between two relays, beside plain SMTP and gzip; --size full|small|tiny",
  async run(context: BenchContext): Promise<Result> {
    const all = mails(MAILS[context.size]);
    const sandbox = new Sandbox();
    try {
      const { near, far } = await byRelays(sandbox, all);
      const whole = await plain(all);
      const compressed = gzipSync(Buffer.concat(all)).length;
      const row = (what: string, value: number, reference: string, bytes: number): Row => ({
        what,
        value: value / MB,
        unit: "MB",
        reference,
        referenceValue: bytes / MB,
        ratio: value / bytes,
      });
      const rows = [
        row("relays, sending side", near, "plain SMTP", whole),
        row("relays, sending side", near, "gzip of all mails", compressed),
        row("from the volume", far, "plain SMTP", whole),
      ];
      return { rows, table: formatTable(`mail ×${all.length}`, rows) };
    } finally {
      await sandbox.cleanup();
    }
  },
};
