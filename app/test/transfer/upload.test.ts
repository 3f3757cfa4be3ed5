// Sends a content: which parts of it, and when: before all of it has been cut where nothing is gained by waiting.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createCipheriv } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realDisk, threadExecutor } from "@runnel/native";
import { ACCEPTED_STEP, DIGEST_BYTES, SimulatedClock } from "@runnel/shared";
import type { ChunkPreset, DiskFile, DiskRoot, Executor, Recipe } from "@runnel/shared";
import type { Cache, CachedContent } from "../../src/agent/cache/cache.ts";
import { ComposedContent } from "../../src/agent/transfer/compose.ts";
import { CutContent } from "../../src/agent/transfer/cut-content.ts";
import { Uploads } from "../../src/agent/transfer/upload.ts";
import type { Transfer } from "../../src/agent/view/transfers.ts";
import type { Session } from "../../src/agent/wire/session.ts";
import { makeTransfers } from "../view/make-transfers.ts";

const MiB = 1024 * 1024;
const SIZE_BYTES = 40 * MiB;
const VERSION = { node: 5, seq: 9 };
const RESULT = { node: 5, seq: 10, version: 10, conflict: false };
const executor = threadExecutor();
let folder: string;
let root: DiskRoot;
let file: DiskFile;
/** "cut" and "sent", in order. */
let events: string[];

function noise(seed: number): Buffer {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(SIZE_BYTES));
}

beforeEach(async () => {
  events = [];
  folder = mkdtempSync(join(tmpdir(), "runnel-upload-"));
  root = await realDisk().openRoot(folder);
  writeFileSync(join(folder, "content"), noise(1));
  file = await root.open("content", "read");
});

afterEach(async () => {
  await file.close();
  await root.close();
  rmSync(folder, { recursive: true });
});

function noting(): Executor {
  const own = Object.create(executor) as Executor;
  own.chunkFile = async (...what) => {
    const recipe = await executor.chunkFile(...what);
    events.push("cut");
    return recipe;
  };
  return own;
}

/** A server that takes all, and says so when it is waited for. */
function session(opened: (request: unknown) => void = () => undefined): Session {
  let items = 0;
  const channel = {
    result: async () => RESULT,
    next: async () => {
      if (events.at(-1) === "end") return undefined;
      events.push(`waits after ${items}`);
      return ["accepted", items - (items % ACCEPTED_STEP)];
    },
    send: ([kind]: [string]) => {
      if (kind === "e") events.push("end");
      else items++;
    },
    sendBulk: async () => {
      events.push("sent");
    },
    end: () => {},
    cancel: () => {},
  };
  const contentBytes = { sent: 0, received: 0 };
  const open = (_operation: string, request: unknown): typeof channel => {
    opened(request);
    return channel;
  };
  return { open, ratePerSecond: 1e9, roundTrips: 0, contentBytes } as unknown as Session;
}

const REQUEST = {
  n: 1,
  received: () => ({ received: 0 }),
  node: 5,
  base: 9,
  mtimeNs: 1n,
  ctimeNs: 1n,
  isResumed: false,
  after: [],
  paused: new AbortController().signal,
};

/** The file's bytes, unless others are given. */
async function sendOver(
  recipe: Recipe,
  isLineFast: boolean,
  content = composed(),
  preset: ChunkPreset = 0,
  transfer?: Transfer,
): Promise<void> {
  const cache = {
    findChunks: (digests: Uint8Array) => Array.from({ length: digests.length / DIGEST_BYTES }, () => undefined),
    read: async (_content: CachedContent, _offset: number, length: number) => new Uint8Array(length),
  } as unknown as Cache;
  const noted = noting();
  const cut = new CutContent(content, noted, preset);
  const reused = { base: 0, server: 0, cache: 0, bytes: 0 };
  const uploads = new Uploads({ cache, session: session(), executor: noted, reused });
  const base = { version: VERSION, recipe, content: { version: VERSION, recipe } as CachedContent };
  const sent = await uploads.send(
    { cut, base, references: "copies", isLineFast, ...(transfer && { transfer }) },
    REQUEST,
  );
  expect(sent).toEqual(RESULT);
}

function composed(): ComposedContent {
  return new ComposedContent([{ file, offset: 0, length: SIZE_BYTES }], []);
}

const isSentWhileCut = (): boolean => events.indexOf("sent") < events.lastIndexOf("cut");

describe("a long content", () => {
  test("that has nothing of its base in the beginning is sent while it is being cut, on a fast line", async () => {
    await sendOver(await executor.chunkBytes(noise(2)), true);
    expect(isSentWhileCut()).toBe(true);
  });

  test("[W35] of many small items waits for the server to take them", async () => {
    const hole = new ComposedContent([{ file: undefined, offset: 0, length: 20_000 * MiB }], []);
    await sendOver(await executor.chunkBytes(noise(2)), true, hole, 2);
    const waits = [8192, 2 * 8192].map((items) => `waits after ${items}`);
    expect(events.filter((event) => event !== "cut")).toEqual([...waits, "end"]);
  });

  test("is cut first on a slow one: old bytes for deltas are found by all of it", async () => {
    await sendOver(await executor.chunkBytes(noise(2)), false);
    expect(isSentWhileCut()).toBe(false);
  });

  test("is cut first on a fast one too where its beginning is in the base", async () => {
    const changed = noise(1);
    changed.set(noise(2).subarray(0, 30 * MiB), 1 * MiB);
    await sendOver(await executor.chunkBytes(changed), true);
    expect(isSentWhileCut()).toBe(false);
    expect(events).toContain("sent");
  });
});

test("an upload is in the register: what is copied of the base is reused, what is sent has moved, and no byte is both", async () => {
  const base = noise(1);
  base.set(noise(2).subarray(0, 30 * MiB), 1 * MiB);
  const transfers = makeTransfers(new SimulatedClock());
  const transfer = transfers.begin({ direction: "up", file: "a", totalBytes: SIZE_BYTES });
  await sendOver(await executor.chunkBytes(base), true, composed(), 0, transfer);
  expect(transfer.movedBytes).toBeGreaterThanOrEqual(30 * MiB);
  expect(transfer.movedBytes).toBeLessThan(32 * MiB);
  expect(transfer.movedBytes + transfer.fromOldVersion).toBe(SIZE_BYTES);
  expect(transfer.doneBytes).toBeGreaterThanOrEqual(31 * MiB);
  expect(transfer.crossedBytes).toBeGreaterThanOrEqual(30 * MiB);
  // Another attempt counts anew, but for what has crossed the wire.
  const { crossedBytes } = transfer;
  await sendOver(await executor.chunkBytes(base), true, composed(), 0, transfer);
  expect(transfer.movedBytes + transfer.fromOldVersion).toBe(SIZE_BYTES);
  expect(transfer.crossedBytes).toBe(2 * crossedBytes);
});

test("[W29] says what has been received as it is when the request goes: meanwhile another one may have told of more", async () => {
  const requests: unknown[] = [];
  const cache = { findChunks: () => [] } as unknown as Cache;
  const noted = noting();
  const reused = { base: 0, server: 0, cache: 0, bytes: 0 };
  const uploads = new Uploads({
    cache,
    session: session((request) => requests.push(request)),
    executor: noted,
    reused,
  });
  const cut = new CutContent(new ComposedContent([], []), noted, 0);
  let received = 3;
  const outgoing = { cut, base: undefined, references: "none", isLineFast: false } as const;
  const sending = uploads.send(outgoing, { ...REQUEST, received: () => ({ received }), after: [5] });
  received = 5;
  await sending;
  expect(requests).toMatchObject([{ received: 5, after: [5] }]);
});
