// The server as a client meets it: hello, attach, changes, writes, fetches, listings and the way back after a lost line.
import { describe, expect, test } from "@jest/globals";
import type { Channel, Recipe } from "@runnel/shared";
import {
  LIMITS,
  packType,
  concatRecipes,
  decodeRecipe,
  decodeRecipeDelta,
  encodeRecipe,
  sliceRecipe,
} from "@runnel/shared";
import { ServerRig, TERM_MS, dataItems, executor, instanceOf, kindOf, noise, oidOf } from "./conversation.ts";
import type { Peer } from "./conversation.ts";

const KiB = 1024;

describe("hello", () => {
  test("[W11] is the first request; anything before it is refused", async () => {
    const peer = (await ServerRig.start()).dial();
    expect(await kindOf(peer.ask("space", { attachment: 1 }))).toBe("Invalid W11");
    expect(await peer.ask("hello", { protocol: 1, software: "test" })).toEqual({
      protocol: 1,
      software: "Runnel server",
      termMs: 0,
    });
    expect(await kindOf(peer.ask("space", { attachment: 1 }))).toBe("Invalid W12");
  });

  test("[W11] of another protocol is refused with the number that is needed", async () => {
    const peer = (await ServerRig.start()).dial();
    await expect(peer.ask("hello", { protocol: 2, software: "test" })).rejects.toMatchObject({
      kind: "Version",
      detail: { need: 1 },
    });
    expect(await kindOf(peer.ask("space", { attachment: 1 }))).toBe("Invalid W11");
  });

  test("[W10] [W54] an operation that is not known is Unsupported, one with a wrong form Invalid; the connection goes on", async () => {
    const peer = await (await ServerRig.start()).client();
    expect(await kindOf(peer.request("getChunks", {}))).toBe("Unsupported");
    expect(await kindOf(peer.request("stat", { nodes: "all", names: [] }))).toBe("Invalid W10");
    expect(await peer.request("stat", { nodes: [1, 99], names: [] })).toMatchObject({
      nodes: [expect.any(Array), null],
    });
  });
});

describe("attach", () => {
  test("[W12] tells of the volume, gives node ids, and stays open as the feed", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    expect(peer.attached).toMatchObject({
      epoch: server.volume.epoch,
      seq: 0,
      isResumed: false,
      isReadOnly: false,
      termMs: TERM_MS,
      nodes: [expect.any(Number), 4096],
    });
    expect(peer.attached.root).toHaveLength(13);
    const [first, count] = (await peer.request("newNodes", {})) as [number, number];
    expect(first).toBeGreaterThanOrEqual((peer.attached.nodes?.[0] ?? 0) + 4096);
    expect(count).toBe(4096);
    peer.feed.send(["current", 7]);
    expect(await peer.heard()).toEqual(["current", 7, 0]);
  });

  test("[W12] of a volume that is not there is NotFound; an attachment counts on its own connection only", async () => {
    const server = await ServerRig.start();
    const one = await server.client("one");
    const feed = one.connection.open("attach", { volume: "none", instance: instanceOf("x"), wantsNodes: false });
    expect(await kindOf(one.until(feed.next()))).toBe("NotFound");
    const other = server.dial();
    await other.ask("hello", { protocol: 1, software: "test" });
    expect(await kindOf(other.ask("space", { attachment: one.feed.id }))).toBe("Invalid W12");
  });

  test("[W12] 65 times on one connection is Busy", async () => {
    const server = await ServerRig.start();
    const peer = await server.client("0");
    for (let index = 1; index < LIMITS.attachments; index++) await peer.attach(String(index), { wantsNodes: false });
    expect(await kindOf(peer.attach("one too many"))).toBe("Busy");
  });

  test("[W17] the end of the feed gives the lease up; a lost line leaves it", async () => {
    for (const isCut of [true, false]) {
      const server = await ServerRig.start();
      const reader = await server.client("reader");
      const writer = await server.client("writer");
      await follow(reader);
      if (isCut) reader.link.cut();
      else {
        reader.feed.end();
        await reader.until(reader.feed.result());
      }
      const fromMs = server.clock.bootMs();
      await writer.make("file");
      const tookMs = server.clock.bootMs() - fromMs;
      if (isCut) expect(tookMs).toBeGreaterThan(TERM_MS - 100);
      else expect(tookMs).toBe(0);
    }
  });
});

/** Lists and follows the root, and asks for the lease. */
async function follow(peer: Peer, folder = 1): Promise<unknown[]> {
  const items = await find(peer, { folder, isDeep: false, follow: true });
  peer.feed.send(["current", 1]);
  await peer.feedItem("current");
  return items;
}

async function find(peer: Peer, request: object): Promise<unknown[][]> {
  const channel = peer.connection.ask("find", { attachment: peer.feed.id, ...request });
  const items: unknown[][] = [];
  for (let item = await peer.until(channel.next()); item !== undefined; item = await peer.until(channel.next()))
    items.push(...(Array.isArray((item as unknown[])[0]) ? (item as unknown[][]) : [item as unknown[]]));
  return items;
}

/** Acknowledges what comes until the promise has settled. */
async function acknowledging<T>(reader: Peer, promise: Promise<T>): Promise<T> {
  const over = new AbortController();
  const read = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const item = (await reader.feed.next()) as [string, [number][]] | undefined;
      if (item?.[0] === "changes") reader.feed.send(["ack", item[1].at(-1)?.[0]]);
    }
  };
  read().catch(() => undefined);
  const result = await reader.until(promise);
  over.abort();
  return result;
}

describe("a change", () => {
  test("[W24] is executed once: the same number gets the same answer, another request under it is refused", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const first = await peer.make("docs", "folder");
    const seq = server.volume.seq;
    const attributes = { type: 1, mode: 0o644, uid: 0, gid: 0, mtimeNs: 5n, rdev: 0, target: "" };
    expect(await peer.change("make", { folder: 1, name: "docs", node: first.node, attributes }, 1)).toEqual(first);
    expect(server.volume.seq).toBe(seq);
    expect(await kindOf(peer.change("make", { folder: 1, name: "other", node: first.node, attributes }, 1))).toMatch(
      /^Invalid/,
    );
    peer.link.cut();
    const again = await server.client();
    expect(await again.change("make", { folder: 1, name: "docs", node: first.node, attributes }, 1)).toEqual(first);
  });

  test("[W24] of another instance has numbers of its own", async () => {
    const server = await ServerRig.start();
    const [one, two] = [await server.client("one"), await server.client("two")];
    await one.make("a");
    expect((await two.make("b")).seq).toBe(2);
  });

  test("[W25] names what it expects: a name bound to another node is Stale or Exists, nothing is overwritten", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("a");
    expect(await kindOf(peer.make("a"))).toBe("Exists");
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
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    const writer = await server.client("writer");
    await follow(reader);
    const making = writer.make("file");
    const item = (await reader.feedItem("changes")) as [string, [number, unknown[], unknown[][], null][]];
    const [change] = item[1];
    expect(change?.slice(0, 2)).toEqual([1, [[1, "file", expect.any(Number)]]]);
    expect(change?.[2].map((state) => state.length)).toEqual([13, 13]);
    reader.feed.send(["ack", 1]);
    const answer = await reader.until(making);
    expect(answer).toMatchObject({ seq: 1, conflict: false });
  });

  test("[W16] of a writer that has to wait says whom it waits for, on the writer's feed", async () => {
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    const writer = await server.client("writer");
    await follow(reader);
    const making = writer.connection.call("make", {
      attachment: writer.feed.id,
      n: 1,
      received: 0,
      folder: 1,
      name: "f",
      node: writer.newNode(),
      attributes: { type: 0, mode: 0o644, uid: 0, gid: 0, mtimeNs: 0n, rdev: 0, target: "" },
    });
    await server.clock.advance(300);
    expect(await writer.feedItem("waiting")).toEqual(["waiting", 1, ["Runnel on reader"], expect.any(Number)]);
    reader.feed.send(["ack", 1]);
    await writer.until(making);
  });
});

describe("a write", () => {
  async function fileWith(
    peer: Peer,
    bytes: Uint8Array,
    name = "file",
  ): Promise<{ node: number; version: number; recipe: Recipe }> {
    const { node } = await peer.make(name);
    const { version } = await peer.writeAll(node, 0, bytes);
    return { node, version, recipe: await executor.chunkBytes(bytes) };
  }

  test("[W20] is data runs cut at the chunks' borders, and its end the OID", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const bytes = noise(1, 100 * KiB);
    const recipe = await executor.chunkBytes(bytes);
    const answer = await peer.finish(peer.write(node, 0, bytes.length), dataItems(bytes, recipe), recipe);
    expect(answer).toEqual({ node, seq: 2, version: 2, conflict: false });
    expect(await fetchAll(peer, [node, 2])).toEqual(bytes);
  });

  test("[W20] takes runs raw or zstd, within the item or from the bulk stream", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const text = new Uint8Array(Buffer.from("the quick brown fox ".repeat(10_000)));
    const recipe = await executor.chunkBytes(text);
    const packed = (await executor.compress(text, 3)) as Uint8Array;
    for (const [index, isInside] of [true, false].entries()) {
      const channel = peer.write(node, index + 1, text.length);
      channel.send(["d", "zstd", text.length, isInside ? packed : packed.length]);
      if (!isInside) void channel.sendBulk(packed);
      expect(await peer.finish(channel, [], recipe)).toMatchObject({ version: index + 2 });
    }
    const channel = peer.write(node, 3, text.length);
    channel.send(["d", "raw", text.length, text.length]);
    void channel.sendBulk(text);
    await peer.finish(channel, [], recipe);
    expect(await fetchAll(peer, [node, 4])).toEqual(text);
  });

  test("[W20] copies chunks of versions by place, and takes chunks by digest and place", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const old = noise(2, 200 * KiB);
    const { node, version, recipe } = await fileWith(peer, old);
    const count = recipe.lengths.length;
    const inserted = noise(3, 30);
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
    const answer = await peer.finish(peer.write(node, version, edited.length), items, wanted);
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
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const bytes = noise(4, 3000);
    const channel = peer.write(node, 0, 3000);
    expect(await kindOf(peer.finish(channel, items(bytes), many(1)))).toBe("Invalid W20");
    expect(server.volume.seq).toBe(1);
    expect(peer.connection.isOpen).toBe(true);
  });

  test("[W23] whose whole is not what its OID says is Corrupt, and nothing is committed", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const bytes = noise(5, 3000);
    const channel = peer.write(node, 0, 3000);
    const recipe = await executor.chunkBytes(noise(6, 3000));
    expect(await kindOf(peer.finish(channel, [["d", "raw", 3000, bytes]], recipe))).toBe("Corrupt");
    expect(server.volume.seq).toBe(1);
  });

  test("[W21] says NEED for what it cannot find, and takes it as runs", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const bytes = noise(7, 500_000);
    const recipe = await executor.chunkBytes(bytes);
    const first = sliceRecipe(recipe, 0, 2);
    const firstBytes = first.lengths.reduce((sum, length) => sum + length, 0);
    const rest = sliceRecipe(recipe, 2, recipe.lengths.length);
    const channel = peer.write(node, 0, bytes.length);
    channel.send(["h", encodeRecipe(first), null, 0]);
    channel.send(["h", encodeRecipe(rest), [node, 99], 0]);
    channel.send(["e", await oidOf(recipe)]);
    expect(await peer.until(channel.next())).toEqual(["need", [0, 1]]);
    channel.send(["r", 0, "raw", firstBytes, bytes.subarray(0, firstBytes)]);
    channel.send(["e", await oidOf(recipe)]);
    expect(await peer.until(channel.next())).toEqual(["need", [1]]);
    for (const { offset, length } of runs(rest, firstBytes, 100_000)) {
      channel.send(["r", 1, "raw", length, length]);
      void channel.sendBulk(bytes.subarray(offset, offset + length)).catch(() => undefined);
    }
    const answer = await peer.finish(channel, [], recipe);
    expect(await fetchAll(peer, [node, answer.version])).toEqual(bytes);
  });

  test("[W21] takes several megabytes for one item that it needs, with no run lost", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const bytes = noise(31, 3_000_000);
    const recipe = await executor.chunkBytes(bytes);
    const channel = peer.write(node, 0, bytes.length);
    channel.send(["h", encodeRecipe(recipe), null, 0]);
    channel.send(["e", await oidOf(recipe)]);
    expect(await peer.until(channel.next())).toEqual(["need", [0]]);
    for (const { offset, length } of runs(recipe, 0)) {
      channel.send(["r", 0, "raw", length, length]);
      void channel.sendBulk(bytes.subarray(offset, offset + length)).catch(() => undefined);
    }
    const { version } = await peer.finish(channel, [], recipe);
    expect(Buffer.from(await fetchAll(peer, [node, version])).equals(bytes)).toBe(true);
  });

  test("[W21] whose new data is not what its descriptors say is Corrupt", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const recipe = await executor.chunkBytes(noise(8, 2000));
    const channel = peer.write(node, 0, 2000);
    channel.send(["h", encodeRecipe(recipe), null, 0]);
    channel.send(["r", 0, "raw", 2000, noise(9, 2000)]);
    expect(await kindOf(peer.finish(channel, [], recipe))).toBe("Corrupt");
  });

  test("[W22] that copies from a version that is gone ends with Gone", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const channel = peer.write(node, 0, 2000);
    expect(await kindOf(peer.finish(channel, [["c", [node, 77], 0, 1]], many(1)))).toBe("Gone W22");
  });

  test("[W26] that was cut goes on at the item that the server names, and is committed once", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const bytes = noise(10, 300 * KiB);
    const recipe = await executor.chunkBytes(bytes);
    const items = dataItems(bytes, recipe);
    const channel = peer.write(node, 0, bytes.length, { n: 50 });
    channel.result().catch(() => undefined);
    for (const item of items.slice(0, 10)) channel.send(item);
    // The eleventh is announced, and half of its bytes come.
    const [, , length, run] = items[10] as [string, string, number, Uint8Array];
    channel.send(["d", "raw", length, length]);
    void channel.sendBulk(run.subarray(0, length / 2)).catch(() => undefined);
    await server.clock.advance(1_000);
    peer.link.cut();
    await server.clock.advance(1_000);

    const again = await server.client();
    const resumed = again.write(node, 0, bytes.length, { n: 50, isResumed: true });
    expect(await again.until(resumed.next())).toEqual(["from", 10]);
    const answer = await again.finish(resumed, items.slice(10), recipe);
    expect(await fetchAll(again, [node, answer.version])).toEqual(bytes);

    // Once more: it has been executed, the stored result comes at once.
    const third = again.write(node, 0, bytes.length, { n: 50, isResumed: true });
    expect(await again.until(third.next())).toBeUndefined();
    expect(await again.until(third.result())).toEqual(answer);
    expect(server.volume.seq).toBe(2);
  });

  test("[W26] of which nothing is kept begins at item 0", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const channel = peer.write(node, 0, 5, { n: 60, isResumed: true });
    expect(await peer.until(channel.next())).toEqual(["from", 0]);
  });

  test("[W26] is kept for a day", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const channel = peer.write(node, 0, 5000, { n: 70 });
    channel.result().catch(() => undefined);
    channel.send(["d", "raw", 2500, noise(1, 2500)]);
    await server.clock.advance(1_000);
    peer.link.cut();
    await server.clock.advance(24 * 3_600_000 + 1_000);
    const again = await server.client();
    expect(await again.until(again.write(node, 0, 5000, { n: 70, isResumed: true }).next())).toEqual(["from", 0]);
  });

  test("[W27] on a base that is not current wins, and its answer says that there was a conflict", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node, version } = await fileWith(peer, noise(11, 1000));
    await peer.writeAll(node, version, noise(12, 1000));
    const last = await peer.writeAll(node, version, noise(13, 1000));
    expect(last.conflict).toBe(true);
    expect(await fetchAll(peer, [node, last.version])).toEqual(noise(13, 1000));
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

async function fetch(peer: Peer, request: object, held: Recipe[] = []): Promise<Fetched> {
  const channel: Channel = peer.connection.ask("fetch", {
    attachment: peer.feed.id,
    held: [],
    hasRecipe: false,
    offset: 0,
    length: 2 ** 50,
    ...request,
  });
  const first = (await peer.until(channel.next())) as ["v", number, (Uint8Array | [number, number, number])[] | null];
  expect(first[0]).toBe("v");
  const fetched: Fetched = {
    sizeBytes: first[1],
    recipe: first[2] === null ? undefined : decodeRecipeDelta(first[2], held),
    parts: first[2],
    runs: [],
  };
  for (let item = await peer.until(channel.next()); item !== undefined; item = await peer.until(channel.next())) {
    const fields = item as unknown[];
    const [from, count, encoding, rawBytes, encodedBytes] = (
      fields[0] === "d" ? fields.slice(1) : [fields[1], 0, ...fields.slice(2)]
    ) as [number, number, string, number, number];
    const encoded = await peer.until(channel.readBulk(encodedBytes));
    fetched.runs.push({
      from,
      count,
      bytes: encoding === "zstd" ? await executor.decompress(encoded, rawBytes) : encoded,
    });
  }
  await peer.until(channel.result());
  return fetched;
}

async function fetchAll(peer: Peer, version: [number, number]): Promise<Uint8Array> {
  const { runs: found } = await fetch(peer, { version });
  return new Uint8Array(Buffer.concat(found.map(({ bytes }) => bytes)));
}

describe("a fetch", () => {
  async function scene(): Promise<{
    server: ServerRig;
    peer: Peer;
    node: number;
    old: Uint8Array;
    edited: Uint8Array;
    versions: [number, number][];
  }> {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("file");
    const old = noise(20, 2_500_000);
    const edited = new Uint8Array(old);
    edited.set(noise(21, 100), 1_000_000);
    const first = await peer.writeAll(node, 0, old);
    const second = await peer.writeAll(node, first.version, edited);
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
    const answer = (await peer.request("getHash", { version: versions[0], from: 3, count: 5 })) as {
      sizeBytes: number;
      recipe: Uint8Array;
      chunks: number;
    };
    expect(answer).toMatchObject({ sizeBytes: old.length, chunks: recipe.lengths.length });
    expect(decodeRecipe(answer.recipe)).toEqual(sliceRecipe(recipe, 3, 8));
    expect(await kindOf(peer.request("getHash", { version: [5, 999], from: 0, count: 1 }))).toBe("Gone");
  });
});

function isIn(recipe: Recipe, index: number, held: Recipe): boolean {
  const digest = Buffer.from(recipe.digests.subarray(index * 32, index * 32 + 32));
  return [...held.lengths.keys()].some((at) => digest.equals(held.digests.subarray(at * 32, at * 32 + 32)));
}

describe("a listing", () => {
  test("[W40] brings each folder in pages with the seq that it is complete as of, the last one marked", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("sub", "folder");
    for (let index = 0; index < 3; index++) await peer.make(`file ${index}`, "file", node);
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
    const server = await ServerRig.start();
    const peer = await server.client();
    for (let batch = 0; batch < 1200; batch += 400) {
      await Promise.all(
        Array.from({ length: 400 }, (_, index) => peer.make(`file ${String(batch + index).padStart(4, "0")}`)),
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
    const peer = await (await ServerRig.start()).client();
    const { node } = await peer.make("file");
    expect(await kindOf(find(peer, { folder: node, isDeep: false, follow: false }))).toBe("NotFolder");
    expect(await kindOf(find(peer, { folder: 999, isDeep: false, follow: false }))).toBe("NotFound");
  });

  test("[W41] with a predicate brings what matches, with the path of its folder", async () => {
    const peer = await (await ServerRig.start()).client();
    const { node } = await peer.make("sub", "folder");
    await peer.make("a.txt", "file", node);
    await peer.make("b.txt");
    await peer.make("c.md");
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
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    const writer = await server.client("writer");
    for (let round = 0; round < 10; round++) {
      const name = `file ${round}`;
      const listing = find(reader, { folder: 1, isDeep: false, follow: true });
      const making = writer.make(name);
      const items = await listing;
      await acknowledging(reader, making);
      const isListed = items.some(([, , , entries]) => (entries as [string][]).some(([word]) => word === name));
      const asOf = items.at(-1)?.[1] as number;
      // Nothing is missed in between: it is listed, or its seq is above that of the listing, and it was sent.
      expect(isListed || asOf < round + 1).toBe(true);
    }
  });

  test("[W42] of the whole volume follows folders made later, too", async () => {
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    const writer = await server.client("writer");
    await find(reader, { folder: 1, isDeep: true, follow: true });
    const { node } = await writer.make("later", "folder");
    await writer.make("inside", "file", node);
    const seqs: number[] = [];
    while (!seqs.includes(2)) seqs.push(...((await reader.feedItem("changes"))[1] as [number][]).map(([seq]) => seq));
    expect(seqs).toEqual([1, 2]);
  });

  test("[W43] stat answers nodes and names in order, null for what is not there", async () => {
    const server = await ServerRig.start();
    const peer = await server.client();
    const { node } = await peer.make("a");
    const answer = (await peer.request("stat", {
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
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    const writer = await server.client("writer");
    await find(reader, { folder: 1, isDeep: true, follow: true });
    await writer.make("one");
    reader.link.cut();
    await writer.make("two");
    const { node } = await writer.make("three");
    const back = await server.client("reader", { epoch: server.volume.epoch, seq: 1, follows: "all" });
    expect(back.attached).toMatchObject({ isResumed: true, seq: 3 });
    await writer.change("setAttr", { node, change: { mode: 0o600 } });
    const seqs: number[] = [];
    while (seqs.length < 3) seqs.push(...((await back.feedItem("changes"))[1] as [number][]).map(([seq]) => seq));
    expect(seqs).toEqual([2, 3, 4]);
  });

  test("[W61] only of the folders that it follows", async () => {
    const server = await ServerRig.start();
    const writer = await server.client("writer");
    const { node } = await writer.make("sub", "folder");
    await writer.make("inside", "file", node);
    await writer.make("outside");
    const back = await server.client("reader", { epoch: server.volume.epoch, seq: 0, follows: [node] });
    const [, changes] = (await back.feedItem("changes")) as [string, [number][]];
    // The folder itself, and what was made in it.
    expect(changes.map(([seq]) => seq)).toEqual([1, 2]);
  });

  test.each<[string, (server: ServerRig) => object]>([
    ["of another epoch", () => ({ epoch: "0".repeat(32), seq: 0, follows: "all" })],
    ["from a seq that is not yet", (server) => ({ epoch: server.volume.epoch, seq: 99, follows: "all" })],
    ["from a seq whose changes are not kept", (server) => ({ epoch: server.volume.epoch, seq: 1, follows: "all" })],
    ["that says nothing of what it follows", (server) => ({ epoch: server.volume.epoch, seq: 3 })],
  ])("[W61] %s is not resumed: everything is to be listed again", async (_what, more) => {
    const server = await ServerRig.start();
    const writer = await server.client("writer");
    for (const name of ["a", "b", "c"]) await writer.make(name);
    await server.volume.meta.forgetChanges(2);
    const back = await server.client("reader", more(server));
    expect(back.attached).toMatchObject({ isResumed: false, seq: 3 });
    back.feed.send(["current", 1]);
    expect(await back.heard()).toEqual(["current", 1, 3]);
  });

  test("[W61] takes its lease along: a change made while it comes back waits for its acknowledgement", async () => {
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    const writer = await server.client("writer");
    await follow(reader);
    reader.link.cut();
    await server.clock.advance(100);
    const making = writer.make("file");
    making.catch(() => undefined);
    const back = await server.client("reader", { epoch: server.volume.epoch, seq: 0, follows: [1] });
    await back.feedItem("changes");
    const fromMs = server.clock.bootMs();
    back.feed.send(["ack", 1]);
    await back.until(making);
    expect(server.clock.bootMs() - fromMs).toBeLessThan(1_000);
  });

  test("[W19] after a restart the server answers no change before those attached are back or a term has passed", async () => {
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    await server.client("writer");
    await follow(reader);
    reader.link.cut();
    await server.clock.advance(100);
    await server.volume.close();
    await server.open();
    const fromMs = server.clock.bootMs();
    const again = await server.client("writer", { epoch: server.volume.epoch, seq: 0, follows: [1] });
    expect(await again.request("stat", { nodes: [1], names: [] })).toMatchObject({ nodes: [expect.any(Array)] });
    expect(server.clock.bootMs()).toBe(fromMs);
    await again.make("file");
    expect(server.clock.bootMs() - fromMs).toBeGreaterThan(TERM_MS - 1_000);
  });

  test("[W19] nor one that was executed before it and is asked about again", async () => {
    const server = await ServerRig.start();
    const reader = await server.client("reader");
    const writer = await server.client("writer");
    await follow(reader);
    reader.link.cut();
    const attributes = { type: packType("file"), mode: 0o644, uid: 0, gid: 0, mtimeNs: 5n, rdev: 0, target: "" };
    const making = { n: 1, received: 0, folder: 1, name: "file", node: writer.newNode(), attributes };
    writer.connection.call("make", { attachment: writer.feed.id, ...making }).catch(() => undefined);
    await server.clock.advance(100);
    expect(server.volume.seq).toBe(1);
    await server.volume.close();
    await server.open();
    const fromMs = server.clock.bootMs();
    const again = await server.client("writer", { epoch: server.volume.epoch, seq: 0, follows: [1] });
    await again.request("make", making);
    expect(server.clock.bootMs() - fromMs).toBeGreaterThan(TERM_MS - 1_000);
  });
});

describe("recipes", () => {
  test("[W4] of a file are those of its runs one after another, when runs are cut at the chunks' borders", async () => {
    const bytes = noise(30, 300 * KiB);
    const recipe = await executor.chunkBytes(bytes);
    const cut = recipe.lengths[0] ?? 0;
    const parts = [await executor.chunkBytes(bytes.subarray(0, cut)), await executor.chunkBytes(bytes.subarray(cut))];
    expect(concatRecipes(parts)).toEqual(recipe);
  });
});
