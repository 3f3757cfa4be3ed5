// The carrier of pages, between two real WebSockets.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { WebSocket } from "ws";
import { WsCarrier } from "../../src/calls/ws-carrier.ts";
import { callUpgrades } from "../../src/host/call-upgrades.ts";
import { carrierContract } from "./carrier-contract.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

interface Ends {
  client: WebSocket;
  far: WsCarrier;
  /** The socket below the far end. */
  stream: Socket;
}

async function connected(textBytesMax = 1_000_000): Promise<Ends> {
  const takeUpgrade = callUpgrades(textBytesMax);
  const server = createServer();
  const accepted = new Promise<[WsCarrier, Socket]>((done) => {
    server.on("upgrade", (request, stream, head) =>
      takeUpgrade(request, stream, head, (carrier) => done([carrier, stream as Socket])),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  cleanups.push(() => {
    client.terminate();
    server.close();
  });
  const [[far, stream]] = await Promise.all([accepted, once(client, "open")]);
  return { client, far, stream };
}

describe("WsCarrier", () => {
  carrierContract(async () => {
    const { client, far, stream } = await connected();
    return {
      near: new WsCarrier(client),
      far,
      hold: () => {
        stream.pause();
        return () => stream.resume();
      },
    };
  });

  test.each<[string, Buffer, boolean, string, number]>([
    ["longer than is allowed", Buffer.from("x".repeat(11)), false, "TooLarge", 1009],
    ["not UTF-8", Buffer.from([0xff]), false, "Invalid", 1007],
    ["not a text", Buffer.from("{}"), true, "Invalid", 1003],
  ])("ends with an error at a message that is %s", async (_, bytes, binary, kind, code) => {
    const { client, far } = await connected(10);
    const texts: string[] = [];
    const closed = new Promise<unknown>((done) => {
      far.onClose(done);
    });
    far.onText((text) => texts.push(text));
    client.send("short");
    client.send(bytes, { binary });
    expect((await once(client, "close"))[0]).toBe(code);
    expect(await closed).toMatchObject({ kind });
    expect(texts).toEqual(["short"]);
  });

  test("ends without an error when the other end breaks", async () => {
    const { client, far } = await connected();
    const closed = new Promise<unknown>((done) => {
      far.onClose(done);
    });
    client.terminate();
    expect(await closed).toBeUndefined();
  });

  test("reads nothing from an end that does not listen, and goes on once it does", async () => {
    const { client, far, stream } = await connected();
    const asked: string[] = [];
    far.onText((text) => asked.push(text));
    client.pause();
    let room: Promise<void> | undefined;
    while (room === undefined) room = far.send("x".repeat(100_000));
    expect(stream.isPaused()).toBe(true);
    client.send("more");
    client.resume();
    await room;
    client.send("last");
    while (asked.length < 2)
      await new Promise((done) => {
        setImmediate(done);
      });
    expect(asked).toEqual(["more", "last"]);
  });

  test("says why it closes", async () => {
    const { client, far } = await connected();
    far.close(4401, "This page has ended.");
    const [code, reason] = (await once(client, "close")) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([4401, "This page has ended."]);
  });
});
