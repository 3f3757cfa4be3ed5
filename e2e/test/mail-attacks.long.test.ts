// Mails while something beside them breaks: a relay's disk is full, an agent is killed while it puts, an object goes
// between put and get. None is lost that was answered 250, and the next one goes as before.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { type Socket, connect, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { OBJECTS_FOLDER } from "@runnel/shared";
import { SmallDisk } from "../src/crash/index.ts";
import { type Device, Sandbox, type ServerProcess, noise, waitFor } from "../src/harness/index.ts";
import { freePort } from "../src/installers/packs.ts";
import { makeMail } from "../src/mail/make-mail.ts";
import { startRelay } from "../src/mail/relay-process.ts";
import { Mailbox, sendMail } from "../src/mail/smtp-ends.ts";

jest.setTimeout(120_000);

const mailWith = (seed: number): Buffer =>
  makeMail({ attachments: [{ name: "plans.bin", bytes: noise(1_000_000, seed) }] });

let sandbox: Sandbox;
let server: ServerProcess;
let volume: string;
let mailbox: Mailbox;
let devices: Record<"near" | "far", Device>;

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await sandbox.startServer({ volumes: { mail: sandbox.makeFolder("served") } });
  volume = `${server.url}/mail`;
  mailbox = await Mailbox.start();
  devices = { near: sandbox.device("near"), far: sandbox.device("far") };
});

afterEach(async () => {
  mailbox.close();
  await sandbox.cleanup();
}, 60_000);

const received = (): Buffer[] => mailbox.mails.map(({ content }) => content);

test.each(["near", "far"] as const)(
  "a full disk at the %s relay is 452, and the same mail goes when there is room",
  async (which) => {
    const disk = await SmallDisk.make(sandbox, "home", which);
    const far = await startRelay(devices.far, { volume, next: mailbox.port });
    const near = await startRelay(devices.near, { volume, next: far.port });
    expect(await sendMail(near.port, mailWith(1))).toMatch(/^250/);
    await disk.fill(100);
    const mail = mailWith(2);
    expect(await sendMail(near.port, mail)).toMatch(/^452 4\.3\.1/);
    expect(received()).toHaveLength(1);
    disk.empty();
    expect(await sendMail(near.port, mail)).toMatch(/^250/);
    expect(received()[1]?.equals(mail)).toBe(true);
  },
);

test("a mail arrives once when the agent is killed under it, and the next one goes by reference", async () => {
  const far = await startRelay(devices.far, { volume, next: mailbox.port });
  const near = await startRelay(devices.near, { volume, next: far.port });
  expect(await sendMail(near.port, mailWith(1))).toMatch(/^250/);
  // A server that does nothing keeps the agent in the middle.
  server.pause();
  const sent = sendMail(near.port, mailWith(2));
  const spool = join(devices.near.home, "mail");
  const isCut = (): boolean => readdirSync(spool).some((place) => readdirSync(join(spool, place)).length > 1);
  await waitFor(isCut, 30_000, "the body on its own");
  await devices.near.killAgent();
  server.goOn();
  expect(await sent).toMatch(/^250/);
  // A new agent may have come in time.
  expect(near.said.at(-1)).toMatch(/^mail (parts|whole): /);
  expect(await sendMail(near.port, mailWith(3))).toMatch(/^250/);
  expect(near.said.at(-1)).toMatch(/^mail parts: /);
  expect(received().map((each, at) => each.equals(mailWith(at + 1)))).toEqual([true, true, true]);
});

test("a mail arrives whose object is removed between put and get", async () => {
  const far = await startRelay(devices.far, { volume, next: mailbox.port });
  const objects = sandbox.path("served", OBJECTS_FOLDER);
  let removed = 0;
  // Stands between the relays: DATA comes when all bodies have been put.
  const between = createServer((socket: Socket) => {
    const on = connect(far.port, "127.0.0.1");
    on.on("error", () => socket.destroy()).pipe(socket);
    socket.on("error", () => on.destroy()).on("close", () => on.destroy());
    socket.on("data", (bytes) => {
      if (bytes.toString("latin1") === "DATA\r\n" && removed === 0 && existsSync(objects))
        for (const name of readdirSync(objects)) {
          rmSync(join(objects, name), { recursive: true });
          removed++;
        }
      on.write(bytes);
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => between.listen(port, "127.0.0.1", resolve));
  const near = await startRelay(devices.near, { volume, next: port });
  const mail = mailWith(1);
  expect(await sendMail(near.port, mail)).toMatch(/^250/);
  expect(removed).toBe(1);
  // The server may still have its bytes.
  expect(near.said.at(-1)).toMatch(/^mail (parts|whole): .*: 250/);
  expect(received().map((each) => each.equals(mail))).toEqual([true]);
  between.close();
});
