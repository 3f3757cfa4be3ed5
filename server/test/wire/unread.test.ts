// A client that asks and does not read: what its answers cost the server.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, RunnelError, SeededRandom, type VersionId } from "@runnel/shared";
import { type Client, ServerRig, instanceOf, kindOf } from "./server-rig.ts";

const REQUESTS = 200;
/** 64 kbit/s. */
const SLOW = { bytesPerSecond: 8_000 };
/** Turns of a tenth of a second: all of them take a quarter of an hour. */
const TURNS = 10_000;

let wire: ServerRig;

beforeEach(async () => {
  wire = await ServerRig.open(2);
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

test("[W60] [limit unreadFeedBytes] a feed behind which too much lies unread is to be listed again, and says no more", async () => {
  const author = await (await wire.greeted()).attach(instanceOf("1"));
  const reader = await (await wire.greeted()).attach(instanceOf("2"));
  await reader.find({ isDeep: true, follow: true });
  await author.make(ROOT_NODE, "a");
  await wire.rig.clock.advance(50);
  expect(reader.feed.at(-1)?.[0]).toBe("changes");
  reader.client.far.bufferedBytes = LIMITS.unreadFeedBytes + 1;
  await author.make(ROOT_NODE, "b");
  await author.make(ROOT_NODE, "c");
  await wire.rig.clock.advance(50);
  expect(reader.feed.map(([what]) => what)).toEqual(["changes", "listAgain"]);
  expect(reader.client.closed).toBeUndefined();
});

/** Behaves as the target, but for this method. */
function withMethod<T extends object>(target: T, name: keyof T, method: unknown): T {
  return new Proxy(target, {
    get: (_target, key) => {
      const own = key === name ? method : Reflect.get(target, key, target);
      return typeof own === "function" && own !== method ? own.bind(target) : own;
    },
  });
}

describe("[W163] contents that are not read", () => {
  const MiB = 1024 * 1024;
  const BYTES = 100_000;
  /** Open now, and at most; and of what was read of them. */
  let [openNow, openMost, readBytes] = [0, 0, 0];

  const counted = <T extends object>(opened: T): T => {
    openMost = Math.max(openMost, ++openNow);
    return new Proxy(opened, {
      get: (target, key) => {
        const own: unknown = Reflect.get(target, key, target);
        if (typeof own !== "function") return own;
        return (...values: unknown[]) => {
          if (key === "close") openNow--;
          if (key === "read") readBytes += Number(values[1]);
          return own.apply(target, values) as unknown;
        };
      },
    });
  };

  beforeEach(() => {
    [openNow, openMost, readBytes] = [0, 0, 0];
    const { volume } = wire.rig;
    const open = async (version: VersionId): Promise<object> => counted(await volume.content.open(version));
    const content = withMethod(volume.content, "open", open);
    wire.others.set(
      "counted",
      new Proxy(volume, { get: (target, key) => (key === "content" ? content : Reflect.get(target, key, target)) }),
    );
  });

  test("64 of a device are fetched at a time, 4 MiB of them in memory, and all come in the end", async () => {
    const fetches = 300;
    const client = await wire.greeted({}, { bytesPerSecond: MiB });
    const maker = await client.attach(instanceOf("1"));
    const node = await maker.make(ROOT_NODE, "file");
    const { version } = await maker.write(node, 0, new SeededRandom(1).bytes(BYTES));
    await wire.rig.settle();
    const one = await client.attach(instanceOf("2"), { volume: "counted" });
    const whole = { version: [node, version], held: [], hasRecipe: false, offset: 0, length: BYTES };
    const came = new Set<number>();
    for (let count = 0; count < fetches; count++) {
      const channel = client.connection.ask("fetch", one.request(whole));
      void channel.result().then(() => came.add(count));
    }
    let heldBytes = 0;
    const before = client.connection.counts.receivedBulk;
    for (let turn = 0; came.size < fetches && turn < 1_000; turn++) {
      await wire.rig.clock.advance(50);
      heldBytes = Math.max(heldBytes, readBytes - (client.connection.counts.receivedBulk - before));
    }
    expect(came.size).toBe(fetches);
    expect(openMost).toBe(64);
    expect(openNow).toBe(0);
    expect(heldBytes).toBeGreaterThan(3 * MiB);
    // With what is on the line.
    expect(heldBytes).toBeLessThan(5 * MiB);
  });

  test("of long recipes a part of each is made, on however many connections they are asked for", async () => {
    const chunks = 300_000;
    const recipe = { lengths: new Uint32Array(chunks).fill(8192), digests: new Uint8Array(32 * chunks) };
    const { volume } = wire.rig;
    const recipes = withMethod(volume.recipes, "get", async () => recipe);
    wire.others.set(
      "long",
      new Proxy(volume, { get: (target, key) => (key === "recipes" ? recipes : Reflect.get(target, key, target)) }),
    );
    const maker = await (await wire.greeted()).attach(instanceOf("1"));
    const node = await maker.make(ROOT_NODE, "file");
    const { version } = await maker.write(node, 0, new SeededRandom(1).bytes(BYTES));
    let made = 0;
    recipe.lengths.slice = (from = 0, to = chunks) => {
      made += to - from;
      return Uint32Array.prototype.slice.call(recipe.lengths, from, to);
    };
    const whole = { version: [node, version], held: [], hasRecipe: false, offset: 0, length: 0 };
    for (let count = 0; count < 10; count++) {
      const client = await wire.greeted();
      const one = await client.attach(instanceOf(`${count + 2}`.padStart(2, "0")), { volume: "long" });
      client.far.bufferedBytes = MiB;
      client.connection
        .ask("fetch", one.request(whole))
        .result()
        .catch(() => undefined);
    }
    await wire.rig.clock.advance(1_000);
    expect(made).toBeGreaterThan(0);
    expect(36 * made).toBeLessThan(10 * MiB);
  });

  test("of a device's findGets four are served at a time", async () => {
    const client = await wire.greeted({}, SLOW);
    const maker = await client.attach(instanceOf("1"));
    const versions: [number, number][] = [];
    for (let count = 0; count < 20; count++) {
      const node = await maker.make(ROOT_NODE, `file ${count}`);
      versions.push([node, (await maker.write(node, 0, new SeededRandom(count).bytes(BYTES))).version]);
    }
    await wire.rig.settle();
    const one = await client.attach(instanceOf("2"), { volume: "counted" });
    const asked = Array.from({ length: 20 }, () => client.connection.ask("findGet", one.request({ versions })));
    await wire.rig.clock.advance(2_000);
    expect(readBytes).toBeGreaterThan(0);
    expect(openMost).toBeLessThanOrEqual(4 * 8);
    expect(readBytes).toBeLessThanOrEqual(4 * 20 * BYTES);
    for (const channel of asked) channel.cancel();
    await wire.rig.clock.advance(5_000);
    expect(openNow).toBe(0);
    expect(wire.rig.warnings).toEqual([]);
  });
});

describe("[W7] requests of a connection that has ended", () => {
  const STATS = 800;
  /** Answers that are being made. */
  let making: (() => void)[];

  beforeEach(() => {
    const { volume } = wire.rig;
    making = [];
    const nodes = (): Promise<unknown[]> => new Promise((resolve) => making.push(() => resolve([])));
    wire.others.set(
      "slow",
      new Proxy(volume, {
        get: (target, key) =>
          key === "meta" ? withMethod(volume.meta, "nodes", nodes) : Reflect.get(target, key, target),
      }),
    );
  });

  const ask = async (client: Client, instance: string, count: number): Promise<void> => {
    const { channel } = await client.attach(instanceOf(instance), { volume: "slow" });
    for (let each = 0; each < count; each++)
      client.connection.call("stat", { attachment: channel.id, nodes: [1], names: [] }).catch(() => undefined);
    await wire.rig.clock.advance(100);
  };
  const leave = async (client: Client): Promise<void> => {
    client.connection.close(new RunnelError("Interrupted", "test", "Over."));
    await wire.rig.clock.advance(100);
  };

  test("are not answered any more", async () => {
    const client = await wire.greeted();
    await ask(client, "1", STATS);
    const begun = making.length;
    await leave(client);
    for (const made of making) made();
    await wire.rig.clock.advance(100);
    expect(making.length).toBe(begun);
    expect(wire.present.size).toBe(0);
  });

  test("count for its device until they have come to an end", async () => {
    for (const instance of ["1", "2"]) {
      const client = await wire.greeted();
      await ask(client, instance, STATS);
      await leave(client);
    }
    expect([wire.handlers.size, wire.present.size]).toEqual([0, 2]);
    const next = await wire.greeted();
    await ask(next, "5", STATS / 2);
    expect(next.closed).toMatchObject({ kind: "Unreachable" });
    expect(wire.rig.warnings).toEqual([
      "A client was cut off: More was said than can be handled: wait for the answers.",
    ]);
    for (const made of making.splice(0)) made();
    await wire.rig.clock.advance(100);
    expect(wire.present.size).toBe(0);
    const last = await wire.greeted();
    await ask(last, "6", STATS / 10);
    expect(last.closed).toBeUndefined();
  });
});

describe("[W7] what is not handled", () => {
  /** Items behind one whose bulk does not come. */
  const say = async (client: Client, mebibytes: number): Promise<void> => {
    const one = await client.attach(instanceOf((++clients).toString(16)));
    const node = await one.make(ROOT_NODE, `file ${clients}`);
    const request = { node, base: 0, sizeBytes: MiB, attributes: {}, isResumed: false, timeNs: 1n };
    const channel = client.connection.open("write", one.numbered(request));
    channel.send(["d", "raw", MiB, MiB]);
    for (let count = 0; count < mebibytes; count++) channel.send(["h", new Uint8Array(MiB - 64), null, 0]);
    await wire.rig.clock.advance(1000);
  };
  let clients = 0;
  const MiB = 1024 * 1024;
  const HALF = LIMITS.deviceHeldBytes / MiB / 2;

  test("[limit deviceHeldBulkBytes] of all connections of a device bulk is held up to its limit, then the one that sends more is cut off", async () => {
    /** Bulk that is a byte short of what was announced. */
    const send = async (client: Client, mebibytes: number): Promise<void> => {
      const one = await client.attach(instanceOf((++clients).toString(16)));
      const node = await one.make(ROOT_NODE, `file ${clients}`);
      for (let count = 0; count < mebibytes; count++) {
        const request = { node, base: 0, sizeBytes: MiB, attributes: {}, isResumed: false, timeNs: 1n };
        const channel = client.connection.open("write", one.numbered(request));
        channel.send(["d", "raw", MiB, MiB]);
        channel.sendBulk(new Uint8Array(MiB - 1)).catch(() => undefined);
      }
      await wire.rig.clock.advance(1000);
    };
    const before: Client[] = [];
    for (let count = 0; count < 4; count++) {
      const client = await wire.greeted();
      await send(client, Math.floor(LIMITS.deviceHeldBulkBytes / MiB / 4));
      before.push(client);
    }
    const last = await wire.greeted();
    expect(wire.rig.warnings).toEqual([]);
    await send(last, 3);
    expect([last, ...before].map(({ closed }) => closed !== undefined)).toEqual([true, false, false, false, false]);
    expect(wire.rig.warnings).toEqual([
      "A client was cut off: More was said than can be handled: wait for the answers.",
    ]);
    before[0]?.connection.close(new RunnelError("Interrupted", "test", "Over."));
    await send(await wire.greeted(), 3);
    expect(wire.handlers.size).toBe(4);
  });

  test("[limit deviceHeldBytes] of all connections of a device is held up to its limit, then the one that says more is cut off", async () => {
    const before: Client[] = [];
    for (let count = 0; count < 2; count++) {
      const client = await wire.greeted();
      await say(client, HALF - 1);
      before.push(client);
    }
    const last = await wire.greeted();
    await say(last, 1);
    expect([...before, last].filter(({ closed }) => closed !== undefined)).toEqual([]);
    await say(last, 3);
    expect(wire.rig.warnings).toEqual([
      "A client was cut off: More was said than can be handled: wait for the answers.",
    ]);
    expect([last, ...before].map(({ closed }) => closed !== undefined)).toEqual([true, false, false]);
    // Everything that it held is free again.
    await say(await wire.greeted(), 1);
    expect(wire.handlers.size).toBe(3);
  });
});
