// TLS of a relay, on both sides, with certificates made for the test; and who may connect.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket, connect as connectTls } from "node:tls";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { NextHop } from "../../../src/mail/next-hop.ts";
import { SmtpRig, Speaker, answering, willingHop } from "./rig.ts";

const rig = new SmtpRig();
let folder: string;
let cert: string;
let key: string;
let authorities: string;
let others: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rnl-smtp-tls-"));
  const openssl = (line: string): Buffer => execFileSync("openssl", line.split(" "), { cwd: folder, stdio: "pipe" });
  const curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  for (const name of ["ca", "other"])
    openssl(`req -x509 ${curve} -keyout ${name}.key -out ${name}.pem -subj /CN=${name} -days 2`);
  openssl(`req ${curve} -keyout s.key -out s.csr -subj /CN=relay`);
  writeFileSync(join(folder, "ext"), "subjectAltName=IP:127.0.0.1\n");
  openssl("x509 -req -in s.csr -CA ca.pem -CAkey ca.key -out s.pem -days 1 -extfile ext");
  [cert, key, authorities, others] = ["s.pem", "s.key", "ca.pem", "other.pem"].map((name) =>
    readFileSync(join(folder, name), "utf8"),
  ) as [string, string, string, string];
});
afterEach(() => rig.close());
afterAll(() => rmSync(folder, { recursive: true }));

/** A next hop with STARTTLS that serves what comes under TLS as `answering` does. */
function secured(serve: (socket: Socket) => void, between = ""): (socket: Socket) => void {
  const starttls = (socket: Socket): void => {
    socket.removeAllListeners("data");
    socket.write(`220 go on\r\n${between}`);
    const tls = new TLSSocket(socket, { isServer: true, cert, key });
    serve(tls.on("error", () => undefined));
  };
  return answering({ EHLO: "250-hop\r\n250 STARTTLS\r\n", STARTTLS: starttls });
}

/** Serves without a greeting, which came before TLS. */
function inTls(heard: string[]): (socket: Socket) => void {
  return (socket) => {
    socket.on("data", (bytes: Buffer) => {
      heard.push(bytes.toString().trim().split(" ")[0] ?? "");
      socket.write("250-hop\r\n250 DSN\r\n");
    });
  };
}

describe("to the next hop", () => {
  test("TLS is used where it is offered, whoever that is; with authorities where they vouch for it", async () => {
    for (const settings of [{}, { authorities }]) {
      const heard: string[] = [];
      const hop = await rig.dial(await rig.hop(secured(inTls(heard))), settings);
      expect((await hop.command("NOOP")).code).toBe(250);
      expect(heard).toEqual(["EHLO", "NOOP"]);
      // The extensions are those that it names under TLS.
      expect([...hop.extensions.keys()]).toEqual(["DSN"]);
    }
  });

  test.each<[what: string, talk: () => (socket: Socket) => void, ca: () => string, why: RegExp]>([
    [
      "a certificate of another",
      () => secured(inTls([])),
      () => others,
      /no TLS that is to be trusted \(\w*(SIGNED|VERIFY|ISSUER)\w*\)/,
    ],
    ["no TLS", () => answering({}), () => authorities, /offers no TLS, and --next-ca asks for it/],
    [
      "TLS that it refuses",
      () => answering({ EHLO: "250-hop\r\n250 STARTTLS\r\n", STARTTLS: "454 later\r\n" }),
      () => authorities,
      /answers STARTTLS with 454/,
    ],
    [
      "words between STARTTLS and TLS",
      () => secured(inTls([]), "250 XRUNNELOID\r\n"),
      () => authorities,
      /between STARTTLS and TLS/,
    ],
  ])("nothing is sent to one with %s", async (_what, talk, ca, why) => {
    const heard: string[] = [];
    const port = await rig.hop((socket) => {
      socket.on("data", (bytes) => heard.push(bytes.toString("latin1")));
      talk()(socket);
    });
    await expect(rig.dial(port, { authorities: ca() })).rejects.toMatchObject({
      kind: "Unreachable",
      message: expect.stringMatching(why),
    });
    expect(heard.join("")).not.toContain("MAIL");
  });

  test("a certificate for another name is refused", async () => {
    const port = await rig.hop(secured(inTls([])));
    await expect(rig.dial(port, { authorities, host: "localhost" })).rejects.toMatchObject({
      message: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
  });

  test("words in clear are not taken for what comes under TLS, also where nobody has to vouch", async () => {
    const port = await rig.hop(secured(inTls([]), "250-hop\r\n250 XRUNNELOID 1 wss://a:1/mail\r\n"));
    await expect(rig.dial(port)).rejects.toMatchObject({
      message: expect.stringContaining("between STARTTLS and TLS"),
    });
  });
});

describe("to whoever sends mails", () => {
  test("a refused next hop is an answer for now: the mail waits at the sender", async () => {
    const port = await rig.hop(secured(inTls([])));
    const { port: relay } = await rig.listen({}, { connect: () => rig.dial(port, { authorities: others }) });
    const sender = await greeted(relay);
    sender.say("EHLO a.example\r\nMAIL FROM:<a@a.example>\r\n");
    expect(await sender.hear(/^451 .*\r\n/m)).toMatch(/451 4\.4\.1 The next hop \S+ has no TLS that is to be trusted/);
  });

  test("TLS is offered and used with a certificate, and not offered without", async () => {
    const plain = await greeted((await rig.listen()).port);
    plain.say("EHLO a.example\r\n");
    expect(await plain.hear(/^250 .*\r\n/m)).not.toContain("STARTTLS");
    const { port } = await rig.listen({ tls: { cert, key } });
    const sender = await greeted(port);
    sender.say("EHLO a.example\r\n");
    expect(await sender.hear(/^250 .*\r\n/m)).toContain("STARTTLS");
    sender.say("STARTTLS\r\n");
    await sender.hear(/^220 .*\r\n/m);
    const secure = new Speaker(await inClear(sender.socket));
    secure.say("EHLO a.example\r\n");
    const hello = await secure.hear(/^250 .*\r\n/m);
    expect(hello).toContain("XRUNNELOID 1 wss://a:1/mail");
    expect(hello).toContain("SIZE 1000\r\n");
    expect(hello).not.toContain("STARTTLS");
    secure.say("MAIL FROM:<a@a.example>\r\n");
    expect(await secure.hear(/^\d.*\r\n/m)).toMatch(/^250/);
  });

  test("commands in clear behind STARTTLS are not obeyed under TLS", async () => {
    let dialled = 0;
    const connect = async (): Promise<NextHop> => {
      dialled++;
      return willingHop;
    };
    const { port } = await rig.listen({ tls: { cert, key } }, { connect });
    const sender = await greeted(port);
    sender.say("EHLO a.example\r\n");
    await sender.hear(/^250 .*\r\n/m);
    sender.say("STARTTLS\r\nEHLO evil.example\r\nMAIL FROM:<evil@a.example>\r\n");
    await sender.hear(/^220 .*\r\n/m);
    expect(sender.unheard).toBe("");
    const secure = new Speaker(await inClear(sender.socket));
    secure.say("NOOP\r\n");
    expect(await secure.hear(/^\d.*\r\n/m)).toMatch(/^250/);
    expect(secure.unheard).toBe("");
    expect(dialled).toBe(0);
  });

  test("a peer that --allow does not name is refused, whatever it says; one of a named network is served", async () => {
    const { port } = await rig.listen({ allowed: ["192.0.2.7", "127.0.0.8/29"] });
    const other = rig.speak(port);
    expect(await other.hear(/^\d.*\r\n/)).toMatch(/^554 5\.7\.1 This relay is not for you/);
    other.say("EHLO a.example\r\n");
    await expect(other.hear(/^250/m)).rejects.toThrow("It ended");
    for (const [address, code] of [
      ["127.0.0.9", "220"],
      ["127.0.0.16", "554"],
    ] as const)
      expect(await rig.speak(port, address).hear(/^\d.*\r\n/)).toMatch(new RegExp(`^${code}`));
  });
});

/** A connection that has been greeted: before that, nothing may be said. */
async function greeted(port: number): Promise<Speaker> {
  const speaker = rig.speak(port);
  await speaker.hear(/^220 .*\r\n/);
  return speaker;
}

/** The socket as it is under TLS; nobody is vouched for. */
async function inClear(socket: Socket): Promise<Socket> {
  socket.removeAllListeners("data");
  const tls = connectTls({ socket, rejectUnauthorized: false });
  await once(tls, "secureConnect");
  return tls;
}
