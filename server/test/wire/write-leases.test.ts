// The write lease on the wire: what others ask waits for it, and what does not.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { LIMITS, ROOT_NODE, VOLUME_REQUEST_NAMES } from "@runnel/shared";
import { TOUCHED_BY } from "../../src/wire/touched-by.ts";
import { TERM_MS } from "../volume/volume-rig.ts";
import { type Attached, ServerRig, instanceOf } from "./server-rig.ts";

let wire: ServerRig;
let one: Attached;
let other: Attached;

const FEATURES = ["write-lease"];

beforeEach(async () => {
  wire = await ServerRig.open();
  one = await attach("1");
  other = await attach("2", []);
  await one.find({ follow: true, isDeep: true });
});

afterEach(async () => {
  await wire.close();
});

async function attach(digit: string, features = FEATURES): Promise<Attached> {
  const client = wire.connect();
  const hello = { protocol: 1, software: `test client ${digit}`, features };
  expect(await client.call("hello", hello)).toMatchObject({ features: expect.arrayContaining(FEATURES) });
  return client.attach(instanceOf(digit));
}

/** Asks for a write lease; returns the answer. */
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

test("[W180] is refused to who has no lease, and on what is no folder; granted, and kept by the instance", async () => {
  expect(await acquired(one)).toEqual(["refused", 7, expect.any(Number)]);
  await one.renew();
  expect(await acquired(one, 5)).toEqual(["refused", 7, expect.any(Number)]);
  expect(await acquired(one)).toEqual(["granted", 7, false, ROOT_NODE]);
  expect(await wire.rig.run(wire.rig.volume.meta.writeLease())).toBe(`${one.instance}:${ROOT_NODE}`);
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
  expect(await acquired(one)).toEqual(["granted", 7, false, ROOT_NODE]);
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
  expect(VOLUME_REQUEST_NAMES.filter((name) => TOUCHED_BY[name] === undefined).toSorted()).toEqual([
    "announce",
    "detach",
    "fetch",
    "findGet",
    "getHash",
    "locate",
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

/** Each of two clients has a folder that it works in, as the server says, and a file there. */
async function split(): Promise<{ ones: number; others: number; file: number; othersFile: number }> {
  other = await attach("4");
  await other.find({ follow: true, isDeep: true });
  for (const client of [one, other]) await client.renew();
  const ones = await one.make(ROOT_NODE, "one's", "folder");
  const others = await other.make(ROOT_NODE, "other's", "folder");
  const file = await one.make(ones, "file");
  const othersFile = await other.make(others, "file");
  expect(await acquired(one, ones)).toEqual(["granted", 7, false, ones]);
  expect(await acquired(other, others)).toEqual(["granted", 7, false, others]);
  return { ones, others, file, othersFile };
}

/** Folders of which a client was asked to give the write lease back. */
function recalls({ feed }: Attached): unknown[] {
  return feed.flatMap((item) => (item[0] === "recall" ? [item[1]] : []));
}

async function namesIn(folder: number): Promise<string[]> {
  return (await wire.rig.run(wire.rig.volume.meta.list(folder, "", 10))).map(({ name }) => name);
}

test("[W180] [W181] [W192] two clients have a folder each; who looks there has it recalled, and the rest waits for nobody", async () => {
  const { ones, others, file, othersFile } = await split();
  expect(await wire.rig.run(wire.rig.volume.meta.writeLease())).toBe(
    `${one.instance}:${ones} ${other.instance}:${others}`,
  );
  expect(one.feed.filter(([what]) => what === "others").at(-1)).toEqual(["others", expect.any(Number), [others]]);
  await one.make(ones, "more");
  await other.make(others, "more");
  expect(await one.renew()).toEqual(["current", expect.any(Number), expect.any(Number)]);
  await other.call("stat", { nodes: [ROOT_NODE, othersFile], names: [[others, "file"]] });
  await other.find({ folder: ROOT_NODE, follow: true, isDeep: true });
  expect([recalls(one), recalls(other)]).toEqual([[], []]);

  for (const [message, more] of [
    ["stat", { nodes: [file], names: [] }],
    ["stat", { nodes: [], names: [[ROOT_NODE, "one's"]] }],
    ["xattrs", { node: file }],
  ] as const) {
    const looked = watched(other.client.connection.call(message, other.request(more)));
    await wire.rig.clock.advance(100);
    expect([looked.is, recalls(one)]).toEqual(["waits", [ones]]);
    one.channel.send(["yield", ones]);
    await wire.rig.clock.advance(100);
    expect(looked.is).toBe("done");
    if (message === "xattrs") break;
    await wire.rig.clock.advance(60_000);
    for (const client of [one, other]) await client.renew();
    one.feed.length = 0;
    expect(await acquired(one, ones)).toEqual(["granted", 7, false, ones]);
  }
});

test("[W181] a search below a folder has all recalled that is below", async () => {
  const { ones, others } = await split();
  const third = await attach("5");
  const found = watched(third.find({ folder: ROOT_NODE, isDeep: true }));
  await wire.rig.clock.advance(100);
  expect([found.is, recalls(one), recalls(other)]).toEqual(["waits", [ones], [others]]);
  for (const [client, folder] of [
    [one, ones],
    [other, others],
  ] as const)
    client.channel.send(["yield", folder]);
  await wire.rig.clock.advance(100);
  expect(found.is).toBe("done");
});

test("[W181] [W190] changes that wait for another's folder keep their order, and those in the own folder pass them", async () => {
  const { ones, others } = await split();
  const first = watched(one.startMake(others, "first").made);
  const second = watched(one.startMake(ROOT_NODE, "second").made);
  await wire.rig.clock.advance(100);
  await one.make(ones, "passes");
  expect([first.is, second.is, recalls(other)]).toEqual(["waits", "waits", [others]]);
  await other.make(others, "before");
  other.channel.send(["yield", others]);
  await wire.rig.clock.advance(100);
  expect([first.is, second.is]).toEqual(["done", "done"]);
  expect(await namesIn(others)).toEqual(["before", "file", "first"]);
});

test("[W29] [W181] a change that names one which waits for another's folder waits with it", async () => {
  const { ones, others } = await split();
  const { made } = one.startMake(others, "first");
  const first = watched(made);
  const after = watched(
    one.start("make", {
      folder: ones,
      name: "after",
      node: one.newNode(),
      attributes: one.attributes("file"),
      after: [one.n],
    }),
  );
  await wire.rig.clock.advance(100);
  expect([first.is, after.is]).toEqual(["waits", "waits"]);
  other.channel.send(["yield", others]);
  await wire.rig.clock.advance(100);
  expect([first.is, after.is]).toEqual(["done", "done"]);
});

test("[W181] [W193] two who move something into each other's folder wait for neither for ever", async () => {
  const { ones, others, file, othersFile } = await split();
  const move = { name: "file", toName: "moved", how: "keep" };
  const there = watched(one.start("rename", { ...move, folder: ones, node: file, toFolder: others }));
  const back = watched(other.start("rename", { ...move, folder: others, node: othersFile, toFolder: ones }));
  await wire.rig.clock.advance(100);
  expect([there.is, back.is]).toEqual(["waits", "waits"]);
  expect([recalls(one), recalls(other)]).toEqual([[ones], [others]]);
  // Changes that they have still to send there are not kept out by those that wait.
  await one.make(ones, "late");
  await other.make(others, "late");
  one.channel.send(["yield", ones]);
  other.channel.send(["yield", others]);
  await wire.rig.clock.advance(100);
  expect([there.is, back.is]).toEqual(["done", "done"]);
  expect([await namesIn(ones), await namesIn(others)]).toEqual([
    ["late", "moved"],
    ["late", "moved"],
  ]);
});
