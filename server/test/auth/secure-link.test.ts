// wss between a real acceptor and a real dialer: who is taken for the server, and who is not.
import { X509Certificate } from "node:crypto";
import { type Server, type Socket, connect as reach, createServer as createTcpServer } from "node:net";
import { type SecureVersion, connect as reachSecurely, createServer as createTlsServer } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type Link,
  type Listener,
  type ServerTrust,
  SimulatedClock,
  SimulatedDisk,
  type TlsIdentity,
  WsAcceptor,
  WsDialer,
  fingerprintOf,
  ownIdentity,
} from "@runnel/shared";
import { linkContract } from "@runnel/shared/test/contracts/link-contract.ts";
import { tempSecrets } from "@runnel/shared/test/host/local/temp-secrets.ts";
import { newAuthority, signedBy } from "./certificates.ts";
import type { Authority } from "./certificates.ts";

const { named: secrets, remove } = tempSecrets();
let own: TlsIdentity;
let other: TlsIdentity;
let authority: Authority;
const listeners: { close(): unknown }[] = [];

async function newIdentity(): Promise<TlsIdentity> {
  const disk = new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 });
  return ownIdentity(await disk.openRoot("/data", { permissions: 0o700 }), {
    hostname: "files",
    name: "Runnel server",
    loss: "",
  });
}

afterAll(remove);

beforeAll(async () => {
  own = await newIdentity();
  other = await newIdentity();
  authority = await newAuthority();
});

afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
});

function printOf({ certificate }: TlsIdentity): string {
  return fingerprintOf(new X509Certificate(certificate));
}

async function serve(identity: TlsIdentity | undefined, accept: (link: Link) => void = () => {}): Promise<number> {
  const listener = await new WsAcceptor({ identity: () => identity }).listen("127.0.0.1", 0, accept);
  listeners.push(listener);
  return listener.port;
}

function dial(port: number, trust: ServerTrust, host = "127.0.0.1", scheme = "wss"): Promise<Link> {
  return new WsDialer(() => trust, secrets).dial(`${scheme}://${host}:${port}/docs`);
}

/** A peer that is no Runnel server, made by `make`. */
async function listenWith(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  listeners.push({ close: () => server.close() });
  return (server.address() as { port: number }).port;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error("It did not happen within 10 s.");
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

describe("a link over TLS", () => {
  linkContract(async () => {
    let right: Link | undefined;
    const listener: Listener = await new WsAcceptor({ identity: () => own }).listen("127.0.0.1", 0, (link) => {
      right = link;
    });
    const left = await dial(listener.port, { fingerprint: printOf(own) });
    await until(() => right !== undefined);
    if (right === undefined) throw new Error("not accepted");
    return { left, right, until, dispose: () => listener.close(), isEncrypted: true };
  });

  test("knows the address of the other end", async () => {
    const links: Link[] = [];
    const port = await serve(own, (link) => links.push(link));
    (await dial(port, { fingerprint: printOf(own) })).close(1000, "");
    expect(links[0]?.remoteAddress).toBe("127.0.0.1");
  });
});

describe("unauthenticated connections that do not end a handshake", () => {
  const UNOPENED = 20;
  /** The header of a record, and the beginning of a ClientHello of 512 bytes (RFC 8446 §4, §5.1). */
  const HALF_A_HELLO = Buffer.from("160301020001000001fc0303", "hex");

  /** Makes one that has come so far, and says nothing more. */
  const stages: Readonly<Record<string, (port: number) => Socket>> = {
    "that have said nothing": (port) => reach(port, "127.0.0.1"),
    "in the middle of the handshake": (port) => {
      const socket = reach(port, "127.0.0.1");
      socket.write(HALF_A_HELLO);
      return socket;
    },
    "that ask for nothing after it": (port) =>
      reachSecurely({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => undefined),
  };

  test.each(Object.entries(stages))(
    "[W73] make room, as who says nothing does, when there are too many: those %s",
    async (_stage, make) => {
      const links: Link[] = [];
      const room = { unopened: UNOPENED };
      const acceptor = new WsAcceptor({ identity: () => own }, room);
      const listener = await acceptor.listen("127.0.0.1", 0, (link) => links.push(link));
      listeners.push(listener);
      const { port } = listener;
      const known = await dial(port, { fingerprint: printOf(own) });
      let closed = 0;
      const sockets = Array.from({ length: 2 * UNOPENED }, () => {
        const socket = make(port);
        socket.on("error", () => undefined);
        socket.on("close", () => closed++);
        return socket.resume();
      });
      await until(() => closed === UNOPENED);
      // Whoever comes to say something finds room, and who has said it keeps it.
      const another = await dial(port, { fingerprint: printOf(own) });
      expect(links).toHaveLength(2);
      await until(() => closed === UNOPENED + 1);
      for (const link of [known, another]) link.close(1000, "");
      for (const socket of sockets) socket.destroy();
    },
  );
});

describe("the server's key", () => {
  test("[W71] is taken by its fingerprint, whatever the certificate says", async () => {
    const wrong = await signedBy(authority, { dns: ["elsewhere.example"] }, -20, -10);
    const link = await dial(await serve(wrong), { fingerprint: printOf(wrong) });
    link.close(1000, "");
  });

  test("[W71] that is another is refused before anything of the WebSocket is sent, also with an authority's word for it", async () => {
    const vouched = await signedBy(authority, { ip: ["127.0.0.1"] });
    for (const identity of [other, vouched]) {
      let plainBytes = 0;
      const tls = createTlsServer(
        { key: identity.key, cert: identity.certificate, minVersion: "TLSv1.3" },
        (socket) => {
          socket.on("data", (bytes: Buffer) => {
            plainBytes += bytes.length;
          });
          socket.on("error", () => undefined);
        },
      );
      const port = await listenWith(tls);
      const trust = { fingerprint: printOf(own), authorities: authority.pem };
      await expect(dial(port, trust)).rejects.toMatchObject({
        kind: "Denied",
        message: expect.stringMatching(
          /^Someone else answers at 127\.0\.0\.1:\d+: its key is not the one in your invite\./,
        ),
      });
      expect(plainBytes).toBe(0);
    }
  });

  test("[W71] without a fingerprint needs an authority that is known", async () => {
    const sentence = /^No authority that this machine knows has signed the certificate of 127\.0\.0\.1:\d+\. Log in/;
    const vouched = await signedBy(authority, { ip: ["127.0.0.1"] });
    for (const identity of [own, vouched])
      await expect(dial(await serve(identity), {})).rejects.toMatchObject({
        kind: "Denied",
        message: expect.stringMatching(sentence),
      });
    const link = await dial(await serve(vouched), { authorities: authority.pem });
    link.close(1000, "");
    await expect(dial(await serve(own), { authorities: authority.pem })).rejects.toMatchObject({ kind: "Denied" });
  });

  test.each<[string, { dns?: string[]; ip?: string[] }, number, number, RegExp]>([
    [
      "has run out",
      { ip: ["127.0.0.1"] },
      -20,
      -10,
      /is not valid at this time\. Ask whoever runs the server to renew it\.$/,
    ],
    ["is not valid yet", { ip: ["127.0.0.1"] }, 5, 10, /is not valid at this time/],
    [
      "is for another name",
      { dns: ["files.example"] },
      -1,
      10,
      /is for another name\. Use the name that the server goes by\.$/,
    ],
  ])("[W71] with an authority's certificate that %s is refused", async (_title, names, from, to, sentence) => {
    const identity = await signedBy(authority, names, from, to);
    await expect(dial(await serve(identity), { authorities: authority.pem })).rejects.toMatchObject({
      kind: "Denied",
      message: expect.stringMatching(sentence),
    });
  });

  test("[W71] of a server by name is compared with that name", async () => {
    const identity = await signedBy(authority, { dns: ["localhost"] });
    const link = await dial(await serve(identity), { authorities: authority.pem }, "localhost");
    link.close(1000, "");
  });
});

describe("what is not wss", () => {
  test("[W71] TLS before 1.3 is spoken by neither side", async () => {
    const old: SecureVersion = "TLSv1.2";
    const tls = createTlsServer({ key: own.key, cert: own.certificate, maxVersion: old }, () => undefined);
    tls.on("tlsClientError", () => undefined);
    await expect(dial(await listenWith(tls), { fingerprint: printOf(own) })).rejects.toMatchObject({
      kind: "Unreachable",
      message: expect.stringContaining("does not speak TLS 1.3"),
    });
    const port = await serve(own);
    const { connect } = await import("node:tls");
    const socket = connect({ host: "127.0.0.1", port, maxVersion: old, rejectUnauthorized: false });
    const error = await new Promise<Error>((resolve) => {
      socket.once("error", resolve);
    });
    expect(error.message).toMatch(/protocol version/);
  });

  test("a plain server is told from one with TLS", async () => {
    await expect(dial(await serve(undefined), { fingerprint: printOf(own) })).rejects.toMatchObject({
      kind: "Unreachable",
      message: expect.stringMatching(/does not speak TLS 1\.3|Cannot reach/),
    });
  });

  test("plain ws to a server with TLS is Unreachable", async () => {
    await expect(dial(await serve(own), {}, "127.0.0.1", "ws")).rejects.toMatchObject({ kind: "Unreachable" });
  });

  test("who takes the connection and says nothing is given up when the signal says so", async () => {
    const port = await listenWith(createTcpServer(() => undefined));
    const controller = new AbortController();
    const dialing = new WsDialer(() => ({})).dial(`wss://127.0.0.1:${port}/docs`, controller.signal);
    setTimeout(() => controller.abort(), 50);
    await expect(dialing).rejects.toMatchObject({ kind: "Interrupted" });
  });

  test("nothing listens there", async () => {
    const port = await serve(own);
    await listeners.pop()?.close();
    await expect(dial(port, {})).rejects.toMatchObject({
      kind: "Unreachable",
      message: `Cannot reach a server at 127.0.0.1:${port}: nothing listens there.`,
    });
  });
});
