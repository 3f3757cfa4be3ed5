// Memory that a connection holds of what the other side says, and that a client lets a server hold.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "../../src/limits.ts";
import { decodeMessage, decodeRequest, encodeCbor } from "../../src/protocol/cbor.ts";
import type { Channel } from "../../src/protocol/channel.ts";
import { FRAME, encodeVarint } from "../../src/protocol/frame.ts";
import { WAITING_BYTES } from "../../src/protocol/held-bytes.ts";
import { quiet, rawPeer } from "./connected.ts";
import { zlibExecutor } from "./zlib-executor.ts";

const MiB = 1024 * 1024;
const NEVER = new Promise<void>(() => undefined);

async function folded(payload: Uint8Array): Promise<Uint8Array> {
  const packed = await zlibExecutor(0).compress(payload, 3);
  if (packed === undefined) throw new Error("it does not shrink");
  return Buffer.concat([encodeVarint(payload.length), packed]);
}

/** An item of a mebibyte that travels as a few bytes. */
const large = (): Uint8Array => encodeCbor(new Uint8Array(MiB - 16));

describe("what waits on a channel", () => {
  test("[W7] counts as long as it is when it is unfolded, until it is read", async () => {
    const held: number[] = [];
    const peer = rawPeer(() => NEVER, { mayHold: (bytes) => held.push(bytes) > 0 });
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    await quiet(peer);
    const opened = peer.server.connection.heldBytes;
    const item = large();
    for (let count = 0; count < 3; count++) peer.say(FRAME.item, 1, await folded(item), true);
    await quiet(peer);
    expect(peer.server.connection.heldBytes - opened).toBe(3 * (item.length + WAITING_BYTES));
    expect(await peer.server.opened[0]?.channel.next()).toHaveLength(MiB - 16);
    expect(peer.server.connection.heldBytes - opened).toBe(2 * (item.length + WAITING_BYTES));
    peer.server.opened[0]?.channel.readNoMore();
    expect(peer.server.connection.heldBytes).toBe(opened);
  });

  test("[W7] [W169] [limit heldBytes] of frames that are to be unfolded no more are taken than may be held, and the connection ends", async () => {
    const peer = rawPeer(() => NEVER, { mayHold: (bytes) => bytes <= LIMITS.heldBytes });
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    const item = await folded(large());
    // All in one turn: none of them is unfolded yet.
    for (let count = 0; count < LIMITS.heldBytes / MiB - 1; count++) peer.say(FRAME.item, 1, item, true);
    await quiet(peer);
    expect(peer.server.closings).toEqual([]);
    for (let count = 0; count < 2; count++) peer.say(FRAME.item, 1, item, true);
    await quiet(peer);
    expect(peer.server.closings).toMatchObject([{ kind: "TooLarge", detail: { rule: "W7" } }]);
  });

  test("[W7] is not decoded before it is read: what is malformed ends the connection then", async () => {
    const peer = rawPeer(() => NEVER);
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    peer.say(FRAME.item, 1, encodeCbor("good"));
    peer.say(FRAME.item, 1, Uint8Array.of(0xff));
    await quiet(peer);
    expect(peer.server.closings).toEqual([]);
    const channel = peer.server.opened[0]?.channel;
    expect(await channel?.next()).toBe("good");
    await expect(channel?.next()).rejects.toMatchObject({ kind: "Invalid" });
    expect(peer.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W2" } }]);
  });

  test("[W7] [W169] a request counts until it is answered", async () => {
    let answer: () => void = () => undefined;
    const peer = rawPeer(() => new Promise<void>((resolve) => (answer = resolve)));
    peer.say(FRAME.open, 1, encodeCbor(["test", new Uint8Array(1000)]));
    await quiet(peer);
    const { connection, opened } = peer.server;
    expect(connection.heldBytes).toBeGreaterThan(1000);
    opened[0]?.channel.readNoMore();
    expect(connection.heldBytes).toBeGreaterThan(1000);
    answer();
    await quiet(peer);
    expect(connection.heldBytes).toBe(0);
  });

  test("what is small does not keep the bytes that came with it", async () => {
    const peer = rawPeer(() => NEVER);
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    await quiet(peer);
    const [channel] = peer.server.opened.map((each) => each.channel) as [Channel];
    const before = process.memoryUsage().arrayBuffers;
    const rest = new Uint8Array(MiB);
    for (let count = 0; count < 100; count++) {
      const message = Buffer.from(rest);
      message.set(encodeCbor("small"));
      channel.receiveItem(message.subarray(0, 6));
    }
    global.gc?.();
    expect(await channel.next()).toBe("small");
    if (global.gc !== undefined) expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * MiB);
  });
});

describe("one message", () => {
  test("[W3] [limit requestValues] of a request has no more values than 262,144", () => {
    const filled = (count: number): Uint8Array => encodeCbor(Array.from({ length: count }, () => 0));
    expect(decodeRequest(filled(LIMITS.requestValues - 1)).message).toHaveLength(LIMITS.requestValues - 1);
    expect(() => decodeRequest(filled(LIMITS.requestValues))).toThrow("A message has too many values.");
    expect(decodeMessage(filled(LIMITS.requestValues))).toHaveLength(LIMITS.requestValues);
  });

  test("[W3] [limit cborContainers] has no more arrays and maps than 131,072", () => {
    const filled = (count: number): Uint8Array => encodeCbor(Array.from({ length: count }, () => []));
    expect(decodeMessage(filled(LIMITS.cborContainers - 1))).toHaveLength(LIMITS.cborContainers - 1);
    expect(() => decodeMessage(filled(LIMITS.cborContainers))).toThrow("A message has too many arrays and maps.");
  });

  test("weighs about what it takes in memory", () => {
    const weight = (message: unknown): number => decodeRequest(encodeCbor(message)).weight;
    expect(weight(new Uint8Array(1000))).toBeLessThan(1100);
    expect(weight(Array.from({ length: 1000 }, () => 0))).toBeGreaterThan(8000);
    expect(weight(Array.from({ length: 1000 }, () => ({})))).toBeGreaterThan(56_000);
  });
});
