// A relay with its sockets and its spool, between a sender and a next hop that a test makes: what goes wrong before,
// behind and beside it, and that a mail is never said to be taken then.
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { openSpool } from "../../../src/mail/host/spool.ts";
import type { MailEvent, RelayDeps } from "../../../src/mail/transaction.ts";
import { SmtpRig, type Speaker, answering, never } from "./rig.ts";

const rig = new SmtpRig();
const VOLUME = "wss://a:1/mail";
const KNOWS = `250-hop\r\n250 XRUNNELOID 1 ${VOLUME}\r\n`;
const BODY = "line\r\n".repeat(20);
const MAIL = `Subject: x\r\n\r\n${BODY}`;

let folder: string;
let events: MailEvent[];
/** Contents that the next hop was sent, each up to its dot. */
let contents: string[];
/** Resolves once the spool has removed a mail. */
let disposed: PromiseWithResolvers<void>;

beforeEach(() => {
  disposed = Promise.withResolvers();
  folder = mkdtempSync(join(tmpdir(), "rnl-relay-"));
  [events, contents] = [[], []];
});
afterEach(async () => {
  await rig.close();
  rmSync(folder, { recursive: true });
});

/** Objects in memory. */
function volumeOf(objects: Map<string, Buffer>): RelayDeps["volume"] {
  return {
    url: VOLUME,
    put: async (path) => {
      const bytes = await readFile(path);
      const oid = createHash("sha256").update(bytes).digest("hex");
      objects.set(oid, bytes);
      return { oid, sizeBytes: bytes.length };
    },
    get: async function* (oid) {
      const bytes = objects.get(oid);
      if (bytes === undefined) throw new RunnelError("NotFound", "get an object", "There is none.");
      yield bytes;
    },
  };
}

/** Port of a relay before a next hop. */
async function relayTo(talk: (socket: Socket) => void, volume?: RelayDeps["volume"]): Promise<number> {
  const hop = await rig.hop((socket) => {
    let said = "";
    socket.on("data", (bytes) => {
      said += bytes.toString("latin1");
      const at = said.indexOf("DATA\r\n");
      const end = said.indexOf("\r\n.\r\n", at);
      if (at === -1 || end === -1) return;
      contents.push(said.slice(at + 6, end + 2));
      said = said.slice(end + 5);
    });
    talk(socket);
  });
  const deps = {
    connect: () => rig.dial(hop),
    openFiles: await spool(),
    say: (event: MailEvent) => events.push(event),
  };
  const { port } = await rig.listen({}, { ...deps, ...(volume === undefined ? {} : { volume }) });
  return port;
}

async function spool(): Promise<RelayDeps["openFiles"]> {
  const open = await openSpool(folder);
  return async () => {
    const files = open();
    const dispose = files[Symbol.asyncDispose].bind(files);
    files[Symbol.asyncDispose] = async () => {
      await dispose();
      disposed.resolve();
    };
    return files;
  };
}

/** A sender in the middle of a mail: its content may come. */
async function begun(port: number, parameters = ""): Promise<Speaker> {
  const sender = rig.speak(port);
  await sender.hear(/^220 .*\r\n/);
  sender.say(`EHLO a.example\r\nMAIL FROM:<a@a.example>${parameters}\r\nRCPT TO:<b@b.example>\r\nDATA\r\n`);
  await sender.hear(/^354 .*\r\n/m);
  return sender;
}

async function answerTo(port: number, content: string, parameters = ""): Promise<string> {
  const sender = await begun(port, parameters);
  sender.say(`${content}.\r\n`);
  return sender.hear(/^\d{3} .*\r\n/);
}

const gone = (socket: Socket): void => void socket.destroy();

describe("a mail is said to be taken only when the next hop has taken it", () => {
  test.each<[what: string, answers: Parameters<typeof answering>[0], expected: RegExp]>([
    ["takes it", { ".": "250 2.0.0 kept\r\n" }, /^250 2\.0\.0 kept/],
    ["goes after the dot", { ".": gone }, /^451 4\.4\.1/],
    ["answers DATA with 250", { DATA: "250 kept\r\n" }, /^451 4\.5\.0/],
    ["answers the mail with 354", { ".": "354 go on\r\n" }, /^451 4\.5\.0/],
    ["takes it before it has come", { DATA: "354 go on\r\n250 kept\r\n" }, /^451 4\.5\.0/],
    ["refuses it", { ".": "550 5.7.1 no\r\n" }, /^550 5\.7\.1 no/],
  ])("one that %s", async (_what, answers, expected) => {
    expect(await answerTo(await relayTo(answering(answers)), MAIL)).toMatch(expected);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a mail by reference that goes after the dot is not sent twice, and waits at the sender", async () => {
    const volume = volumeOf(new Map());
    expect(await answerTo(await relayTo(answering({ EHLO: KNOWS, ".": gone }), volume), MAIL)).toMatch(/^451 4\.4\.1/);
    expect(contents).toHaveLength(1);
  });

  test("a full disk is 452, after all of the mail was read, and the connection goes on", async () => {
    const full = new RunnelError("NoSpace", "write a mail", "The disk is full.");
    const openFiles = async (): Promise<never> => {
      throw full;
    };
    const { port } = await rig.listen({}, { openFiles });
    const sender = await begun(port);
    sender.say(`${MAIL}.\r\n`);
    expect(await sender.hear(/^\d{3} .*\r\n/)).toMatch(/^452 4\.3\.1/);
    sender.say("NOOP\r\n");
    expect(await sender.hear(/^\d{3} .*\r\n/)).toMatch(/^250/);
  });
});

describe("a sender", () => {
  test("that is slow, and says a byte at a time, has its mail arrive as it is", async () => {
    const port = await relayTo(answering({}));
    const sender = await begun(port);
    const content = "..\r\n...\r\nx\r\n..x\r\n";
    for (const byte of `${content}.\r\n`) await new Promise((resolve) => sender.socket.write(byte, resolve));
    expect(await sender.hear(/^\d{3} .*\r\n/)).toMatch(/^250/);
    expect(contents).toEqual([content]);
  });

  test("that is slower than its next hop waits has the next hop dialled again", async () => {
    const hops: Socket[] = [];
    const heard: string[] = [];
    const port = await relayTo((socket) => {
      hops.push(socket);
      socket.on("data", (bytes) => heard.push(...bytes.toString().trim().split("\r\n")));
      answering({})(socket);
    });
    const sender = await begun(port);
    sender.say("Subject: x\r\n");
    hops[0]?.end("421 4.4.2 You are slow\r\n");
    await new Promise((resolve) => hops[0]?.once("close", resolve));
    sender.say("\r\ny\r\n.\r\n");
    expect(await sender.hear(/^\d{3} .*\r\n/)).toMatch(/^250/);
    expect(contents).toEqual(["Subject: x\r\n\r\ny\r\n"]);
    expect(heard.filter((line) => /^(MAIL|RCPT)/.test(line))).toEqual([
      "MAIL FROM:<a@a.example>",
      "RCPT TO:<b@b.example>",
      "MAIL FROM:<a@a.example>",
      "RCPT TO:<b@b.example>",
    ]);
  });

  test("that goes in the middle leaves nothing in the spool, and no mail at the next hop", async () => {
    const port = await relayTo(answering({}));
    const sender = await begun(port);
    sender.say(MAIL);
    sender.socket.end();
    await disposed.promise;
    expect(readdirSync(folder)).toEqual([]);
    expect(contents).toEqual([]);
  });
});

describe("a volume", () => {
  test.each(["NoSpace", "Quota", "Denied", "Unreachable"] as const)(
    "that takes nothing (%s) has the mail go whole",
    async (kind) => {
      const put = async (): Promise<never> => {
        throw new RunnelError(kind, "put an object", "No.");
      };
      const volume = { ...volumeOf(new Map()), put };
      expect(await answerTo(await relayTo(answering({ EHLO: KNOWS }), volume), MAIL)).toMatch(/^250/);
      expect(contents).toEqual([`runnel-mail/1 whole\r\n${MAIL}`]);
      expect(events).toMatchObject([{ way: "whole", problem: `${kind}: No.` }]);
    },
  );

  test("whose object is not to be had over there has the mail go whole after its reference", async () => {
    let count = 0;
    const answer = (socket: Socket): void =>
      void socket.write(count++ === 0 ? "451 4.3.0 XRUNNELOID NotFound\r\n" : "250 2.0.0 kept\r\n");
    const port = await relayTo(answering({ EHLO: KNOWS, ".": answer }), volumeOf(new Map()));
    expect(await answerTo(port, MAIL)).toMatch(/^250 2\.0\.0 kept/);
    expect(contents).toEqual([
      expect.stringMatching(/^runnel-mail\/1 parts\r\nmessage/),
      `runnel-mail/1 whole\r\n${MAIL}`,
    ]);
    expect(events.map(({ way }) => way)).toEqual(["parts", "whole"]);
  });

  test("that brings other bytes, or more or fewer, brings no mail: 451, and nothing is sent on", async () => {
    const objects = new Map<string, Buffer>();
    const near = await relayTo(answering({ EHLO: KNOWS }), volumeOf(objects));
    await answerTo(near, MAIL);
    const [reference = ""] = contents.splice(0);
    const far = await relayTo(answering({}), volumeOf(objects));
    expect(await answerTo(far, reference, " XRUNNELOID")).toMatch(/^250/);
    expect(contents.splice(0)).toEqual([MAIL]);
    const [[oid, bytes = Buffer.alloc(0)] = [""]] = [...objects];
    for (const other of [bytes.subarray(1), Buffer.concat([bytes, bytes]), Buffer.from(bytes).fill("x"), undefined]) {
      if (other === undefined) objects.delete(oid);
      else objects.set(oid, other);
      expect(await answerTo(far, reference, " XRUNNELOID")).toMatch(/^451 4\.3\.0 XRUNNELOID (Corrupt|NotFound)/);
    }
    objects.set(oid, bytes);
    // References that say another size of the object, of the rest, or of the mail.
    for (const [from, to] of [
      [/size=\d+/, "size=5"],
      [/rest \d+/, "rest 5"],
      [/^message \d+/m, "message 7"],
    ] as const)
      expect(await answerTo(far, reference.replace(from, to), " XRUNNELOID")).toMatch(
        /^451 4\.3\.0 XRUNNELOID Invalid/,
      );
    expect(contents).toEqual([]);
  });

  test("a mail of just the largest size goes whole between relays, one that is larger is refused", async () => {
    const put = never;
    const largest = `\r\n${"x".repeat(996)}\r\n`;
    const far = await relayTo(answering({}));
    expect(await answerTo(far, `runnel-mail/1 whole\r\n${largest}`, " XRUNNELOID")).toMatch(/^250/);
    expect(await answerTo(far, `runnel-mail/1 whole\r\n\r\n${largest}`, " XRUNNELOID")).toMatch(/^552/);
    const near = await relayTo(answering({ EHLO: KNOWS }), { ...volumeOf(new Map()), put });
    expect(await answerTo(near, largest)).toMatch(/^250/);
    expect(await answerTo(near, `\r\n${largest}`)).toMatch(/^552/);
    expect(contents).toEqual([largest, `runnel-mail/1 whole\r\n${largest}`]);
  });
});
