// Bounds of what others may ask of a relay's sockets: how many connections and recipients, and what a next hop may say.
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { LIMITS, RealClock } from "@runnel/shared";
import { dialNextHop } from "../../../src/mail/host/dial-next-hop.ts";
import { type MailListener, listenForMail } from "../../../src/mail/host/listen.ts";
import type { NextHop } from "../../../src/mail/next-hop.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const hop: NextHop = {
  extensions: new Map(),
  isOpen: true,
  command: async () => ({ code: 250, text: "ok" }),
  data: async () => ({ code: 250, text: "kept" }),
  close: () => undefined,
};

async function listen(): Promise<MailListener> {
  const never = async (): Promise<never> => {
    throw new Error("No volume is needed.");
  };
  const volume = { url: "wss://a:1/mail", put: never, get: async function* () {} };
  const deps = { volume, connect: async () => hop, openFiles: never, say: () => undefined };
  const listener = await listenForMail(
    { host: "127.0.0.1", port: 0, allowed: ["127.0.0.1"], silenceMs: 60_000 },
    deps,
    { smallestBytes: 1, mailBytesMax: 1000 },
  );
  closing.push(() => listener.close());
  return listener;
}

/** Connects, is greeted, says all lines at once, and hears as many lines as are awaited. */
async function hear(port: number, said: string, lines: number): Promise<string[]> {
  const socket = connect(port, "127.0.0.1");
  closing.push(() => socket.destroy());
  let heard = "";
  socket.on("data", (bytes) => (heard += bytes.toString()));
  await once(socket, "data");
  socket.write(said);
  while (heard.split("\r\n").length <= lines) await once(socket, "data");
  return heard.split("\r\n").slice(0, lines);
}

/** A next hop that begins as `talk` says. */
async function dial(talk: (socket: Socket) => void): Promise<unknown> {
  const server: Server = createServer((socket) => talk(socket.on("error", () => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const times = { answerMs: 60_000, mailAnswerMs: 60_000 };
  return dialNextHop({ host: "127.0.0.1", port, ...times }, new RealClock()).then(
    (each) => each.close(),
    (error: unknown) => error,
  );
}

describe("a relay's sockets", () => {
  test("[limit mailRecipients] a mail has so many recipients, and those beyond are told to come later", async () => {
    const { port } = await listen();
    const recipients = Array.from({ length: LIMITS.mailRecipients + 1 }, (_, at) => `RCPT TO:<r${at}@b.example>\r\n`);
    const said = `HELO a.example\r\nMAIL FROM:<a@a.example>\r\n${recipients.join("")}`;
    const heard = await hear(port, said, 3 + recipients.length);
    expect(heard.at(-2)).toMatch(/^250/);
    expect(heard.at(-1)).toMatch(/^452/);
  });

  test("[limit mailConnections] so many connections are served at once, and one more is told to come later", async () => {
    const { port } = await listen();
    for (let count = 0; count < LIMITS.mailConnections; count++) expect((await hear(port, "", 1))[0]).toMatch(/^220/);
    expect((await hear(port, "", 1))[0]).toMatch(/^421/);
  });

  test("[limit mailReplyBytes] a next hop that says more in an answer is left, and one that speaks no SMTP", async () => {
    expect(await dial((socket) => socket.write("220-".padEnd(LIMITS.mailReplyBytes + 1, "x")))).toMatchObject({
      kind: "Unreachable",
    });
    expect(await dial((socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"))).toMatchObject({
      kind: "Unreachable",
    });
    expect(await dial((socket) => socket.end("554 Nobody\r\n"))).toMatchObject({ kind: "Unreachable" });
    expect(await dial((socket) => socket.destroy())).toMatchObject({ kind: "Unreachable" });
  });
});
