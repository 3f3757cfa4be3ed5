// The write lease on the wire: what others ask waits for it, and what does not.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { LIMITS, REQUESTS, ROOT_NODE, type RequestName, VOLUME_REQUEST_NAMES } from "@runnel/shared";
import { TERM_MS } from "../volume/volume-rig.ts";
import { type Attached, ServerRig, instanceOf } from "./server-rig.ts";

let wire: ServerRig;
let one: Attached;
let other: Attached;

const FEATURES = ["write-lease"];

beforeEach(async () => {
  wire = await ServerRig.open();
  const attach = async (digit: string): Promise<Attached> => {
    const client = wire.connect();
    const hello = { protocol: 1, software: `test client ${digit}`, features: FEATURES };
    expect(await client.call("hello", hello)).toMatchObject({ features: expect.arrayContaining(FEATURES) });
    return client.attach(instanceOf(digit));
  };
  one = await attach("1");
  other = await attach("2");
  await one.find({ follow: true, isDeep: true });
});

afterEach(async () => {
  await wire.close();
});

/** Asks for the write lease; returns the answer. */
async function acquired(attached: Attached, node = ROOT_NODE): Promise<unknown> {
  const before = attached.feed.length;
  attached.channel.send(["acquire", 7, node]);
  await wire.rig.clock.advance(100);
  return attached.feed.slice(before).find(([what]) => what === "granted" || what === "refused");
}

/** Asks how the root is, without waiting for the answer. */
function asked(attached: Attached): { is: string } {
  return watched(attached.client.connection.call("stat", attached.request({ nodes: [ROOT_NODE], names: [] })));
}

/** Tells what becomes of a promise, without waiting for it. */
function watched(promise: Promise<unknown>): { is: string } {
  const state = { is: "waits" };
  promise.then(
    () => (state.is = "done"),
    (error: unknown) => (state.is = String(error)),
  );
  return state;
}

test("[W180] is refused to who has no lease, and on less than the volume; granted, and kept by the instance", async () => {
  expect(await acquired(one)).toEqual(["refused", 7, expect.any(Number)]);
  await one.renew();
  expect(await acquired(one, 5)).toEqual(["refused", 7, expect.any(Number)]);
  expect(await acquired(one)).toEqual(["granted", 7, false]);
  expect(await wire.rig.run(wire.rig.volume.meta.writeLease())).toBe(one.instance);
});

test("[W180] is refused while a change of another is under way", async () => {
  await one.renew();
  const folder = await other.make(ROOT_NODE, "folder", "folder");
  const node = await other.make(folder, "file");
  const upload = other.openWrite({ node, base: 0, sizeBytes: 3 });
  await wire.rig.clock.advance(100);
  expect(await acquired(one)).toEqual(["refused", 7, expect.any(Number)]);
  upload.channel.cancel();
  await wire.rig.clock.advance(100);
  expect(await acquired(one)).toEqual(["granted", 7, false]);
});

test("[W181] [W182] what others ask waits until it is given up, in its order, and sees what its holder changed before", async () => {
  await one.renew();
  await acquired(one);
  const listed = asked(other);
  other.channel.send(["current", 1]);
  const first = other.startMake(ROOT_NODE, "first");
  const second = other.startMake(ROOT_NODE, "second");
  const made = watched(Promise.all([first.made, second.made]));
  await wire.rig.clock.advance(1_000);
  expect([listed.is, made.is]).toEqual(["waits", "waits"]);
  expect(one.feed.filter(([what]) => what === "recall")).toEqual([["recall", ROOT_NODE]]);
  expect(other.feed.filter(([what]) => what === "current")).toEqual([]);
  expect(other.feed.find(([what]) => what === "waiting")).toEqual([
    "waiting",
    0,
    ["test client 1"],
    expect.any(Number),
  ]);

  await one.make(ROOT_NODE, "holder's");
  const { seq } = wire.rig.volume;
  one.channel.send(["yield", ROOT_NODE]);
  await wire.rig.clock.advance(1_000);
  expect([listed.is, made.is]).toEqual(["done", "done"]);
  expect(other.feed.find(([what]) => what === "current")).toEqual(["current", 1, seq]);
  const names = (await wire.rig.run(wire.rig.volume.meta.list(ROOT_NODE, "", 10))).map(({ name }) => name);
  expect(names).toEqual(["first", "holder's", "second"]);
  expect([(await first.made).seq, (await second.made).seq]).toEqual([seq + 1, seq + 2]);
});

test("[W76] [W181] what waited when its device was cut off is not done later", async () => {
  await one.renew();
  await acquired(one);
  const made = watched(other.startMake(ROOT_NODE, "late").made);
  await wire.rig.clock.advance(1_000);
  for (const handler of wire.handlers) if (handler.who.endsWith("2")) handler.revoke();
  await wire.rig.clock.advance(1_000);
  expect(made.is).not.toBe("waits");
  one.channel.send(["yield", ROOT_NODE]);
  await wire.rig.clock.advance(1_000);
  expect(await wire.rig.run(wire.rig.volume.meta.list(ROOT_NODE, "", 10))).toEqual([]);
});

test("[W163] [W181] questions for the lease wait together, and are answered each", async () => {
  await one.renew();
  await acquired(one);
  for (let question = 1; question <= LIMITS.leaseQuestions; question++) other.channel.send(["current", question]);
  await wire.rig.clock.advance(1_000);
  expect(other.feed.filter(([what]) => what === "waiting").length).toBeLessThan(10);
  one.channel.send(["yield", ROOT_NODE]);
  await wire.rig.clock.advance(1_000);
  expect(other.feed.filter(([what]) => what === "current")).toHaveLength(LIMITS.leaseQuestions);
});

test("[W163] [limit leaseQuestions] more than 1024 questions for the lease that wait end the feed of who asks on", async () => {
  await one.renew();
  await acquired(one);
  for (let question = 1; question <= LIMITS.leaseQuestions + 1; question++) other.channel.send(["current", question]);
  await wire.rig.clock.advance(1_000);
  expect(String(other.ended)).toContain("asks on");
});

test("[W163] [W180] a client that asks for the lease, or the write lease, and reads nothing is cut off", async () => {
  for (const [attached, item] of [
    [one, ["current", 1]],
    [other, ["acquire", 1, ROOT_NODE]],
  ] as const) {
    attached.client.far.bufferedBytes = LIMITS.unreadBytes + 1;
    attached.channel.send(["ack", 0]);
    await wire.rig.clock.advance(100);
    expect(attached.client.connection.isOpen).toBe(true);
    attached.channel.send(item);
    await wire.rig.clock.advance(100);
    expect(attached.client.connection.isOpen).toBe(false);
  }
});

test("[W181] what says and changes nothing of the tree does not wait", async () => {
  await one.renew();
  await acquired(one);
  const waits = (name: RequestName): boolean => REQUESTS[name].isOfNoTree !== true;
  expect(VOLUME_REQUEST_NAMES.filter((name) => !waits(name)).toSorted()).toEqual([
    "detach",
    "newNodes",
    "openers",
    "settle",
    "space",
    "status",
    "whenApplied",
  ]);
  for (const name of ["newNodes", "space"]) await other.call(name, {});
  await other.call("whenApplied", { seq: 0 });
  expect(one.feed.filter(([what]) => what === "recall")).toEqual([]);
});

test("[W181] a client that comes later waits too, and one that is away is waited for no longer than its lease lasts", async () => {
  await one.renew();
  await acquired(one);
  one.client.link.close(1006, "");
  await wire.rig.clock.advance(1_000);
  const late = await (await wire.greeted()).attach(instanceOf("3"));
  const listed = asked(late);
  await wire.rig.clock.advance(TERM_MS - 3_000);
  expect(listed.is).toBe("waits");
  await wire.rig.clock.advance(3_000);
  expect(listed.is).toBe("done");
});

test("[W183] what others ask after a restart waits until a term is over", async () => {
  await one.renew();
  await acquired(one);
  await wire.rig.kill();
  await wire.rig.open();
  wire = new ServerRig(wire.rig);
  const late = await (await wire.greeted()).attach(instanceOf("3"));
  const listed = asked(late);
  await wire.rig.clock.advance(TERM_MS - 1_000);
  expect(listed.is).toBe("waits");
  await wire.rig.clock.advance(1_000);
  expect(listed.is).toBe("done");
});
