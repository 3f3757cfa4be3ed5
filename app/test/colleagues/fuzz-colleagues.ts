// Fuzz targets: all that a colleague may say, who comes to this device, and who is asked by it.
import { inlineExecutor } from "@runnel/native";
import {
  FRAME,
  FailedTries,
  FailedTriesByAddress,
  type FrameKind,
  PROTOCOL_VERSION,
  SeededRandom,
  SimulatedClock,
  TicketKey,
  chunkOffsets,
  encodeFrame,
  encodeMessage,
  isRunnelError,
  wallMs,
} from "@runnel/shared";
import { joinMessages, splitMessages } from "@runnel/shared/test/fuzz/message-list.ts";
import { FuzzedLink } from "@runnel/shared/test/protocol/fuzzed-link.ts";
import { type FuzzTarget, requireThat } from "@runnel/shared/test/fuzz/target.ts";
import { IncomingColleague } from "../../src/agent/colleagues/incoming-colleague.ts";
import { ColleagueLine } from "../../src/agent/colleagues/line.ts";
import { Offer } from "../../src/agent/colleagues/offer.ts";
import { UploadLimit } from "../../src/agent/colleagues/upload-limit.ts";
import { CacheMachine } from "../cache/cache-machine.ts";

const executor = inlineExecutor();
const EPOCH = "e".repeat(32);
const KEY = new Uint8Array(32).fill(7);
const FRAMES_MAX = 100;
/** Turns in which what was said is handled. */
const TURNS = 20;
const SIZE_BYTES = 40_000;

/** A colleague's connection, that the fuzzer speaks on. */
class ColleagueLink extends FuzzedLink {
  readonly peerKey = KEY;

  constructor() {
    super("10.0.0.1");
  }

  say(frame: Uint8Array): void {
    if (!this.isClosed) this.events?.message(Uint8Array.from(frame));
  }
}

function frameOf(kind: FrameKind, channel: number, message: unknown): Uint8Array {
  const payload = message instanceof Uint8Array ? message : encodeMessage(message);
  return encodeFrame({ kind, channel, isCompressed: false, payload });
}

async function handled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Frames of a colleague who comes to this device. */
export async function incomingColleagues(): Promise<FuzzTarget> {
  const clock = new SimulatedClock();
  const machine = new CacheMachine();
  process.once("exit", () => machine.clean());
  const cache = await machine.open();
  const version = { node: 7, seq: 1 };
  const { recipe, bytes, oid } = await machine.sample(1, SIZE_BYTES);
  using hold = await cache.create(version, SIZE_BYTES);
  const content = cache.setRecipe(hold.content, recipe, oid);
  await cache.write(content, 0, bytes);
  const signer = new TicketKey(new Uint8Array(32).fill(1));
  const limit = new UploadLimit(clock, () => undefined);
  const offer = new Offer({ cache, clock, executor, limit, isOpen: () => true, isPaused: () => false });
  offer.trust(EPOCH, signer.publicKey, wallMs(clock));
  const ticket = new Uint8Array(signer.sign({ epoch: EPOCH, version, key: KEY, untilMs: wallMs(clock) + 1e9 }));
  const hello = frameOf(FRAME.call, 1, ["hello", { protocol: PROTOCOL_VERSION, software: "a" }]);
  const ask = (channel: number, wanted: [number, number][]): Uint8Array =>
    frameOf(FRAME.call, channel, ["getChunks", { ticket, wanted }]);
  const conversation = [
    hello,
    ask(3, [[0, 2]]),
    frameOf(FRAME.cancel, 3, new Uint8Array(0)),
    ask(5, [
      [1, 1],
      [3, 9],
    ]),
    ask(7, []),
  ];
  return {
    structure: "messages",
    headBytes: 2,
    seeds: [joinMessages(conversation), ...conversation.slice(1).map((frame) => joinMessages([hello, frame]))],
    run: async (input) => {
      const link = new ColleagueLink();
      let hasEnded = false;
      const counts = {
        failedTickets: new FailedTriesByAddress(clock, { atOnce: 2, refillMs: 1 }),
        cutOffs: new FailedTries(clock, { atOnce: 1, refillMs: 1 }),
      };
      const deps = { link, clock, executor, software: "a", offers: () => [offer], admitted: () => undefined };
      const incoming = new IncomingColleague({ ...deps, ...counts, ended: () => void (hasEnded = true) });
      for (const frame of splitMessages(input).slice(0, FRAMES_MAX)) link.say(frame);
      await handled();
      link.close(1006, "");
      await handled();
      requireThat(hasEnded && incoming.key === KEY, "a connection that is gone has ended");
    },
  };
}

/** Frames of a colleague who was asked for chunks. */
export async function askedColleagues(): Promise<FuzzTarget> {
  const clock = new SimulatedClock();
  const bytes = new SeededRandom(1).bytes(SIZE_BYTES);
  const recipe = await executor.chunkBytes(bytes);
  const end = chunkOffsets(recipe)[2] ?? 0;
  const conversation = [
    frameOf(FRAME.end, 1, [0, { protocol: PROTOCOL_VERSION, software: "a", termMs: 0, features: [] }]),
    frameOf(FRAME.item, 3, ["d", 0, 2, "raw", end, end]),
    frameOf(FRAME.bulk, 3, bytes.subarray(0, end)),
    frameOf(FRAME.end, 3, [0]),
  ];
  return {
    structure: "messages",
    headBytes: 2,
    seeds: [joinMessages(conversation), ...conversation.map((frame) => joinMessages([frame]))],
    run: async (input) => {
      const link = new ColleagueLink();
      const colleague = { addresses: ["10.0.0.1"], port: 1 };
      const deps = { clock, executor, software: "a", colleague, closed: () => undefined };
      const line = await ColleagueLine.dial({ ...deps, dialer: { dial: async () => link } }, NEVER);
      const wanted = [{ from: 0, count: 3 }];
      let why: unknown;
      const asking = (async () => {
        for await (const { from, count, bytes: came } of line.getChunks(new Uint8Array(1), wanted, NEVER))
          requireThat(from + count <= 3 && came.length <= 2 ** 20, "nothing comes that was not asked for");
      })().catch((error: unknown) => (why = error));
      for (const frame of splitMessages(input).slice(0, FRAMES_MAX)) link.say(frame);
      await handled();
      line.close();
      await asking;
      if (why !== undefined && !isRunnelError(why)) throw why;
    },
  };
}

const NEVER = new AbortController().signal;
