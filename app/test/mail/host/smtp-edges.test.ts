// Bounds of what others may ask of a relay's sockets: how many connections and recipients, and what a next hop may say.
import type { Socket } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import { SmtpRig } from "./rig.ts";

const rig = new SmtpRig();
afterEach(() => rig.close());

/** Begins with a next hop that talks as told. */
async function dial(talk: (socket: Socket) => void): Promise<unknown> {
  return rig.dial(await rig.hop(talk)).catch((error: unknown) => error);
}

describe("a relay's sockets", () => {
  test("[limit mailRecipients] a mail has so many recipients, and those beyond are told to come later", async () => {
    const { port } = await rig.listen();
    const recipients = Array.from({ length: LIMITS.mailRecipients + 1 }, (_, at) => `RCPT TO:<r${at}@b.example>\r\n`);
    const sender = rig.speak(port);
    await sender.hear(/^220 .*\r\n/);
    sender.say(`HELO a.example\r\nMAIL FROM:<a@a.example>\r\n${recipients.join("")}`);
    const heard = (await sender.hear(/^452.*\r\n/m)).trimEnd().split("\r\n");
    expect(heard.filter((line) => line.startsWith("250"))).toHaveLength(2 + LIMITS.mailRecipients);
  });

  test("[limit mailConnections] so many connections are served at once, and one more is told to come later", async () => {
    const { port } = await rig.listen();
    const heard = async (): Promise<string> => (await rig.speak(port).hear(/^\d.*\r\n/)).slice(0, 3);
    const served = await Promise.all(Array.from({ length: LIMITS.mailConnections }, heard));
    expect(new Set(served)).toEqual(new Set(["220"]));
    expect(await heard()).toBe("421");
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
