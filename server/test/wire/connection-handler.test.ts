// The server's end of a connection, message by message, as the protocol's document has them; attach.test.ts and
// requests/ go through what each request does.
import { describe, expect, test } from "@jest/globals";
import type { Recipe, VersionId } from "@runnel/shared";
import { LIMITS, RunnelError, packType, concatRecipes, encodeRecipe } from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import { memoryEngine } from "../../src/content/memory/memory-store.ts";
import { TERM_MS, bytesOf } from "../volume/volume-rig.ts";
import type { Attached, Result, Upload } from "./server-rig.ts";
import { type Client, ServerRig, instanceOf } from "./server-rig.ts";

const executor = inlineExecutor();

/** A server of a volume in memory. */
function opened(): Promise<ServerRig> {
  return ServerRig.open(1, { openEngine: async () => memoryEngine() });
}

function connect(server: ServerRig): Client {
  return server.connect({ delayMs: 0 });
}

/** A client that has attached, and whose feed the test reads. */
async function attached(server: ServerRig, name = "a", more: object = {}): Promise<Attached> {
  const client = connect(server);
  await client.call("hello", { protocol: 1, software: `Runnel on ${name}` });
  return client.attachUnheard(instanceOf(name), more);
}

function nextItem({ rig, channel }: Attached): Promise<unknown> {
  return rig.run(channel.next());
}

async function feedItem(peer: Attached, head: string): Promise<unknown[]> {
  for (;;) {
    const item = (await nextItem(peer)) as unknown[];
    if (item[0] === head) return item;
  }
}

/** Runs of whole chunks, each within its item. */
function dataItems(bytes: Uint8Array, recipe: Recipe): unknown[] {
  let at = 0;
  return Array.from(recipe.lengths, (length) => ["d", "raw", length, bytes.subarray(at, (at += length))]);
}

/** Sends items one after another, and the end. */
function finish(upload: Upload, items: readonly unknown[], recipe: Recipe): Promise<Result> {
  for (const item of items) upload.channel.send(item);
  return upload.finish(recipe);
}

async function contentOf(peer: Attached, version: VersionId): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat((await peer.fetch(version)).bulk));
}

/** Kind of the refusal and the rule that it names, or the answer. */
async function kindOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    if (!(error instanceof RunnelError)) throw error;
    return error.detail.rule === undefined ? error.kind : `${error.kind} ${error.detail.rule}`;
  }
}

const KiB = 1024;

describe("hello", () => {
  test("[W10] [W54] an operation that is not known is Unsupported, one with a wrong form Invalid; the connection goes on", async () => {
    const peer = await attached(await opened());
    expect(await kindOf(peer.call("getChunks", {}))).toBe("Unsupported");
    expect(await kindOf(peer.call("stat", { nodes: "all", names: [] }))).toBe("Invalid W10");
    expect(await peer.call("stat", { nodes: [1, 99], names: [] })).toMatchObject({
      nodes: [expect.any(Array), null],
    });
  });
});

describe("attach", () => {
  test("[W12] tells of the volume, gives node ids, and stays open as the feed", async () => {
    const server = await opened();
    const peer = await attached(server);
    expect(peer.facts).toMatchObject({
      epoch: server.rig.volume.epoch,
      seq: 0,
      isResumed: false,
      isReadOnly: false,
      termMs: TERM_MS,
      nodes: [expect.any(Number), 4096],
    });
    expect(peer.facts.root).toMatchObject({ node: 1, type: "folder" });
    const [first, count] = (await peer.call("newNodes", {})) as [number, number];
    expect(first).toBeGreaterThanOrEqual((peer.facts.nodes?.[0] ?? 0) + 4096);
    expect(count).toBe(4096);
    peer.channel.send(["current", 7]);
    expect(await nextItem(peer)).toEqual(["current", 7, 0]);
  });
});

/** Lists and follows the root, and asks for the lease. */
async function follow(peer: Attached, folder = 1): Promise<unknown[]> {
  const items = await find(peer, { folder, isDeep: false, follow: true });
  peer.channel.send(["current", 1]);
  await feedItem(peer, "current");
  return items;
}

async function find(peer: Attached, request: object): Promise<unknown[][]> {
  const channel = peer.client.connection.ask("find", { attachment: peer.channel.id, ...request });
  const items: unknown[][] = [];
  for (let item = await peer.rig.run(channel.next()); item !== undefined; item = await peer.rig.run(channel.next()))
    items.push(...(Array.isArray((item as unknown[])[0]) ? (item as unknown[][]) : [item as unknown[]]));
  return items;
}

describe("a change", () => {
  test("[W24] of another instance has numbers of its own", async () => {
    const server = await opened();
    const [one, two] = [await attached(server, "one"), await attached(server, "two")];
    await one.make(1, "a");
    expect((await two.rig.run(two.startMake(1, "b").made)).seq).toBe(2);
  });

  test("[W25] names what it expects: a name bound to another node is Stale or Exists, nothing is overwritten", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "a");
    expect(await kindOf(peer.make(1, "a"))).toBe("Exists");
    const wrong = { folder: 1, name: "a", node: node + 1000 };
    expect(["Stale", "NotFound"]).toContain(await kindOf(peer.change("remove", { ...wrong, isFolder: false })));
    expect(["Stale", "NotFound"]).toContain(
      await kindOf(peer.change("rename", { ...wrong, toFolder: 1, toName: "b", how: "replace" })),
    );
    expect(
      await peer.change("rename", { folder: 1, name: "a", node, toFolder: 1, toName: "b", how: "keep" }),
    ).toMatchObject({ node });
    await peer.change("setAttr", { node, change: { mode: 0o600 } });
    await peer.change("link", { node, folder: 1, name: "c" });
    await peer.change("remove", { folder: 1, name: "b", node, isFolder: false });
    const listed = (await find(peer, { folder: 1, isDeep: false, follow: false }))[0];
    expect(((listed?.[3] ?? []) as [string, unknown[]][]).map(([name, state]) => [name, state[0], state[2]])).toEqual([
      ["c", node, 0o600],
    ]);
  });

  test("[W13] [W15] reaches followers as one item with new states, and is answered when they acknowledged", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    const writer = await attached(server, "writer");
    await follow(reader);
    const { made: making } = writer.startMake(1, "file");
    const item = (await feedItem(reader, "changes")) as [string, [number, unknown[], unknown[][], null][]];
    const [change] = item[1];
    expect(change?.slice(0, 2)).toEqual([1, [[1, "file", expect.any(Number)]]]);
    expect(change?.[2].map((state) => state.length)).toEqual([13, 13]);
    reader.channel.send(["ack", 1]);
    const answer = await reader.rig.run(making);
    expect(answer).toMatchObject({ seq: 1, conflict: false });
  });

  test("[W16] of a writer that has to wait says whom it waits for, on the writer's feed", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    const writer = await attached(server, "writer");
    await follow(reader);
    const making = writer.client.connection.call("make", {
      attachment: writer.channel.id,
      n: 1,
      received: 0,
      folder: 1,
      name: "f",
      node: writer.newNode(),
      attributes: { type: 0, mode: 0o644, uid: 0, gid: 0, mtimeNs: 0n, rdev: 0, target: "" },
    });
    await server.rig.clock.advance(300);
    expect(await feedItem(writer, "waiting")).toEqual(["waiting", 1, ["Runnel on reader"], expect.any(Number)]);
    reader.channel.send(["ack", 1]);
    await writer.rig.run(making);
  });
});

describe("a write", () => {
  test("[W20] takes runs raw or zstd, within the item or from the bulk stream", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const text = new Uint8Array(Buffer.from("the quick brown fox ".repeat(10_000)));
    const recipe = await executor.chunkBytes(text);
    const packed = (await executor.compress(text, 3)) as Uint8Array;
    for (const [index, isInside] of [true, false].entries()) {
      const upload = peer.openWrite({ node, base: index + 1, sizeBytes: text.length });
      upload.channel.send(["d", "zstd", text.length, isInside ? packed : packed.length]);
      if (!isInside) void upload.channel.sendBulk(packed);
      expect(await finish(upload, [], recipe)).toMatchObject({ version: index + 2 });
    }
    const upload = peer.openWrite({ node, base: 3, sizeBytes: text.length });
    upload.channel.send(["d", "raw", text.length, text.length]);
    void upload.channel.sendBulk(text);
    await finish(upload, [], recipe);
    expect(await contentOf(peer, { node, seq: 4 })).toEqual(text);
  });

  test("[W21] whose new data is not what its descriptors say is Corrupt", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const recipe = await executor.chunkBytes(bytesOf(8, 2000));
    const upload = peer.openWrite({ node, base: 0, sizeBytes: 2000 });
    upload.channel.send(["h", encodeRecipe(recipe), null, 0]);
    upload.channel.send(["r", 0, "raw", 2000, bytesOf(9, 2000)]);
    expect(await kindOf(finish(upload, [], recipe))).toBe("Corrupt");
  });

  test("[W22] that copies from a version that is gone ends with Gone", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const upload = peer.openWrite({ node, base: 0, sizeBytes: 2000 });
    expect(await kindOf(finish(upload, [["c", [node, 77], 0, 1]], many(1)))).toBe("Gone W22");
  });

  test("[W26] that was cut goes on at the item that the server names, and is committed once", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const bytes = bytesOf(10, 300 * KiB);
    const recipe = await executor.chunkBytes(bytes);
    const items = dataItems(bytes, recipe);
    const upload = peer.openWrite({ node, base: 0, sizeBytes: bytes.length }, 50);
    for (const item of items.slice(0, 10)) upload.channel.send(item);
    // The eleventh is announced, and half of its bytes come.
    const [, , length, run] = items[10] as [string, string, number, Uint8Array];
    upload.channel.send(["d", "raw", length, length]);
    void upload.channel.sendBulk(run.subarray(0, length / 2)).catch(() => undefined);
    await server.rig.clock.advance(1_000);
    peer.client.link.cut();
    await server.rig.clock.advance(1_000);

    const again = await attached(server);
    const resumed = again.openWrite({ node, base: 0, sizeBytes: bytes.length, isResumed: true }, 50);
    expect(await resumed.reply()).toEqual(["from", 10]);
    const answer = await finish(resumed, items.slice(10), recipe);
    expect(await contentOf(again, { node, seq: answer.version })).toEqual(bytes);

    // Once more: it has been executed, the stored result comes at once.
    const third = again.openWrite({ node, base: 0, sizeBytes: bytes.length, isResumed: true }, 50);
    expect(await third.reply()).toBeUndefined();
    expect(await third.result()).toEqual(answer);
    expect(server.rig.volume.seq).toBe(2);
  });
});

/** A recipe of so many chunks of 100 bytes, all alike. */
function many(count: number): Recipe {
  return { lengths: new Uint32Array(count).fill(100), digests: new Uint8Array(32 * count).fill(3) };
}

describe("a fetch", () => {
  test("[W30] brings size, recipe and all chunks in runs of at most 1 MiB", async () => {
    const peer = await attached(await opened());
    const node = await peer.make(1, "file");
    const bytes = bytesOf(20, 2_500_000);
    const { version } = await peer.write(node, 0, bytes);
    const { items, bulk } = await peer.fetch({ node, seq: version });
    expect(items[0]?.slice(0, 2)).toEqual(["v", bytes.length]);
    expect(Buffer.concat(bulk).equals(bytes)).toBe(true);
    expect(Math.max(...bulk.map(({ length }) => length))).toBeLessThanOrEqual(LIMITS.runBytes);
  });
});

describe("a listing", () => {
  test("[W42] of the whole volume follows folders made later, too", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    const writer = await attached(server, "writer");
    await find(reader, { folder: 1, isDeep: true, follow: true });
    const node = await writer.make(1, "later", "folder");
    await writer.make(node, "inside");
    const seqs: number[] = [];
    while (!seqs.includes(2)) seqs.push(...((await feedItem(reader, "changes"))[1] as [number][]).map(([seq]) => seq));
    expect(seqs).toEqual([1, 2]);
  });
});

describe("the way back", () => {
  test("[W61] that says nothing of what it follows is not resumed: everything is to be listed again", async () => {
    const server = await opened();
    const writer = await attached(server, "writer");
    for (const name of ["a", "b", "c"]) await writer.make(1, name);
    const back = await attached(server, "reader", { epoch: server.rig.volume.epoch, seq: 3 });
    expect(back.facts).toMatchObject({ isResumed: false, seq: 3 });
    back.channel.send(["current", 1]);
    expect(await nextItem(back)).toEqual(["current", 1, 3]);
  });

  test("[W61] takes its lease along: a change made while it comes back waits for its acknowledgement", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    const writer = await attached(server, "writer");
    await follow(reader);
    reader.client.link.cut();
    await server.rig.clock.advance(100);
    const making = writer.make(1, "file");
    making.catch(() => undefined);
    const back = await attached(server, "reader", { epoch: server.rig.volume.epoch, seq: 0, follows: [1] });
    await feedItem(back, "changes");
    const fromMs = server.rig.clock.bootMs();
    back.channel.send(["ack", 1]);
    await back.rig.run(making);
    expect(server.rig.clock.bootMs() - fromMs).toBeLessThan(1_000);
  });

  test("[W19] of a change that was executed before a restart is not answered before a term has passed", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    const writer = await attached(server, "writer");
    await follow(reader);
    reader.client.link.cut();
    const attributes = { type: packType("file"), mode: 0o644, uid: 0, gid: 0, mtimeNs: 5n, rdev: 0, target: "" };
    const making = { n: 1, received: 0, folder: 1, name: "file", node: writer.newNode(), attributes };
    writer.client.connection.call("make", { attachment: writer.channel.id, ...making }).catch(() => undefined);
    await server.rig.clock.advance(100);
    expect(server.rig.volume.seq).toBe(1);
    await server.rig.close();
    await server.rig.open();
    const fromMs = server.rig.clock.bootMs();
    const again = await attached(server, "writer", { epoch: server.rig.volume.epoch, seq: 0, follows: [1] });
    await again.call("make", making);
    expect(server.rig.clock.bootMs() - fromMs).toBeGreaterThan(TERM_MS - 1_000);
  });
});

describe("recipes", () => {
  test("[W4] of a file are those of its runs one after another, when runs are cut at the chunks' borders", async () => {
    const bytes = bytesOf(30, 300 * KiB);
    const recipe = await executor.chunkBytes(bytes);
    const cut = recipe.lengths[0] ?? 0;
    const parts = [await executor.chunkBytes(bytes.subarray(0, cut)), await executor.chunkBytes(bytes.subarray(cut))];
    expect(concatRecipes(parts)).toEqual(recipe);
  });
});
