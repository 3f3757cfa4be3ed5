// A next hop that lies, hurries or goes: a mail is acknowledged for one reason only, its 2yz answer to the whole mail.
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Socket } from "node:net";
import { SmtpRig, answering } from "./rig.ts";

const rig = new SmtpRig();
afterEach(() => rig.close());

const MAIL = "Subject: x\r\n\r\ny\r\n";

async function* pieces(...all: string[]): AsyncGenerator<Uint8Array> {
  for (const each of all) yield Buffer.from(each);
}

/** The answer to one mail, or the kind of error. */
async function answerTo(talk: (socket: Socket) => void): Promise<string> {
  const hop = await rig.dial(await rig.hop(talk));
  const said = async (): Promise<{ code: number; text: string }> => {
    const first = await hop.command("MAIL FROM:<a@a.example>");
    return first.code === 250 ? hop.data(pieces(MAIL)) : first;
  };
  return said().then(
    ({ code, text }) => `${code} ${text}`,
    (error: { kind?: string }) => String(error.kind),
  );
}

const gone = (socket: Socket): void => void socket.destroy();

describe("a mail is taken only by the next hop's own answer to all of it", () => {
  test.each<[what: string, answers: Parameters<typeof answering>[0], expected: RegExp]>([
    ["takes it", { ".": "250 2.0.0 kept\r\n" }, /^250 2\.0\.0 kept$/],
    ["takes it with another 2yz", { ".": "251 kept\r\n" }, /^251/],
    ["refuses it for now", { ".": "452 full\r\n" }, /^452 full$/],
    ["refuses it for ever", { ".": "550 no\r\n" }, /^550 no$/],
    ["goes after the dot", { ".": gone }, /^Unreachable$/],
    ["goes at DATA", { DATA: gone }, /^Unreachable$/],
    ["goes within its answer", { ".": (socket) => socket.end("250 2.0.0 ke") }, /^Unreachable$/],
    ["answers DATA with 250", { DATA: "250 kept\r\n" }, /^451 4\.5\.0 .*250 kept/],
    ["answers DATA with 550", { DATA: "550 no\r\n" }, /^550 no$/],
    ["takes it before it has come", { DATA: "354 go on\r\n250 kept\r\n" }, /^451 4\.5\.0 .*250 kept/],
    ["refuses it before it has come", { DATA: "354 go on\r\n552 large\r\n" }, /^552 large$/],
    ["answers the mail with 354", { ".": "354 go on\r\n" }, /^451 4\.5\.0 .*354/],
    ["answers the mail with 199", { ".": "199 hm\r\n" }, /^451 4\.5\.0 .*199/],
    ["answers the mail with 650", { ".": "650 hm\r\n" }, /^451 4\.5\.0 .*650/],
    ["answers MAIL with 354", { MAIL: "354 go on\r\n" }, /^451 4\.5\.0 .*354/],
    ["answers MAIL twice", { MAIL: "250 ok\r\n250 ok\r\n" }, /^Unreachable$/],
    ["speaks no SMTP after the dot", { ".": "thanks\r\n" }, /^Unreachable$/],
  ])("one that %s", async (_what, answers, expected) => {
    expect(await answerTo(answering(answers))).toMatch(expected);
  });

  test("a mail that cannot be read to its end is not ended: the next hop gets no dot", async () => {
    let heard = "";
    const port = await rig.hop((socket) => {
      socket.on("data", (bytes) => (heard += bytes.toString()));
      answering({})(socket);
    });
    const hop = await rig.dial(port);
    await hop.command("MAIL FROM:<a@a.example>");
    const torn = (async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from("Subject: x\r\n");
      throw new Error("The disk is gone.");
    })();
    await expect(hop.data(torn)).rejects.toThrow("The disk is gone.");
    expect(hop.isOpen).toBe(false);
    expect(heard).not.toContain("\r\n.\r\n");
  });
});
