// A client that asks and does not read: what its answers cost the server.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE } from "@runnel/shared";
import { WireRig, instanceOf, kindOf } from "./wire-rig.ts";

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
});
