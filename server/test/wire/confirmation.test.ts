// What a server confirms to whom: a client that has no right on a volume learns nothing of what is stored there by naming it, in none of the ways
// in which chunks can be named (LBFS §3.2.4). The contents are the same in both volumes' histories or in one only; the answers must not differ.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE, type Recipe } from "@runnel/shared";
import { Access } from "../../src/auth/access.ts";
import { VolumeRig, bytesOf } from "../volume/volume-rig.ts";
import { type Attached, WireRig, instanceOf, kindOf } from "./wire-rig.ts";

const SECRET = bytesOf(11, 60_000);
const NOWHERE = bytesOf(12, 60_000);
const TOKEN = "t".repeat(43);

let wire: WireRig;
let other: WireRig;
let guest: Attached;
/** The content's version in the volume that the guest has no right on, and its recipe. */
let hidden: { node: number; seq: number };

/** The guest may write to docs and nothing else; the secret lies in the volume "other" only. */
beforeEach(async () => {
  other = new WireRig(await VolumeRig.open(2));
  const owner = await (await other.greeted()).attach(instanceOf("2"));
  const node = await owner.make(ROOT_NODE, "secret");
  hidden = { node, seq: (await owner.write(node, 0, SECRET)).version };

  wire = await WireRig.open();
  wire.others.set("other", other.rig.volume);
  const root = await wire.rig.disk.openRoot("/data/_server", { permissions: 0o700 });
  wire.access = await Access.open(root, wire.rig.clock);
  const invite = { volume: "docs", right: "write", person: "", lastsMs: 3_600_000 } as const;
  const { secret } = await wire.rig.run(wire.access.invite(invite));
  await wire.rig.run(wire.access.join({ secret, token: TOKEN, name: "guest" }));
  const client = wire.connect();
  await client.call("hello", { protocol: 1, software: "guest", token: TOKEN });
  guest = await client.attach(instanceOf("1"));
});

afterEach(async () => {
  await wire.close();
  await other.close();
});

/** What the server says to a write of this content that names its chunks by `name`, and sends none. */
async function answerTo(
  bytes: Uint8Array,
  name: (upload: ReturnType<Attached["openWrite"]>, recipe: Recipe) => void,
): Promise<unknown> {
  const node = await guest.make(ROOT_NODE, `try-${guest.n}`);
  const recipe = await wire.rig.executor.chunkBytes(bytes);
  const upload = guest.openWrite({ node, base: 0, sizeBytes: bytes.length });
  name(upload, recipe);
  await upload.end(recipe);
  const reply = await upload.reply().catch((error: unknown) => error);
  upload.channel.cancel();
  return reply;
}

describe("a volume without a right", () => {
  test.each<[string, (upload: ReturnType<Attached["openWrite"]>, recipe: Recipe) => void]>([
    ["by digest alone", (upload, recipe) => upload.known(recipe, null, 0)],
    ["by digest and place", (upload, recipe) => upload.known(recipe, hidden, 0)],
  ])(
    "gives its chunks to no write that names them %s: they are needed like those that are nowhere",
    async (_how, name) => {
      const answers = [await answerTo(SECRET, name), await answerTo(NOWHERE, name)];
      expect(answers).toEqual([
        ["need", [0]],
        ["need", [0]],
      ]);
    },
  );

  test("gives them to no COPY and to no read of the version: it is one that is not kept", async () => {
    const never = { node: hidden.node + 5, seq: hidden.seq };
    for (const version of [hidden, never]) {
      const copy = await answerTo(SECRET, (upload, recipe) => upload.copy(version, 0, recipe.lengths.length));
      expect(copy).toMatchObject({ kind: "Gone" });
      expect(await kindOf(guest.fetch(version))).toBe("Gone");
      const range = { version: [version.node, version.seq], from: 0, count: 10 };
      expect(await kindOf(guest.call("getHash", range))).toBe("Gone");
    }
  });

  test("is no base of a delta: the run is needed, whatever it was made against", async () => {
    const delta = (version: { node: number; seq: number }) => async (): Promise<unknown> =>
      answerTo(SECRET, (upload) => {
        upload.channel.send(["d", [[version.node, version.seq], 0, 1], SECRET.length, new Uint8Array(40).fill(1)]);
      });
    const answers = [await delta(hidden)(), await delta({ node: hidden.node + 5, seq: 1 })()];
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toEqual(["need", [0]]);
  });

  test("is nothing that a fetch may hold: naming it saves nothing and says nothing", async () => {
    const node = await guest.make(ROOT_NODE, "own");
    const { version } = await guest.write(node, 0, SECRET);
    const own = { node, seq: version };
    const without = await guest.fetch(own);
    for (const held of [hidden, { node: hidden.node + 5, seq: 1 }]) {
      const named = await guest.fetch(own, { held: [[held.node, held.seq]] });
      expect(named.bulk.map(({ length }) => length)).toEqual(without.bulk.map(({ length }) => length));
      expect(named.items.slice(1)).toEqual(without.items.slice(1));
    }
  });

  test("cannot be attached, also beside one that can", async () => {
    const channel = guest.client.connection.open("attach", {
      volume: "other",
      instance: instanceOf("3"),
      wantsNodes: false,
    });
    expect(await kindOf(wire.rig.run(channel.next()))).toBe("NotFound");
  });
});

test("what the volume itself has is not sent again: the same ways lead to it", async () => {
  const node = await guest.make(ROOT_NODE, "own");
  const { version } = await guest.write(node, 0, SECRET);
  await wire.rig.clock.advance(1000);
  const recipe = await wire.rig.executor.chunkBytes(SECRET);
  const copy = await guest.make(ROOT_NODE, "copy");
  const upload = guest.openWrite({ node: copy, base: 0, sizeBytes: SECRET.length });
  upload.known(recipe, { node, seq: version }, 0);
  expect((await upload.finish(recipe)).node).toBe(copy);
});
