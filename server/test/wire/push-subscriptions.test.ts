// want: small changes of the files that a client uses come with its feed.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Difference, FeedFromServer, VersionId } from "@runnel/shared";
import { LIMITS, ROOT_NODE, chunkOffsets, decodeRecipeDelta, encodeRecipe } from "@runnel/shared";
import { PushSubscriptions } from "../../src/wire/push-subscriptions.ts";
import { bytesOf } from "../volume/volume-rig.ts";
import { ServerRig, instanceOf } from "./server-rig.ts";
import type { Attached } from "./server-rig.ts";

const FIRST = bytesOf(1, 60_000);

let wire: ServerRig;
let author: Attached;
let reader: Attached;
let file: number;
let version: number;

beforeEach(async () => {
  wire = await ServerRig.open(8);
  author = await (await wire.greeted()).attach(instanceOf("1"));
  reader = await (await wire.greeted()).attach(instanceOf("2"));
  await reader.find({ isDeep: true, follow: true });
  file = await author.make(ROOT_NODE, "f");
  version = (await author.write(file, 0, FIRST)).version;
});

afterEach(() => wire.close());

type Content = Extract<FeedFromServer, ["content", ...unknown[]]>;

const want = async (...files: [number, number][]): Promise<void> => {
  reader.channel.send(["want", files]);
  await wire.rig.clock.advance(50);
};

async function write(by: Attached, bytes: Uint8Array): Promise<VersionId> {
  const state = await wire.rig.volume.meta.node(file);
  const result = await by.write(file, state?.version ?? 0, bytes);
  await wire.rig.clock.advance(50);
  return { node: file, seq: result.version };
}

const contents = (of: Attached): Content[] => of.feed.filter((item): item is Content => item[0] === "content");

/** Seqs that change items say are coming, with the place of the item. */
const announced = (): { at: number; seqs: readonly number[] }[] =>
  reader.feed.flatMap((item, at) => (item[0] === "changes" && item[2] !== undefined ? [{ at, seqs: item[2] }] : []));

function edited(bytes: Uint8Array, at: number, text: string): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy.set(Buffer.from(text), at);
  return copy;
}

/** The content that a client makes of it which holds `before`. */
async function applied([, sizeBytes, parts, runs]: Difference, before: Uint8Array): Promise<Buffer> {
  const { executor } = wire.rig;
  const held = await executor.chunkBytes(before);
  const recipe = decodeRecipeDelta(parts, [held]);
  const [offsets, theirs] = [chunkOffsets(recipe), chunkOffsets(held)];
  const result = Buffer.alloc(sizeBytes);
  let chunk = 0;
  for (const part of parts) {
    if (part instanceof Uint8Array) chunk += part.length / 36;
    else {
      Buffer.from(before).copy(result, offsets[chunk], theirs[part[1]], theirs[part[1] + part[2]]);
      chunk += part[2];
    }
  }
  for (const [from, , encoding, rawBytes, encoded] of runs) {
    const prefix =
      typeof encoding === "string"
        ? undefined
        : before.subarray(theirs[encoding[1]], theirs[encoding[1] + encoding[2]]);
    const bytes = encoding === "raw" ? encoded : await executor.decompress(encoded, rawBytes, prefix);
    Buffer.from(bytes).copy(result, offsets[from]);
  }
  const whole = await executor.chunkBytes(result);
  expect(Buffer.from(encodeRecipe(whole))).toEqual(Buffer.from(encodeRecipe(recipe)));
  return result;
}

describe("a wanted file", () => {
  test("[W65] that another writes: its item says that the content follows, against the version held, and then against that one", async () => {
    await want([file, version]);
    let before = FIRST;
    for (const text of ["one", "two", "three"]) {
      const after = edited(before, 30_000, text);
      const made = await write(author, after);
      const [, told, difference] = contents(reader).at(-1) as Content;
      expect(told).toEqual(made);
      expect(difference?.[0]).toBe(version);
      expect(Buffer.compare(await applied(difference as Difference, before), after)).toBe(0);
      expect(announced().at(-1)?.seqs).toEqual([made.seq]);
      [before, version] = [after, made.seq];
    }
    expect(contents(reader)).toHaveLength(3);
    // A byte of a chunk is not the chunk.
    const bytes = contents(reader).flatMap(([, , difference]) => difference?.[3].map((run) => run[4].length) ?? []);
    expect(Math.max(...bytes)).toBeLessThan(100);
    expect(contents(author)).toEqual([]);
  });

  test("[W65] that its own instance writes is held from then on", async () => {
    await want([file, version]);
    const own = edited(FIRST, 100, "own");
    const made = await write(reader, own);
    expect(contents(reader)).toEqual([]);
    const theirs = edited(own, 50_000, "theirs");
    await write(author, theirs);
    const [[, , difference] = []] = contents(reader);
    expect(difference?.[0]).toBe(made.seq);
    expect(Buffer.compare(await applied(difference as Difference, own), theirs)).toBe(0);
  });

  test("[W65] is not any more when the client says so, attaches again, or does not keep up", async () => {
    await want([file, version]);
    await want([file, 0]);
    await write(author, edited(FIRST, 1, "a"));
    const before = await wire.rig.volume.meta.node(file);
    await want([file, before?.version ?? 0]);
    reader.acks = false;
    for (let index = 0; index <= 64; index++) await author.make(ROOT_NODE, `${index}`);
    await write(author, edited(FIRST, 1, "b"));
    expect([announced(), contents(reader)]).toEqual([[], []]);
    reader = await (await wire.greeted()).attach(instanceOf("2"));
    await reader.find({ isDeep: true, follow: true });
    await write(author, edited(FIRST, 1, "c"));
    expect([announced(), contents(reader)]).toEqual([[], []]);
  });

  test("[W65] [limit wantedBytes] has a content of null when the difference is larger, or the version held is not known", async () => {
    await want([file, version]);
    const large = await write(author, Buffer.concat([FIRST, bytesOf(2, LIMITS.wantedBytes)]));
    expect(contents(reader)).toEqual([["content", large, null]]);
    // The client still holds the first version: half of that fits.
    const small = await write(author, Buffer.concat([FIRST, bytesOf(2, LIMITS.wantedBytes / 2)]));
    const [, told, difference] = contents(reader).at(-1) as Content;
    expect([told, difference?.[0]]).toEqual([small, version]);
    await want([file, 7_000_000]);
    const after = await write(author, edited(FIRST, 1, "x"));
    expect(contents(reader).at(-1)).toEqual(["content", after, null]);
  });

  test("[W65] that a program on the server writes has no content to come: it has no recipe yet", async () => {
    await wire.rig.settle();
    await want([file, version]);
    await wire.rig.writeFile("f", "of a program");
    await wire.rig.settle();
    expect((await wire.rig.volume.meta.node(file))?.sizeBytes).toBe(12);
    expect([announced(), contents(reader)]).toEqual([[], []]);
  });

  test("[W65] [limit wantedFiles] is one of so many: the oldest go, and more at once close the feed", async () => {
    await want([file, version]);
    const others = Array.from({ length: LIMITS.wantedFiles }, (_, index): [number, number] => [1_000_000 + index, 1]);
    await want(...others.slice(1));
    await write(author, edited(FIRST, 1, "a"));
    expect(contents(reader)).toHaveLength(1);
    await want([2_000_000, 1]);
    await write(author, edited(FIRST, 1, "b"));
    expect(contents(reader)).toHaveLength(1);
    await want(...others, [file, version]);
    expect(reader.ended).toMatchObject({ kind: "Invalid", detail: { rule: "W10" } });
  });

  test("[W65] is none while too much lies unread: a content that was said to come is null", async () => {
    const sent: unknown[][] = [];
    let isBehind = false;
    const files = new PushSubscriptions(wire.rig.volume, (item) => void sent.push(item), {
      isInTime: () => true,
      isFarBehind: () => isBehind,
    });
    files.say([[file, version]]);
    const made = await write(author, edited(FIRST, 1, "a"));
    const node = await wire.rig.volume.meta.node(file);
    if (node === undefined) throw new Error("there is no file");
    const change = { seq: made.seq, bindings: [], nodes: [node], replaces: undefined };
    expect(files.of([change])).toEqual([made]);
    isBehind = true;
    expect(files.of([change])).toEqual([]);
    files.follow([made]);
    await wire.rig.clock.advance(50);
    expect(sent).toEqual([["content", [made.node, made.seq], null]]);
  });
});
