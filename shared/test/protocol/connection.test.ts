// A connection: order of control, priority over bulk, pacing, compression, limits, and what ends it.
import { describe, expect, test } from "@jest/globals";
import { zstdCompressSync } from "node:zlib";
import { CLOSE_CODE_OF_KIND, ERROR_KINDS, RunnelError } from "../../src/errors.ts";
import { LIMITS } from "../../src/limits.ts";
import { decodeCbor, encodeCbor } from "../../src/protocol/cbor.ts";
import type { Channel } from "../../src/protocol/channel.ts";
import type { Frame, FrameKind } from "../../src/protocol/frame.ts";
import { FRAME, decodeVarint, encodeVarint } from "../../src/protocol/frame.ts";
import type { Connected } from "./connected.ts";
import { channelPair, connected, outcome, quiet, rawPeer } from "./connected.ts";

const MiB = 1024 * 1024;

function noise(length: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 24;
  });
}

/** Compresses well, and is above the size from which control is compressed. */
function large(mark: number): unknown {
  return [mark, "x".repeat(5000)];
}

function bulkBytes(frames: readonly Frame[]): number {
  return frames.filter(({ kind }) => kind === FRAME.bulk).reduce((sum, { payload }) => sum + payload.length, 0);
}

async function channelOver(pair: Connected, ms: number): Promise<{ ours: Channel; theirs: Channel }> {
  const ours = pair.client.connection.open("test", null);
  await pair.clock.advance(ms);
  return { ours, theirs: pair.server.opened.at(-1)?.channel as Channel };
}

describe("control", () => {
  test("[W5] above 1 KiB is compressed when that makes it smaller, and only then", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    const small = "x".repeat(1021);
    const random = noise(5000);
    for (const item of [small, `${small}x`, random]) ours.send(item);
    await quiet(pair);
    const items = pair.client.frames.filter(({ kind }) => kind === FRAME.item);
    expect(items.map(({ isCompressed }) => isCompressed)).toEqual([false, true, false]);
    expect(decodeVarint(items[1]?.payload ?? new Uint8Array(), 0).value).toBe(1025);
    expect([await theirs.next(), await theirs.next(), await theirs.next()]).toEqual([small, `${small}x`, random]);
  });

  test("[W5] [W73] of the operations by which a client becomes known is never compressed", async () => {
    const pair = connected();
    for (const operation of ["hello", "join", "stat"])
      pair.client.connection.call(operation, { text: "x".repeat(2000) }).catch(() => undefined);
    await quiet(pair);
    const calls = pair.client.frames.filter(({ kind }) => kind === FRAME.call);
    expect(calls.map(({ isCompressed }) => isCompressed)).toEqual([false, false, true]);
  });

  test("[W51] keeps its order across channels, and across what is compressed and what is not", async () => {
    const pair = connected({ turns: 3 });
    const first = await channelPair(pair);
    const second = await channelPair(pair);
    const heard: unknown[] = [];
    const listen = async (name: string, channel: Channel): Promise<void> => {
      for (let item = await channel.next(); item !== undefined; item = await channel.next())
        heard.push([name, Array.isArray(item) ? item[0] : item]);
      heard.push([name, "end"]);
    };
    const listening = [listen("first", first.theirs), listen("second", second.theirs)];
    const expected: unknown[] = [];
    for (let item = 0; item < 60; item++) {
      const [name, { ours }] = item % 3 === 0 ? (["first", first] as const) : (["second", second] as const);
      ours.send(item % 4 === 0 ? large(item) : item);
      expected.push([name, item]);
    }
    first.ours.end();
    second.ours.end();
    await quiet(pair, 300);
    await Promise.all(listening);
    expect(heard.slice(0, 60)).toEqual(expected);
    expect(pair.client.frames.some(({ isCompressed }) => isCompressed)).toBe(true);
  });

  test("[W51] goes before bulk that was queued earlier, and bulk never before what announces it", async () => {
    const pair = connected({ turns: 5 });
    const { ours, theirs } = await channelPair(pair);
    ours.send(large(1));
    const sending = ours.sendBulk(new Uint8Array(100_000));
    ours.send(2);
    expect(bulkBytes(pair.client.frames)).toBe(0);
    await quiet(pair, 60);
    await pair.clock.advance(100);
    await sending;
    const kinds = pair.client.frames.map(({ kind }) => kind);
    expect(kinds.slice(1, 3)).toEqual([FRAME.item, FRAME.item]);
    expect(kinds.slice(3).every((kind) => kind === FRAME.bulk)).toBe(true);
    expect(((await theirs.next()) as unknown[])[0]).toBe(1);
    expect(await theirs.next()).toBe(2);
  });

  test("[W5] that is no zstd, or unfolds to another length, closes the connection", async () => {
    const payload = zstdCompressSync(encodeCbor(large(1)));
    const length = encodeCbor(large(1)).length;
    const wrong: [string, Uint8Array][] = [
      ["no zstd", Buffer.concat([encodeVarint(10), noise(50)])],
      ["shorter than it says", Buffer.concat([encodeVarint(length + 1), payload])],
      ["longer than it says", Buffer.concat([encodeVarint(length - 1), payload])],
      ["cut", Buffer.concat([encodeVarint(length), payload.subarray(0, -3)])],
      ["no length", new Uint8Array(0)],
    ];
    for (const [what, bytes] of wrong) {
      const peer = rawPeer();
      peer.say(FRAME.call, 1, bytes, true);
      await quiet(peer);
      expect([what, peer.server.closings.map(({ kind }) => kind)]).toEqual([what, ["Invalid"]]);
      expect(peer.link.closings).toMatchObject([{ code: 4001 }]);
    }
  });

  test("[W5] [limit controlBytes] that would unfold to more is refused by what it says, unopened", async () => {
    for (const [length, ends] of [
      [LIMITS.controlBytes, []],
      [LIMITS.controlBytes + 1, ["TooLarge"]],
    ] as const) {
      const peer = rawPeer();
      const message = encodeCbor(["test", new Uint8Array(length - "test".length - 7)]);
      expect(message).toHaveLength(length);
      peer.say(FRAME.call, 1, Buffer.concat([encodeVarint(length), zstdCompressSync(message)]), true);
      await quiet(peer);
      expect(peer.server.closings.map(({ kind }) => kind)).toEqual(ends);
    }
    const peer = rawPeer();
    const bomb = zstdCompressSync(new Uint8Array(64 * MiB));
    const before = process.memoryUsage().arrayBuffers;
    peer.say(FRAME.call, 1, Buffer.concat([encodeVarint(64 * MiB), bomb]), true);
    await quiet(peer);
    expect(peer.server.closings).toMatchObject([{ kind: "TooLarge", detail: { rule: "W5" } }]);
    const liar = rawPeer();
    liar.say(FRAME.call, 1, Buffer.concat([encodeVarint(1000), bomb]), true);
    await quiet(liar);
    expect(liar.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W5" } }]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MiB);
  });

  test("[W3] too large to be taken is refused where it is made; the connection goes on", async () => {
    const pair = connected({ serve: ({ channel }) => channel.end(new Uint8Array(2 * MiB)) });
    expect(() => pair.client.connection.open("test", new Uint8Array(MiB))).toThrow(
      expect.objectContaining({ kind: "TooLarge" }),
    );
    const { ours } = await channelPair(pair);
    expect(() => ours.send(new Uint8Array(MiB))).toThrow(expect.objectContaining({ kind: "TooLarge" }));
    ours.send(new Uint8Array(MiB - 5));
    expect(await outcome(pair, ours.result())).toBe("TooLarge");
    expect([pair.client.closings, pair.server.closings]).toEqual([[], []]);
  });

  test("[W5] that cannot be compressed here ends the connection instead of waiting for ever", async () => {
    const pair = connected();
    const { ours } = await channelPair(pair);
    const result = ours.result();
    const executor = (pair.client.connection as unknown as { settings: { executor: { compress: unknown } } }).settings
      .executor;
    executor.compress = () => Promise.reject(new RunnelError("Io", "compress", "no memory"));
    ours.send(large(1));
    expect(await outcome(pair, result)).toBe("Io");
    expect(pair.client.closings).toHaveLength(1);
  });
});

describe("bulk", () => {
  const line = { bytesPerSecond: 187_500, delayMs: 15 };

  test("[W51] [W52] does not delay control: an item sent during a long transfer arrives within a frame and a window", async () => {
    const pair = connected(line);
    const { ours, theirs } = await channelOver(pair, 100);
    const sending = ours.sendBulk(new Uint8Array(4 * MiB));
    sending.catch(() => undefined);
    await pair.clock.advance(5_000);
    const delays: number[] = [];
    for (let item = 0; item < 20; item++) {
      const sentMs = pair.clock.bootMs();
      const coming = theirs.next().then(() => pair.clock.bootMs() - sentMs);
      ours.send(item);
      await pair.clock.advance(397);
      delays.push(await coming);
    }
    expect(bulkBytes(pair.client.frames)).toBeLessThan(3 * MiB);
    expect(bulkBytes(pair.client.frames)).toBeGreaterThan(1.5 * MiB);
    // Delay of 15 ms one way, half a round trip of queue, a frame of 20 ms; right after the pause that measures the
    // round trip, a whole window.
    const sorted = delays.toSorted((a, b) => a - b);
    expect(sorted[15]).toBeLessThan(15 + 25 + 20);
    expect(sorted.at(-1)).toBeLessThan(15 + 1.5 * 50 + 20);
    const { ratePerSecond, roundTripMs } = pair.client.connection;
    expect(ratePerSecond / 187_500).toBeGreaterThan(0.9);
    expect(roundTripMs).toBeLessThan(30 + 20);
  });

  test("[W52] is never more than the window under way", async () => {
    const pair = connected(line);
    const { ours } = await channelOver(pair, 100);
    void ours.sendBulk(new Uint8Array(4 * MiB)).catch(() => undefined);
    await pair.clock.advance(6_000);
    let worst = 0;
    for (let step = 0; step < 400; step++) {
      await pair.clock.advance(7);
      const acknowledged = pair.server.frames.findLast(({ kind }) => kind === FRAME.ack);
      const total = acknowledged === undefined ? 0 : decodeVarint(acknowledged.payload, 0).value;
      worst = Math.max(worst, bulkBytes(pair.client.frames) - total);
    }
    expect(worst).toBeLessThan((1.5 * 187_500 * 50) / 1000 + 4_000);
  });

  test("[W51] of several channels goes in turns", async () => {
    const pair = connected(line);
    const channels = [
      pair.client.connection.open("test", 1),
      pair.client.connection.open("test", 2),
      pair.client.connection.open("test", 3),
    ];
    for (const channel of channels) void channel.sendBulk(new Uint8Array(MiB)).catch(() => undefined);
    await pair.clock.advance(4_000);
    const sent = channels.map(({ id }) => bulkBytes(pair.client.frames.filter(({ channel }) => channel === id)));
    // But for the first window, which the first had for itself.
    expect(Math.max(...sent) - Math.min(...sent)).toBeLessThan(32 * 1024 + 10_000);
  });

  test("[W34] of a channel in the background goes only while no other has any", async () => {
    const pair = connected(line);
    const background = pair.client.connection.open("test", 1);
    const asked = pair.client.connection.open("test", 2);
    background.isBackground = true;
    const sentOn = ({ id }: Channel): number => bulkBytes(pair.client.frames.filter(({ channel }) => channel === id));
    void background.sendBulk(new Uint8Array(MiB)).catch(() => undefined);
    await pair.clock.advance(1_000);
    const before = sentOn(background);
    expect(before).toBeGreaterThan(100_000);
    void asked.sendBulk(new Uint8Array(MiB / 4)).catch(() => undefined);
    await pair.clock.advance(1_000);
    expect(sentOn(background)).toBe(before);
    await pair.clock.advance(2_000);
    expect(sentOn(asked)).toBe(MiB / 4);
    expect(sentOn(background)).toBeGreaterThan(before + 100_000);
  });

  test("[W9] is acknowledged at once after 16 KiB, but only once a millisecond, else within 5 ms, by the count of all of it", async () => {
    const peer = rawPeer();
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    const acknowledged = (): number[] =>
      peer.heard
        .filter(({ kind }) => kind === FRAME.ack)
        .map(({ channel, payload }) => channel + decodeVarint(payload, 0).value);
    peer.say(FRAME.bulk, 1, new Uint8Array(10_000));
    await peer.clock.advance(4.9);
    expect(acknowledged()).toEqual([]);
    await peer.clock.advance(0.1);
    expect(acknowledged()).toEqual([10_000]);
    peer.say(FRAME.bulk, 1, new Uint8Array(16_383));
    peer.say(FRAME.bulk, 1, new Uint8Array(1));
    await peer.clock.advance(0.9);
    expect(acknowledged()).toEqual([10_000]);
    await peer.clock.advance(0.1);
    expect(acknowledged()).toEqual([10_000, 26_384]);
    await peer.clock.advance(1);
    // Bulk of a channel that is gone counts, too: the count is the connection's.
    peer.say(FRAME.cancel, 1, new Uint8Array(0));
    peer.say(FRAME.bulk, 1, new Uint8Array(20_000));
    await quiet(peer);
    expect(acknowledged()).toEqual([10_000, 26_384, 46_384]);
    peer.say(FRAME.bulk, 1, new Uint8Array(10_000));
    await peer.clock.advance(3);
    for (let frame = 0; frame < 10; frame++) peer.say(FRAME.bulk, 1, new Uint8Array(40_000));
    await peer.clock.advance(0);
    expect(acknowledged().slice(3)).toEqual([96_384]);
    await peer.clock.advance(1);
    expect(acknowledged().slice(3)).toEqual([96_384, 456_384]);
    await peer.clock.advance(10);
    expect(acknowledged()).toHaveLength(5);
  });

  test.each<[string, number, Uint8Array]>([
    ["more than was sent", 0, encodeVarint(1)],
    ["on a channel", 1, encodeVarint(0)],
  ])("[W9] acknowledged %s closes the connection", async (_what, channel, payload) => {
    const peer = rawPeer();
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    peer.say(FRAME.ack, channel, payload);
    await quiet(peer);
    expect(peer.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W9" } }]);
  });
});

describe("opening", () => {
  test.each<[string, number, unknown]>([
    ["channel 0", 0, ["test", null]],
    ["a channel of the other side's ids", 2, ["test", null]],
    ["an id used before", 3, ["test", null]],
    ["an id below one used before", 1, ["test", null]],
    ["a message that is no pair", 5, ["test"]],
    ["an operation that is no text", 5, [1, null]],
    ["no array", 5, { test: null }],
  ])("[W6] %s closes the connection", async (_what, id, message) => {
    const peer = rawPeer(({ channel }) => channel.end());
    peer.say(FRAME.call, 3, encodeCbor(["test", null]));
    await quiet(peer);
    expect(peer.server.closings).toEqual([]);
    peer.say(FRAME.open, id, encodeCbor(message));
    await quiet(peer);
    expect(peer.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W6" } }]);
  });

  test.each(["item", "bulk", "end", "cancel", "credit"] as const)(
    "[W6] %s on a channel that never was closes the connection",
    async (kind) => {
      const payloads: Record<string, Uint8Array> = {
        item: encodeCbor(1),
        bulk: new Uint8Array(1),
        end: encodeCbor([0]),
        cancel: new Uint8Array(0),
        credit: encodeVarint(1),
      };
      for (const id of [0, 2, 7]) {
        const peer = rawPeer();
        peer.say(FRAME.open, 5, encodeCbor(["test", null]));
        peer.say(FRAME[kind], id, payloads[kind] as Uint8Array);
        await quiet(peer);
        expect([id, peer.server.closings.map((error) => error.detail.rule)]).toEqual([id, ["W6"]]);
      }
    },
  );

  test("[W6] frames that cross a cancel are old news", async () => {
    const peer = rawPeer();
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    await quiet(peer);
    peer.server.opened[0]?.channel.cancel();
    for (const [kind, payload] of [
      [FRAME.item, encodeCbor(1)],
      [FRAME.credit, encodeVarint(0)],
      [FRAME.bulk, new Uint8Array(9)],
      [FRAME.end, encodeCbor([0])],
      [FRAME.cancel, new Uint8Array(0)],
    ] as [FrameKind, Uint8Array][]) {
      peer.say(kind, 1, payload);
    }
    await quiet(peer);
    expect(peer.server.closings).toEqual([]);
  });

  test("[W53] [limit channels] more than 1024 channels at once is Busy, for this request only", async () => {
    const pair = connected();
    const channels = Array.from({ length: LIMITS.channels }, () => pair.client.connection.open("test", null));
    await quiet(pair);
    expect(() => pair.client.connection.open("test", null)).toThrow(expect.objectContaining({ kind: "Busy" }));
    expect(pair.server.closings).toEqual([]);
    channels[5]?.cancel();
    const next = pair.client.connection.call("test", null);
    await quiet(pair);
    pair.server.opened.at(-1)?.channel.end("fine");
    expect(await outcome(pair, next)).toBe("fine");

    const peer = rawPeer();
    for (let id = 1; id <= 2 * LIMITS.channels + 1; id += 2) peer.say(FRAME.open, id, encodeCbor(["test", null]));
    peer.say(FRAME.item, 2 * LIMITS.channels + 1, encodeCbor("old news"));
    await quiet(peer);
    expect(peer.server.opened).toHaveLength(LIMITS.channels);
    const ends = peer.heard.filter(({ kind }) => kind === FRAME.end);
    expect(ends.map(({ channel, payload }) => [channel, (decodeCbor(payload) as unknown[])[1]])).toEqual([
      [2 * LIMITS.channels + 1, "Busy"],
    ]);
    expect(peer.server.closings).toEqual([]);
  });
});

describe("the end of a connection", () => {
  test("[W55] by a broken line fails everything that waits, on both sides, once", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    const call = pair.client.connection.call("never answered", null);
    await quiet(pair);
    const waiting = [
      ours.next(),
      ours.readBulk(5),
      ours.result(),
      ours.sendBulk(new Uint8Array(5 * MiB)),
      call,
      theirs.next(),
      theirs.readBulk(5),
      theirs.result(),
    ];
    const outcomes = waiting.map((one) =>
      one.then(
        () => "resolved",
        (error: RunnelError) => error.kind,
      ),
    );
    pair.client.link.cut();
    await quiet(pair);
    expect(await Promise.all(outcomes)).toEqual(Array(8).fill("Unreachable"));
    expect([pair.client.closings.length, pair.server.closings.length]).toEqual([1, 1]);
    expect(ours.abort.signal.aborted && theirs.abort.signal.aborted).toBe(true);
    expect(() => pair.client.connection.open("test", null)).toThrow(expect.objectContaining({ kind: "Unreachable" }));
    pair.client.connection.close(new RunnelError("Io", "again", "again"));
    expect(pair.client.closings).toHaveLength(1);
  });

  test.each(ERROR_KINDS.map((kind) => ({ kind, code: CLOSE_CODE_OF_KIND[kind] ?? 4000 })))(
    "[W55] for $kind has the code $code",
    async ({ kind, code }) => {
      const pair = connected();
      pair.server.connection.close(new RunnelError(kind, "test", "A sentence."));
      await quiet(pair);
      expect(pair.client.link.closings).toEqual([{ code, reason: "A sentence." }]);
      expect(pair.client.closings).toMatchObject([{ kind: "Unreachable", message: "A sentence." }]);
    },
  );

  test("[W55] for a malformed frame concerns only the connection that it came on", async () => {
    const pair = connected();
    const peer = rawPeer();
    peer.link.send(Uint8Array.of(99));
    await quiet(peer);
    expect(peer.link.closings).toMatchObject([{ code: 4001 }]);
    expect(peer.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W1" } }]);
    const { ours, theirs } = await channelPair(pair);
    theirs.end("fine");
    expect(await outcome(pair, ours.result())).toBe("fine");
  });

  test("[W1] a number with bytes after it closes the connection", async () => {
    for (const kind of [FRAME.credit, FRAME.ack]) {
      const peer = rawPeer();
      peer.say(FRAME.open, 1, encodeCbor(["test", null]));
      peer.say(kind, kind === FRAME.ack ? 0 : 1, Uint8Array.of(0, 0));
      await quiet(peer);
      expect(peer.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W1" } }]);
    }
  });
});
