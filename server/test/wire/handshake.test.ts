// Authentication of connections, and what it lets them do: hello with a token, join, rights, limits of the
// unauthenticated, and being cut off.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  LIMITS,
  PROTOCOL_FEATURES,
  REQUESTS,
  ROOT_NODE,
  RunnelError,
  SeededRandom,
  TIMING,
  VOLUME_REQUEST_NAMES,
  type VolumeRequestName,
  wallMs,
} from "@runnel/shared";
import { encodeCbor, encodeFrame, encodeVarint, FRAME } from "@runnel/shared";
import { zstdCompressSync } from "node:zlib";
import { DeviceRegistry } from "../../src/auth/device-registry.ts";
import { cutOff, rightChanged } from "../../src/wire/cut-off.ts";
import { bytesOf } from "../volume/volume-rig.ts";
import { type Attached, type Client, ServerRig, instanceOf, kindOf } from "./server-rig.ts";

const ONE = instanceOf("1");
const TWO = instanceOf("2");
const tokenOf = (letter: string): string => letter.repeat(43);
const HELLO = { protocol: 1, software: "test client" };
/** Characters, below what a client compresses. */
const SAID_AT_ONCE = 1000;

let wire: ServerRig;
let devices: DeviceRegistry;

beforeEach(async () => {
  wire = await ServerRig.open();
  const root = await wire.rig.disk.openRoot("/data/_server", { permissions: 0o700 });
  devices = await DeviceRegistry.open(root, wire.rig.clock);
  wire.devices = devices;
});

afterEach(async () => {
  await wire.close();
});

async function newSecret(right: "read" | "write" = "write", volume = "docs"): Promise<string> {
  return (await wire.rig.run(devices.invite({ volume, right, person: "", lastsMs: 3_600_000 }))).secret;
}

async function newDevice(letter: string, right: "read" | "write" = "write"): Promise<void> {
  await wire.rig.run(devices.join({ secret: await newSecret(right), token: tokenOf(letter), name: letter }));
}

/** A connection that says hello with this token. */
async function known(letter: string): Promise<Client> {
  const client = wire.connect();
  await client.call("hello", { ...HELLO, token: tokenOf(letter) });
  return client;
}

const attachTo = (volume: string): object => ({ volume, instance: ONE, wantsNodes: true });

function asking(
  kind: typeof FRAME.call | typeof FRAME.open,
  channel: number,
  operation: string,
  request: object,
): Uint8Array {
  return encodeFrame({ kind, channel, isCompressed: false, payload: encodeCbor([operation, request]) });
}

describe("a connection", () => {
  test("[W11] [W75] [W173] with a token that is none is Denied, without one may only join", async () => {
    const client = wire.connect();
    expect(await kindOf(client.call("hello", { ...HELLO, token: tokenOf("z") }))).toBe("Denied");
    expect(await kindOf(client.call("attach", attachTo("docs")))).toBe("Invalid");
    await client.call("hello", HELLO);
    expect(await kindOf(client.call("attach", attachTo("docs")))).toBe("Denied");
    expect(await kindOf(client.call("join", { secret: "x".repeat(22), token: tokenOf("a"), name: "a" }))).toBe(
      "Denied",
    );
    expect(await kindOf(client.call("attach", attachTo("docs")))).toBe("Denied");
    const secret = await newSecret("read");
    expect(await client.call("join", { secret, token: tokenOf("a"), name: "laptop" })).toEqual({
      device: "laptop",
      volume: "docs",
      isReadOnly: true,
    });
    expect((await client.attach(ONE)).facts.isReadOnly).toBe(true);
    expect((await (await known("a")).attach(TWO)).facts.isReadOnly).toBe(true);
  });

  test("[W75] is one device's when two join at once", async () => {
    const client = wire.connect();
    await client.call("hello", HELLO);
    const secrets = [await newSecret(), await newSecret()];
    const kinds = await Promise.all(
      ["a", "b"].map((letter, index) =>
        kindOf(client.call("join", { secret: secrets[index], token: tokenOf(letter), name: letter })),
      ),
    );
    expect(kinds.toSorted()).toEqual(["Invalid", "done"]);
  });

  test("[W75] belongs to one device: neither hello nor join come again", async () => {
    await newDevice("a");
    const client = await known("a");
    await newDevice("b");
    expect(await kindOf(client.call("hello", { ...HELLO, token: tokenOf("b") }))).toBe("Invalid");
    const secret = await newSecret();
    expect(await kindOf(client.call("join", { secret, token: tokenOf("b"), name: "b" }))).toBe("Invalid");
  });

  test("[W75] [limit deviceName] takes tokens, secrets and names of their form only", async () => {
    const client = wire.connect();
    for (const token of ["", "a", `${tokenOf("a")}a`, `${"a".repeat(42)}!`, 7, null])
      expect(await kindOf(client.call("hello", { ...HELLO, token }))).toBe("Invalid");
    await client.call("hello", HELLO);
    const join = { secret: await newSecret(), token: tokenOf("a"), name: "a" };
    const longest = "n".repeat(LIMITS.deviceName);
    // The last ones cannot be seen, or turn what stands behind them about.
    const names = ["", "a\nb", `${longest}n`, "a\u200Bb", "a\u202Eb", "a\u00ADb", "\u3164", "a\u2028b"];
    for (const more of [{ secret: "" }, { token: "" }, ...names.map((name) => ({ name }))])
      expect([more, await kindOf(client.call("join", { ...join, ...more }))]).toEqual([more, "Invalid"]);
    expect(await kindOf(client.call("join", { ...join, name: longest }))).toBe("done");
  });

  test("[W178] [limit features] [limit featureCharacters] learns what its client offers, and ignores what it does not know", async () => {
    const longest = "f".repeat(LIMITS.featureCharacters);
    const most = [longest, ...Array<string>(LIMITS.features - 1).fill("f")];
    const client = wire.connect();
    for (const features of [[`${longest}f`], [""], ["A"], ["é"], [1], "zstd", [...most, "f"]])
      expect([features, await kindOf(client.call("hello", { ...HELLO, features }))]).toEqual([features, "Invalid"]);
    const [handler] = wire.handlers;
    expect(handler?.features).toEqual([]);
    expect(await client.call("hello", { ...HELLO, features: most })).toMatchObject({ features: PROTOCOL_FEATURES });
    expect(handler?.features).toEqual(most);
    const older = wire.connect();
    await older.call("hello", HELLO);
    expect([...wire.handlers].at(-1)?.features).toEqual([]);
  });

  test("[W179] is answered Unsupported where it does not know the operation, and goes on", async () => {
    await newDevice("a");
    const client = wire.connect();
    const unknown = async (): Promise<void> => {
      for (const operation of ["levitate", "toString", "x".repeat(1000)])
        await expect(client.call(operation, { attachment: 3 })).rejects.toMatchObject({
          kind: "Unsupported",
          operation: operation.slice(0, 50),
        });
    };
    await unknown();
    await client.call("hello", { ...HELLO, token: tokenOf("a") });
    await unknown();
    const channel = client.connection.open("levitate", {});
    expect(await kindOf(wire.rig.run(channel.next()))).toBe("Unsupported");
    channel.end();
    expect((await client.attach(ONE)).facts.isReadOnly).toBe(false);
    expect(client.closed).toBeUndefined();
  });

  test("[W72] finds no volume that it has no right on, whether it is there or not", async () => {
    await wire.rig.run(devices.join({ secret: await newSecret("write", "other"), token: tokenOf("a"), name: "a" }));
    const client = await known("a");
    const answers: unknown[] = [];
    for (const volume of ["docs", "nothing"]) {
      const channel = client.connection.open("attach", attachTo(volume));
      const error = await wire.rig.run(channel.next()).catch((refusal: unknown) => refusal);
      if (!(error instanceof RunnelError)) throw new Error("It was let in.");
      answers.push({ kind: error.kind, message: error.message.replace(volume, "…"), detail: error.detail });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ kind: "NotFound" });
  });

  test("on plain ws is let in without a token, and asks for no invite", async () => {
    wire.devices = undefined;
    const client = await wire.greeted();
    expect((await client.attach(ONE)).facts.isReadOnly).toBe(false);
    expect(await kindOf(client.call("join", { secret: "x".repeat(22), token: tokenOf("a"), name: "a" }))).toBe(
      "Unsupported",
    );
  });
});

interface Tried {
  kind: string;
  /** The volume is another afterwards, or the client was given something of it. */
  hasEffect: boolean;
}

async function tryRequest(name: VolumeRequestName, right: "read" | "write"): Promise<Tried> {
  await newDevice("o");
  const owner = await (await known("o")).attach(TWO);
  const file = await owner.make(ROOT_NODE, "file");
  const { version } = await owner.write(file, 0, bytesOf(1, 100));
  const folder = await owner.make(ROOT_NODE, "folder", "folder");
  await newDevice("a", right);
  const to = await (await known("a")).attach(ONE);
  const { volume } = wire.rig;
  await volume.meta.note([{ kind: "clientConflict", path: "file", seq: 0, by: "o", atMs: wallMs(volume.clock) }]);
  const before = { seq: volume.seq, next: (await volume.meta.allocateNodes(1)).first };
  const sample = REQUESTS[name].sample({ file: { node: file, seq: version }, folder, newNode: to.newNode() });
  const kind = await kindOf(wire.rig.run(drained(to, name, to.numbered(sample))));
  const after = { seq: volume.seq, next: (await volume.meta.allocateNodes(1)).first };
  const isSettled = (await volume.meta.notices()).length === 0;
  return { kind, hasEffect: isSettled || after.seq !== before.seq || after.next !== before.next + 1 };
}

async function drained(to: Attached, name: string, body: object): Promise<unknown> {
  const channel = to.client.connection.ask(name, body);
  while ((await channel.next()) !== undefined);
  return channel.result();
}

describe("the right to read only", () => {
  test("[W72] is tried with every request there is but those before an attachment", () => {
    expect([...VOLUME_REQUEST_NAMES, "hello", "join", "attach"].toSorted()).toEqual(Object.keys(REQUESTS).toSorted());
  });

  test.each(VOLUME_REQUEST_NAMES)(
    "[W72] with %s: what changes the volume for one who may write is refused, all else is answered",
    async (name) => {
      const writer = await tryRequest(name, "write");
      expect(writer.kind).toBe("done");
      await wire.close();
      wire = await ServerRig.open();
      const root = await wire.rig.disk.openRoot("/data/_server", { permissions: 0o700 });
      devices = await DeviceRegistry.open(root, wire.rig.clock);
      wire.devices = devices;
      const reader = await tryRequest(name, "read");
      expect(reader).toEqual({ kind: writer.hasEffect ? "ReadOnly" : "done", hasEffect: false });
    },
  );

  test("[W72] gives no node ids, and the feed as to all", async () => {
    await newDevice("o");
    await newDevice("a", "read");
    const reader = await (await known("a")).attach(ONE);
    expect(reader.facts.nodes).toBeNull();
    await reader.find({ isDeep: true, follow: true });
    expect((await reader.renew())?.[0]).toBe("current");
    const owner = await (await known("o")).attach(TWO);
    await owner.make(ROOT_NODE, "new");
    expect(reader.seqs).toHaveLength(1);
  });
});

describe("an unauthenticated connection", () => {
  test("[W73] [limit loginGraceMs] is cut off after fifteen seconds, one who is known is not", async () => {
    await newDevice("a");
    const friend = await known("a");
    const silent = wire.connect();
    const greeting = wire.connect();
    await greeting.call("hello", HELLO);
    await wire.rig.clock.advance(TIMING.loginGraceMs + 100);
    expect([silent.closed, greeting.closed].map((error) => error?.message)).toEqual(
      Array.from({ length: 2 }, () => "The connection did not say in time whose it is."),
    );
    expect(friend.closed).toBeUndefined();
  });

  test("[W73] [limit unauthenticatedBytes] may say 16 KiB, one who is known more", async () => {
    await newDevice("a");
    const friend = await known("a");
    const newcomer = wire.connect();
    await newcomer.call("hello", HELLO);
    const secret = "x".repeat(SAID_AT_ONCE);
    const times = Math.floor(LIMITS.unauthenticatedBytes / SAID_AT_ONCE) - 2;
    const say = async (client: Client): Promise<string> => kindOf(client.call("join", { secret }));
    for (const client of [newcomer, friend]) for (let time = 0; time < times; time++) await say(client);
    expect(newcomer.closed).toBeUndefined();
    for (const client of [newcomer, friend]) for (let time = 0; time < 3; time++) await say(client);
    expect(newcomer.closed).toMatchObject({ kind: "Unreachable" });
    expect(friend.closed).toBeUndefined();
  });

  test("[W73] [limit unauthenticatedFrames] may say so much in 64 frames", async () => {
    const newcomer = wire.connect();
    const ask = (): Promise<string> => kindOf(newcomer.call("stat", {}));
    for (let count = 1; count <= LIMITS.unauthenticatedFrames; count++) expect(await ask()).toBe("Invalid");
    expect(newcomer.closed).toBeUndefined();
    await ask();
    expect(newcomer.closed).toBeDefined();
  });

  test("[W73] has nothing unfolded, not even hello", async () => {
    const newcomer = wire.connect();
    const hello = encodeCbor(["hello", { ...HELLO, software: "x".repeat(100) }]);
    const payload = Buffer.concat([encodeVarint(hello.length), zstdCompressSync(hello)]);
    newcomer.link.send(encodeFrame({ kind: FRAME.call, channel: 1, isCompressed: true, payload }));
    await wire.rig.clock.advance(100);
    expect(newcomer.closed).toBeDefined();
  });

  test("[W73] [W130] is told that it is known before anything is decoded of what it has said behind", async () => {
    const join = { secret: await newSecret(), token: tokenOf("b"), name: "b" };
    const client = wire.connect();
    const greeted = client.call("hello", HELLO);
    const joined = client.call("join", join);
    const { id } = client.connection.open("attach", attachTo("docs"));
    const payload = Uint8Array.of(0xff);
    client.link.send(encodeFrame({ kind: FRAME.item, channel: id, isCompressed: false, payload }));
    await greeted;
    expect(await joined).toMatchObject({ device: "b" });
    await wire.rig.clock.advance(100);
    expect(client.closed).toBeDefined();
  });

  test("[W74] [limit failedLogins] [limit loginRefillMs] who fails too often waits, whatever it brings; a device is let in all the time", async () => {
    await newDevice("a");
    const good = await newSecret();
    const join = (client: Client, secret: string): Promise<string> =>
      kindOf(client.call("join", { secret, token: tokenOf("b"), name: "b" }));
    const client = wire.connect();
    await client.call("hello", HELLO);
    const kinds: string[] = [];
    for (let time = 0; time <= LIMITS.failedLogins; time++)
      kinds.push(await join(client, String(time).padStart(22, "x")));
    expect(kinds).toEqual([...Array.from({ length: LIMITS.failedLogins }, () => "Denied"), "Busy"]);
    expect(await join(client, good)).toBe("Busy");
    const guesser = wire.connect();
    expect(await kindOf(guesser.call("hello", { ...HELLO, token: tokenOf("z") }))).toBe("Busy");
    expect((await known("a")).closed).toBeUndefined();
    await wire.rig.clock.advance(TIMING.loginRefillMs * 2);
    const again = wire.connect();
    await again.call("hello", HELLO);
    expect(await join(again, good)).toBe("done");
  });
});

test("[W187] [limit cutOffs] [limit cutOffRefillMs] a device that says too often what no client may say waits, and no other does", async () => {
  await newDevice("a");
  await newDevice("b");
  for (let time = 0; time < LIMITS.cutOffs; time++) {
    const client = await known("a");
    client.link.send(Uint8Array.of(0xff));
    await wire.rig.clock.advance(100);
    expect(client.closed).toBeDefined();
  }
  const hello = async (letter: string): Promise<string> =>
    kindOf(wire.connect().call("hello", { ...HELLO, token: tokenOf(letter) }));
  expect([await hello("a"), await hello("b")]).toEqual(["Busy", "done"]);
  const refused = wire.connect();
  await kindOf(refused.call("hello", { ...HELLO, token: tokenOf("a") }));
  expect(await kindOf(refused.attach(ONE))).toBe("Invalid");
  await wire.rig.clock.advance(TIMING.cutOffRefillMs);
  expect(await hello("a")).toBe("done");
});

test("[W188] [limit deviceAttaches] [limit attachRefillMs] a device that attaches and leaves for ever waits, and no other does", async () => {
  await newDevice("a");
  await newDevice("b");
  const { clock } = wire.rig;
  const [beganMs, broken] = [clock.bootMs(), new RunnelError("Unreachable", "wire", "The line broke.")];
  let attached = 0;
  // Twice it comes back with all that a device may have attached, as after a server's restart.
  for (; attached < LIMITS.deviceAttaches; attached += LIMITS.attachments) {
    const client = await known("a");
    const all = Array.from({ length: LIMITS.attachments }, (_, index) => client.attach(instanceOf(index.toString(16))));
    await Promise.all(all);
    client.connection.close(broken);
    await clock.advance(10);
  }
  const client = await known("a");
  const attach = async (of: Client): Promise<unknown> => {
    try {
      await (await of.attach(ONE)).call("detach", {});
      return "done";
    } catch (error) {
      return error;
    }
  };
  let last = await attach(client);
  for (; last === "done" && attached < 2 * LIMITS.deviceAttaches; attached++) last = await attach(client);
  expect(last).toMatchObject({ kind: "Busy", operation: "attach", detail: { retryAfterMs: expect.any(Number) } });
  expect(attached).toBeLessThanOrEqual(
    LIMITS.deviceAttaches + Math.ceil((clock.bootMs() - beganMs) / TIMING.attachRefillMs),
  );
  expect(await attach(await known("b"))).toBe("done");
  await clock.advance(TIMING.attachRefillMs);
  expect(await attach(client)).toBe("done");
});

test("[W164] the same instance of another device is another one: its feed goes on, and its results are its own", async () => {
  await newDevice("a");
  await newDevice("b");
  const mine = await (await known("a")).attach(ONE);
  const made = await mine.make(ROOT_NODE, "mine");
  const theirs = await (await known("b")).attach(ONE);
  // It would be the answer to the first change again, or Invalid since it is another one.
  expect(await theirs.make(ROOT_NODE, "theirs")).not.toBe(made);
  await mine.make(ROOT_NODE, "more");
  expect([mine.ended, theirs.ended]).toEqual([undefined, undefined]);
  expect(await (await known("a")).attach(ONE)).toBeDefined();
  await wire.rig.clock.advance(10);
  expect([mine.ended, theirs.ended]).toEqual([expect.anything(), undefined]);
});

describe("[W12] node ids that were given to a device", () => {
  const makeAs = async (client: Attached, name: string, node: number): Promise<unknown> => {
    const made = client.start("make", { folder: ROOT_NODE, name, node, attributes: client.attributes("file") });
    return wire.rig.run(made).then(
      (result) => result.node,
      (error: unknown) => error,
    );
  };
  const firstOf = ({ facts }: Attached): number => facts.nodes?.[0] ?? 0;

  test("are refused to another one, and still there for the work that it was given them for", async () => {
    await newDevice("a");
    await newDevice("b");
    const mine = await (await known("a")).attach(ONE);
    const reserved = firstOf(mine) + 10;
    const [further, count] = (await mine.call("newNodes", { count: 1000 })) as [number, number];
    const theirs = await (await known("b")).attach(TWO);
    for (const node of [reserved, further, further + count - 1])
      expect(await makeAs(theirs, `theirs ${node}`, node)).toMatchObject({
        kind: "Invalid",
        detail: { rule: "node id" },
      });
    expect(await makeAs(theirs, "too early", 2 ** 40)).toMatchObject({ kind: "Invalid" });
    expect(await theirs.make(ROOT_NODE, "theirs")).toBeGreaterThan(further);
    expect(await makeAs(mine, "mine", reserved)).toBe(reserved);
    expect(await makeAs(mine, "further", further)).toBe(further);
  });

  test("are good for its later instances, and for the same journal after a new login", async () => {
    await newDevice("a");
    await newDevice("b");
    const first = firstOf(await (await known("a")).attach(ONE));
    const later = await (await known("a")).attach(TWO);
    expect(await makeAs(later, "later", first)).toBe(first);
    const again = await (await known("b")).attach(ONE);
    expect(await makeAs(again, "again", first + 1)).toBe(first + 1);
  });

  test("are nobody's once it is revoked", async () => {
    const { handlers, rig } = wire;
    devices.onRevoked((device) => cutOff(device, { handlers, volumes: [rig.volume], warn: () => undefined }));
    await newDevice("a");
    await newDevice("b");
    const first = firstOf(await (await known("a")).attach(ONE));
    const theirs = await (await known("b")).attach(TWO);
    expect(await makeAs(theirs, "refused", first)).toMatchObject({ kind: "Invalid" });
    await wire.rig.run(devices.revoke("a"));
    await wire.rig.clock.advance(50);
    expect(await makeAs(theirs, "new", first)).toBe(first);
  });
});

describe("a device that is revoked", () => {
  beforeEach(() => {
    const { handlers, rig } = wire;
    const parts = { handlers, volumes: [rig.volume], warn: (message: string) => rig.warnings.push(message) };
    devices.onRevoked((device) => cutOff(device, parts));
    devices.onRightChanged((device, volume) => rightChanged(device, volume, parts));
  });

  test("[W76] is cut off at once with 4003, and told so when it comes again; others are not", async () => {
    await newDevice("a");
    await newDevice("b");
    const [one, other] = [await known("a"), await known("b")];
    await one.attach(ONE);
    await wire.rig.run(devices.revoke("a"));
    await wire.rig.clock.advance(50);
    expect(one.closed?.message).toMatch(/^The server has withdrawn this device's access\./);
    expect(await kindOf(wire.connect().call("hello", { ...HELLO, token: tokenOf("a") }))).toBe("Revoked");
    expect(other.closed).toBeUndefined();
    expect(wire.rig.volume.feed.attachments).toBe(0);
  });

  test.each([
    ["connected", false],
    ["away, with a lease that goes on", true],
  ])("[W76] holds nobody up: what waits for its acknowledgement is answered (%s)", async (_title, isAway) => {
    await newDevice("a");
    await newDevice("b");
    const client = await known("a");
    const holder = await client.attach(ONE);
    holder.acks = false;
    await holder.find({ isDeep: true, follow: true });
    expect((await holder.renew())?.[0]).toBe("current");
    if (isAway) client.link.cut();
    const writer = await (await known("b")).attach(TWO);
    const { made } = writer.startMake(ROOT_NODE, "new");
    let isDone = false;
    void made.then(() => {
      isDone = true;
    });
    await wire.rig.clock.advance(2_000);
    expect(isDone).toBe(false);
    await devices.revoke("a");
    await wire.rig.clock.advance(50);
    expect(isDone).toBe(true);
  });

  test.each([
    ["connected", false],
    ["away, with a ticket that may be good", true],
  ])("[W76] [W199] is shut out by its colleagues: they are told its key (%s)", async (_title, isAway) => {
    await newDevice("a");
    await newDevice("b");
    const [gone, there] = [await known("a"), await known("b")];
    const [one, other] = [await gone.attach(ONE), await there.attach(TWO)];
    for (const [attached, byte] of [
      [one, 1],
      [other, 2],
    ] as const) {
      const place = { key: new Uint8Array(32).fill(byte), port: 4000, addresses: [], reach: "everyone" as const };
      await attached.call("announce", { place, has: [] });
    }
    if (isAway) gone.link.cut();
    await wire.rig.clock.advance(50);
    await wire.rig.run(devices.revoke("a"));
    await wire.rig.clock.advance(50);
    const told = other.feed.filter(([kind]) => kind === "shutOut");
    expect(told).toEqual([["shutOut", new Uint8Array(32).fill(1)]]);
  });

  test("[W76] leaves nothing behind of what it was sending, now or before; what others were sending stays", async () => {
    for (const letter of ["a", "b"]) await newDevice(letter);
    const [now, before, other] = [await known("a"), await known("a"), await known("b")];
    const temp = async (): Promise<number> => {
      let count = 0;
      await wire.rig.other.list(".runnel-store/temp", (entries) => void (count += entries.length));
      return count;
    };
    for (const [client, instance] of [
      [now, ONE],
      [before, TWO],
      [other, instanceOf("c")],
    ] as const) {
      const attached = await client.attach(instance);
      const node = await attached.make(ROOT_NODE, instance.slice(0, 4));
      await attached.openWrite({ node, base: 0, sizeBytes: 30_000 }, 100).data(bytesOf(3, 20_000));
    }
    await wire.rig.settle();
    before.link.cut();
    other.link.cut();
    await wire.rig.clock.advance(200);
    expect(await temp()).toBe(4);
    await wire.rig.run(devices.revoke("a"));
    await wire.rig.clock.advance(200);
    expect(await temp()).toBe(2);
    expect(wire.rig.warnings).toEqual([]);
  });
});

describe("a device whose right is changed", () => {
  test("[W72] has its connections to that volume closed, and finds the other right when it comes again", async () => {
    const { handlers, rig } = wire;
    const parts = { handlers, volumes: [rig.volume], warn: (message: string) => rig.warnings.push(message) };
    devices.onRightChanged((device, volume) => rightChanged(device, volume, parts));
    await newDevice("a");
    await newDevice("b");
    const [attached, idle, other] = [await known("a"), await known("a"), await known("b")];
    for (const [client, instance] of [
      [attached, ONE],
      [other, TWO],
    ] as const)
      await client.attach(instance);
    await wire.rig.run(devices.setRight("a", "docs", "read"));
    await wire.rig.clock.advance(50);
    expect([attached.closed?.message, idle.closed, other.closed]).toEqual([
      "What this device may do was changed.",
      undefined,
      undefined,
    ]);
    expect((await idle.attach(ONE)).facts.isReadOnly).toBe(true);
    await wire.rig.run(devices.setRight("a", "docs", undefined));
    await wire.rig.clock.advance(50);
    expect(idle.closed).toBeDefined();
    expect(wire.rig.volume.feed.attachments).toBe(1);
  });

  test.each(["read", undefined] as const)(
    "[W72] leaves nothing of what it was sending when that is %s",
    async (right) => {
      const { handlers, rig } = wire;
      const parts = { handlers, volumes: [rig.volume], warn: (message: string) => rig.warnings.push(message) };
      devices.onRightChanged((device, volume) => rightChanged(device, volume, parts));
      await newDevice("a");
      const staged = async (): Promise<number> => {
        let count = 0;
        await rig.other.list(".runnel-store/temp", (entries) => void (count += entries.length));
        return count;
      };
      const send = async (instance: string): Promise<void> => {
        const attached = await (await known("a")).attach(instance);
        const node = await attached.make(ROOT_NODE, `${rig.volume.seq}`);
        await attached.openWrite({ node, base: 0, sizeBytes: 3_000_000 }, attached.n + 10).data(bytesOf(3, 1_000_000));
        await attached.openWrite({ node, base: 0, sizeBytes: 30_000 }, attached.n + 20).data(bytesOf(3, 20_000));
        await rig.clock.advance(200);
      };
      await send(ONE);
      await rig.run(devices.setRight("a", "docs", right));
      await rig.clock.advance(200);
      await rig.settle();
      expect(await staged()).toBe(0);
      await rig.run(devices.setRight("a", "docs", "write"));
      await send(TWO);
      for (const handler of wire.handlers) handler.close(new RunnelError("Unreachable", "test", "The line breaks."));
      await rig.clock.advance(200);
      expect(await staged()).toBeGreaterThan(0);
      expect(rig.warnings).toEqual([]);
    },
  );
});

describe("the handshake under attack", () => {
  const SEED = 20_261_122;

  test(`[W73] [W75] frames with mistakes and made-up credentials, seed ${SEED}: never let in, nothing thrown, nobody left over`, async () => {
    const random = new SeededRandom(SEED);
    await newDevice("a");
    const { seq } = wire.rig.volume;
    let refused = 0;
    for (let round = 0; round < 1500; round++) {
      const client = wire.connect();
      for (const frame of attempts(random)) client.link.send(mistaken(random, frame));
      await wire.rig.clock.advance(100);
      for (const handler of wire.handlers) expect(handler.deviceId).toBeUndefined();
      expect(wire.authenticated).toBe(0);
      if (client.closed !== undefined) refused++;
      client.link.cut();
      await wire.rig.clock.advance(1);
      expect(wire.handlers.size).toBe(0);
    }
    expect(refused).toBeGreaterThan(100);
    expect(wire.rig.volume.seq).toBe(seq);
    expect(wire.rig.volume.feed.attachments).toBe(0);
    expect((await known("a")).closed).toBeUndefined();
    expect(wire.authenticated).toBe(1);
  }, 60_000);
});

function attempts(random: SeededRandom): Uint8Array[] {
  const characters = "ABCabc019-_";
  const word = (length: number): string =>
    Array.from({ length }, () => characters[random.below(characters.length)]).join("");
  const say = (channel: number, operation: string, request: object): Uint8Array =>
    asking(FRAME.call, channel, operation, request);
  const token = word(random.below(3) === 0 ? random.below(60) : 43);
  return [
    say(1, "hello", random.coin() ? HELLO : { ...HELLO, token }),
    say(3, "join", { secret: word(22), token, name: word(random.below(120)) }),
    say(5, "attach", attachTo("docs")),
    say(7, "make", { attachment: 5, n: 1, received: 0, folder: 1, name: "x", node: 9, attributes: {} }),
  ];
}

function mistaken(random: SeededRandom, frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(frame);
  const how = random.below(4);
  if (how === 0) bytes[random.below(bytes.length)] = random.below(256);
  else if (how === 1) return bytes.slice(0, random.below(bytes.length + 1));
  return bytes;
}

test.each([
  ["write", "granted"],
  ["read", "refused"],
] as const)("[W180] a device that may %s is %s the write lease", async (right, answer) => {
  await newDevice("a", right);
  const to = await (await known("a")).attach(ONE);
  await to.find({ follow: true, isDeep: true });
  await to.renew();
  to.channel.send(["acquire", 7, ROOT_NODE]);
  await wire.rig.clock.advance(100);
  expect(to.feed.at(-1)?.slice(0, 2)).toEqual([answer, 7]);
});
