// Every message's form: the golden frames both ways, and each field refused when it is wrong.
import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { decodeRecipe, encodeRecipe } from "../../src/model/recipe.ts";
import type { Recipe } from "../../src/model/recipe.ts";
import { LIMITS } from "../../src/limits.ts";
import { decodeCbor, decodeMessage, encodeCbor, encodeMessage } from "../../src/protocol/cbor.ts";
import { decodeFrame, encodeFrame } from "../../src/protocol/frame.ts";
import type { FrameKind } from "../../src/protocol/frame.ts";
import { FEED_FROM_CLIENT, FEED_FROM_SERVER } from "../../src/protocol/feed-messages.ts";
import { check, packChange, packState } from "../../src/protocol/fields.ts";
import { REQUESTS, type RequestName } from "../../src/protocol/requests/index.ts";
import { FETCH_ITEM } from "../../src/protocol/requests/read.ts";
import { FIND_ITEM } from "../../src/protocol/requests/tree.ts";
import { WRITE_ITEM, WRITE_REPLY } from "../../src/protocol/requests/write.ts";
import { STATUS_ITEM } from "../../src/protocol/requests/status-items.ts";
import type { FrameVector } from "./vectors.ts";
import { fromHex, hexOf, valueOf, vectors } from "./vectors.ts";

type Schema = Parameters<typeof check>[0];

const ITEMS: Record<string, Schema> = {
  feedFromClient: FEED_FROM_CLIENT,
  feedFromServer: FEED_FROM_SERVER,
  writeItem: WRITE_ITEM,
  writeReply: WRITE_REPLY,
  fetchItem: FETCH_ITEM,
  findItem: FIND_ITEM,
  statusItem: STATUS_ITEM,
  attached: REQUESTS.attach.result,
};

/** The checked part of a vector's message: a request's body, a result, or the item itself. */
function body({ schema = "", message }: FrameVector): { schema: Schema; value: unknown } {
  const value = valueOf(message);
  const item = ITEMS[schema];
  if (item !== undefined) return { schema: item, value };
  const [head, rest] = value as [unknown, unknown];
  if (head === 0)
    return { schema: REQUESTS[(schema === "operation" ? "make" : schema) as RequestName].result, value: rest };
  expect(head).toBe(schema);
  return { schema: REQUESTS[schema as RequestName].request, value: rest };
}

function isAccepted(schema: Schema, value: unknown): boolean {
  try {
    check(schema, value, "vector");
    return true;
  } catch (error) {
    expect(error).toMatchObject({ kind: "Invalid", detail: { rule: "W10" } });
    return false;
  }
}

describe("golden frames", () => {
  test.each(vectors.frames)("[W1] [W2] [W56] $name", ({ kind, channel, message, payload, hex }) => {
    const bytes = payload === undefined ? encodeMessage(valueOf(message)) : fromHex(payload);
    expect(hexOf(encodeFrame({ kind: kind as FrameKind, channel, isCompressed: false, payload: bytes }))).toBe(hex);
    const frame = decodeFrame(fromHex(hex));
    expect({ kind: frame.kind, channel: frame.channel, isCompressed: frame.isCompressed }).toEqual({
      kind,
      channel,
      isCompressed: false,
    });
    expect(hexOf(frame.payload)).toBe(hexOf(bytes));
  });

  const withForm = vectors.frames.filter(({ schema }) => schema !== undefined);

  test.each(withForm)("[W10] $name has its form", (vector) => {
    const { schema } = body(vector);
    const { payload } = decodeFrame(fromHex(vector.hex));
    const decoded = decodeMessage(payload);
    const value = ITEMS[vector.schema ?? ""] === undefined ? (decoded as [unknown, unknown])[1] : decoded;
    expect(isAccepted(schema, value)).toBe(true);
  });

  test("[W10] cover every form of item, and the requests that carry most", () => {
    const heads = (name: string): unknown[] =>
      withForm.filter(({ schema }) => schema === name).map(({ message }) => (message as unknown[])[0]);
    expect(new Set(heads("feedFromClient"))).toEqual(
      new Set(["ack", "acquire", "current", "heard", "idle", "unfollow"]),
    );
    expect(new Set(heads("feedFromServer"))).toEqual(
      new Set(["changes", "current", "granted", "not", "listAgain", "others", "recall", "waiting"]),
    );
    expect(new Set(heads("writeItem"))).toEqual(new Set(["c", "h", "d", "r", "e"]));
    expect(new Set(heads("writeReply"))).toEqual(new Set(["need", "from"]));
    expect(new Set(heads("fetchItem"))).toEqual(new Set(["v", "p", "d", "raw"]));
  });
});

/** The value with one part replaced, for each part at any depth: [where, changed value]. */
function* spoiled(value: unknown, where = ""): Generator<[string, (with_: unknown) => unknown]> {
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return;
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  for (const [key, part] of entries) {
    const put = (changed: unknown): unknown =>
      Array.isArray(value)
        ? value.map((old: unknown, index) => (index === key ? changed : old))
        : { ...value, [key]: changed };
    yield [`${where}.${key}`, put];
    for (const [place, inner] of spoiled(part, `${where}.${key}`)) yield [place, (changed) => put(inner(changed))];
  }
}

/** Fields that may be left out. */
const OPTIONAL: Record<string, string[]> = {
  attach: ["epoch", "seq", "follows"],
  write: ["but", "after", "items", "preset"],
};

/** Wrong wherever it stands. */
const WRONG: [string, unknown][] = [
  ["a fraction", 0.5],
  ["not a number", Number.NaN],
  ["infinite", Infinity],
  ["an object", {}],
  ["past 64 bits", 2n ** 64n],
];

describe("a message", () => {
  const cases = vectors.frames.filter(({ schema }) => schema !== undefined);

  test.each(cases)("[W10] $name is refused with any field wrong", (vector) => {
    const { schema, value } = body(vector);
    let fields = 0;
    for (const [where, put] of spoiled(value)) {
      for (const [what, wrong] of WRONG) {
        // All its fields may be left out.
        if (where === ".attributes" && vector.schema === "write" && what === "an object") continue;
        // Checked when they are taken; each has a vector of its own.
        if (where.startsWith(".items.")) continue;
        fields++;
        expect([where, what, isAccepted(schema, put(wrong))]).toEqual([where, what, false]);
      }
    }
    if (vector.name !== "idle") expect(fields).toBeGreaterThan(0);
  });

  const required = new Map<string, Record<string, unknown>>();
  for (const vector of cases) {
    const { value } = body(vector);
    if (!Array.isArray(value)) required.set(vector.schema ?? "", value as Record<string, unknown>);
  }

  test.each([...required])("[W10] %s needs each of its fields", (name, value) => {
    const schema = ITEMS[name] ?? (name === "operation" ? REQUESTS.make.result : REQUESTS[name as RequestName].request);
    if (name === "hello") return;
    for (const field of Object.keys(value)) {
      const { [field]: _left, ...rest } = value;
      expect([field, isAccepted(schema, rest)]).toEqual([field, OPTIONAL[name]?.includes(field) ?? false]);
    }
  });

  test.each<[string, Schema, unknown]>([
    [
      "a mode of 13 bits",
      REQUESTS.setAttr.request,
      { attachment: 1, n: 1, received: 0, node: 1, change: { mode: 0o10000 } },
    ],
    ["a negative n", REQUESTS.setAttr.request, { attachment: 1, n: -1, received: 0, node: 1, change: {} }],
    ["a node id of 2^53", REQUESTS.setAttr.request, { attachment: 1, n: 1, received: 0, node: 2 ** 53, change: {} }],
    [
      "a preset that there is not",
      REQUESTS.write.request,
      { attachment: 1, n: 1, received: 0, node: 5, base: 0, sizeBytes: 1, attributes: {}, preset: 5, isResumed: false },
    ],
    ["an empty name", REQUESTS.link.request, { attachment: 1, n: 1, received: 0, node: 5, folder: 1, name: "" }],
    [
      "an instance that is not 32 hex digits",
      REQUESTS.attach.request,
      { volume: "docs", instance: "AB", wantsNodes: false },
    ],
    [
      "nine held versions",
      REQUESTS.fetch.request,
      {
        attachment: 1,
        version: [1, 1],
        held: Array.from({ length: LIMITS.heldVersions + 1 }, () => [1, 1]),
        hasRecipe: false,
        offset: 0,
        length: 1,
      },
    ],
    [
      "more nodes than it may have",
      REQUESTS.stat.request,
      { attachment: 1, nodes: Array(LIMITS.statNodes + 1).fill(1), names: [] },
    ],
    [
      "more names than it may have",
      REQUESTS.stat.request,
      { attachment: 1, nodes: [], names: Array.from({ length: LIMITS.statNodes + 1 }, () => [1, "a"]) },
    ],
    [
      "a file past its limit",
      REQUESTS.write.request,
      {
        attachment: 1,
        n: 1,
        received: 0,
        node: 1,
        base: 0,
        sizeBytes: LIMITS.fileBytes + 4,
        attributes: {},
        isResumed: false,
      },
    ],
    [
      "an unknown way to rename",
      REQUESTS.rename.request,
      { attachment: 1, n: 1, received: 0, folder: 1, name: "a", node: 5, toFolder: 1, toName: "b", how: "swap" },
    ],
    ["an unknown item", WRITE_ITEM, ["x", 1]],
    ["an item too long", FEED_FROM_CLIENT, ["idle", 1]],
    ["an unknown encoding", WRITE_ITEM, ["d", "lz4", 5, 5]],
    ["65537 items needed", WRITE_REPLY, ["need", Array(LIMITS.neededItems + 1).fill(0)]],
    ["five bindings", FEED_FROM_SERVER, ["changes", [[1, Array.from({ length: 5 }, () => [1, "a", 2]), [], null]]]],
    [
      "a time past 64 bits",
      REQUESTS.setAttr.request,
      { attachment: 1, n: 1, received: 0, node: 1, change: { mtimeNs: 2n ** 63n } },
    ],
  ])("[W10] is refused for %s", (_what, schema, value) => {
    expect(isAccepted(schema, value)).toBe(false);
  });

  test.each(["..", ".", "a/b", "nul\0", "é".repeat(128), "/"])(
    "[W10] [W171] that tells of the name %j is refused",
    (name) => {
      expect(isAccepted(FEED_FROM_SERVER, ["changes", [[1, [[1, name, 2]], [], null]]])).toBe(false);
      expect(isAccepted(FIND_ITEM, [1, 1, true, [[name, valueOf(vectors.states[0]?.packed)]]])).toBe(false);
    },
  );

  test.each(["", "\0", "a\0b"])("[W10] [W191] that tells of a symlink to %j is refused", (target) => {
    const [node, , ...rest] = valueOf(vectors.states[0]?.packed) as unknown[];
    const tellsOf = (type: number, text: string): boolean =>
      isAccepted(FEED_FROM_SERVER, ["changes", [[1, [], [[node, type, ...rest.with(8, text)]], null]]]);
    expect(tellsOf(2, target)).toBe(false);
    expect(tellsOf(2, "a/b")).toBe(true);
    expect(tellsOf(0, "")).toBe(true);
  });

  test("[W10] may have fields that this version does not know", () => {
    expect(isAccepted(REQUESTS.space.request, { attachment: 1, later: true })).toBe(true);
  });

  test("[W10] has whole numbers as any width of CBOR gives them", () => {
    const space = (attachment: unknown): unknown => check(REQUESTS.space.request, { attachment }, "space");
    expect(space(7n)).toEqual({ attachment: 7 });
    expect(space(2 ** 40)).toEqual({ attachment: 2 ** 40 });
    expect(decodeCbor(fromHex("1b0000000000000007"))).toBe(7n);
  });
});

describe("a status", () => {
  test("[W10] [W45] [limit statusEntriesPerItem] has items of at most 4096 entries", () => {
    const entries = Array.from({ length: LIMITS.statusEntriesPerItem }, () => ({ kind: "excluded", path: "a" }));
    expect(isAccepted(STATUS_ITEM, entries)).toBe(true);
    expect(isAccepted(STATUS_ITEM, [...entries, ...entries.slice(0, 1)])).toBe(false);
  });

  test("[W45] may tell of what this version does not know", () => {
    const conflict = { kind: "conflict", path: "a", conflictCopy: "b", atMs: 1 };
    expect(check(STATUS_ITEM, [{ kind: "later", n: 1 }, conflict], "status item")).toEqual([conflict]);
    const status = { seq: 1, pending: 0, excluded: 0, stuck: { path: "", kind: "Later", sentence: "." } };
    const scan = { why: "later", done: 1, total: 2 };
    expect(check(REQUESTS.status.result, { ...status, scan }, "status")).toMatchObject({
      stuck: { kind: "Io" },
      scan: { why: "missed" },
    });
  });

  test.each(["seq", "pending", "excluded"])("[W45] needs its %s", (field) => {
    const { [field]: _left, ...rest } = { seq: 1, pending: 0, excluded: 0 } as Record<string, number>;
    expect(isAccepted(REQUESTS.status.result, rest)).toBe(false);
    expect(isAccepted(REQUESTS.status.result, { ...rest, [field]: 0 })).toBe(true);
  });
});

describe("a state", () => {
  test.each(vectors.states)("[W10] is 13 fields in order: $hex", ({ packed, hex }) => {
    const bytes = encodeCbor(valueOf(packed));
    expect(hexOf(bytes)).toBe(hex);
    const message = decodeCbor(fromHex(hex));
    const [, , , entries] = check(FIND_ITEM, [1, 1, true, [["a", message]]], "find item");
    const state = entries[0]?.[1];
    expect(state && hexOf(encodeCbor(packState(state)))).toBe(hex);
  });

  test("[W10] of a change comes back as it was packed", () => {
    const vector = vectors.frames.find(({ name }) => name.startsWith("a change: a rename"));
    const message = valueOf(vector?.message) as ["changes", unknown[]];
    const item = check(FEED_FROM_SERVER, message, "feed item");
    expect(item[0] === "changes" && item[1].map(packChange)).toEqual(message[1]);
  });
});

describe("a recipe", () => {
  const { chunks, hex, oid, emptyOid } = vectors.recipe;
  const recipe: Recipe = {
    lengths: Uint32Array.from(chunks.map(([length]) => length)),
    digests: new Uint8Array(Buffer.concat(chunks.map(([, digest]) => fromHex(digest)))),
  };

  test("[W4] is 36 bytes a chunk, and its SHA-256 is the OID", () => {
    const bytes = encodeRecipe(recipe);
    expect(hexOf(bytes)).toBe(hex);
    expect(decodeRecipe(fromHex(hex))).toEqual(recipe);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(oid);
    expect(createHash("sha256").digest("hex")).toBe(emptyOid);
  });

  test.each([
    ["a ragged size", hex.slice(2)],
    ["a chunk of no bytes", `00000000${"ab".repeat(32)}`],
    ["a chunk of more than 1 MiB", `01001000${"ab".repeat(32)}`],
  ])("[W4] is refused for %s", (_what, wrong) => {
    expect(() => decodeRecipe(fromHex(wrong))).toThrow(expect.objectContaining({ kind: "Corrupt" }));
  });
});
