import { type Socket, createServer, connect } from "node:net";
import { afterAll, afterEach, describe, expect, test } from "@jest/globals";
import { WebSocket } from "ws";
import { LIMITS } from "../../src/limits.ts";
import type { Link, Listener } from "../../src/host/link.ts";
import { isLoopback } from "../../src/host/dial/server-address.ts";
import { WsAcceptor } from "../../src/host/ws-acceptor.ts";
import { WsDialer } from "../../src/host/ws-link.ts";
import { Ear, linkContract } from "../contracts/link-contract.ts";
import { tempSecrets } from "./local/temp-secrets.ts";

const temp = tempSecrets();
const secrets = temp.named;
const dialer = new WsDialer(() => ({}), secrets);
const acceptor = new WsAcceptor({ secrets });
const listeners: Listener[] = [];

afterAll(() => temp.remove());

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

async function listen(accept: (link: Link) => void = () => {}, by = acceptor): Promise<number> {
  const listener = await by.listen("127.0.0.1", 0, accept);
  listeners.push(listener);
  return listener.port;
}

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  await new Promise((resolve) => {
    socket.once("connect", resolve);
  });
  return socket;
}

const AT_ONCE = 256;

async function open(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () => opened(port));
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

/** Resolves to false when the server did not take the connection. */
async function isAnswered(socket: Socket): Promise<boolean> {
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  return new Promise((resolve) => {
    socket.once("data", () => resolve(true));
    socket.once("close", () => resolve(false));
  });
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error("It did not happen within 10 s.");
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}

describe("a link over WebSocket", () => {
  linkContract(async () => {
    let right: Link | undefined;
    const listener = await acceptor.listen("127.0.0.1", 0, (link) => {
      right = link;
    });
    const left = await dialer.dial(`ws://127.0.0.1:${listener.port}/docs`);
    await until(() => right !== undefined);
    if (right === undefined) throw new Error("not accepted");
    return { left, right, until, dispose: () => listener.close() };
  });

  test("breaks with 1006 when the line does", async () => {
    const ear = new Ear();
    const port = await listen((link) => link.listen(ear));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/wire`, "runnel.1");
    await new Promise((resolve) => {
      socket.once("open", resolve);
    });
    socket.terminate();
    await until(() => ear.closings.length === 1);
    expect(ear.closings[0]?.code).toBe(1006);
  });

  test("[limit frameBytes] is closed by text, and by a message past the limit", async () => {
    const ear = new Ear();
    const port = await listen((link) => link.listen(ear));
    const codes: number[] = [];
    for (const payload of ["text", new Uint8Array(LIMITS.frameBytes + 1)]) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/wire`, "runnel.1");
      socket.on("open", () => socket.send(payload));
      socket.on("error", () => {});
      socket.on("close", (code) => codes.push(code));
    }
    await until(() => codes.length === 2 && ear.closings.length === 2);
    expect(codes.toSorted()).toEqual([1003, 1009]);
    expect(ear.messages).toEqual([]);
  });

  test("[limit connections] is not accepted beyond 4096 at once, or another number; when one has gone there is room", async () => {
    for (const connections of [LIMITS.connections, 20]) {
      const room = { unopened: Infinity, ...(connections === LIMITS.connections ? {} : { connections }) };
      const port = await listen(() => undefined, new WsAcceptor({ secrets }, room));
      const sockets = await open(port, connections);
      expect(await isAnswered(await opened(port))).toBe(false);
      sockets[0]?.destroy();
      await until(async () => isAnswered(await opened(port)));
      for (const socket of sockets) socket.destroy();
    }
  });

  test("[limit unopened] of those that ask for nothing one makes room for who comes, and none that has asked", async () => {
    const port = await listen((link) => link.listen(new Ear()));
    const known = await dialer.dial(`ws://127.0.0.1:${port}`);
    const ear = new Ear();
    known.listen(ear);
    const silent = await open(port, LIMITS.unopened + 100);
    await until(() => silent.filter(({ closed }) => closed).length === 100);
    const another = await dialer.dial(`ws://127.0.0.1:${port}`);
    expect(ear.closings).toEqual([]);
    another.close(1000, "");
    known.close(1000, "");
    for (const socket of silent) socket.destroy();
  });

  test("holds the other side back while nobody listens", async () => {
    let right: Link | undefined;
    const port = await listen((link) => {
      right = link;
    });
    const left = await dialer.dial(`ws://127.0.0.1:${port}`);
    for (let count = 0; count < 64; count++) left.send(new Uint8Array(LIMITS.frameBytes));
    await until(() => right !== undefined);
    // Bytes that the kernel's buffers and one socket take are far below 64 MiB.
    expect(left.bufferedBytes).toBeGreaterThan(16 * LIMITS.frameBytes);
    const ear = new Ear();
    right?.listen(ear);
    await until(() => ear.messages.length === 64);
  });

  test("that is closed drops what the other side has not read, if that is much, and says why if it is little", async () => {
    const rights: Link[] = [];
    const port = await listen((link) => void rights.push(link));
    for (const [frames, code] of [
      [64, 1006],
      [0, 4000],
    ] as const) {
      const left = await dialer.dial(`ws://127.0.0.1:${port}`);
      await until(() => rights.length > 0);
      const right = rights.pop();
      for (let count = 0; count < frames; count++) right?.send(new Uint8Array(LIMITS.frameBytes));
      right?.close(4000, "Over.");
      const ear = new Ear();
      left.listen(ear);
      await until(() => ear.closings.length === 1);
      expect(ear.closings[0]?.code).toBe(code);
      expect(ear.messages.length).toBeLessThan(Math.max(1, frames));
    }
  });

  test("shortens a reason that a close frame cannot carry, at a whole character", async () => {
    const ear = new Ear();
    let right: Link | undefined;
    const port = await listen((link) => {
      right = link;
    });
    const left = await dialer.dial(`ws://127.0.0.1:${port}`);
    left.listen(ear);
    await until(() => right !== undefined);
    right?.close(4000, "é".repeat(100));
    await until(() => ear.closings.length === 1);
    expect(ear.closings).toEqual([{ code: 4000, reason: "é".repeat(61) }]);
  });
});

describe("dialing", () => {
  test.each([
    ["", "Invalid"],
    ["127.0.0.1:7300", "Invalid"],
    ["http://127.0.0.1/", "Invalid"],
    ["ws://", "Invalid"],
    ["ws://example.org/docs", "Denied"],
    ["ws://10.0.0.1:7300/docs", "Denied"],
    ["ws://localhost.example.org/docs", "Denied"],
    ["ws://127.0.0.1.example.org/docs", "Denied"],
    ["ws://[::2]/docs", "Denied"],
    ["ws://0.0.0.0:7300/docs", "Denied"],
  ])("refuses %p with %s", async (url, kind) => {
    await expect(async () => dialer.dial(url)).rejects.toMatchObject({ kind, operation: "dial" });
  });

  test("says where nothing listens", async () => {
    const port = await listen();
    await listeners.pop()?.close();
    await expect(dialer.dial(`ws://127.0.0.1:${port}/docs`)).rejects.toMatchObject({
      kind: "Unreachable",
      message: `Cannot reach a server at 127.0.0.1:${port}: nothing listens there.`,
    });
  });

  test("reaches localhost by name", async () => {
    const port = await listen();
    const link = await dialer.dial(`ws://localhost:${port}/docs`);
    link.close(1000, "");
  });

  test("says that what answers is no Runnel server", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      // Else it never sees that the other end has gone.
      socket.resume();
      socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as { port: number };
    await expect(dialer.dial(`ws://127.0.0.1:${port}/docs`)).rejects.toMatchObject({
      kind: "Unreachable",
      message: expect.stringContaining("404"),
    });
    server.close();
  });

  test("is ended by its signal, before and while it waits", async () => {
    await expect(dialer.dial("ws://127.0.0.1:1/", AbortSignal.abort())).rejects.toMatchObject({ kind: "Interrupted" });
    const silent = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => {
      silent.listen(0, "127.0.0.1", resolve);
    });
    const { port } = silent.address() as { port: number };
    const controller = new AbortController();
    const dialing = dialer.dial(`ws://127.0.0.1:${port}/`, controller.signal);
    controller.abort();
    await expect(dialing).rejects.toMatchObject({ kind: "Interrupted" });
    silent.close();
  });
});

describe("listening", () => {
  test("refuses to serve beyond loopback without TLS, in one sentence", async () => {
    for (const host of ["0.0.0.0", "::", "192.168.1.2", "example.org"]) {
      await expect(acceptor.listen(host, 7300, () => {})).rejects.toMatchObject({
        kind: "Denied",
        message: expect.stringMatching(/^Runnel serves others with TLS only, and \S+ is open to other machines/),
      });
    }
  });

  test("says that a port is in use", async () => {
    const port = await listen();
    await expect(acceptor.listen("127.0.0.1", port, () => {})).rejects.toMatchObject({
      kind: "Busy",
      message: expect.stringContaining(`Port ${port} on 127.0.0.1 is in use`),
    });
  });

  test("tells its links that it stops", async () => {
    const port = await listen();
    const ear = new Ear();
    const link = await dialer.dial(`ws://127.0.0.1:${port}`);
    link.listen(ear);
    await listeners.pop()?.close();
    await until(() => ear.closings.length === 1);
    expect(ear.closings[0]?.code).toBe(1001);
  });

  test.each([
    ["another path", "/other", "Sec-WebSocket-Protocol: runnel.1", 400],
    ["no subprotocol", "/wire", "Accept: y", 426],
    ["a header that a proxy may have set", "/wire", "Sec-WebSocket-Protocol: runnel.1\r\nX: y", 403],
    ["another subprotocol", "/wire", "Sec-WebSocket-Protocol: runnel.2, chat", 426],
    ["a web page", "/wire", "Sec-WebSocket-Protocol: runnel.1\r\nOrigin: http://example.org", 403],
    ["ours among others", "/wire", "Sec-WebSocket-Protocol: runnel.2, runnel.1", 101],
  ])("answers %s", async (_title, path, header, status) => {
    let accepted = 0;
    const port = await listen(() => {
      accepted += 1;
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${header}\r\n\r\n`,
    );
    const answer = await new Promise<string>((resolve) => {
      socket.once("data", (bytes) => resolve(bytes.toString()));
    });
    socket.destroy();
    expect(answer).toContain(`HTTP/1.1 ${status} `);
    expect(accepted).toBe(status === 101 ? 1 : 0);
    if (status === 101) expect(answer).toContain("Sec-WebSocket-Protocol: runnel.1");
  });
});

test("loopback is 127.0.0.0/8, ::1 and localhost, nothing that only looks like it", () => {
  for (const host of ["127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost", "::ffff:127.0.0.1"]) {
    expect([host, isLoopback(host)]).toEqual([host, true]);
  }
  for (const host of ["", "128.0.0.1", "0.0.0.0", "::", "localhost.", "127.0.0.1.nip.io", "1.127.0.0.1", "127.0.0"]) {
    expect([host, isLoopback(host)]).toEqual([host, false]);
  }
});
