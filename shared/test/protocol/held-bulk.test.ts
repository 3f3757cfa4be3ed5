// Bulk that lies unread: how much of it a server holds, and what it tells whom by it.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "../../src/limits.ts";
import { encodeCbor } from "../../src/protocol/cbor.ts";
import type { Channel } from "../../src/protocol/channel.ts";
import { FRAME, decodeVarint } from "../../src/protocol/frame.ts";
import { type RawPeer, channelPair, connected, quiet, rawPeer } from "./connected.ts";

const MiB = 1024 * 1024;
const FRAME_BYTES = LIMITS.bulkFrameBytes;
const NEVER = new Promise<void>(() => undefined);
const ofServer = { mayHoldBulk: (bytes: number) => bytes <= LIMITS.heldBulkBytes };

async function opened(peer: RawPeer, id: number): Promise<Channel> {
  peer.say(FRAME.open, id, encodeCbor(["test", null]));
  await quiet(peer);
  const channel = peer.server.opened.at(-1)?.channel;
  if (channel === undefined) throw new Error("the channel did not open");
  return channel;
}

async function sayBulk(peer: RawPeer, id: number, bytes: number): Promise<void> {
  for (let at = 0; at < bytes; at += FRAME_BYTES)
    peer.say(FRAME.bulk, id, new Uint8Array(Math.min(FRAME_BYTES, bytes - at)));
  await quiet(peer);
}

/** Count in the last acknowledgement. */
function acknowledged({ heard }: RawPeer): number {
  const last = heard.findLast(({ kind }) => kind === FRAME.ack);
  return last === undefined ? 0 : decodeVarint(last.payload, 0).value;
}

describe("bulk that nobody has read", () => {
  test("[W7] [W169] [limit heldBulkBytes] counts for all channels of a connection until it is read, or nobody reads there any more; then the connection ends", async () => {
    const peer = rawPeer(() => NEVER, ofServer);
    const channels: Channel[] = [];
    for (let id = 1; channels.length < LIMITS.heldBulkBytes / LIMITS.channelCreditBytes; id += 2) {
      channels.push(await opened(peer, id));
      await sayBulk(peer, id, LIMITS.channelCreditBytes);
    }
    const { connection, closings } = peer.server;
    expect(connection.heldBulkBytes).toBe(LIMITS.heldBulkBytes);
    await channels[0]?.readBulk(MiB);
    channels[1]?.readNoMore();
    expect(connection.heldBulkBytes).toBe(LIMITS.heldBulkBytes - 5 * MiB);
    await opened(peer, 101);
    await opened(peer, 103);
    await sayBulk(peer, 101, 4 * MiB);
    await sayBulk(peer, 103, MiB);
    expect(closings).toEqual([]);
    await sayBulk(peer, 103, 1);
    expect(closings).toMatchObject([{ kind: "TooLarge", detail: { rule: "W7" } }]);
  });

  test("[W8] [W170] ends the connection where none is ever read", async () => {
    const peer = rawPeer(() => NEVER, { takesBulk: (operation) => operation === "write" });
    peer.say(FRAME.open, 1, encodeCbor(["write", null]));
    peer.say(FRAME.open, 3, encodeCbor(["attach", null]));
    await sayBulk(peer, 1, 1);
    expect(peer.server.closings).toEqual([]);
    await sayBulk(peer, 3, 1);
    expect(peer.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W8" } }]);
  });

  test("[W9] is acknowledged up to 4 MiB that could be read, and again when they have been", async () => {
    const peer = rawPeer(() => NEVER, ofServer);
    const one = await opened(peer, 1);
    await opened(peer, 3);
    await sayBulk(peer, 1, 4 * MiB);
    await peer.clock.advance(10);
    expect(acknowledged(peer)).toBe(4 * MiB);
    await sayBulk(peer, 3, 1);
    await peer.clock.advance(10_000);
    expect(acknowledged(peer)).toBe(4 * MiB);
    await one.readBulk(1);
    await peer.clock.advance(10);
    expect(acknowledged(peer)).toBe(4 * MiB + 1);
  });

  test("[W9] is acknowledged while whoever reads waits for more of it", async () => {
    const peer = rawPeer(() => NEVER, ofServer);
    const reading: Promise<Uint8Array>[] = [];
    for (let id = 1; id <= 15; id += 2) {
      reading.push((await opened(peer, id)).readBulk(MiB));
      await sayBulk(peer, id, MiB - 1);
    }
    await peer.clock.advance(10);
    expect(acknowledged(peer)).toBe(8 * (MiB - 1));
    for (let id = 1; id <= 15; id += 2) await sayBulk(peer, id, 1);
    expect(await Promise.all(reading)).toHaveLength(8);
  });

  test("does not keep the messages that it came in", async () => {
    const peer = rawPeer(() => NEVER);
    const channel = await opened(peer, 1);
    const before = process.memoryUsage().arrayBuffers;
    const rest = Buffer.alloc(MiB);
    for (let count = 0; count < 200; count++) channel.receiveBulk(Buffer.from(rest).subarray(0, 1025));
    global.gc?.();
    if (global.gc !== undefined) expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * MiB);
    expect(await channel.readBulk(200 * 1025)).toHaveLength(200 * 1025);
  });
});

describe("[W51] a client", () => {
  test("has begun 8 runs at the most: what a server that reads whole runs holds of a hundred is little, and all come", async () => {
    const runs: Promise<Uint8Array>[] = [];
    const pair = connected({
      bytesPerSecond: 100 * MiB,
      delayMs: 20,
      bounds: ofServer,
      serve: ({ channel }) => void runs.push(channel.readBulk(MiB)),
    });
    const sending: Promise<void>[] = [];
    for (let count = 0; count < 100; count++)
      sending.push(pair.client.connection.open("test", null).sendBulk(new Uint8Array(MiB)));
    let mostBytes = 0;
    for (let turn = 0; turn < 2000 && pair.server.connection.isOpen; turn++) {
      await pair.clock.advance(1);
      mostBytes = Math.max(mostBytes, pair.server.connection.heldBulkBytes);
    }
    await Promise.all(sending);
    expect(await Promise.all(runs)).toHaveLength(100);
    expect(mostBytes).toBeGreaterThan(5 * MiB);
    expect(mostBytes).toBeLessThanOrEqual(8 * MiB);
  });

  test("begins another run when the channel of one that is begun is cancelled", async () => {
    const pair = connected();
    const begun: Channel[] = [];
    for (let count = 0; count < 9; count++) begun.push((await channelPair(pair)).ours);
    // None of them can end: there is credit for no more.
    for (const channel of begun) channel.sendBulk(new Uint8Array(5 * MiB)).catch(() => undefined);
    await pair.clock.advance(10_000);
    const sentOn = (id: number): number =>
      pair.client.frames
        .filter(({ kind, channel }) => kind === FRAME.bulk && channel === id)
        .reduce((sum, { payload }) => sum + payload.length, 0);
    const last = begun[8]?.id ?? 0;
    expect(begun.slice(0, 8).map(({ id }) => sentOn(id))).toEqual(Array(8).fill(4 * MiB));
    expect(sentOn(last)).toBe(0);
    begun[3]?.cancel();
    await pair.clock.advance(10_000);
    expect(sentOn(last)).toBe(4 * MiB);
  });
});
