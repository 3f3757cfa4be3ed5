// The server's end of a connection, message by message: hello, attach, changes, writes, fetches, listings and the way back
// after a lost line.
import { describe, expect, test } from "@jest/globals";
import type { Channel, Recipe } from "@runnel/shared";
import {
  LIMITS,
  RunnelError,
  packType,
  concatRecipes,
  decodeRecipe,
  decodeRecipeDelta,
  encodeRecipe,
  sliceRecipe,
} from "@runnel/shared";
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
  test("[W11] is the first request; anything before it is refused", async () => {
    const peer = connect(await opened());
    expect(await kindOf(peer.call("space", { attachment: 1 }))).toBe("Invalid W11");
    expect(await peer.call("hello", { protocol: 1, software: "test" })).toEqual({
      protocol: 1,
      software: "test server",
      termMs: 0,
      features: [],
    });
    expect(await kindOf(peer.call("space", { attachment: 1 }))).toBe("Invalid W12");
  });

  test("[W11] of another protocol is refused with the number that is needed", async () => {
    const peer = connect(await opened());
    await expect(peer.call("hello", { protocol: 2, software: "test" })).rejects.toMatchObject({
      kind: "Version",
      detail: { need: 1 },
    });
    expect(await kindOf(peer.call("space", { attachment: 1 }))).toBe("Invalid W11");
  });

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

  test("[W12] of a volume that is not there is NotFound; an attachment counts on its own connection only", async () => {
    const server = await opened();
    const one = await attached(server, "one");
    const feed = one.client.connection.open("attach", { volume: "none", instance: instanceOf("x"), wantsNodes: false });
    expect(await kindOf(one.rig.run(feed.next()))).toBe("NotFound");
    const other = connect(server);
    await other.call("hello", { protocol: 1, software: "test" });
    expect(await kindOf(other.call("space", { attachment: one.channel.id }))).toBe("Invalid W12");
  });

  test("[W12] 65 times on one connection is Busy", async () => {
    const server = await opened();
    const peer = await attached(server, "0");
    for (let index = 1; index < LIMITS.attachments; index++)
      await peer.client.attachUnheard(instanceOf(String(index)), { wantsNodes: false });
    expect(await kindOf(peer.client.attachUnheard(instanceOf("one too many")))).toBe("Busy");
  });

  test("[W17] the end of the feed gives the lease up; a lost line leaves it", async () => {
    for (const isCut of [true, false]) {
      const server = await opened();
      const reader = await attached(server, "reader");
      const writer = await attached(server, "writer");
      await follow(reader);
      if (isCut) reader.client.link.cut();
      else {
        reader.channel.end();
        await reader.rig.run(reader.channel.result());
      }
      const fromMs = server.rig.clock.bootMs();
      await writer.make(1, "file");
      const tookMs = server.rig.clock.bootMs() - fromMs;
      if (isCut) expect(tookMs).toBeGreaterThan(TERM_MS - 100);
      else expect(tookMs).toBe(0);
    }
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

/** Acknowledges what comes until the promise has settled. */
async function acknowledging<T>(reader: Attached, promise: Promise<T>): Promise<T> {
  const over = new AbortController();
  const read = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const item = (await reader.channel.next()) as [string, [number][]] | undefined;
      if (item?.[0] === "changes") reader.channel.send(["ack", item[1].at(-1)?.[0]]);
    }
  };
  read().catch(() => undefined);
  const result = await reader.rig.run(promise);
  over.abort();
  return result;
}

describe("a change", () => {
  test("[W24] is executed once: the same number gets the same answer, another request under it is refused", async () => {
    const server = await opened();
    const peer = await attached(server);
    const making = { folder: 1, name: "docs", node: peer.newNode(), attributes: peer.attributes("folder") };
    const first = await peer.change("make", making, 1);
    const { seq } = first;
    expect(await peer.change("make", making, 1)).toEqual(first);
    expect(server.rig.volume.seq).toBe(seq);
    expect(await kindOf(peer.change("make", { ...making, name: "other" }, 1))).toMatch(/^Invalid/);
    peer.client.link.cut();
    const again = await attached(server);
    expect(await again.change("make", making, 1)).toEqual(first);
  });

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
  async function fileWith(
    peer: Attached,
    bytes: Uint8Array,
    name = "file",
  ): Promise<{ node: number; version: number; recipe: Recipe }> {
    const node = await peer.make(1, name);
    const { version } = await peer.write(node, 0, bytes);
    return { node, version, recipe: await executor.chunkBytes(bytes) };
  }

  test("[W20] is data runs cut at the chunks' borders, and its end the OID", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const bytes = bytesOf(1, 100 * KiB);
    const recipe = await executor.chunkBytes(bytes);
    const answer = await finish(
      peer.openWrite({ node, base: 0, sizeBytes: bytes.length }),
      dataItems(bytes, recipe),
      recipe,
    );
    expect(answer).toEqual({ node, seq: 2, version: 2, conflict: false });
    expect(await fetchAll(peer, [node, 2])).toEqual(bytes);
  });

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
    expect(await fetchAll(peer, [node, 4])).toEqual(text);
  });

  test("[W20] copies chunks of versions by place, and takes chunks by digest and place", async () => {
    const server = await opened();
    const peer = await attached(server);
    const old = bytesOf(2, 200 * KiB);
    const { node, version, recipe } = await fileWith(peer, old);
    const count = recipe.lengths.length;
    const inserted = bytesOf(3, 30);
    const edited = new Uint8Array(Buffer.concat([inserted, old]));
    const wanted = await executor.chunkBytes(edited);
    // All but the first chunks are the old ones.
    const shared = count - 1;
    const fresh = wanted.lengths.length - shared;
    const head = sliceRecipe(wanted, 0, fresh);
    const headBytes = head.lengths.reduce((sum, length) => sum + length, 0);
    const half = 1 + Math.floor(shared / 2);
    const items = [
      ...dataItems(edited.subarray(0, headBytes), head),
      ["c", [node, version], 1, half - 1],
      ["h", encodeRecipe(sliceRecipe(recipe, half, count)), [node, version], half],
    ];
    const answer = await finish(peer.openWrite({ node, base: version, sizeBytes: edited.length }), items, wanted);
    expect(await fetchAll(peer, [node, answer.version])).toEqual(edited);
  });

  test.each<[string, (bytes: Uint8Array) => unknown[][]]>([
    ["fewer bytes than announced", (bytes) => [["d", "raw", 100, bytes.subarray(0, 100)]]],
    [
      "more bytes than announced",
      (bytes) => [
        ["d", "raw", 3000, bytes],
        ["d", "raw", 3000, bytes],
      ],
    ],
    ["a run of no bytes", () => [["d", "raw", 0, new Uint8Array(0)]]],
    ["a run above 1 MiB", () => [["d", "zstd", LIMITS.runBytes + 1, new Uint8Array(10)]]],
    ["a raw run of another length", (bytes) => [["d", "raw", 2999, bytes]]],
    ["an encoded length beyond any need", () => [["d", "zstd", 3000, 3000 + 1025]]],
    ["new data for an item that nobody asked for", (bytes) => [["r", 0, "raw", 3000, bytes]]],
    ["no descriptors", () => [["h", new Uint8Array(0), null, 0]]],
    ["4097 descriptors", () => [["h", encodeRecipe(many(4097)), null, 0]]],
  ])("[W20] is refused for %s", async (_what, items) => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const bytes = bytesOf(4, 3000);
    const upload = peer.openWrite({ node, base: 0, sizeBytes: 3000 });
    expect(await kindOf(finish(upload, items(bytes), many(1)))).toBe("Invalid W20");
    expect(server.rig.volume.seq).toBe(1);
    expect(peer.client.connection.isOpen).toBe(true);
  });

  test("[W23] whose whole is not what its OID says is Corrupt, and nothing is committed", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const bytes = bytesOf(5, 3000);
    const upload = peer.openWrite({ node, base: 0, sizeBytes: 3000 });
    const recipe = await executor.chunkBytes(bytesOf(6, 3000));
    expect(await kindOf(finish(upload, [["d", "raw", 3000, bytes]], recipe))).toBe("Corrupt");
    expect(server.rig.volume.seq).toBe(1);
  });

  test("[W21] says NEED for what it cannot find, and takes it as runs", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const bytes = bytesOf(7, 500_000);
    const recipe = await executor.chunkBytes(bytes);
    const first = sliceRecipe(recipe, 0, 2);
    const firstBytes = first.lengths.reduce((sum, length) => sum + length, 0);
    const rest = sliceRecipe(recipe, 2, recipe.lengths.length);
    const upload = peer.openWrite({ node, base: 0, sizeBytes: bytes.length });
    upload.channel.send(["h", encodeRecipe(first), null, 0]);
    upload.channel.send(["h", encodeRecipe(rest), [node, 99], 0]);
    await upload.end(recipe);
    expect(await upload.reply()).toEqual(["need", [0, 1]]);
    upload.channel.send(["r", 0, "raw", firstBytes, bytes.subarray(0, firstBytes)]);
    await upload.end(recipe);
    expect(await upload.reply()).toEqual(["need", [1]]);
    for (const { offset, length } of runs(rest, firstBytes, 100_000)) {
      upload.channel.send(["r", 1, "raw", length, length]);
      void upload.channel.sendBulk(bytes.subarray(offset, offset + length)).catch(() => undefined);
    }
    const answer = await finish(upload, [], recipe);
    expect(await fetchAll(peer, [node, answer.version])).toEqual(bytes);
  });

  test("[W21] takes several megabytes for one item that it needs, with no run lost", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const bytes = bytesOf(31, 3_000_000);
    const recipe = await executor.chunkBytes(bytes);
    const upload = peer.openWrite({ node, base: 0, sizeBytes: bytes.length });
    upload.channel.send(["h", encodeRecipe(recipe), null, 0]);
    await upload.end(recipe);
    expect(await upload.reply()).toEqual(["need", [0]]);
    for (const { offset, length } of runs(recipe, 0)) {
      upload.channel.send(["r", 0, "raw", length, length]);
      void upload.channel.sendBulk(bytes.subarray(offset, offset + length)).catch(() => undefined);
    }
    const { version } = await finish(upload, [], recipe);
    expect(Buffer.from(await fetchAll(peer, [node, version])).equals(bytes)).toBe(true);
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
    expect(await fetchAll(again, [node, answer.version])).toEqual(bytes);

    // Once more: it has been executed, the stored result comes at once.
    const third = again.openWrite({ node, base: 0, sizeBytes: bytes.length, isResumed: true }, 50);
    expect(await third.reply()).toBeUndefined();
    expect(await third.result()).toEqual(answer);
    expect(server.rig.volume.seq).toBe(2);
  });

  test("[W26] of which nothing is kept begins at item 0", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const upload = peer.openWrite({ node, base: 0, sizeBytes: 5, isResumed: true }, 60);
    expect(await upload.reply()).toEqual(["from", 0]);
  });

  test("[W26] is kept for a day", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const upload = peer.openWrite({ node, base: 0, sizeBytes: 5000 }, 70);
    upload.channel.send(["d", "raw", 2500, bytesOf(1, 2500)]);
    await server.rig.clock.advance(1_000);
    peer.client.link.cut();
    await server.rig.clock.advance(24 * 3_600_000 + 1_000);
    const again = await attached(server);
    expect(await again.openWrite({ node, base: 0, sizeBytes: 5000, isResumed: true }, 70).reply()).toEqual(["from", 0]);
  });

  test("[W27] on a base that is not current wins, and its answer says that there was a conflict", async () => {
    const server = await opened();
    const peer = await attached(server);
    const { node, version } = await fileWith(peer, bytesOf(11, 1000));
    await peer.write(node, version, bytesOf(12, 1000));
    const last = await peer.write(node, version, bytesOf(13, 1000));
    expect(last.conflict).toBe(true);
    expect(await fetchAll(peer, [node, last.version])).toEqual(bytesOf(13, 1000));
  });
});

/** A recipe of so many chunks of 100 bytes, all alike. */
function many(count: number): Recipe {
  return { lengths: new Uint32Array(count).fill(100), digests: new Uint8Array(32 * count).fill(3) };
}

/** Whole chunks, at most `bytesMax` together. */
function runs(recipe: Recipe, from: number, bytesMax: number = LIMITS.runBytes): { offset: number; length: number }[] {
  const found: { offset: number; length: number }[] = [];
  let offset = from;
  for (const length of recipe.lengths) {
    const last = found.at(-1);
    if (last !== undefined && last.length + length <= bytesMax) last.length += length;
    else found.push({ offset, length });
    offset += length;
  }
  return found;
}

interface Fetched {
  sizeBytes: number;
  recipe: Recipe | undefined;
  parts: unknown[] | null;
  runs: { from: number; count: number; bytes: Uint8Array }[];
}

async function fetch(peer: Attached, request: object, held: Recipe[] = []): Promise<Fetched> {
  const channel: Channel = peer.client.connection.ask("fetch", {
    attachment: peer.channel.id,
    held: [],
    hasRecipe: false,
    offset: 0,
    length: 2 ** 50,
    ...request,
  });
  const first = (await peer.rig.run(channel.next())) as ["v", number, (Uint8Array | [number, number, number])[] | null];
  expect(first[0]).toBe("v");
  const fetched: Fetched = {
    sizeBytes: first[1],
    recipe: first[2] === null ? undefined : decodeRecipeDelta(first[2], held),
    parts: first[2],
    runs: [],
  };
  for (let item = await peer.rig.run(channel.next()); item !== undefined; item = await peer.rig.run(channel.next())) {
    const fields = item as unknown[];
    const [from, count, encoding, rawBytes, encodedBytes] = (
      fields[0] === "d" ? fields.slice(1) : [fields[1], 0, ...fields.slice(2)]
    ) as [number, number, string, number, number];
    const encoded = await peer.rig.run(channel.readBulk(encodedBytes));
    fetched.runs.push({
      from,
      count,
      bytes: encoding === "zstd" ? await executor.decompress(encoded, rawBytes) : encoded,
    });
  }
  await peer.rig.run(channel.result());
  return fetched;
}

async function fetchAll(peer: Attached, version: [number, number]): Promise<Uint8Array> {
  const { runs: found } = await fetch(peer, { version });
  return new Uint8Array(Buffer.concat(found.map(({ bytes }) => bytes)));
}

describe("a fetch", () => {
  async function scene(): Promise<{
    server: ServerRig;
    peer: Attached;
    node: number;
    old: Uint8Array;
    edited: Uint8Array;
    versions: [number, number][];
  }> {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "file");
    const old = bytesOf(20, 2_500_000);
    const edited = new Uint8Array(old);
    edited.set(bytesOf(21, 100), 1_000_000);
    const first = await peer.write(node, 0, old);
    const second = await peer.write(node, first.version, edited);
    return {
      server,
      peer,
      node,
      old,
      edited,
      versions: [
        [node, first.version],
        [node, second.version],
      ],
    };
  }

  test("[W30] brings size, recipe and all chunks in runs of at most 1 MiB", async () => {
    const { peer, old, versions } = await scene();
    const fetched = await fetch(peer, { version: versions[0] });
    expect(fetched.sizeBytes).toBe(old.length);
    expect(fetched.recipe).toEqual(await executor.chunkBytes(old));
    expect(Buffer.concat(fetched.runs.map(({ bytes }) => bytes)).equals(old)).toBe(true);
    expect(Math.max(...fetched.runs.map(({ bytes }) => bytes.length))).toBeLessThanOrEqual(LIMITS.runBytes);
  });

  test("[W30] [W31] against a held version brings the recipe's difference and the chunks that it lacks", async () => {
    const { peer, old, edited, versions } = await scene();
    const held = await executor.chunkBytes(old);
    const fetched = await fetch(peer, { version: versions[1], held: [versions[0]] }, [held]);
    const wanted = await executor.chunkBytes(edited);
    expect(fetched.recipe).toEqual(wanted);
    expect(fetched.parts?.length).toBeLessThanOrEqual(3);
    const bytes = fetched.runs.reduce((sum, run) => sum + run.bytes.length, 0);
    expect(bytes).toBeLessThan(3 * 64 * KiB);
    const missing = fetched.runs.flatMap(({ from, count }) =>
      Array.from({ length: count }, (_, index) => from + index),
    );
    expect(missing).toEqual([...wanted.lengths.keys()].filter((index) => !isIn(wanted, index, held)));
  });

  test("[W30] a held version that the server does not know keeps its place in the list", async () => {
    const { peer, old, edited, versions } = await scene();
    const held = await executor.chunkBytes(old);
    const fetched = await fetch(peer, { version: versions[1], held: [[77, 77], versions[0]] }, [many(0), held]);
    expect(fetched.recipe).toEqual(await executor.chunkBytes(edited));
    expect(fetched.parts?.[0]).toEqual([1, expect.any(Number), expect.any(Number)]);
  });

  test("[W30] of a range brings the chunks that overlap it; with its recipe known, no recipe", async () => {
    const { peer, old, versions } = await scene();
    const recipe = await executor.chunkBytes(old);
    const fetched = await fetch(peer, { version: versions[0], hasRecipe: true, offset: 500_000, length: 10_000 });
    expect(fetched.parts).toBeNull();
    const [run] = fetched.runs;
    const start = recipe.lengths.subarray(0, run?.from).reduce((sum, length) => sum + length, 0);
    expect(start).toBeLessThanOrEqual(500_000);
    expect(start + (run?.bytes.length ?? 0)).toBeGreaterThanOrEqual(510_000);
    expect(Buffer.from(run?.bytes ?? []).equals(old.subarray(start, start + (run?.bytes.length ?? 0)))).toBe(true);
    expect((await fetch(peer, { version: versions[0], offset: old.length, length: 5 })).runs).toEqual([]);
  });

  test("[W30] of a version that is not kept is Gone", async () => {
    const { peer, node } = await scene();
    expect(await kindOf(fetch(peer, { version: [node, 999] }))).toBe("Gone");
  });

  test("[W33] getHash brings descriptors of a range, at most 4096, and how many there are", async () => {
    const { peer, old, versions } = await scene();
    const recipe = await executor.chunkBytes(old);
    const answer = (await peer.call("getHash", { version: versions[0], from: 3, count: 5 })) as {
      sizeBytes: number;
      recipe: Uint8Array;
      chunks: number;
    };
    expect(answer).toMatchObject({ sizeBytes: old.length, chunks: recipe.lengths.length });
    expect(decodeRecipe(answer.recipe)).toEqual(sliceRecipe(recipe, 3, 8));
    expect(await kindOf(peer.call("getHash", { version: [5, 999], from: 0, count: 1 }))).toBe("Gone");
  });
});

function isIn(recipe: Recipe, index: number, held: Recipe): boolean {
  const digest = Buffer.from(recipe.digests.subarray(index * 32, index * 32 + 32));
  return [...held.lengths.keys()].some((at) => digest.equals(held.digests.subarray(at * 32, at * 32 + 32)));
}

describe("a listing", () => {
  test("[W40] brings each folder in pages with the seq that it is complete as of, the last one marked", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "sub", "folder");
    for (let index = 0; index < 3; index++) await peer.make(node, `file ${index}`);
    const items = await find(peer, { folder: 1, isDeep: true, follow: false });
    expect(
      items.map(([folder, asOf, isLast, entries]) => [
        folder,
        asOf,
        isLast,
        (entries as unknown[][]).map(([name]) => name),
      ]),
    ).toEqual([
      [1, 4, true, ["sub"]],
      [node, 4, true, ["file 0", "file 1", "file 2"]],
    ]);
    expect(items.every((item) => item.length === 4)).toBe(true);
  });

  test("[W40] of a large folder comes in several items, in the order of the names' bytes", async () => {
    const server = await opened();
    const peer = await attached(server);
    for (let batch = 0; batch < 1200; batch += 400) {
      await Promise.all(
        Array.from({ length: 400 }, (_, index) => peer.make(1, `file ${String(batch + index).padStart(4, "0")}`)),
      );
    }
    const items = await find(peer, { folder: 1, isDeep: false, follow: false });
    expect(items.map(([, , isLast, entries]) => [isLast, (entries as unknown[]).length])).toEqual([
      [false, 500],
      [false, 500],
      [true, 200],
    ]);
    const names = items.flatMap(([, , , entries]) => (entries as [string][]).map(([name]) => name));
    expect(names).toEqual(names.toSorted());
  });

  test("[W40] of what is no folder, or not there, is refused", async () => {
    const peer = await attached(await opened());
    const node = await peer.make(1, "file");
    expect(await kindOf(find(peer, { folder: node, isDeep: false, follow: false }))).toBe("NotFolder");
    expect(await kindOf(find(peer, { folder: 999, isDeep: false, follow: false }))).toBe("NotFound");
  });

  test("[W41] with a predicate brings what matches, with the path of its folder", async () => {
    const peer = await attached(await opened());
    const node = await peer.make(1, "sub", "folder");
    await peer.make(node, "a.txt");
    await peer.make(1, "b.txt");
    await peer.make(1, "c.md");
    const items = await find(peer, {
      folder: 1,
      isDeep: true,
      follow: false,
      predicate: ["and", ["name", "*.txt"], ["type", "f"]],
    });
    expect(items.map(([, , , entries, path]) => [path, (entries as unknown[][]).map(([name]) => name)])).toEqual([
      ["", ["b.txt"]],
      ["sub", ["a.txt"]],
    ]);
    expect(await kindOf(find(peer, { folder: 1, isDeep: true, follow: false, predicate: ["regex", ".*"] }))).toBe(
      "Invalid",
    );
    const deep = Array.from({ length: 64 }, () => ["type", "f"]);
    expect(await kindOf(find(peer, { folder: 1, isDeep: true, follow: false, predicate: ["and", ...deep] }))).toBe(
      "TooLarge",
    );
  });

  test("[W42] that follows registers before it reads: what changes meanwhile comes as a feed item", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    const writer = await attached(server, "writer");
    for (let round = 0; round < 10; round++) {
      const name = `file ${round}`;
      const listing = find(reader, { folder: 1, isDeep: false, follow: true });
      const making = writer.make(1, name);
      const items = await listing;
      await acknowledging(reader, making);
      const isListed = items.some(([, , , entries]) => (entries as [string][]).some(([word]) => word === name));
      const asOf = items.at(-1)?.[1] as number;
      // Nothing is missed in between: it is listed, or its seq is above that of the listing, and it was sent.
      expect(isListed || asOf < round + 1).toBe(true);
    }
  });

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

  test("[W43] stat answers nodes and names in order, null for what is not there", async () => {
    const server = await opened();
    const peer = await attached(server);
    const node = await peer.make(1, "a");
    const answer = (await peer.call("stat", {
      nodes: [999, node],
      names: [
        [1, "a"],
        [1, "b"],
        [999, "c"],
      ],
    })) as { asOf: number; nodes: (unknown[] | null)[]; names: (unknown[] | null)[] };
    expect(answer.asOf).toBe(1);
    expect(answer.nodes.map((state) => state?.[0] ?? null)).toEqual([null, node]);
    expect(answer.names.map((state) => state?.[0] ?? null)).toEqual([node, null, null]);
  });
});

describe("the way back", () => {
  test("[W61] a feed is resumed where the client stood: what it missed comes first, then what is new", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    const writer = await attached(server, "writer");
    await find(reader, { folder: 1, isDeep: true, follow: true });
    await writer.make(1, "one");
    reader.client.link.cut();
    await writer.make(1, "two");
    const node = await writer.make(1, "three");
    const back = await attached(server, "reader", { epoch: server.rig.volume.epoch, seq: 1, follows: "all" });
    expect(back.facts).toMatchObject({ isResumed: true, seq: 3 });
    await writer.change("setAttr", { node, change: { mode: 0o600 } });
    const seqs: number[] = [];
    while (seqs.length < 3) seqs.push(...((await feedItem(back, "changes"))[1] as [number][]).map(([seq]) => seq));
    expect(seqs).toEqual([2, 3, 4]);
  });

  test("[W61] only of the folders that it follows", async () => {
    const server = await opened();
    const writer = await attached(server, "writer");
    const node = await writer.make(1, "sub", "folder");
    await writer.make(node, "inside");
    await writer.make(1, "outside");
    const back = await attached(server, "reader", { epoch: server.rig.volume.epoch, seq: 0, follows: [node] });
    const [, changes] = (await feedItem(back, "changes")) as [string, [number][]];
    // The folder itself, and what was made in it.
    expect(changes.map(([seq]) => seq)).toEqual([1, 2]);
  });

  test.each<[string, (server: ServerRig) => object]>([
    ["of another epoch", () => ({ epoch: "0".repeat(32), seq: 0, follows: "all" })],
    ["from a seq that is not yet", (server) => ({ epoch: server.rig.volume.epoch, seq: 99, follows: "all" })],
    ["from a seq whose changes are not kept", (server) => ({ epoch: server.rig.volume.epoch, seq: 1, follows: "all" })],
    ["that says nothing of what it follows", (server) => ({ epoch: server.rig.volume.epoch, seq: 3 })],
  ])("[W61] %s is not resumed: everything is to be listed again", async (_what, more) => {
    const server = await opened();
    const writer = await attached(server, "writer");
    for (const name of ["a", "b", "c"]) await writer.make(1, name);
    await server.rig.volume.meta.forgetChanges(2);
    const back = await attached(server, "reader", more(server));
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

  test("[W19] after a restart the server answers no change before those attached are back or a term has passed", async () => {
    const server = await opened();
    const reader = await attached(server, "reader");
    await attached(server, "writer");
    await follow(reader);
    reader.client.link.cut();
    await server.rig.clock.advance(100);
    await server.rig.close();
    await server.rig.open();
    const fromMs = server.rig.clock.bootMs();
    const again = await attached(server, "writer", { epoch: server.rig.volume.epoch, seq: 0, follows: [1] });
    expect(await again.call("stat", { nodes: [1], names: [] })).toMatchObject({ nodes: [expect.any(Array)] });
    expect(server.rig.clock.bootMs()).toBe(fromMs);
    await again.make(1, "file");
    expect(server.rig.clock.bootMs() - fromMs).toBeGreaterThan(TERM_MS - 1_000);
  });

  test("[W19] nor one that was executed before it and is asked about again", async () => {
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
