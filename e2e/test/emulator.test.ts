import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, type Server, Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  type EmulatorSettings,
  type LinkEmulator,
  queueBytesOf,
  startEmulator,
  startEmulatorHere,
} from "../src/emulator/index.ts";
import { LinkDirection } from "../src/emulator/link-direction.ts";
import { waitFor } from "../src/harness/wait.ts";

const KiB = 1024;

describe.each<[string, (settings: EmulatorSettings) => Promise<LinkEmulator>]>([
  ["in this process", startEmulatorHere],
  ["in its own process", startEmulator],
])("the emulator %s", (_where, start) => {
  let server: Server;
  let accepted: Socket[];
  let clients: Socket[];
  let emulator: LinkEmulator;
  /** Handles what the server gets. */
  let serve: (socket: Socket, bytes: Buffer) => void;

  beforeEach(async () => {
    accepted = [];
    clients = [];
    serve = (socket, bytes) => socket.write(bytes);
    server = createServer({ noDelay: true }, (socket) => {
      accepted.push(socket);
      socket.on("error", () => {});
      socket.on("data", (bytes) => serve(socket, bytes));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    emulator = await start({ target: { host: "127.0.0.1", port: (server.address() as AddressInfo).port } });
  });

  afterEach(async () => {
    await emulator.close();
    for (const socket of [...accepted, ...clients]) socket.destroy();
    server.close();
  });

  async function open(): Promise<{ socket: Socket; received: () => Buffer; isClosed: () => boolean }> {
    const socket = connect({ port: emulator.port, host: "127.0.0.1", noDelay: true });
    clients.push(socket);
    const parts: Buffer[] = [];
    let isClosed = false;
    socket.on("data", (bytes) => parts.push(bytes));
    socket.on("error", () => {});
    socket.on("close", () => (isClosed = true));
    await once(socket, "connect");
    return { socket, received: () => Buffer.concat(parts), isClosed: () => isClosed };
  }

  test("passes bytes both ways unchanged and counts them exactly", async () => {
    const client = await open();
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7) & 255));
    client.socket.write(sent);
    await waitFor(() => client.received().length === sent.length, 10_000, "the echo");
    expect(client.received().equals(sent)).toBe(true);
    const counts = await emulator.counts();
    expect(counts.up).toMatchObject({ sentBytes: 300_000, deliveredBytes: 300_000 });
    expect(counts.down).toMatchObject({ sentBytes: 300_000, deliveredBytes: 300_000 });
    expect(counts).toMatchObject({ connections: 1, openConnections: 1 });
  });

  test("counts a turnaround for each burst that answers another", async () => {
    const client = await open();
    for (let n = 1; n <= 5; n++) {
      client.socket.write(Buffer.alloc(10));
      await waitFor(() => client.received().length === n * 10, 15_000, "an answer");
    }
    let counts = await emulator.counts();
    expect([counts.up.turnarounds, counts.down.turnarounds]).toEqual([4, 5]);
    await emulator.resetCounts();
    serve = () => {};
    client.socket.write(Buffer.alloc(1000));
    await waitFor(async () => (await emulator.counts()).up.deliveredBytes === 1000, 15_000, "the bytes");
    counts = await emulator.counts();
    expect([counts.up.turnarounds, counts.down.turnarounds]).toEqual([0, 0]);
  });

  test("keeps connections apart that were made before and after the counts began anew", async () => {
    const before = await open();
    before.socket.write("before");
    await waitFor(() => before.received().toString() === "before", 10_000, "the echo");
    await emulator.resetCounts();
    const after = await open();
    before.socket.resetAndDestroy();
    await waitFor(() => accepted[0]?.destroyed === true, 10_000, "the end at the server");
    after.socket.write("after");
    await waitFor(() => after.received().toString() === "after", 10_000, "the echo");
    expect(await emulator.counts()).toMatchObject({ connections: 1, openConnections: 1 });
  });

  test("delays by the round-trip time, once more for opening", async () => {
    await emulator.setShape({ rttMs: 60 });
    const startMs = performance.now();
    const client = await open();
    client.socket.write("a");
    await waitFor(() => client.received().length === 1, 15_000, "the first answer");
    const firstMs = performance.now() - startMs;
    expect(firstMs).toBeGreaterThanOrEqual(118);
    client.socket.write("b");
    await waitFor(() => client.received().length === 2, 15_000, "the second answer");
    expect(performance.now() - startMs - firstMs).toBeGreaterThanOrEqual(58);
  });

  test("sends at its rate, shared by all connections", async () => {
    serve = () => {};
    await emulator.setShape({ upBitsPerSecond: 4_000_000 });
    const [a, b] = [await open(), await open()];
    const startMs = performance.now();
    a.socket.write(Buffer.alloc(100_000));
    b.socket.write(Buffer.alloc(150_000));
    await waitFor(async () => (await emulator.counts()).up.deliveredBytes === 250_000, 10_000, "the bytes");
    const tookMs = performance.now() - startMs;
    expect(tookMs).toBeGreaterThanOrEqual(495); // 2 Mbit at 4 Mbit/s
    expect(tookMs).toBeLessThan(2500); // a loaded machine adds what it adds
  });

  test("stops reading when its queue is full", async () => {
    serve = () => {};
    await emulator.setShape({ upBitsPerSecond: 80_000 });
    const client = await open();
    client.socket.write(Buffer.alloc(1_000_000));
    await waitFor(async () => (await emulator.counts()).up.sentBytes > 64 * KiB, 15_000, "a full queue");
    const { up } = await emulator.counts();
    // A read (64 KiB) may pass the bound.
    expect(up.sentBytes - up.deliveredBytes).toBeLessThanOrEqual(128 * KiB);
    await emulator.setShape({ upBitsPerSecond: Infinity });
  });

  test("says how long it has been quiet, and not while bytes are under way", async () => {
    const client = await open();
    await emulator.setShape({ rttMs: 400 });
    serve = () => {};
    client.socket.write("a");
    await waitFor(async () => (await emulator.counts()).up.sentBytes === 1, 15_000, "the byte");
    expect(await emulator.counts()).toMatchObject({ quietMs: 0 });
    await waitFor(async () => (await emulator.counts()).up.deliveredBytes === 1, 15_000, "its delivery");
    await waitFor(async () => (await emulator.counts()).quietMs >= 50, 15_000, "quiet");
  });

  test("cuts all connections at both ends, and refuses new ones until restored if asked", async () => {
    const client = await open();
    client.socket.write("a");
    await waitFor(() => client.received().length === 1, 15_000, "an answer");
    await emulator.cut("accept");
    await waitFor(() => client.isClosed() && accepted[0]?.destroyed, 15_000, "both ends closed");
    const second = await open();
    await emulator.cut("refuse");
    await waitFor(() => second.isClosed(), 15_000, "the second cut");
    await expect(open()).rejects.toThrow("ECONNREFUSED");
    await emulator.restore();
    const third = await open();
    third.socket.write("b");
    await waitFor(() => third.received().toString() === "b", 15_000, "an answer after the cut");
  });

  test("is a black hole: accepts, takes, delivers nothing, tells nobody; and gives all of it back", async () => {
    const client = await open();
    client.socket.write("a");
    await waitFor(() => client.received().length === 1, 15_000, "an answer");
    await emulator.blackHole();
    client.socket.write("bcd");
    const late = await open();
    late.socket.write("e");
    const leaving = await open();
    leaving.socket.resetAndDestroy();
    await waitFor(async () => (await emulator.counts()).up.sentBytes === 5, 15_000, "the swallowed bytes");
    expect(await emulator.counts()).toMatchObject({ up: { deliveredBytes: 1 }, openConnections: 3, quietMs: 0 });
    expect([client.isClosed(), late.isClosed()]).toEqual([false, false]);
    await emulator.restore();
    await waitFor(() => client.received().toString() === "abcd", 15_000, "what was swallowed");
    await waitFor(() => late.received().toString() === "e", 15_000, "what was swallowed of the new one");
    await waitFor(async () => (await emulator.counts()).openConnections === 2, 15_000, "the reset");
  });

  test("comes and goes while it flaps, and stays when that is over", async () => {
    const first = await open();
    await emulator.flap(300, 300);
    await waitFor(() => first.isClosed(), 15_000, "the first cut");
    const answers = async (): Promise<boolean> => {
      const client = await open().catch(() => undefined);
      client?.socket.write("a");
      return waitFor(() => client === undefined || client.isClosed() || client.received().length === 1, 5000).then(
        () => client?.received().length === 1,
      );
    };
    await waitFor(answers, 15_000, "it to come");
    await waitFor(async () => !(await answers()), 15_000, "it to go");
    await waitFor(answers, 15_000, "it to come again");
    await emulator.restore();
    const last = await open();
    last.socket.write("a");
    await waitFor(() => last.received().length === 1, 15_000, "an answer");
  });

  test("passes on the end of each side, and a target that refuses", async () => {
    serve = (socket, bytes) => socket.end(bytes);
    const client = await open();
    client.socket.end("bye");
    await waitFor(() => client.isClosed(), 15_000, "the end");
    expect(client.received().toString()).toBe("bye");
    await waitFor(async () => (await emulator.counts()).openConnections === 0, 15_000, "nothing open");
    await new Promise((resolve) => server.close(resolve));
    // The refusal can come with the answer to the opening.
    const refused = await open().catch(() => undefined);
    await waitFor(() => refused?.isClosed() !== false, 15_000, "the refusal");
  });
});

describe("a direction of the link", () => {
  test("comes out at its rate and after its delay, in order", () => {
    const link = new LinkDirection();
    link.setShape(8000, 100); // one byte a millisecond
    expect([link.take(10, 1000, 0), link.take(10, 1000, 0), link.take(10, 1100, 0)]).toEqual([1060, 1070, 1160]);
    expect(link.take(10, 1100, 1500)).toBe(1560);
    link.setShape(8000, 0);
    expect(link.take(10, 1100, 0)).toBe(1560);
    expect(link.queuedBytes).toBe(50);
  });

  test("holds one bandwidth-delay product, within bounds", () => {
    expect(queueBytesOf(1_000_000, 20)).toBe(64 * KiB);
    expect(queueBytesOf(100_000_000, 100)).toBe(1_250_000);
    expect(queueBytesOf(Infinity, 100)).toBe(64 * KiB * KiB);
    expect(queueBytesOf(Infinity, 0)).toBe(64 * KiB);
  });
});

test("the emulator records segments for debugging when asked", async () => {
  const folder = mkdtempSync(join(tmpdir(), "runnel-record-"));
  const server = createServer((socket) => socket.pipe(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const emulator = await startEmulatorHere({ target: { host: "127.0.0.1", port }, recordFolder: folder });
  const client = connect(emulator.port, "127.0.0.1");
  client.end("hello");
  await once(client.resume(), "end");
  await emulator.close();
  server.close();
  const [line, , ...rest] = readFileSync(join(folder, "recording.jsonl"), "utf8").split("\n");
  expect(rest).toEqual([""]);
  expect(JSON.parse(line ?? "")).toMatchObject({ connection: 1, direction: "up", base64: "aGVsbG8=" });
  rmSync(folder, { recursive: true });
});
