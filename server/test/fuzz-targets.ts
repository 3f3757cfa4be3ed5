// Targets in the server: requests on a connection, the items of a write, records of its log, its trash and its list of
// devices.
import { type FuzzTarget, type Targets, requireThat } from "@runnel/shared/test/fuzz/target.ts";
import { joinMessages, splitMessages } from "@runnel/shared/test/fuzz/message-list.ts";
import { inlineExecutor } from "@runnel/native";
import {
  type Channel,
  FRAME,
  type FrameKind,
  REQUESTS,
  type RequestName,
  RunnelError,
  SimulatedClock,
  SimulatedDisk,
  decodeFrame,
  decodeMessage,
  VOLUME_REQUEST_NAMES,
  encodeFrame,
  encodeMessage,
  encodeRecipe,
  isRunnelError,
  sliceRecipe,
  replaceWhole,
} from "@runnel/shared";
import { REGISTRY_FILE, readRegistry } from "../src/auth/registry-file.ts";
import { encodeTrashRecord, parseTrashRecord } from "../src/content/folder/versions/trash.ts";
import { Semaphore } from "../src/host/semaphore.ts";
import { decodeRecord, encodeRecord } from "../src/commit-log/record.ts";
import { decodeItem, decodeOpening, encodeItem, encodeOpening } from "../src/upload/write-notes.ts";
import { memoryEngine } from "../src/content/memory/memory-store.ts";
import { MemoryMetaImage, openMemoryMetaStore } from "../src/meta/memory/meta-store.ts";
import { bytesOf } from "./volume/volume-rig.ts";
import { ServerRig, instanceOf } from "./wire/server-rig.ts";

const LINE = { delayMs: 0 };
const executor = inlineExecutor();
/** Count of inputs for which a server is kept, with what they leave behind. */
const INPUTS_PER_SERVER = 100;
const FILE = 2;
const FOLDER = 3;
const CONTENT = bytesOf(4, 30_000);

/** A server with a file in it, made anew from time to time. */
class Ground {
  #server: ServerRig | undefined;
  #inputs = 0;

  async server(): Promise<ServerRig> {
    if (this.#server === undefined || this.#inputs++ >= INPUTS_PER_SERVER) {
      this.#inputs = 0;
      const image = new MemoryMetaImage();
      this.#server = await ServerRig.open(1, {
        openEngine: async () => memoryEngine(),
        openMeta: (create) =>
          openMemoryMetaStore(image, create === undefined ? {} : { create: { ...create, firstNode: FILE } }),
      });
      const client = await this.#server.greeted(LINE);
      const owner = await client.attach(instanceOf("owner"));
      const node = await owner.make(1, "file");
      const { version } = await owner.write(node, 0, CONTENT);
      const folder = await owner.make(1, "folder", "folder");
      requireThat(folder === FOLDER, `the folder is the one that inputs name, not ${folder}`);
      requireThat(node === FILE && version === 2, `the file is the one that inputs name, not ${node} of ${version}`);
      client.link.cut();
      await this.#server.rig.clock.advance(100);
    }
    return this.#server;
  }
}

function frameOf(kind: FrameKind, channel: number, message: unknown): Uint8Array {
  const payload = message instanceof Uint8Array ? message : encodeMessage(message);
  return encodeFrame({ kind, channel, isCompressed: false, payload });
}

/** Fields that the samples of requests leave out and that have a form of their own. */
const FURTHER: Partial<Record<RequestName, object>> = {
  find: { predicate: ["name", "*"] },
  setAttr: { change: { mode: 0o600, xattr: ["user.a", bytesOf(1, 5)] } },
  write: { base: 2, sizeBytes: CONTENT.length },
  link: { after: [4] },
};

/**
 * Every request there is, in an order in which none is in another's way: those before an attachment first, its end
 * last.
 */
const ASKED: readonly RequestName[] = [
  "hello",
  "attach",
  ...VOLUME_REQUEST_NAMES.filter((name) => name !== "detach"),
  "detach",
  "join",
];

/** Frames of a client that keeps all rules. */
async function conversation(): Promise<Uint8Array[]> {
  const recipe = await executor.chunkBytes(CONTENT);
  const items: Partial<Record<RequestName, unknown[][]>> = {
    attach: [["current", 1], ["want", [[FILE, 2]]], ["ack", 1], ["unfollow", [9]], ["idle"]],
    write: [
      ["c", [FILE, 2], 0, recipe.lengths.length],
      ["e", await executor.digest([encodeRecipe(recipe)])],
    ],
  };
  const tree = { file: { node: FILE, seq: 2 }, folder: FOLDER, newNode: 5000 };
  return ASKED.flatMap((name, index) => {
    const channel = 2 * index + 1;
    const { sample, right } = REQUESTS[name];
    const numbering = right === "none" ? {} : { attachment: 3, n: index, received: 0 };
    const message = [name, { ...numbering, ...sample(tree), ...FURTHER[name] }];
    const said = items[name]?.map((item) => frameOf(FRAME.item, channel, item));
    if (said === undefined) return [frameOf(FRAME.call, channel, message)];
    const end = name === "write" ? [frameOf(FRAME.end, channel, [0])] : [];
    return [frameOf(FRAME.open, channel, message), ...said, ...end];
  });
}

/** A whole connection, frame by frame, to a server with a volume. */
async function requests(): Promise<FuzzTarget> {
  const ground = new Ground();
  const frames = await conversation();
  const handshake = frames.slice(0, 3);
  return {
    structure: "messages",
    headBytes: 2,
    seeds: [joinMessages(frames), ...frames.slice(3).map((frame) => joinMessages([...handshake, frame]))],
    run: async (input) => {
      const server = await ground.server();
      const { clock, volume } = server.rig;
      const { link: left, handler } = server.dial(LINE);
      const strange: unknown[] = [];
      const sent = splitMessages(input).slice(0, 100);
      const failed = failedChannels(sent);
      left.listen({
        message: (bytes) => {
          const { kind, channel, payload, isCompressed } = decodeFrame(bytes);
          if (kind !== FRAME.end || isCompressed || failed.has(channel)) return;
          const end = decodeMessage(payload) as unknown[];
          // An error that nobody expected is told as this.
          if (end[0] === 1 && end[1] === "Io") strange.push(end);
        },
        closed: () => undefined,
      });
      for (const frame of sent) left.send(frame);
      await clock.advance(50);
      left.cut();
      await clock.advance(50);
      handler.close(new RunnelError("Unreachable", "fuzz", "over"));
      requireThat(!server.handlers.has(handler), "a connection that is gone has ended");
      requireThat(volume.feed.attachments === 0, "and left no attachment");
      requireThat(strange.length === 0, `requests fail for a reason: ${JSON.stringify(strange[0])}`);
    },
  };
}

/** Channels that the client ends with an error: the server fails them with the same. */
function failedChannels(frames: readonly Uint8Array[]): Set<number> {
  const failed = new Set<number>();
  for (const bytes of frames) {
    try {
      const { kind, channel, payload } = decodeFrame(bytes);
      const end = kind === FRAME.end ? decodeMessage(payload) : undefined;
      if (Array.isArray(end) && end[0] === 1) failed.add(channel);
    } catch (error) {
      if (!isRunnelError(error)) throw error;
    }
  }
  return failed;
}

/** The items of one write, each a message; what is announced on the bulk stream comes from the last of them. */
async function writes(): Promise<FuzzTarget> {
  const ground = new Ground();
  const recipe = await executor.chunkBytes(CONTENT);
  const half = recipe.lengths.length >> 1;
  const first = sliceRecipe(recipe, 0, half);
  const packed = await executor.compress(CONTENT.subarray(0, 20_000), 3, CONTENT);
  const end = ["e", await executor.digest([encodeRecipe(recipe)])];
  const of = (...items: unknown[]): Uint8Array => joinMessages([...items.map(encodeMessage), CONTENT]);
  return {
    structure: "messages",
    seeds: [
      of(["c", [FILE, 2], 0, recipe.lengths.length], end),
      of(
        ["c", [FILE, 2], 0, half],
        ["h", encodeRecipe(sliceRecipe(recipe, half, recipe.lengths.length)), [FILE, 2], half],
        end,
      ),
      of(["h", encodeRecipe(first), null, 0], end, ["r", 0, "raw", 5, bytesOf(1, 5)], end),
      of(["d", "raw", CONTENT.length, CONTENT.length], end),
      of(["d", [[FILE, 2], 0, 2], 20_000, packed ?? CONTENT], end),
    ],
    run: async (input) => {
      const { volume } = (await ground.server()).rig;
      const parts = splitMessages(input);
      const bulk = parts.pop() ?? new Uint8Array(0);
      const items = parts.map(decodeMessage);
      const session = volume.writeSession({ device: "", instance: "fuzz", n: 1, sizeBytes: CONTENT.length, preset: 0 });
      const channel = {
        next: async () => items.shift(),
        send: () => undefined,
        bulkHere: async (length: number) => {
          if (length > bulk.length) throw new RunnelError("Invalid", "read bulk", "The bulk stream ended too early.");
        },
        readBulk: async (length: number) => bulk.subarray(0, length),
        abort: new AbortController(),
      };
      const places = new Semaphore(1);
      try {
        const { content } = await session.receive(channel as unknown as Channel, places);
        requireThat(content.sizeBytes === CONTENT.length, "a write has as many bytes as it announced");
      } finally {
        await session.discard();
      }
    },
  };
}

function commits(): FuzzTarget {
  const content = {
    recipe: { lengths: Uint32Array.of(3), digests: new Uint8Array(32) },
    sizeBytes: 3,
    runs: [],
    temp: "",
  };
  const attributes = { type: "file", mode: 0o644, uid: 0, gid: 0, mtimeNs: 5n, rdev: 0, target: "" } as const;
  const common = {
    kind: "commit",
    seq: 7,
    wallNs: 1_700_000_000_000_000_000n,
    id: undefined,
    change: undefined,
    result: { node: 5, seq: 7, version: 7, conflict: false },
    paths: undefined,
  } as const;
  const seeds = [
    encodeRecord({ kind: "up", seq: 7 }, new Uint8Array(0)),
    encodeRecord({ kind: "handle", seq: 7, handle: bytesOf(1, 12) }, new Uint8Array(0)),
    encodeRecord({ ...common, operation: { op: "write", node: 5, base: 6, content, attributes: {} } }, bytesOf(1, 3)),
    encodeRecord({ ...common, operation: { op: "make", folder: 1, name: "a", node: 5, attributes } }, bytesOf(1, 0)),
    encodeRecord(
      { ...common, operation: { op: "setRecipe", version: { node: 5, seq: 6 }, recipe: content.recipe } },
      bytesOf(1, 0),
    ),
  ];
  return {
    structure: "cbor",
    headBytes: 4,
    seeds: seeds.map(({ bytes }) => bytes),
    run: (input) => {
      const { dataOffset } = decodeRecord(input);
      requireThat(dataOffset <= input.length, "the data lies within the record");
    },
  };
}

function notes(): FuzzTarget {
  const recipe = { lengths: Uint32Array.of(3), digests: new Uint8Array(32) };
  const version = { node: 5, seq: 6 };
  return {
    structure: "cbor",
    seeds: [
      encodeOpening({ epoch: "0", device: "", instance: instanceOf("f"), n: 7, sizeBytes: 3, preset: 1 }),
      encodeItem(["c", version, 0, 1]),
      encodeItem(["h", encodeRecipe(recipe), null, 0]),
      encodeItem(["d", recipe]),
      encodeItem(["f", 1]),
    ],
    run: (input) => {
      decodeOpening(input);
      const item = decodeItem(input);
      if (item?.[0] === "d") requireThat(item[1].digests.length === 32 * item[1].lengths.length, "a digest a chunk");
    },
  };
}

function trash(): FuzzTarget {
  const stat = { type: "file", mode: 0o644, uid: 0, gid: 0, mtimeNs: "5", rdev: 0 };
  const record = { format: 1, node: 5, seq: 6, path: "a/b", stat } as unknown as Parameters<
    typeof encodeTrashRecord
  >[0];
  return {
    structure: "bytes",
    seeds: [encodeTrashRecord(record)],
    run: (input) => void parseTrashRecord(input),
  };
}

async function devices(): Promise<FuzzTarget> {
  const root = await new SimulatedDisk({ clock: new SimulatedClock(), seed: 1 }).openRoot("/data", {
    permissions: 0o700,
  });
  const grants = [{ volume: "docs", right: "read" }];
  const device = { id: "00ab12cd", name: "laptop", person: "Ada", tokenDigest: "0".repeat(64), grants, createdMs: 5 };
  const invite = {
    secretDigest: "1".repeat(64),
    volume: "docs",
    right: "write",
    person: "",
    untilMs: 9,
    usedBy: "00ab12cd",
  };
  return {
    structure: "bytes",
    seeds: [{ format: 1, devices: [device, { ...device, revokedMs: 7 }], invites: [invite] }].map((rows) =>
      Buffer.from(JSON.stringify(rows)),
    ),
    run: async (input) => {
      await replaceWhole(root, REGISTRY_FILE, Buffer.from(input).toString());
      await readRegistry(root);
    },
  };
}

export const targets: Targets = { requests, writes, commits, notes, trash, devices };
