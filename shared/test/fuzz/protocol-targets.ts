// Targets in shared/, which takes from outside: frames, messages, recipes, invites, connections, and logs from a disk.
import { crc32, zstdCompressSync } from "node:zlib";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { SimulatedDisk } from "../../src/host/simulated/simulated-disk.ts";
import { LIMITS } from "../../src/limits.ts";
import { openLog } from "../../src/log/open-log.ts";
import {
  RECORD_HEAD_BYTES,
  SEGMENT_HEADER_BYTES,
  decodeSegmentHeader,
  encodeRecord,
  encodeSegmentHeader,
  segmentName,
  viewOf,
} from "../../src/log/segment-format.ts";
import { formatObjectUri, parseObjectUri } from "../../src/model/object-uri.ts";
import { checkPredicate, matches } from "../../src/model/predicate.ts";
import { type Recipe, chunkOffsets, decodeRecipe, encodeRecipe } from "../../src/model/recipe.ts";
import { decodeMessage, encodeMessage } from "../../src/protocol/cbor.ts";
import { DeltaRegions } from "../../src/protocol/delta-regions.ts";
import { type Frame, decodeFrame, encodeFrame } from "../../src/protocol/frame.ts";
import { formatInvite, parseInvite } from "../../src/protocol/invite.ts";
import { FEED_FROM_CLIENT, FEED_FROM_SERVER } from "../../src/protocol/feed-messages.ts";
import { check } from "../../src/protocol/fields.ts";
import { HeldChunks, type RecipePart, decodeRecipeDelta, encodeRecipeDelta } from "../../src/protocol/recipe-delta.ts";
import { REQUESTS } from "../../src/protocol/requests/index.ts";
import { FETCH_ITEM, FIND_GET_ITEM } from "../../src/protocol/requests/read.ts";
import { STATUS_ITEM } from "../../src/protocol/requests/status-items.ts";
import { FIND_ITEM, FIND_ITEMS } from "../../src/protocol/requests/tree.ts";
import { WRITE_ITEM, WRITE_REPLY } from "../../src/protocol/requests/write.ts";
import { conversation, emptyReport, runStream } from "../protocol/fuzz.ts";
import { fromHex, valueOf, vectors } from "../protocol/vectors.ts";
import { joinMessages, splitMessages } from "./message-list.ts";
import { type FuzzTarget, type Targets, requireThat } from "./target.ts";

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function frames(): FuzzTarget {
  return {
    structure: "bytes",
    seeds: vectors.frames.map(({ hex }) => fromHex(hex)),
    run: (input) => {
      const frame: Frame = decodeFrame(input);
      const again = decodeFrame(encodeFrame(frame));
      requireThat(again.kind === frame.kind && again.channel === frame.channel, "a frame comes back the same");
      requireThat(isSame(again.payload, frame.payload), "its payload, too");
    },
  };
}

const SCHEMAS: Record<string, Parameters<typeof check>[0]> = {
  ...Object.fromEntries(
    Object.entries(REQUESTS).flatMap(([name, { request, result }]) => [
      [name, request],
      [`${name} result`, result],
    ]),
  ),
  FEED_FROM_CLIENT,
  FEED_FROM_SERVER,
  FETCH_ITEM,
  FIND_GET_ITEM,
  FIND_ITEM,
  FIND_ITEMS,
  WRITE_ITEM,
  WRITE_REPLY,
  STATUS_ITEM,
};

/** The first byte says what the message is taken for. */
function forms(): FuzzTarget {
  const names = Object.keys(SCHEMAS);
  const recorded = vectors.frames.flatMap(({ message }) => {
    const value = valueOf(message);
    const inner = Array.isArray(value) && value.length === 2 ? [value[1] as unknown] : [];
    return message === undefined ? [] : [value, ...inner];
  });
  const seeds = recorded.flatMap((value) =>
    names.flatMap((name, index) => {
      const isOne = SCHEMAS[name]?.safeParse(value).success === true;
      return isOne ? [Buffer.concat([Uint8Array.of(index), encodeMessage(value)])] : [];
    }),
  );
  return {
    structure: "cbor",
    headBytes: 1,
    seeds: [
      ...seeds,
      ...names.map((_, index) => Buffer.concat([Uint8Array.of(index), encodeMessage({ attachment: 3 })])),
    ],
    run: (input) => {
      const name = names[(input[0] ?? 0) % names.length] ?? "";
      const schema = SCHEMAS[name];
      if (schema !== undefined) check(schema, decodeMessage(input.subarray(1)), name);
    },
  };
}

function predicates(): FuzzTarget {
  const file = {
    name: "Report.txt",
    type: "file",
    sizeBytes: 70_000,
    mtimeNs: 1_700_000_000_000_000_000n,
    seq: 9,
  } as const;
  return {
    structure: "cbor",
    seeds: [
      ["and", ["name", "*.t[a-z]?"], ["not", ["or", ["iname", "x[!x]\\*"], ["type", "d"]]], ["size", "+", 5, "k"]],
      ["or", ["newerSeq", 7], ["newerTime", 1_700_000_000_000], ["size", "=", 1, "M"], ["size", "-", 3, "G"]],
    ].map(encodeMessage),
    run: (input) => void matches(checkPredicate(decodeMessage(input)), file),
  };
}

/** Chunks of so many bytes, each told by its letter. */
function recipeOf(letters: string): Recipe {
  const lengths = Uint32Array.from(letters, (letter) => 1000 * letter.charCodeAt(0));
  const digests = Buffer.concat([...letters].map((letter) => new Uint8Array(32).fill(letter.charCodeAt(0))));
  return { lengths, digests: new Uint8Array(digests) };
}

const HELD = [recipeOf("abcdefgh"), recipeOf("xyzabx"), recipeOf("")];

function recipeDeltas(): FuzzTarget {
  const seeds = ["abcdefgh", "abXcdYef", "zabxQ", ""].map((letters) =>
    encodeMessage(["p", encodeRecipeDelta(recipeOf(letters), new HeldChunks(HELD))]),
  );
  return {
    structure: "cbor",
    seeds,
    run: (input) => {
      const item = check(FETCH_ITEM, decodeMessage(input), "fetch item");
      if (item[0] !== "p") return;
      const recipe = decodeRecipeDelta(item[1] as RecipePart[], HELD);
      requireThat(recipe.lengths.length <= LIMITS.recipeDescriptors, "no recipe is longer than its limit");
      requireThat(recipe.digests.length === 32 * recipe.lengths.length, "each chunk has a digest");
      const again = decodeRecipeDelta(encodeRecipeDelta(recipe, new HeldChunks(HELD)), HELD);
      requireThat(isSame(encodeRecipe(again), encodeRecipe(recipe)), "a recipe comes back the same");
    },
  };
}

/** Two recipes, and the run that is asked for. */
function regions(): FuzzTarget {
  const of = (content: string, base: string, from: number, count: number): Uint8Array =>
    joinMessages([encodeRecipe(recipeOf(content)), encodeRecipe(recipeOf(base)), Uint8Array.of(from, count)]);
  return {
    structure: "messages",
    seeds: [of("abXYcd", "abcd", 2, 2), of("XYZ", "abcdefghij", 0, 3), of("cXab", "abcc", 1, 1), of("a", "", 0, 1)],
    run: (input) => {
      const [content, base, run] = splitMessages(input);
      if (content === undefined || base === undefined || run === undefined) return;
      const [recipe, old] = [decodeRecipe(content), decodeRecipe(base)];
      const from = (run[0] ?? 0) % Math.max(1, recipe.lengths.length);
      const count = Math.min(1 + (run[1] ?? 0), recipe.lengths.length - from);
      if (count === 0) return;
      const region = new DeltaRegions(recipe, old).regionFor(from, count);
      if (region === undefined) return;
      const offsets = chunkOffsets(old);
      const bytes = (offsets[region.from + region.count] ?? Number.NaN) - (offsets[region.from] ?? Number.NaN);
      requireThat(region.count > 0 && bytes > 0, "a region is of chunks that the base has");
      requireThat(bytes <= LIMITS.runBytes || region.count === 1, "a region is no longer than a run");
    },
  };
}

function invites(): FuzzTarget {
  const secret = "s".repeat(22);
  return {
    structure: "bytes",
    seeds: [
      formatInvite({ place: "files.example.org:7473", volume: "docs", fingerprint: "f".repeat(43), secret }),
      formatInvite({ place: "[2001:db8::1]:7473", volume: "Käse & Brot", secret }),
      formatInvite({ place: "127.0.0.1:80", volume: "a", secret }),
    ].map((text) => Buffer.from(text)),
    run: (input) => {
      const invite = parseInvite(Buffer.from(input).toString());
      const again = parseInvite(formatInvite(invite));
      requireThat(JSON.stringify(again) === JSON.stringify(invite), "an invite comes back the same");
    },
  };
}

function objectUris(): FuzzTarget {
  const oid = "0123456789abcdef".repeat(4);
  const hints = ["wss://files.example.org:7473/docs", "ws://127.0.0.1:7473/K%C3%A4se", "wss://[2001:db8::1]:7473/a"];
  return {
    structure: "bytes",
    seeds: [
      formatObjectUri({ oid, sizeBytes: 0, hints: [] }),
      formatObjectUri({ oid, sizeBytes: LIMITS.fileBytes, hints }),
    ].map((text) => Buffer.from(text)),
    run: (input) => {
      const uri = parseObjectUri(Buffer.from(input).toString());
      const again = parseObjectUri(formatObjectUri(uri));
      requireThat(JSON.stringify(again) === JSON.stringify(uri), "a URI comes back the same");
    },
  };
}

/** Feeds a server's connection what a client says, frame by frame. */
function connections(): FuzzTarget {
  const packed = encodeMessage(["list", ["x".repeat(3000)]]);
  const head = encodeFrame({
    kind: 8,
    channel: 1,
    isCompressed: true,
    payload: Buffer.concat([Uint8Array.of(0xc2, 0x17), zstdCompressSync(packed)]),
  });
  return {
    structure: "messages",
    headBytes: 2,
    seeds: [
      joinMessages(conversation()),
      joinMessages([head]),
      ...conversation().map((frame) => joinMessages([frame])),
    ],
    run: async (input) => {
      const report = emptyReport();
      await runStream(splitMessages(input).slice(0, 200), report);
      if (report.thrown.length > 0) throw report.thrown[0];
      requireThat(report.hanging === 0, "nobody is left waiting");
      requireThat(
        report.strange.length === 0,
        `a connection ends for what its peer did, not ${String(report.strange[0])}`,
      );
    },
  };
}

const LOG = { magic: "TEST", version: 1 };

function segment(records: readonly string[]): Uint8Array {
  const salt = 7;
  const parts: Uint8Array[] = [encodeSegmentHeader(LOG.magic, { version: 1, segment: 1, previousBytes: 0, salt })];
  let offset = SEGMENT_HEADER_BYTES;
  for (const text of records) {
    const record = new Uint8Array(RECORD_HEAD_BYTES + text.length);
    encodeRecord(record, 0, offset, salt, offset, Buffer.from(text));
    parts.push(record);
    offset += record.length;
  }
  return Buffer.concat(parts);
}

/** Makes the checks right again that mistakes have spoiled, so that what lies behind them is reached. */
function withChecks(input: Uint8Array): Uint8Array {
  const bytes = Uint8Array.from(input);
  if (bytes.length < SEGMENT_HEADER_BYTES) return bytes;
  const view = viewOf(bytes);
  view.setUint32(28, crc32(bytes.subarray(0, 28)), true);
  const salt = view.getUint32(24, true);
  for (let at = SEGMENT_HEADER_BYTES; at + RECORD_HEAD_BYTES <= bytes.length;) {
    const length = view.getUint32(at, true);
    const distance = view.getUint32(at + 4, true);
    const payload = bytes.subarray(at + RECORD_HEAD_BYTES, at + RECORD_HEAD_BYTES + length);
    if (payload.length < length) break;
    encodeRecord(bytes, at, at, salt, at - distance, payload);
    at += RECORD_HEAD_BYTES + length;
  }
  return bytes;
}

/** A log of one segment; the first byte says whether its checks are right. */
function logs(): FuzzTarget {
  const seeds = [["one", "two", ""], ["a".repeat(300), "b"], []].map(segment);
  return {
    structure: "bytes",
    seeds: seeds.flatMap((bytes) => [0, 1].map((fixed) => Buffer.concat([Uint8Array.of(fixed), bytes]))),
    run: async (input) => {
      const bytes = input[0] === 1 ? withChecks(input.subarray(1)) : input.subarray(1);
      const clock = new SimulatedClock();
      const root = await new SimulatedDisk({ clock, seed: 1 }).openRoot("/data", { permissions: 0o700 });
      await root.makeFolder("log");
      const file = await root.open(`log/${segmentName(1)}`, "create");
      await file.write(0, bytes);
      await file.close();
      const { log, tornBytes } = await openLog(root, "log", LOG);
      let read = 0;
      await log.replay(({ payload }) => {
        read += payload.length;
      });
      requireThat(read + tornBytes <= bytes.length, "a log gives back no more than was written");
      requireThat(
        decodeSegmentHeader(bytes, LOG) !== undefined || read === 0,
        "nothing is read behind a damaged header",
      );
      await log.close();
    },
  };
}

export const targets: Targets = {
  frames,
  forms,
  predicates,
  "recipe deltas": recipeDeltas,
  regions,
  invites,
  "object uris": objectUris,
  connections,
  logs,
};
