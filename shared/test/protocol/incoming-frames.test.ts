// Frames that wait for their turn: what they count, how long it takes to hand them on, and what becomes of them when
// the connection ends.
import { expect, test } from "@jest/globals";
import { RunnelError } from "../../src/errors.ts";
import { LIMITS } from "../../src/limits.ts";
import { encodeCbor } from "../../src/protocol/cbor.ts";
import { FRAME, encodeVarint } from "../../src/protocol/frame.ts";
import { HeldBytes } from "../../src/protocol/held-bytes.ts";
import { IncomingFrames } from "../../src/protocol/incoming-frames.ts";
import { type RawPeer, quiet, rawPeer } from "./connected.ts";

const NOTHING = new Uint8Array(0);
const FRAMES = 2000;

/** A connection whose peer gets no turn, and has cancelled a request that is long over so many times. */
async function flooded(count: number, payload = NOTHING): Promise<RawPeer> {
  const turns = { tryTake: () => false, take: () => new Promise<void>(() => undefined) };
  const peer = rawPeer(() => undefined, { mayHold: (bytes) => bytes <= LIMITS.heldBytes, turns });
  peer.say(FRAME.call, 1, encodeCbor(["test", null]));
  for (let left = count; left > 0; left--) {
    peer.say(FRAME.cancel, 1, payload);
    if (left % FRAMES > 0) continue;
    // The clock takes timers without end for a mistake, where time does not move on.
    peer.clock.after(1, () => undefined);
    await peer.clock.advance(1);
  }
  await peer.clock.advance(5);
  return peer;
}

test("[W169] [limit heldBytes] frames that wait count beyond their bytes: empty ones end the connection too", async () => {
  const few = await flooded(FRAMES);
  expect(few.server.closings).toEqual([]);
  expect(few.server.connection.heldBytes).toBeGreaterThan(100 * FRAMES);
  const many = await flooded(50 * FRAMES);
  expect(many.server.closings).toMatchObject([{ kind: "TooLarge", detail: { rule: "W7" } }]);
});

test("[W169] short items that nobody reads count so, too", async () => {
  const peer = rawPeer(() => new Promise<void>(() => undefined));
  peer.say(FRAME.open, 1, encodeCbor(["test", null]));
  await quiet(peer);
  const opened = peer.server.connection.heldBytes;
  for (let count = 0; count < FRAMES; count++) peer.say(FRAME.item, 1, encodeCbor(0));
  await quiet(peer);
  expect(peer.server.connection.heldBytes - opened).toBeGreaterThan(100 * FRAMES);
});

test("all that waits is dropped at once when the connection ends", async () => {
  const peer = await flooded(FRAMES, new Uint8Array(50));
  expect(peer.server.connection.heldBytes).toBeGreaterThan(50 * FRAMES);
  peer.server.connection.close(new RunnelError("Invalid", "test", "It ends."));
  // Only the frame whose turn is waited for is still there.
  expect(peer.server.connection.heldBytes).toBeLessThan(1000);
});

/** Frames that get their turn at once, and are handed to `handle`. */
function framesFor(handle: (channel: number, payload: Uint8Array) => void): IncomingFrames {
  return new IncomingFrames({
    held: new HeldBytes(() => true),
    turn: async () => undefined,
    unfold: async (payload) => payload,
    isUnwanted: () => false,
    handle: ({ channel }, payload) => handle(channel, payload),
    refuse: () => undefined,
  });
}

test("keep nothing of what came from the network in one piece with them", async () => {
  const slab = Uint8Array.from({ length: 64 * 1024 }, (_, at) => at % 251);
  const kept: number[] = [];
  const texts: string[] = [];
  const frames = framesFor((_channel, payload) => {
    kept.push(payload.buffer.byteLength);
    texts.push(payload.join());
  });
  const payload = slab.subarray(1000, 1100);
  for (let channel = 1; channel <= 3; channel++)
    frames.put({ kind: FRAME.call, channel, isCompressed: false, payload }, payload.length);
  while (frames.isBehind) await new Promise((resolve) => void setImmediate(resolve));
  expect(kept).toEqual([100, 100, 100]);
  expect(new Set(texts)).toEqual(new Set([payload.join()]));
});

test("are handed on in order, and as quickly where many wait", async () => {
  const [count, handled] = [300_000, [] as number[]];
  const frames = framesFor((channel) => void handled.push(channel));
  const frame = (channel: number): void =>
    frames.put({ kind: FRAME.cancel, channel, isCompressed: false, payload: NOTHING }, 0);
  for (let channel = 0; channel < count / 2; channel++) frame(channel);
  await Promise.resolve();
  for (let channel = count / 2; channel < count; channel++) frame(channel);
  const beganMs = performance.now();
  while (frames.isBehind) await new Promise((resolve) => void setImmediate(resolve));
  expect(performance.now() - beganMs).toBeLessThan(4_000);
  expect(handled).toEqual(Array.from({ length: count }, (_, channel) => channel));
});

test("an acknowledgement costs the same however many channels have bulk to send", async () => {
  const peer = rawPeer();
  let looks = 0;
  for (let count = 0; count < 100; count++) {
    const channel = peer.server.connection.open("test", null);
    const { outgoing } = channel;
    Object.defineProperty(channel, "outgoing", { get: () => (looks++, outgoing) });
    channel.sendBulk(new Uint8Array(100_000)).catch(() => undefined);
  }
  await quiet(peer);
  looks = 0;
  for (let count = 0; count < 100; count++) peer.say(FRAME.ack, 0, encodeVarint(0));
  await quiet(peer);
  expect(peer.server.closings).toEqual([]);
  expect(looks).toBeLessThan(1000);
  peer.server.connection.close(new RunnelError("Invalid", "test", "It ends."));
});
