// The carrier: which WebSockets become a connection, and which do not. Real sockets on loopback.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createServer } from "node:net";
import { WebSocket } from "ws";
import { mustBeLocal } from "../../src/host/carrier.ts";
import type { Link, Listener } from "../../src/host/link.ts";
import { addressOf } from "../../src/host/dial/server-address.ts";
import { WsAcceptor } from "../../src/host/ws-acceptor.ts";
import { WsDialer } from "../../src/host/ws-link.ts";
import { tempSecrets } from "../host/local/temp-secrets.ts";

const temp = tempSecrets();
const { secrets } = temp;
const another = tempSecrets();
let listener: Listener;
const accepted: Link[] = [];

beforeAll(async () => {
  listener = await new WsAcceptor({ secrets }).listen("127.0.0.1", 0, (link) => {
    accepted.push(link);
    link.listen({ message: (payload) => link.send(payload), closed: () => {} });
  });
});

afterAll(async () => {
  await listener.close();
  temp.remove();
  another.remove();
});

interface Attempt {
  path?: string;
  protocols?: string[];
  origin?: string;
  headers?: Record<string, string>;
}

/** Resolves to the outcome of an attempt: the HTTP status, or what was agreed on. */
function attempt({ path = "/wire", protocols = ["runnel.1"], origin, headers = {} }: Attempt): Promise<unknown> {
  const socket = new WebSocket(
    `ws://127.0.0.1:${listener.port}${path}`,
    protocols,
    origin === undefined ? { headers } : { origin },
  );
  return new Promise((resolve) => {
    socket.on("open", () => {
      resolve({ protocol: socket.protocol, extensions: socket.extensions });
      socket.close();
    });
    socket.on("unexpected-response", (_request, response) => {
      response.resume();
      resolve(response.statusCode);
      socket.on("error", () => {});
      socket.terminate();
    });
    socket.on("error", (error) => resolve(error.message));
  });
}

describe("a WebSocket", () => {
  test("[W50] at /wire with runnel.1 is a connection, without compression even when it is offered", async () => {
    expect(await attempt({})).toEqual({ protocol: "runnel.1", extensions: "" });
    expect(await attempt({ protocols: ["runnel.9", "runnel.1"] })).toEqual({ protocol: "runnel.1", extensions: "" });
  });

  test.each<[string, Attempt]>([
    ["another path", { path: "/docs" }],
    ["another subprotocol", { protocols: ["runnel.9"] }],
    ["no subprotocol", { protocols: [] }],
    ["a web page", { origin: "http://127.0.0.1" }],
    ["somebody behind a proxy of this machine", { headers: { "X-Forwarded-For": "192.0.2.1" } }],
    ["the same, in its newer form", { headers: { Forwarded: "for=192.0.2.1" } }],
    ["the same, in a form of its own", { headers: { "CF-Connecting-IP": "192.0.2.1" } }],
    ["a name that somebody has had bound to this machine", { headers: { Host: "rebound.example" } }],
  ])("[W50] [W167] of %s is refused before the upgrade", async (_what, how) => {
    const before = accepted.length;
    expect([400, 403, 426]).toContain(await attempt(how));
    expect(accepted).toHaveLength(before);
  });

  test.each(["localhost", "127.0.0.1:80", "[::1]:7473"])("[W50] with %s is let in", async (host) => {
    expect(await attempt({ headers: { Host: host } })).toMatchObject({ protocol: "runnel.1" });
  });

  test("[W50] that says text is closed with 1003", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${listener.port}/wire`, "runnel.1");
    const code = new Promise((resolve) => socket.on("close", resolve));
    socket.on("open", () => socket.send("hello"));
    expect(await code).toBe(1003);
  });

  test("[W50] with a message above 1 MiB + 64 bytes is closed with 1009", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${listener.port}/wire`, "runnel.1");
    const code = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => {});
    socket.on("open", () => socket.send(new Uint8Array(1024 * 1024 + 65)));
    expect(await code).toBe(1009);
  });
});

test("a connection that was reset before it is looked whom it is to cannot be reached, and breaks no rule", () => {
  const address = addressOf("ws://localhost:9/docs");
  const kind = (remoteAddress: string | undefined): unknown => {
    try {
      mustBeLocal(remoteAddress, address);
      return "local";
    } catch (error) {
      return (error as { kind?: unknown }).kind;
    }
  };
  expect([kind("127.0.0.1"), kind("::1"), kind("192.0.2.1"), kind(undefined)]).toEqual([
    "local",
    "local",
    "Denied",
    "Unreachable",
  ]);
});

describe("without TLS", () => {
  test("[W165] both ends know what a client of the same user says in its hello, another time each", async () => {
    const said = new Set<unknown>();
    for (let time = 0; time < 2; time++) {
      const link = await new WsDialer(() => ({}), secrets).dial(`ws://127.0.0.1:${listener.port}/docs`);
      expect(accepted.at(-1)?.ownerProof).toBe(link.ownerProof);
      said.add(link.ownerProof);
      link.close(1000, "");
    }
    expect([...said]).toEqual([expect.stringMatching(/^[\w-]{43}$/), expect.stringMatching(/^[\w-]{43}$/)]);
  });

  test("[W165] a client that has no secret of the place says nothing to it", async () => {
    const heard: Buffer[] = [];
    const other = createServer((socket) => socket.on("data", (bytes) => heard.push(bytes)));
    await new Promise<void>((resolve) => {
      other.listen(0, "127.0.0.1", resolve);
    });
    const { port } = other.address() as { port: number };
    await expect(new WsDialer(() => ({}), secrets).dial(`ws://127.0.0.1:${port}/docs`)).rejects.toMatchObject({
      kind: "Denied",
      message: `No server that this user runs listens at 127.0.0.1:${port}. Ask whoever runs it for an invite, or name its secret with --secret.`,
    });
    await new Promise((resolve) => {
      other.close(resolve);
    });
    expect(heard).toEqual([]);
  });

  test("[W165] one who has taken the place of the server is told from it before a hello, and has heard a nonce", async () => {
    const heard: Buffer[] = [];
    const squatter = await new WsAcceptor({ secrets: another.secrets }).listen("127.0.0.1", 0, (link) =>
      link.listen({ message: (payload) => heard.push(Buffer.from(payload)), closed: () => undefined }),
    );
    secrets.keep({ address: "127.0.0.1", port: squatter.port });
    await expect(new WsDialer(() => ({}), secrets).dial(`ws://127.0.0.1:${squatter.port}/docs`)).rejects.toMatchObject({
      kind: "Denied",
      message: expect.stringContaining("is not the server that this user runs there"),
    });
    await squatter.close();
    expect(heard).toEqual([]);
  });
});

describe("beyond loopback", () => {
  test.each(["192.0.2.1", "runnel.example", "[2001:db8::1]"])(
    "[W50] [W168] %s is neither dialed nor listened on",
    async (host) => {
      await expect((async () => new WsDialer().dial(`ws://${host}:9/docs`))()).rejects.toMatchObject({
        kind: "Denied",
      });
      await expect(new WsAcceptor({ secrets }).listen(host, 0, () => {})).rejects.toMatchObject({ kind: "Denied" });
    },
  );
});
