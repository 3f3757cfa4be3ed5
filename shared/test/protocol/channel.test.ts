// Channels: items, bulk, ends and cancels between two ends, in every state.
import { describe, expect, test } from "@jest/globals";
import { RunnelError } from "../../src/errors.ts";
import type { Link, LinkEvents } from "../../src/host/link.ts";
import { SeededRandom } from "../../src/host/simulated/seeded-random.ts";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { LIMITS } from "../../src/limits.ts";
import { Channel } from "../../src/protocol/channel.ts";
import { encodeCbor } from "../../src/protocol/cbor.ts";
import { Connection } from "../../src/protocol/connection.ts";
import { FRAME, encodeFrame, encodeVarint } from "../../src/protocol/frame.ts";
import type { FrameKind } from "../../src/protocol/frame.ts";
import type { Connected } from "./connected.ts";
import { channelPair, connected, outcome, quiet, rawPeer } from "./connected.ts";
import { zlibExecutor } from "./zlib-executor.ts";

const DENIED = new RunnelError("Denied", "test", "No.", { detail: { current: 7 } });
const MiB = 1024 * 1024;

/** A frame as a client might send it that does not keep the rules. */
function inject(pair: Connected, kind: FrameKind, channel: number, payload: Uint8Array): void {
  pair.client.link.send(encodeFrame({ kind, channel, isCompressed: false, payload }));
}

/** A link of which the test says what comes, all within one turn. */
class HandLink implements Link {
  readonly remoteAddress = "";
  readonly bufferedBytes = 0;
  readonly sentBytes = 0;
  readonly receivedBytes = 0;
  private events: LinkEvents | undefined;

  limit(): void {}

  listen(events: LinkEvents): void {
    this.events = events;
  }

  come(kind: FrameKind, channel: number, message: unknown): void {
    this.events?.message(encodeFrame({ kind, channel, isCompressed: false, payload: encodeCbor(message) }));
  }

  send(): void {}
  sendParts(_head: Uint8Array, _body: Uint8Array, gone: () => void): void {
    gone();
  }
  close(): void {}
}

/** Collects what was heard on one channel when an answer on another came after it. */
async function heardBeforeAnswer(hear: (feed: Channel, heard: unknown[]) => void): Promise<number> {
  const link = new HandLink();
  const clock = new SimulatedClock();
  const executor = zlibExecutor(1);
  const connection = new Connection({ link, isClient: true, clock, executor, opened: () => {}, closed: () => {} });
  const feed = connection.open("feed", null);
  const heard: unknown[] = [];
  link.come(FRAME.item, feed.id, "early");
  hear(feed, heard);
  const answered = connection.call("change", null).then(() => heard.length);
  for (let item = 0; item < 1000; item++) link.come(FRAME.item, feed.id, item);
  link.come(FRAME.end, feed.id + 2, [0, "done"]);
  return answered;
}

test("[W51] whoever hears an answer finds done what a listener was told before it, however much came at once", async () => {
  expect(await heardBeforeAnswer((feed, heard) => feed.listen((item) => heard.push(item)))).toBe(1001);
  // A reader takes its turns.
  const read = async (feed: Channel, heard: unknown[]): Promise<void> => {
    for (;;) heard.push(await feed.next());
  };
  expect(await heardBeforeAnswer((feed, heard) => void read(feed, heard))).toBeLessThan(1001);
});

const STATES = [
  "open",
  "ended here",
  "ended there",
  "failed here",
  "failed there",
  "cancelled here",
  "cancelled there",
  "connection closed",
] as const;
type State = (typeof STATES)[number];

async function bringTo(pair: Connected, state: State): Promise<{ ours: Channel; theirs: Channel }> {
  const { ours, theirs } = await channelPair(pair);
  if (state === "ended here") ours.end();
  else if (state === "ended there") theirs.end("done");
  else if (state === "failed here") ours.fail(DENIED);
  else if (state === "failed there") theirs.fail(DENIED);
  else if (state === "cancelled here") ours.cancel();
  else if (state === "cancelled there") theirs.cancel();
  else if (state === "connection closed") pair.client.link.cut();
  await quiet(pair);
  return { ours, theirs };
}

/** Results that the caller sees; of what returns nothing, what the other side hears. */
const OPERATIONS: Record<string, (pair: Connected, ours: Channel, theirs: Channel) => Promise<unknown>> = {
  send: async (pair, ours, theirs) => {
    ours.send("hello");
    return outcome(pair, theirs.next());
  },
  sendBulk: (pair, ours) =>
    outcome(
      pair,
      ours.sendBulk(Uint8Array.of(1)).then(() => "sent"),
    ),
  end: async (pair, ours, theirs) => {
    ours.end("bye");
    return outcome(pair, theirs.result());
  },
  fail: async (pair, ours, theirs) => {
    ours.fail(DENIED);
    return outcome(pair, theirs.result());
  },
  cancel: async (pair, ours, theirs) => {
    ours.cancel();
    return outcome(pair, theirs.result());
  },
  next: (pair, ours) => outcome(pair, ours.next()),
  readBulk: (pair, ours) => outcome(pair, ours.readBulk(1)),
  result: (pair, ours) => outcome(pair, ours.result()),
};

// Columns: open, ended here, ended there, failed here, failed there, cancelled here, cancelled there, closed.
const MATRIX: Record<string, unknown[]> = {
  send: ["hello", undefined, "hello", "Denied", "Denied", "Interrupted", "Interrupted", "Unreachable"],
  sendBulk: ["sent", "Interrupted", "sent", "Interrupted", "sent", "Interrupted", "Interrupted", "Unreachable"],
  end: ["bye", undefined, "bye", "Denied", "bye", "Interrupted", "Interrupted", "Unreachable"],
  fail: ["Denied", undefined, "Denied", "Denied", "Denied", "Interrupted", "Interrupted", "Unreachable"],
  cancel: [
    "Interrupted",
    undefined,
    "Interrupted",
    "Denied",
    "Interrupted",
    "Interrupted",
    "Interrupted",
    "Unreachable",
  ],
  next: ["waits", "waits", undefined, "Denied", "Denied", "Interrupted", "Interrupted", "Unreachable"],
  readBulk: ["waits", "waits", "Invalid", "Denied", "Denied", "Interrupted", "Interrupted", "Unreachable"],
  result: ["waits", "waits", "done", "waits", "Denied", "Interrupted", "Interrupted", "Unreachable"],
};

describe("each operation in each state", () => {
  const cases = Object.entries(MATRIX).flatMap(([operation, row]) =>
    STATES.map((state, index) => ({ operation, state, expected: row[index] })),
  );

  test.each(cases)("[W6] $operation, $state: $expected", async ({ operation, state, expected }) => {
    const pair = connected();
    const { ours, theirs } = await bringTo(pair, state);
    expect(await OPERATIONS[operation]?.(pair, ours, theirs)).toEqual(expected);
    if (state !== "connection closed") expect([pair.client.closings, pair.server.closings]).toEqual([[], []]);
  });
});

describe("a channel", () => {
  test("[W6] carries items both ways in order, then the end with its result", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    for (let item = 0; item < 100; item++) {
      ours.send(item);
      theirs.send([item]);
    }
    ours.end();
    theirs.end({ all: true });
    await quiet(pair);
    for (let item = 0; item < 100; item++) {
      expect(await theirs.next()).toBe(item);
      expect(await ours.next()).toEqual([item]);
    }
    expect(await theirs.next()).toBeUndefined();
    expect(await ours.next()).toBeUndefined();
    expect(await ours.result()).toEqual({ all: true });
  });

  test("[W6] opened as a call is ended on the caller's side at once", async () => {
    const pair = connected({
      serve: async ({ channel }) => {
        expect(await channel.next()).toBeUndefined();
        channel.send(1);
        channel.end(2);
      },
    });
    const channel = pair.client.connection.ask("test", null);
    channel.send("too late");
    expect(await outcome(pair, channel.result())).toBe(2);
    expect(await channel.next()).toBe(1);
    expect(pair.client.frames.map(({ kind }) => kind)).toEqual([FRAME.call]);
  });

  test("[W54] ends with the error of the other side, its kind, words and detail", async () => {
    const pair = connected({
      serve: () => {
        throw new RunnelError("Stale", "rename", "The name has changed.", { detail: { current: 12, rule: "W10" } });
      },
    });
    const failure = pair.client.connection.call("test", null);
    failure.catch(() => undefined);
    await quiet(pair);
    await expect(failure).rejects.toMatchObject({
      kind: "Stale",
      operation: "rename",
      message: "The name has changed.",
      detail: { current: 12, rule: "W10" },
    });
  });

  test("[W54] has Io for what is no RunnelError, and for a kind not known here", async () => {
    const pair = connected({
      serve: () => {
        throw new Error("a bug");
      },
    });
    expect(await outcome(pair, pair.client.connection.call("test", null))).toBe("Io");
    const asked = pair.client.connection.ask("test", null);
    pair.server.link.send(
      encodeFrame({
        kind: FRAME.end,
        channel: asked.id,
        isCompressed: false,
        payload: encodeCbor([1, "Newest", "x", "y", { limit: "no", current: 5, more: 1 }]),
      }),
    );
    const failure = asked.result();
    failure.catch(() => undefined);
    await quiet(pair);
    await expect(failure).rejects.toMatchObject({ kind: "Io", message: "y", detail: { current: 5 } });
  });

  test("[W6] says its end after all bulk that was queued before, also when the other side ends first", async () => {
    const pair = connected({ bytesPerSecond: 100_000, delayMs: 10 });
    const ours = pair.client.connection.open("test", null);
    await pair.clock.advance(20);
    const theirs = pair.server.opened[0]?.channel as Channel;
    const length = 500_000;
    const sent = theirs.sendBulk(new Uint8Array(length).fill(7));
    theirs.end("all");
    ours.end();
    const received = ours.readBulk(length);
    await pair.clock.runUntilIdle(60_000);
    expect(await received).toHaveLength(length);
    expect(await ours.result()).toBe("all");
    await sent;
    expect(pair.server.frames.at(-1)?.kind).toBe(FRAME.end);
  });

  test("[W6] cancelled from either side stops the work and tells it why", async () => {
    for (const canceller of ["ours", "theirs"] as const) {
      const pair = connected({ bytesPerSecond: 10_000 });
      const ours = pair.client.connection.open("test", null);
      await pair.clock.advance(50);
      const theirs = pair.server.opened[0]?.channel as Channel;
      const channels = { ours, theirs };
      const sending = theirs.sendBulk(new Uint8Array(MiB));
      const reading = ours.next();
      const failures = [outcome(pair, sending), outcome(pair, reading)];
      await pair.clock.advance(1_000);
      channels[canceller].cancel();
      await pair.clock.advance(10_000);
      expect(await Promise.all(failures)).toEqual(["waits", "waits"]);
      await expect(sending).rejects.toMatchObject({ kind: "Interrupted" });
      await expect(reading).rejects.toMatchObject({ kind: "Interrupted" });
      expect([ours.abort.signal.aborted, theirs.abort.signal.aborted]).toEqual([true, true]);
      expect(pair.server.link.sentBytes).toBeLessThan(150_000);
      expect(pair.client.connection.isOpen && pair.server.connection.isOpen).toBe(true);
      // The next one works.
      const next = pair.client.connection.call("test", 2);
      await pair.clock.advance(1_000);
      pair.server.opened.at(-1)?.channel.end("fine");
      await pair.clock.advance(1_000);
      expect(await next).toBe("fine");
    }
  });

  test.each<[string, FrameKind, Uint8Array]>([
    ["an item", FRAME.item, encodeCbor(1)],
    ["bulk", FRAME.bulk, new Uint8Array(1)],
    ["another end", FRAME.end, encodeCbor([0])],
  ])("[W6] after whose end %s comes closes the connection", async (_what, kind, payload) => {
    const pair = connected();
    const { ours } = await channelPair(pair);
    ours.end();
    await quiet(pair);
    inject(pair, kind, ours.id, payload);
    await quiet(pair);
    expect(pair.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W6" } }]);
    expect(pair.client.link.closings).toMatchObject([{ code: 4001 }]);
  });

  test("[W6] that failed here drops what still comes, without an end to the connection", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    theirs.fail(DENIED);
    for (let item = 0; item < 2 * LIMITS.channelItems; item++) ours.send(item);
    await ours.sendBulk(new Uint8Array(1000));
    await quiet(pair);
    expect([pair.client.closings, pair.server.closings]).toEqual([[], []]);
    await expect(theirs.next()).rejects.toBe(DENIED);
  });

  test("[W6] that nobody reads any more has nothing decoded of what still comes", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    theirs.readNoMore();
    inject(pair, FRAME.item, ours.id, Uint8Array.of(0xff));
    await quiet(pair);
    expect(pair.server.closings).toEqual([]);
    ours.end();
    theirs.end();
    await quiet(pair);
    expect([pair.client.closings, pair.server.closings]).toEqual([[], []]);
  });

  test("[W7] [limit channelItems] with more than 16384 items waiting closes the connection", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    for (let item = 0; item < LIMITS.channelItems; item++) ours.send(item);
    await quiet(pair);
    expect(pair.server.closings).toEqual([]);
    expect(await theirs.next()).toBe(0);
    ours.send("last that fits");
    ours.send("one too many");
    await quiet(pair);
    expect(pair.server.closings).toMatchObject([{ kind: "TooLarge", detail: { rule: "W7" } }]);
    expect(pair.client.link.closings).toMatchObject([{ code: 4002 }]);
  });
});

describe("bulk", () => {
  test("[W8] stops at the credit of 4 MiB and goes on as it is read", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    const sending = ours.sendBulk(new Uint8Array(5 * MiB));
    await pair.clock.advance(1000);
    const sent = (): number =>
      pair.client.frames
        .filter(({ kind }) => kind === FRAME.bulk)
        .reduce((sum, { payload }) => sum + payload.length, 0);
    expect(sent()).toBe(4 * MiB);
    expect(await outcome(pair, sending)).toBe("waits");
    await theirs.readBulk(MiB - 1);
    await quiet(pair);
    expect(sent()).toBe(4 * MiB);
    await theirs.readBulk(1);
    await pair.clock.advance(1000);
    expect(sent()).toBe(5 * MiB);
    await sending;
    expect(pair.server.frames.filter(({ kind }) => kind === FRAME.credit).map(({ payload }) => [...payload])).toEqual([
      [...encodeVarint(MiB)],
    ]);
  });

  test("[W8] of a whole credit can be read in one piece after a part that was not given back", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    const sending = ours.sendBulk(new Uint8Array(100 + 4 * MiB));
    await quiet(pair);
    await theirs.readBulk(100);
    const rest = theirs.readBulk(4 * MiB);
    await pair.clock.advance(1000);
    expect(await rest).toHaveLength(4 * MiB);
    await sending;
  });

  test("[W8] [limit channelCreditBytes] without credit closes the connection", async () => {
    const peer = rawPeer();
    peer.say(FRAME.open, 1, encodeCbor(["test", null]));
    const frames = LIMITS.channelCreditBytes / LIMITS.bulkFrameBytes;
    for (let frame = 0; frame < frames; frame++) peer.say(FRAME.bulk, 1, new Uint8Array(LIMITS.bulkFrameBytes));
    await quiet(peer);
    expect(peer.server.closings).toEqual([]);
    peer.say(FRAME.bulk, 1, new Uint8Array(1));
    await quiet(peer);
    expect(peer.server.closings).toMatchObject([{ kind: "TooLarge", detail: { rule: "W8" } }]);
  });

  test("[W8] that comes byte by byte is kept without the messages that it came in, and nothing of none", () => {
    const nothing = (): void => undefined;
    const carrier = { sendItem: nothing, sendEnd: nothing, sendCancel: nothing, sendCredit: nothing, pump: nothing };
    const holding = { hold: nothing, release: nothing, holdBulk: nothing, releaseBulk: nothing, refuse: nothing };
    const channel = new Channel(1, { ...carrier, ...holding, ratePerSecond: () => 0 });
    const before = process.memoryUsage().arrayBuffers;
    for (let frame = 0; frame < 400_000; frame++) channel.receiveBulk(new Uint8Array(1024).subarray(0, frame % 2));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(128 * MiB);
  });

  test("[W8] comes in order, whatever the sizes of its frames", async () => {
    const pair = connected();
    const { theirs } = await channelPair(pair);
    const random = new SeededRandom(3);
    const whole = random.bytes(300_000);
    const read: Uint8Array[] = [];
    for (let at = 0, taken = 0; at < whole.length;) {
      const length = Math.min(whole.length - at, [0, 1, 700, 1024, 1025, 40_000][random.below(6)] ?? 0);
      theirs.receiveBulk(whole.slice(at, at + length));
      at += length;
      const wanted = random.below(at - taken + 1);
      if (random.coin(0.3)) {
        read.push(await theirs.readBulk(wanted));
        taken += wanted;
      }
      if (at === whole.length) read.push(await theirs.readBulk(at - taken));
    }
    expect(Buffer.concat(read).equals(whole)).toBe(true);
  });

  test("[W8] credit that was not used up is not given back", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    await theirs.sendBulk(new Uint8Array(10));
    inject(pair, FRAME.credit, ours.id, encodeVarint(10));
    await quiet(pair);
    expect(pair.server.closings).toEqual([]);
    inject(pair, FRAME.credit, ours.id, encodeVarint(1));
    await quiet(pair);
    expect(pair.server.closings).toMatchObject([{ kind: "Invalid", detail: { rule: "W8" } }]);
  });

  test("[W8] that ends early is Invalid for its reader", async () => {
    const pair = connected();
    const { ours, theirs } = await channelPair(pair);
    const reading = theirs.readBulk(10);
    await ours.sendBulk(new Uint8Array(9));
    ours.end();
    expect(await outcome(pair, reading)).toBe("Invalid");
    expect(await outcome(pair, theirs.readBulk(9))).toEqual(Array(9).fill(0));
    expect(await outcome(pair, theirs.readBulk(1))).toBe("Invalid");
  });

  test("[W8] that nobody reads costs its sender no more than what it is asked to send", async () => {
    const pair = connected();
    const { ours } = await channelPair(pair);
    let handedOver = 0;
    const produce = async (): Promise<void> => {
      for (;;) {
        await ours.sendBulk(new Uint8Array(256 * 1024));
        handedOver++;
      }
    };
    const producing = produce();
    producing.catch(() => undefined);
    await pair.clock.advance(1000);
    expect(handedOver).toBe(16);
    expect(ours.outgoing).toHaveLength(1);
    pair.client.link.cut();
    expect(await outcome(pair, producing)).toBe("Unreachable");
  });
});
