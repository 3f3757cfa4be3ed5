// The server's confirmations: a client that has no right on a volume learns nothing of what is stored there by naming
// it, in none of the ways in which chunks can be named (LBFS §3.2.4). The contents are the same in both volumes'
// histories or in one only; the answers must not differ.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { isDeepStrictEqual } from "node:util";
import {
  REQUESTS,
  ROOT_NODE,
  type Recipe,
  RunnelError,
  type SampleTree,
  VOLUME_REQUEST_NAMES,
  type VolumeRequestName,
} from "@runnel/shared";
import { DeviceRegistry } from "../../src/auth/device-registry.ts";
import { VolumeRig, bytesOf } from "../volume/volume-rig.ts";
import { type Attached, ServerRig, instanceOf, kindOf } from "./server-rig.ts";

const SECRET = bytesOf(11, 60_000);
const NOWHERE = bytesOf(12, 60_000);
const TOKEN = "t".repeat(43);

let wire: ServerRig;
let other: ServerRig;
/** Client that has the right on the volume "other". */
let owner: Attached;
let device: Attached;
/** The content's version in the volume that the device has no right on, and its recipe. */
let hidden: { node: number; seq: number };
let hiddenFolder: number;

/** The device may write to docs and nothing else; the secret lies in the volume "other" only. */
beforeEach(async () => {
  other = new ServerRig(await VolumeRig.open(2));
  owner = await (await other.greeted()).attach(instanceOf("2"));
  const node = await owner.make(ROOT_NODE, "file");
  hidden = { node, seq: (await owner.write(node, 0, SECRET)).version };
  hiddenFolder = await owner.make(ROOT_NODE, "folder", "folder");

  wire = await ServerRig.open();
  wire.others.set("other", other.rig.volume);
  const root = await wire.rig.disk.openRoot("/data/_server", { permissions: 0o700 });
  wire.devices = await DeviceRegistry.open(root, wire.rig.clock);
  const invite = { volume: "docs", right: "write", person: "", lastsMs: 3_600_000 } as const;
  const { secret } = await wire.rig.run(wire.devices.invite(invite));
  await wire.rig.run(wire.devices.join({ secret, token: TOKEN, name: "laptop" }));
  const client = wire.connect();
  await client.call("hello", { protocol: 1, software: "laptop", token: TOKEN });
  device = await client.attach(instanceOf("1"));
});

afterEach(async () => {
  await wire.close();
  await other.close();
});

/** Answer to a write of this content that names its chunks by `name`, and sends none. */
async function answerTo(
  bytes: Uint8Array,
  name: (upload: ReturnType<Attached["openWrite"]>, recipe: Recipe) => void,
): Promise<unknown> {
  const node = await device.make(ROOT_NODE, `try-${device.n}`);
  const recipe = await wire.rig.executor.chunkBytes(bytes);
  const upload = device.openWrite({ node, base: 0, sizeBytes: bytes.length });
  name(upload, recipe);
  await upload.end(recipe);
  const reply = await upload.reply().catch((error: unknown) => error);
  upload.channel.cancel();
  return reply;
}

/** Requests whose sample names something of the tree. */
const NAMING = VOLUME_REQUEST_NAMES.filter((name) => {
  const tree = { file: { node: 2, seq: 2 }, folder: 3, newNode: 4 };
  const { sample } = REQUESTS[name];
  return !isDeepStrictEqual(sample(tree), sample({ ...tree, file: { node: 5, seq: 5 }, folder: 6 }));
});

/** All that the server says to a request, and to what is left of it. */
async function saidTo(name: VolumeRequestName, tree: SampleTree): Promise<unknown> {
  const channel = device.client.connection.ask(name, device.numbered(REQUESTS[name].sample(tree)));
  const listen = async (): Promise<unknown[]> => {
    const said: unknown[] = [];
    for (let item = await channel.next(); item !== undefined; item = await channel.next()) said.push(item);
    return [...said, await channel.result()];
  };
  return wire.rig.run(listen()).catch((error: unknown) => {
    if (!(error instanceof RunnelError)) throw error;
    return { kind: error.kind, message: error.message, detail: error.detail };
  });
}

/** The message as text without these numbers: what is said names what was asked for. */
function leaving(said: unknown, ...numbers: number[]): string {
  const text = JSON.stringify(said, (key, value: unknown) => {
    if (key === "nowMs") return undefined;
    return typeof value === "bigint" ? String(value) : value;
  });
  return numbers.reduce((rest, number) => rest.replaceAll(String(number), "…"), text);
}

describe("a volume without a right", () => {
  test("[W77] is tried with every request that names something", () => {
    const fields = ["node", "folder", "version", "nodes", "versions", "has"];
    // The sample of `make` is in the root, with a node that nothing has.
    const withFields = VOLUME_REQUEST_NAMES.filter((name) =>
      fields.some((field) => field in REQUESTS[name].request.shape),
    );
    expect(withFields.filter((name) => name !== "make")).toEqual(NAMING);
  });

  test.each(NAMING)("[W77] says to %s of what it holds what is said of nothing", async (name) => {
    const { seq } = wire.rig.volume;
    const answers: string[] = [];
    for (const apart of [0, 77]) {
      const file = { node: hidden.node + apart, seq: hidden.seq };
      const folder = hiddenFolder + apart;
      answers.push(leaving(await saidTo(name, { file, folder, newNode: device.newNode() }), file.node, folder));
    }
    expect(answers[0]).toBe(answers[1]);
    expect(wire.rig.volume.seq).toBe(seq);
  });

  test("[W77] tells nothing on the feed of another, and its epoch resumes nothing there", async () => {
    await device.find({ isDeep: true, follow: true });
    expect((await device.renew())?.[0]).toBe("current");
    device.channel.send(["unfollow", [hidden.node]]);
    const told = device.feed.length;
    await owner.write(hidden.node, hidden.seq, NOWHERE);
    await owner.make(ROOT_NODE, "another secret");
    await wire.rig.clock.advance(1_000);
    expect(device.feed).toHaveLength(told);
    const { epoch, seq } = other.rig.volume;
    const again = await device.client.attach(instanceOf("4"), { epoch, seq: seq - 1, follows: "all" });
    expect(again.facts.isResumed).toBe(false);
    await wire.rig.clock.advance(1_000);
    expect(again.seqs).toEqual([]);
  });

  test("[W77] [W21] gives nothing to bytes that are guessed: data for what is needed must be what was named, wherever that lies", async () => {
    const kinds: string[] = [];
    for (const bytes of [SECRET, NOWHERE]) {
      const recipe = await wire.rig.executor.chunkBytes(bytes);
      const node = await device.make(ROOT_NODE, `guess-${kinds.length}`);
      const upload = device.openWrite({ node, base: 0, sizeBytes: bytes.length });
      upload.known(recipe, hidden, 0);
      await upload.end(recipe);
      expect(await upload.reply()).toEqual(["need", [0]]);
      await upload.data(bytesOf(13, bytes.length), ["r", 0]);
      await upload.end(recipe);
      kinds.push(await kindOf(upload.result()));
    }
    expect(kinds).toEqual(["Corrupt", "Corrupt"]);
  });

  test.each<[string, (upload: ReturnType<Attached["openWrite"]>, recipe: Recipe) => void]>([
    ["by digest alone", (upload, recipe) => upload.known(recipe, null, 0)],
    ["by digest and place", (upload, recipe) => upload.known(recipe, hidden, 0)],
  ])(
    "[W77] gives its chunks to no write that names them %s: they are needed like those that are nowhere",
    async (_how, name) => {
      const answers = [await answerTo(SECRET, name), await answerTo(NOWHERE, name)];
      expect(answers).toEqual([
        ["need", [0]],
        ["need", [0]],
      ]);
    },
  );

  test("[W77] gives them to no COPY and to no read of the version: it is one that is not kept", async () => {
    const never = { node: hidden.node + 5, seq: hidden.seq };
    for (const version of [hidden, never]) {
      const copy = await answerTo(SECRET, (upload, recipe) => upload.copy(version, 0, recipe.lengths.length));
      expect(copy).toMatchObject({ kind: "Gone" });
      expect(await kindOf(device.fetch(version))).toBe("Gone");
      const range = { version: [version.node, version.seq], from: 0, count: 10 };
      expect(await kindOf(device.call("getHash", range))).toBe("Gone");
    }
  });

  test("[W77] is no base of a delta: the run is needed, whatever it was made against", async () => {
    const delta = (version: { node: number; seq: number }) => async (): Promise<unknown> =>
      answerTo(SECRET, (upload) => {
        upload.channel.send(["d", [[version.node, version.seq], 0, 1], SECRET.length, new Uint8Array(40).fill(1)]);
      });
    const answers = [await delta(hidden)(), await delta({ node: hidden.node + 5, seq: 1 })()];
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toEqual(["need", [0]]);
  });

  test("[W77] is nothing that a fetch may hold: naming it saves nothing and says nothing", async () => {
    const node = await device.make(ROOT_NODE, "own");
    const { version } = await device.write(node, 0, SECRET);
    const own = { node, seq: version };
    const without = await device.fetch(own);
    for (const held of [hidden, { node: hidden.node + 5, seq: 1 }]) {
      const named = await device.fetch(own, { held: [[held.node, held.seq]] });
      expect(named.bulk.map(({ length }) => length)).toEqual(without.bulk.map(({ length }) => length));
      expect(named.items.slice(1)).toEqual(without.items.slice(1));
    }
  });

  test("[W72] cannot be attached, also beside one that can", async () => {
    const channel = device.client.connection.open("attach", {
      volume: "other",
      instance: instanceOf("3"),
      wantsNodes: false,
    });
    expect(await kindOf(wire.rig.run(channel.next()))).toBe("NotFound");
  });
});

test("[W77] a place in a file of one's own proves nothing that does not lie there", async () => {
  const node = await device.make(ROOT_NODE, "own");
  const { version } = await device.write(node, 0, bytesOf(14, 60_000));
  const own = { node, seq: version };
  const answers = [
    await answerTo(SECRET, (upload, recipe) => upload.known(recipe, own, 0)),
    await answerTo(NOWHERE, (upload, recipe) => upload.known(recipe, own, 0)),
  ];
  expect(answers).toEqual([
    ["need", [0]],
    ["need", [0]],
  ]);
});

test("what the volume itself has is not sent again: the same ways lead to it", async () => {
  const node = await device.make(ROOT_NODE, "own");
  const { version } = await device.write(node, 0, SECRET);
  await wire.rig.clock.advance(1000);
  const recipe = await wire.rig.executor.chunkBytes(SECRET);
  const copy = await device.make(ROOT_NODE, "copy");
  const upload = device.openWrite({ node: copy, base: 0, sizeBytes: SECRET.length });
  upload.known(recipe, { node, seq: version }, 0);
  expect((await upload.finish(recipe)).node).toBe(copy);
});
