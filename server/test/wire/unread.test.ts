// A client that asks and does not read: what its answers cost the server.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE } from "@runnel/shared";
import { type Client, WireRig, instanceOf, kindOf } from "./wire-rig.ts";

const REQUESTS = 200;
/** 64 kbit/s. */
const SLOW = { bytesPerSecond: 8_000 };
/** Of a tenth of a second: all of them take a quarter of an hour. */
const TURNS = 10_000;

let wire: WireRig;

beforeEach(async () => {
  wire = await WireRig.open(2);
});

afterEach(() => wire.close());

describe("[W163] answers that are not read", () => {
  test("are not made before earlier ones have been sent, and all come in the end", async () => {
    for (let count = 0; count < LIMITS.statNodes; count++) await wire.rig.make(ROOT_NODE, `file ${count}`);
    const entries = await wire.rig.volume.meta.list(ROOT_NODE, "", LIMITS.statNodes);
    const nodes = entries.map(({ state }) => state.node);
    const client = await wire.greeted({}, SLOW);
    const one = await client.attach(instanceOf("1"));
    let answered = 0;
    let states = 0;
    for (let count = 0; count < REQUESTS; count++) {
      const asking = client.connection.call("stat", { attachment: one.channel.id, nodes, names: [] });
      void asking.then((answer) => {
        answered++;
        states += (answer as { nodes: unknown[] }).nodes.length;
      });
    }
    let unreadBytes = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      await wire.rig.clock.advance(100);
      unreadBytes = Math.max(unreadBytes, client.far.bufferedBytes);
    }
    expect(answered).toBe(REQUESTS);
    expect(states).toBe(REQUESTS * LIMITS.statNodes);
    expect(unreadBytes).toBeGreaterThan(250_000);
    // A few answers more than the server waits for.
    expect(unreadBytes).toBeLessThan(400_000);
  });

  test("[limit unreadBytes] end the connection of a client that asks on", async () => {
    const client = await wire.greeted();
    client.far.bufferedBytes = LIMITS.unreadBytes;
    expect(await kindOf(client.call("no request", {}))).toBe("Unsupported");
    client.far.bufferedBytes = LIMITS.unreadBytes + 1;
    expect(await kindOf(client.call("no request", {}))).toBe("Unreachable");
    expect(wire.handlers.size).toBe(0);
    expect(wire.rig.warnings).toEqual(["A client was cut off: The client asks on and does not read the answers."]);
  });

  test("[limit deviceUnreadBytes] count for all connections of a device; one that leaves little unread goes on", async () => {
    const clients = [await wire.greeted(), await wire.greeted(), await wire.greeted()];
    const [one, other, small] = clients as [Client, Client, Client];
    one.far.bufferedBytes = LIMITS.unreadBytes;
    other.far.bufferedBytes = LIMITS.deviceUnreadBytes - LIMITS.unreadBytes;
    expect(await kindOf(one.call("no request", {}))).toBe("Unsupported");
    small.far.bufferedBytes = 1;
    expect(await kindOf(small.call("no request", {}))).toBe("Unsupported");
    expect(await kindOf(other.call("no request", {}))).toBe("Unreachable");
    expect(wire.handlers.size).toBe(2);
  });
});

describe("[W7] what is not handled", () => {
  /** Items behind one whose bulk does not come. */
  const say = async (client: Client, mebibytes: number): Promise<void> => {
    const one = await client.attach(instanceOf(String(++clients)));
    const node = await one.make(ROOT_NODE, `file ${clients}`);
    const request = { node, base: 0, sizeBytes: MiB, attributes: {}, isResumed: false, timeNs: 1n };
    const channel = client.connection.open("write", one.numbered(request));
    channel.send(["d", "raw", MiB, MiB]);
    for (let count = 0; count < mebibytes; count++) channel.send(["h", new Uint8Array(MiB - 64), null, 0]);
    await wire.rig.clock.advance(1000);
  };
  let clients = 0;
  const MiB = 1024 * 1024;

  test("[limit deviceHeldBytes] of all connections of a device is held up to 32 MiB, then the one that says more is cut off", async () => {
    const before: Client[] = [];
    for (let count = 0; count < 2; count++) {
      const client = await wire.greeted();
      await say(client, LIMITS.heldBytes / MiB - 2);
      before.push(client);
    }
    const last = await wire.greeted();
    await say(last, LIMITS.deviceHeldBytes / MiB - 2 * (LIMITS.heldBytes / MiB - 2) - 1);
    expect([...before, last].filter(({ closed }) => closed !== undefined)).toEqual([]);
    await say(last, 3);
    expect(wire.rig.warnings).toEqual([
      "A client was cut off: More was said than can be handled: wait for the answers.",
    ]);
    expect([last, ...before].map(({ closed }) => closed !== undefined)).toEqual([true, false, false]);
    // What it held is free again.
    await say(await wire.greeted(), 3);
    expect(wire.handlers.size).toBe(3);
  });
});
