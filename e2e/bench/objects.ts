// `objects`: how bytes get from a program to the agent. The way of the client, a file that the other end reads, beside
// the same bytes as base64 in lines of JSON on a local socket.
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { type Socket, connect, createServer } from "node:net";
import { createInterface } from "node:readline";
import { pipeline } from "node:stream/promises";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";
import { Sandbox } from "../src/harness/index.ts";
import { type BenchContext, type Benchmark, type Result, formatTable, measurePairs } from "./benchmark.ts";

const MiB = 1024 * 1024;
const BYTES = { full: 256 * MiB, small: 64 * MiB, tiny: 8 * MiB };
const PIECE_BYTES = 256 * 1024;

interface Order {
  path: string;
  isSocket: boolean;
}

function* pieces(bytes: number): Generator<Buffer> {
  const piece = randomBytes(PIECE_BYTES);
  for (let sent = 0; sent < bytes; sent += PIECE_BYTES) yield piece;
}

/** Sends the bytes, or has them written; resolves when the other thread has digested them all. */
async function handOver(bytes: number, order: Order): Promise<number> {
  const beganMs = performance.now();
  if (!order.isSocket) await pipeline(pieces(bytes), createWriteStream(order.path));
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: order });
  const done = new Promise<number>((resolve, reject) => {
    worker.on("error", reject).on("message", (message: number | "listening") => {
      if (message === "listening") void send(connect(order.path), bytes);
      else resolve(message);
    });
  });
  const digested = await done;
  if (digested !== bytes) throw new Error(`${digested} bytes came of ${bytes}.`);
  const tookMs = performance.now() - beganMs;
  await worker.terminate();
  rmSync(order.path, { force: true });
  return bytes / MiB / (tookMs / 1000);
}

async function send(socket: Socket, bytes: number): Promise<void> {
  const lines = function* (): Generator<string> {
    for (const piece of pieces(bytes)) yield `${JSON.stringify({ bytes: piece.toString("base64") })}\n`;
  };
  await pipeline(lines(), socket);
}

/** Stands for the agent: digests what comes. */
async function receive({ path, isSocket }: Order): Promise<void> {
  const port = parentPort;
  if (port === null) throw new TypeError("This runs in a worker.");
  const digest = createHash("sha256");
  let bytes = 0;
  const take = (piece: Uint8Array): void => {
    digest.update(piece);
    bytes += piece.length;
  };
  if (!isSocket)
    for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES })) take(piece as Buffer);
  else {
    const socket = await new Promise<Socket>((resolve) => {
      const server = createServer((each) => {
        server.close();
        resolve(each);
      }).listen(path, () => port.postMessage("listening"));
    });
    for await (const line of createInterface({ input: socket })) {
      take(Buffer.from((JSON.parse(line) as { bytes: string }).bytes, "base64"));
    }
  }
  digest.digest();
  port.postMessage(bytes);
}

if (!isMainThread) await receive(workerData as Order);

export const objectsBenchmark: Benchmark = {
  name: "objects",
  about: "bytes from a program to the agent: a file, beside JSON on a socket; --size full|small|tiny",
  async run(context: BenchContext): Promise<Result> {
    const bytes = BYTES[context.size];
    const sandbox = new Sandbox();
    try {
      let count = 0;
      const measure = (isSocket: boolean) => (): Promise<number> =>
        handOver(bytes, { path: sandbox.path(`place-${++count}`), isSocket });
      const pair = {
        what: `${bytes / MiB} MiB by a file`,
        unit: "MiB/s",
        reference: "JSON on a socket",
        measure: measure(false),
        measureReference: measure(true),
      };
      const rows = await measurePairs([pair], context);
      return { rows, table: formatTable("objects", rows) };
    } finally {
      await sandbox.cleanup();
    }
  },
};
