// Multicast as a contract: the link in memory, and the sockets of this machine on its loopback.
import { createSocket } from "node:dgram";
import { afterEach, describe, expect, test } from "@jest/globals";
import { LIMITS, RealClock } from "@runnel/shared";
import { lanMulticast, onLink } from "../../../src/agent/colleagues/nearby/lan-multicast.ts";
import { MemoryMulticast } from "../../../src/agent/colleagues/nearby/memory-multicast.ts";
import type { Multicast, MulticastLine } from "../../../src/agent/colleagues/nearby/multicast.ts";
import { nearbyAnswer, nearbyQuestion, readNearby } from "../../../src/agent/colleagues/nearby/nearby-messages.ts";

const KEY = Buffer.alloc(32, 1).toString("base64url");
const HERE = [{ address: "127.0.0.1", cidr: "127.0.0.1/8" }];

/** A port that nobody has now. */
async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

const lines: MulticastLine[] = [];
afterEach(async () => {
  for (const line of lines.splice(0)) await line.close();
});

describe.each<[string, () => Promise<Multicast>]>([
  [
    "a link in memory",
    () => {
      const link = new MemoryMulticast();
      return Promise.resolve(link.at("127.0.0.1"));
    },
  ],
  ["the sockets of this machine", async () => lanMulticast(new RealClock(), await freePort(), () => HERE)],
])("%s", (_name, make) => {
  test("brings what one says to others, with the address of whoever said it, until it is closed", async () => {
    const multicast = await make();
    const heard = Promise.withResolvers<[unknown, string]>();
    const after: unknown[] = [];
    const one = multicast({
      heard: (message, address) => {
        if (readNearby(message).told.length > 0) heard.resolve([message, address]);
        after.push(message);
      },
      joined: () => undefined,
    });
    const told = nearbyAnswer({ key: KEY, port: 7 });
    const other: MulticastLine = multicast({ heard: () => undefined, joined: () => other.say(told) });
    lines.push(one, other);
    other.say(told);
    const [message, address] = await heard.promise;
    expect(readNearby(message).told).toEqual([{ key: KEY, port: 7 }]);
    expect(address).toBe("127.0.0.1");
    await one.close();
    await one.close();
    const count = after.length;
    other.say(nearbyQuestion());
    one.say(nearbyQuestion());
    await other.close();
    expect(after).toHaveLength(count);
  });
});

test("a machine whose addresses are absurd, or whose port is taken, has no multicast, and no fault of it", async () => {
  const taken = createSocket({ type: "udp4", reuseAddr: false });
  await new Promise<void>((resolve) => taken.bind(0, resolve));
  const events = { heard: () => undefined, joined: () => undefined };
  for (const links of [HERE, [{ address: "203.0.113.77", cidr: "203.0.113.77/24" }], []]) {
    const line = lanMulticast(new RealClock(), taken.address().port, () => links)(events);
    line.say(nearbyQuestion());
    await new Promise<void>((resolve) => void setImmediate(resolve));
    await line.close();
  }
  await new Promise<void>((resolve) => taken.close(() => resolve()));
});

test("[limit nearbyBytes] of a datagram are read, and only of those from the link itself", () => {
  const mayRead = onLink("10.1.2.3/24");
  const bytes = (count: number): Uint8Array => new Uint8Array(count);
  expect(mayRead(bytes(LIMITS.nearbyBytes), { address: "10.1.2.9" })).toBe(true);
  expect(mayRead(bytes(LIMITS.nearbyBytes + 1), { address: "10.1.2.9" })).toBe(false);
  expect(mayRead(bytes(10), { address: "10.1.3.9" })).toBe(false);
  expect(mayRead(bytes(10), { address: "fe80::1" })).toBe(false);
});
