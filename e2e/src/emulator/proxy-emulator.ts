// The emulator itself: accepts connections, opens one to the target for each, and joins them by two pipes over the
// shared link.
import { type WriteStream, createWriteStream, mkdirSync } from "node:fs";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { Pipe, type PipeOwner } from "./pipe.ts";
import { LinkDirection } from "./link-direction.ts";
import {
  type EmulatorSettings,
  type LinkCounts,
  type LinkEmulator,
  type LinkShape,
  PLAIN_SHAPE,
} from "./link-emulator.ts";

interface Connection {
  sockets: [Socket, Socket];
  pipes: [Pipe, Pipe];
}

const HOST = "127.0.0.1";

class ProxyEmulator implements LinkEmulator, PipeOwner {
  readonly #target: { host: string; port: number };
  readonly #up = new LinkDirection();
  readonly #down = new LinkDirection();
  readonly #open = new Map<number, Connection>();
  readonly #recording: WriteStream | undefined;
  #shape: LinkShape = PLAIN_SHAPE;
  #server: Server | undefined;
  #port = 0;
  #lastId = 0;
  /** Accepted since the counts began. */
  #connections = 0;
  #lastActivityMs = performance.now();
  #isBlackHole = false;
  #flapping: NodeJS.Timeout | undefined;

  constructor(settings: EmulatorSettings) {
    this.#target = settings.target;
    this.#apply(settings.shape ?? {});
    if (settings.recordFolder !== undefined) {
      mkdirSync(settings.recordFolder, { recursive: true });
      this.#recording = createWriteStream(join(settings.recordFolder, "recording.jsonl"));
    }
  }

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
    this.#server = server;
    server.listen(this.#port, HOST);
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
  }

  async setShape(shape: Partial<LinkShape>): Promise<void> {
    this.#apply(shape);
    this.#resumeAll();
  }

  async cut(newConnections: "accept" | "refuse"): Promise<void> {
    if (newConnections === "refuse") {
      this.#server?.close();
      this.#server = undefined;
    }
    for (const id of this.#open.keys()) this.#drop(id);
  }

  async blackHole(): Promise<void> {
    this.#isBlackHole = true;
  }

  async flap(upMs: number, downMs: number): Promise<void> {
    await this.cut("refuse");
    this.#flapping = setTimeout(() => {
      void this.listen();
      this.#flapping = setTimeout(() => void this.flap(upMs, downMs), upMs);
    }, downMs);
  }

  async restore(): Promise<void> {
    clearTimeout(this.#flapping);
    this.#isBlackHole = false;
    await this.listen();
    for (const { pipes } of this.#open.values()) for (const pipe of pipes) pipe.flush();
  }

  async counts(): Promise<LinkCounts> {
    const isMoving = this.#up.queuedBytes + this.#down.queuedBytes > 0;
    return {
      up: { ...this.#up.counts },
      down: { ...this.#down.counts },
      connections: this.#connections,
      openConnections: this.#open.size,
      quietMs: isMoving ? 0 : performance.now() - this.#lastActivityMs,
    };
  }

  async resetCounts(): Promise<void> {
    this.#connections = 0;
    this.#up.resetCounts();
    this.#down.resetCounts();
    for (const { pipes } of this.#open.values()) for (const pipe of pipes) pipe.hasDeliveredSince = false;
  }

  async close(): Promise<void> {
    clearTimeout(this.#flapping);
    await this.cut("refuse");
    const recording = this.#recording;
    if (recording !== undefined) await new Promise<void>((resolve) => recording.end(resolve));
  }

  nowMs(): number {
    return performance.now();
  }

  isBlackHole(): boolean {
    return this.#isBlackHole;
  }

  noticeActivity(): void {
    this.#lastActivityMs = performance.now();
  }

  noticeReset(connection: number): void {
    this.#drop(connection);
  }

  noticeRoom(direction: LinkDirection): void {
    for (const { pipes } of this.#open.values()) for (const pipe of pipes) if (pipe.link === direction) pipe.resume();
  }

  record(pipe: Pipe, bytes: Uint8Array): void {
    const { connection, name: direction } = pipe;
    this.#recording?.write(
      `${JSON.stringify({ ms: Math.round(this.nowMs()), connection, direction, base64: Buffer.from(bytes).toString("base64") })}\n`,
    );
  }

  #apply(shape: Partial<LinkShape>): void {
    this.#shape = { ...this.#shape, ...shape };
    this.#up.setShape(this.#shape.upBitsPerSecond, this.#shape.rttMs);
    this.#down.setShape(this.#shape.downBitsPerSecond, this.#shape.rttMs);
  }

  #resumeAll(): void {
    this.noticeRoom(this.#up);
    this.noticeRoom(this.#down);
  }

  #accept(client: Socket): void {
    const id = ++this.#lastId;
    this.#connections += 1;
    const server = connect({ ...this.#target, allowHalfOpen: true, noDelay: true });
    const openMs = this.nowMs() + this.#shape.rttMs;
    const up = new Pipe("up", id, this.#up, { from: client, to: server, openMs }, this);
    const down = new Pipe("down", id, this.#down, { from: server, to: client, openMs }, this);
    up.opposite = down;
    down.opposite = up;
    this.#open.set(id, { sockets: [client, server], pipes: [up, down] });
    for (const socket of [client, server]) {
      socket.on("close", () => {
        if (client.destroyed && server.destroyed) this.#drop(id);
      });
    }
  }

  #drop(id: number): void {
    const connection = this.#open.get(id);
    if (connection === undefined) return;
    this.#open.delete(id);
    for (const pipe of connection.pipes) pipe.abandon();
    for (const socket of connection.sockets) if (!socket.destroyed) socket.resetAndDestroy();
    this.#resumeAll();
  }
}

/** Starts an emulator in this process. */
export async function startEmulatorHere(settings: EmulatorSettings): Promise<LinkEmulator> {
  const emulator = new ProxyEmulator(settings);
  await emulator.listen();
  return emulator;
}
