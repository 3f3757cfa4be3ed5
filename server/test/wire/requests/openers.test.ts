// openers: who has a file or folder open, as those who share the volume see each other.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { LIMITS, type ResultOf, ROOT_NODE, checkResult } from "@runnel/shared";
import { DeviceRegistry } from "../../../src/auth/device-registry.ts";
import { type Attached, ServerRig, instanceOf, kindOf } from "../server-rig.ts";

type Openers = ResultOf<"openers">;

let wire: ServerRig;

beforeEach(async () => {
  wire = await ServerRig.open();
});

afterEach(() => wire.close());

async function ask(by: Attached, node: number, folder = ROOT_NODE): Promise<Openers> {
  return checkResult("openers", await by.call("openers", { node, folder }));
}

/** Lets devices in, the last one to read only, and connects them. */
async function devices(...names: string[]): Promise<((digit: string, more?: object) => Promise<Attached>)[]> {
  const { disk, clock } = wire.rig;
  wire.devices = await DeviceRegistry.open(await disk.openRoot("/data/_server", { permissions: 0o700 }), clock);
  for (const [index, name] of names.entries()) {
    const right = index === names.length - 1 ? "read" : "write";
    const invite = { volume: "docs", right, person: "Secret Person", lastsMs: 3_600_000 } as const;
    const { secret } = await wire.rig.run(wire.devices.invite(invite));
    await wire.rig.run(wire.devices.join({ secret, token: name.padEnd(43, "t"), name }));
  }
  return names.map((name) => async (digit, more) => {
    const client = wire.connect();
    const token = name.padEnd(43, "t");
    await client.call("hello", { protocol: 1, software: `Runnel on host-of-${name}`, token });
    return client.attach(instanceOf(digit), more);
  });
}

test("[W189] are told to a device that may only read, by their names, once each, and by nothing else of theirs", async () => {
  const [laptop, desk] = await devices("laptop", "desk");
  const one = await laptop?.("1");
  const again = await laptop?.("2");
  const reader = await desk?.("3");
  if (one === undefined || again === undefined || reader === undefined) throw new Error("Nobody is there.");
  const node = await one.make(ROOT_NODE, "file");
  const { version } = await one.write(node, 0, Buffer.from("text"));
  for (const each of [one, again, reader]) await each.find({ isDeep: true, follow: true });
  const opener = { isConnected: true, sinceMs: expect.any(Number), hasRead: false };
  const [mine, theirs] = [
    { ...opener, name: "desk", isOwn: true },
    { ...opener, name: "laptop", isOwn: false },
  ];
  expect(await ask(reader, node)).toEqual({ openers: [theirs, mine], total: 2 });
  reader.channel.send(["want", [[node, version]]]);
  await wire.rig.clock.advance(100);
  // Openers who had it open come first.
  expect(await ask(reader, node)).toEqual({ openers: [{ ...mine, hasRead: true }, theirs], total: 2 });
  again.channel.send(["want", [[node, version]]]);
  await wire.rig.clock.advance(100);
  const all = await reader.call("openers", { node, folder: ROOT_NODE });
  expect(all).toMatchObject({ openers: [{ name: "laptop", hasRead: true }, { name: "desk" }] });
  const said = JSON.stringify(all);
  for (const secret of ["host-of", "Secret Person", instanceOf("1"), one.instance]) expect(said).not.toContain(secret);
  for (const device of wire.devices?.list() ?? []) expect(said).not.toContain(device.id);
});

test("[W189] are those who follow the folder; one that went is told of while it has a lease, and then no more", async () => {
  const one = await (await wire.greeted()).attach(instanceOf("1"));
  const folder = await one.make(ROOT_NODE, "folder", "folder");
  const node = await one.make(folder, "file");
  const { epoch, seq } = wire.rig.volume;
  const other = await (await wire.greeted()).attach(instanceOf("2"), { epoch, seq, follows: [folder] });
  await other.renew();
  const name = "test client";
  const sinceMs = expect.any(Number);
  const theirs = { name, isOwn: false, isConnected: true, sinceMs, hasRead: false };
  expect(await ask(one, node, folder)).toEqual({ openers: [theirs], total: 1 });
  expect((await ask(one, node, ROOT_NODE)).total).toBe(0);
  // Whoever has the volume attached has its root open.
  expect((await ask(one, ROOT_NODE)).openers).toMatchObject([{ isOwn: true }, { isOwn: false }]);
  other.client.link.cut();
  await wire.rig.clock.advance(100);
  expect(await ask(one, node, folder)).toEqual({ openers: [{ ...theirs, isConnected: false }], total: 1 });
  await wire.rig.clock.advance(2 * wire.rig.volume.feed.termMs);
  expect((await ask(one, node, folder)).total).toBe(0);
});

test("[W189] of a node that is not there are NotFound", async () => {
  const one = await (await wire.greeted()).attach(instanceOf("1"));
  expect(await kindOf(ask(one, 4711))).toBe("NotFound");
});

test("[W189] [limit openers] beyond 128 are counted and not named", async () => {
  let one: Attached | undefined;
  for (let count = 0; count < LIMITS.openers + 2; count++) {
    const client = await wire.greeted();
    one = await client.attach(count.toString(16).padStart(32, "0"));
  }
  if (one === undefined) throw new Error("Nobody is there.");
  const { openers, total } = await ask(one, ROOT_NODE);
  expect([openers.length, total]).toEqual([LIMITS.openers, LIMITS.openers + 2]);
});
