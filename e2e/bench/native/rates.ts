// Figures of one thread over a megabyte after the other that was just put into memory, as reading a file does, in GB a
// second of processor time: what else runs on the machine changes them less than those by the clock.
import { type ChunkEngine, type DigestEngine, coreAddon } from "@runnel/native/engines";
import { median } from "../benchmark.ts";
import { type Content, type Piece, STEP_BYTES, type Step } from "./contents.ts";

export interface Rate {
  /** "chunk", "hash", "pipeline", "codec". */
  group: string;
  /** The path: "gfni". */
  path: string;
  what: string;
  content: Content["name"];
  gbPerSecond: number;
  /** Ratio to the first of its group, on the same content. */
  ratio: number;
}

/** A way to go through a content. */
export interface Way {
  group: string;
  path: string;
  what: string;
  /** All of the content; what `watch` does not time is not measured. */
  go(content: Content, watch: Watch): void | Promise<void>;
  /** The only content that it is measured on. */
  only?: Content["name"];
}

/** A run, as far as the codec is concerned. */
const RUN_BYTES = 256 * 1024;
/** Shorter than this, a measurement is repeated. */
const MEASURED_MS = 60;

const core = coreAddon();

/** Memory in which a step lies when it was read. */
const memory = new Uint8Array(STEP_BYTES);

/** Adds up processor time. */
class Watch {
  tookMs = 0;

  async time(work: () => void | Promise<unknown>): Promise<void> {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    this.tookMs += (user + system) / 1000;
  }
}

function read(step: Step): Piece[] {
  let at = 0;
  return step.map(({ bytes, isEnd }) => {
    const place = memory.subarray(at, (at += bytes.length));
    place.set(bytes);
    return { bytes: place, isEnd };
  });
}

async function cut(
  content: Content,
  watch: Watch,
  engine?: ChunkEngine,
  digest?: DigestEngine | "none",
): Promise<void> {
  const stream = new core.ChunkStream(engine, 0, digest);
  for (const step of content.steps) {
    const pieces = read(step);
    await watch.time(() => {
      for (const { bytes, isEnd } of pieces) {
        stream.update(bytes);
        if (isEnd) stream.finish();
      }
    });
  }
}

const CHUNK_WORDS: Record<ChunkEngine, string> = {
  roll: "plain roll over every byte",
  plain: "plain roll that passes over minima",
  portable: "portable, 6 lanes",
  neon: "NEON, 16 lanes",
  avx2: "AVX2, 32 lanes",
  gfni: "AVX-512 + GFNI, 64 lanes",
};
const DIGEST_WORDS: Record<DigestEngine, string> = {
  portable: "portable, one stream",
  instructions: "SHA instructions, one stream",
  interleaved: "SHA instructions, two streams",
  lanes: "AVX-512, 16 streams",
};

/** The fastest of one stream. */
const oneStream: DigestEngine = core.digestEngines.find((name) => name === "instructions") ?? "portable";

function chunkWays(): Way[] {
  const vectors = core.chunkEngines.filter((name) => name !== "roll").toReversed();
  const paths: ChunkEngine[] = ["roll", "plain", ...vectors];
  return paths.map((path) => ({
    group: "chunk",
    path,
    what: CHUNK_WORDS[path],
    go: (content, watch) => cut(content, watch, path, "none"),
  }));
}

/** Lengths of the chunks of each piece. */
function chunksOf(step: Step): number[][] {
  return step.map(({ bytes }) => {
    const stream = new core.ChunkStream(undefined, 0, "none");
    stream.update(bytes);
    return [...new Uint32Array(stream.finish().lengths)];
  });
}

function hashWays(contents: readonly Content[]): Way[] {
  const lengths = new Map(contents.flatMap(({ steps }) => steps).map((step) => [step, chunksOf(step)]));
  const digest = async (content: Content, watch: Watch, engine?: DigestEngine): Promise<void> => {
    for (const step of content.steps) {
      const chunks = read(step).flatMap(({ bytes }, index) => {
        let at = 0;
        return (lengths.get(step)?.[index] ?? []).map((length) => bytes.subarray(at, (at += length)));
      });
      await watch.time(() => core.digest(chunks, engine));
    }
  };
  const others = core.digestEngines.filter((name) => name !== oneStream).toReversed();
  const ways: Way[] = [oneStream, ...others].map((path) => ({
    group: "hash",
    path,
    what: DIGEST_WORDS[path],
    go: (content, watch) => digest(content, watch, path),
  }));
  const fastest: Way = { group: "hash", path: "fastest", what: "whichever suits the chunks", go: digest };
  return [...ways, fastest];
}

function pipelineWays(): Way[] {
  const pipeline = (path: string, what: string, engine?: ChunkEngine, digest?: DigestEngine): Way => ({
    group: "pipeline",
    path,
    what,
    go: (content, watch) => cut(content, watch, engine, digest),
  });
  return [
    pipeline("plain", "plain roll over every byte, one stream", "roll", oneStream),
    pipeline("minima", "plain roll that passes over minima, one stream", "plain", oneStream),
    pipeline("oneStream", "fastest chunker, one stream", undefined, oneStream),
    pipeline("fastest", "fastest chunker, fastest digests"),
  ];
}

/** Codecs, measured on the tree: random bytes do not shrink. */
function codecWays(contents: readonly Content[]): Way[] {
  const none = new Uint8Array(0);
  const runs = contents.filter(({ name }) => name === "tree").flatMap(runsOf);
  const packed = runs.flatMap((run) => {
    const bytes = core.compressNow(run, none, 3);
    return bytes === undefined ? [] : [{ bytes: new Uint8Array(bytes), into: new Uint8Array(run.length) }];
  });
  const compress = (level: number): Way => ({
    group: "codec",
    path: `zstd${level}`,
    what: `zstd -${level}, runs of 256 KiB`,
    only: "tree",
    go: (_, watch) =>
      watch.time(() => {
        for (const run of runs) core.compressNow(run, none, level);
      }),
  });
  const unfold: Way = {
    group: "codec",
    path: "unfold",
    what: "back from zstd -3",
    only: "tree",
    go: (_, watch) =>
      watch.time(() => {
        for (const { bytes, into } of packed) core.decompressNow(bytes, none, into);
      }),
  };
  return [compress(1), compress(3), unfold];
}

function runsOf(content: Content): Uint8Array[] {
  const whole = content.files.length === 1 ? (content.files[0] as Uint8Array) : Buffer.concat(content.files);
  return Array.from({ length: Math.ceil(whole.length / RUN_BYTES) }, (_, index) =>
    whole.subarray(index * RUN_BYTES, (index + 1) * RUN_BYTES),
  );
}

export function waysOf(contents: readonly Content[]): Way[] {
  return [...chunkWays(), ...hashWays(contents), ...pipelineWays(), ...codecWays(contents)];
}

async function measure(way: Way, content: Content): Promise<number> {
  const watch = new Watch();
  let bytes = 0;
  while (watch.tookMs < MEASURED_MS) {
    await way.go(content, watch);
    bytes += content.bytes;
  }
  return bytes / watch.tookMs / 1e6;
}

/** Everything in turn, round by round; medians. */
export async function measureRates(
  contents: readonly Content[],
  context: { rounds: number; say(text: string): void },
): Promise<Rate[]> {
  const measured = waysOf(contents).flatMap((way) =>
    contents
      .filter(({ name }) => way.only === undefined || way.only === name)
      .map((content) => ({ way, content, values: [] as number[] })),
  );
  for (let round = 0; round < context.rounds; round++) {
    for (const { way, content, values } of measured) {
      context.say(`round ${round + 1} of ${context.rounds}: ${way.group}, ${way.what}, ${content.name}`);
      values.push(await measure(way, content));
    }
  }
  const rates = measured.map(({ way, content, values }) => ({
    ...way,
    content: content.name,
    gbPerSecond: median(values),
  }));
  return rates.map(({ group, path, what, content, gbPerSecond }) => {
    const first = rates.find((rate) => rate.group === group && rate.content === content);
    return { group, path, what, content, gbPerSecond, ratio: gbPerSecond / (first?.gbPerSecond ?? Number.NaN) };
  });
}
