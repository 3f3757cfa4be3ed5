// Throws frames at a server's connection: random ones, and a recorded conversation with mistakes in it. Reports what
// must never happen.
import { RunnelError } from "../../src/errors.ts";
import type { Clock } from "../../src/host/clock.ts";
import type { SeededRandom } from "../../src/host/simulated/seeded-random.ts";
import { SimulatedClock, settle } from "../../src/host/simulated/simulated-clock.ts";
import type { Channel } from "../../src/protocol/channel.ts";
import { encodeCbor } from "../../src/protocol/cbor.ts";
import { Connection } from "../../src/protocol/connection.ts";
import type { FrameKind } from "../../src/protocol/frame.ts";
import { FRAME, encodeFrame, encodeVarint } from "../../src/protocol/frame.ts";
import { FuzzedLink } from "./fuzzed-link.ts";
import { zlibExecutor } from "./zlib-executor.ts";
import { zstdCompressSync } from "node:zlib";

export interface FuzzReport {
  inputs: number;
  connections: number;
  /** Connections that ended because of what came. */
  refused: number;
  /** Items, bulk and ends that the handlers took. */
  handled: number;
  /** Thrown out of the link's callback. */
  thrown: unknown[];
  /** Handlers that waited for something although their connection had ended. */
  hanging: number;
  /** Connections that ended with something that is no RunnelError of a peer's mistake. */
  strange: unknown[];
}

/** Serves a channel: reads items and the bulk they announce, answers, and ends as the client does. */
async function serve(channel: Channel, report: FuzzReport): Promise<void> {
  for (let item = await channel.next(); item !== undefined; item = await channel.next()) {
    report.handled++;
    if (typeof item === "number" && item > 0 && item < 100_000)
      report.handled += (await channel.readBulk(item)).length > 0 ? 1 : 0;
    else channel.send(item);
    if (item === "bulk") void channel.sendBulk(new Uint8Array(3000)).catch(() => undefined);
    if (item === "cancel") channel.cancel();
    if (item === "fail") throw new RunnelError("Denied", "serve", "No.");
  }
  channel.end("done");
}

/** Each feeds one connection: frames in order. */
export async function runStream(
  frames: Iterable<Uint8Array>,
  report: FuzzReport,
  clock: Clock = new SimulatedClock(),
): Promise<void> {
  const link = new FuzzedLink();
  let ended: RunnelError | undefined;
  let open = 0;
  const handle = async (channel: Channel): Promise<void> => {
    open++;
    try {
      await serve(channel, report);
    } finally {
      open--;
    }
  };
  const connection = new Connection({
    link,
    isClient: false,
    clock,
    executor: zlibExecutor(0),
    opened: (channel) => handle(channel),
    closed: (error) => {
      ended = error;
    },
  });
  report.connections++;
  for (const bytes of frames) {
    if (ended !== undefined) break;
    report.inputs++;
    try {
      link.events?.message(bytes);
    } catch (error) {
      report.thrown.push(error);
    }
    if (report.inputs % 8 === 0) await settle();
  }
  await settle();
  if (ended !== undefined) {
    report.refused++;
    if (!["Invalid", "TooLarge"].includes(ended.kind)) report.strange.push(ended);
  }
  connection.close(new RunnelError("Unreachable", "fuzz", "over"));
  await settle();
  report.hanging += open;
}

export function emptyReport(): FuzzReport {
  return { inputs: 0, connections: 0, refused: 0, handled: 0, thrown: [], hanging: 0, strange: [] };
}

function frame(kind: FrameKind, channel: number, payload: Uint8Array, isCompressed = false): Uint8Array {
  return encodeFrame({ kind, channel, isCompressed, payload });
}

function packed(message: unknown): Uint8Array {
  const bytes = encodeCbor(message);
  return Buffer.concat([encodeVarint(bytes.length), zstdCompressSync(bytes)]);
}

/** A conversation that keeps all rules, as a client says it. */
export function conversation(): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let id = 1; id < 24; id += 4) {
    frames.push(
      frame(FRAME.open, id, encodeCbor(["write", { id }])),
      frame(FRAME.item, id, encodeCbor([1, "two", { three: 3n }])),
      frame(FRAME.item, id, encodeCbor(500)),
      frame(FRAME.bulk, id, new Uint8Array(300)),
      frame(FRAME.item, id, packed(["x".repeat(2000)]), true),
      frame(FRAME.bulk, id, new Uint8Array(200)),
      frame(FRAME.credit, id, encodeVarint(0)),
      frame(FRAME.item, id, encodeCbor(id === 5 ? "cancel" : id === 13 ? "fail" : "bulk")),
      frame(FRAME.call, id + 2, encodeCbor(["stat", [id]])),
      frame(FRAME.end, id, encodeCbor([0])),
    );
    if (id === 9) frames.push(frame(FRAME.cancel, id + 2, new Uint8Array(0)));
  }
  return frames;
}

/** Heads that mostly make sense, with anything in them. */
export function* randomFrames(random: SeededRandom, length: number): Generator<Uint8Array> {
  const ids = [0, 1, 1, 1, 3, 3, 5, 2, 7];
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)] as T;
  if (random.coin(0.8)) yield frame(FRAME.open, 1, encodeCbor(["first", null]));
  for (let index = 0; index < length; index++) {
    if (random.coin(0.1)) {
      yield random.bytes(random.below(20));
      continue;
    }
    const kind = pick(Object.values(FRAME));
    const payload: Uint8Array = random.coin(0.2)
      ? random.bytes(random.below(30))
      : {
          [FRAME.open]: encodeCbor(["op", index]),
          [FRAME.call]: encodeCbor(["op", index]),
          [FRAME.item]: encodeCbor(pick([1, 700, "bulk", "cancel", "fail", null, [index]])),
          [FRAME.bulk]: new Uint8Array(pick([0, 1, 700, 65_536])),
          [FRAME.end]: encodeCbor(pick([[0], [0, 1], [1, "Io", "x", "y", {}], [2], "no"])),
          [FRAME.cancel]: new Uint8Array(0),
          [FRAME.credit]: encodeVarint(pick([0, 1, 1024, 2 ** 40])),
          [FRAME.ack]: encodeVarint(pick([0, 0, 3000, 2 ** 40])),
        }[kind];
    const isCompressed = random.coin(0.1) && [1, 2, 4, 8].includes(kind);
    yield frame(
      kind,
      kind === FRAME.ack && random.coin(0.8) ? 0 : pick(ids),
      isCompressed && random.coin()
        ? Buffer.concat([encodeVarint(payload.length), zstdCompressSync(payload)])
        : payload,
      isCompressed,
    );
  }
}

/** The conversation with one to three mistakes: bytes changed, frames cut, repeated, left out, moved. */
export function mutated(random: SeededRandom, frames: readonly Uint8Array[]): Uint8Array[] {
  const out: Uint8Array[] = frames.map((bytes) => new Uint8Array(bytes));
  for (let mistakes = 1 + random.below(3); mistakes > 0; mistakes--) {
    const at = random.below(out.length);
    const bytes = out[at] as Uint8Array;
    const how = random.below(6);
    if (how === 0 && bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
    else if (how === 1) out[at] = bytes.slice(0, random.below(bytes.length + 1));
    else if (how === 2) out.splice(random.below(out.length), 0, bytes);
    else if (how === 3) out.splice(at, 1);
    else if (how === 4) out.splice(random.below(out.length), 0, ...out.splice(at, 1));
    else out[at] = new Uint8Array(Buffer.concat([bytes, random.bytes(random.below(4))]));
  }
  return out;
}
