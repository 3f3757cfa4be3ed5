// Attacks of a server that turns on a client's connection.
import { expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import {
  type Channel,
  Connection,
  LIMITS,
  type RunnelError,
  SeededRandom,
  SimulatedClock,
  SimulatedLink,
  hasBulkFrom,
} from "@runnel/shared";
import { greet } from "../../src/agent/wire/open-connection.ts";

const MiB = 1024 * 1024;
const LINE = { delayMs: 0, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };

interface Met {
  clock: SimulatedClock;
  client: Connection;
  closed: RunnelError[];
  /** The server's ends, by operation. */
  asked: Map<string, Channel>;
}

async function meet(): Promise<Met> {
  const clock = new SimulatedClock();
  const executor = inlineExecutor();
  const [left, right] = SimulatedLink.pair(clock, new SeededRandom(1), LINE);
  const asked = new Map<string, Channel>();
  const closed: RunnelError[] = [];
  void new Connection({
    link: right,
    isClient: false,
    clock,
    executor,
    opened: (channel, operation) => void asked.set(operation, channel),
    closed: () => undefined,
  });
  const parts = {
    url: "",
    clock,
    executor,
    software: "test",
    dialer: { dial: () => Promise.reject(new Error("none")) },
  };
  const { connection } = greet(parts, { link: left, token: undefined }, (error) => void closed.push(error));
  await clock.advance(10);
  return { clock, client: connection, closed, asked };
}

test("[W7] [W169] [limit clientHeldBytes] what it says to nobody who listens is held up to 128 MiB, then the client leaves", async () => {
  const { clock, closed, asked } = await meet();
  // With what is said around it, and counted for it.
  const item = new Uint8Array(MiB - 256);
  for (let count = 0; count < LIMITS.clientHeldBytes / MiB; count++) asked.get("hello")?.send(item);
  await clock.advance(1000);
  expect(closed).toEqual([]);
  asked.get("hello")?.send(item);
  await clock.advance(1000);
  expect(closed).toMatchObject([{ kind: "TooLarge", detail: { rule: "W7" } }]);
});

test.each(["find", "fetch", "findGet"])(
  "[W8] [W170] it sends bulk on a channel of %s where there is some, else the client leaves",
  async (operation) => {
    const { clock, client, closed, asked } = await meet();
    client.open(operation, {});
    await clock.advance(10);
    asked
      .get(operation)
      ?.sendBulk(new Uint8Array(1))
      .catch(() => undefined);
    await clock.advance(10);
    expect(closed).toMatchObject(hasBulkFrom("server", operation) ? [] : [{ kind: "Invalid", detail: { rule: "W8" } }]);
  },
);
