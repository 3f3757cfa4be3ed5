// A server's end of the wire over memory engines, and clients that speak to it message by message.
import { inlineExecutor } from "@runnel/native";
import type { Channel, Executor, Recipe } from "@runnel/shared";
import {
  Connection,
  RunnelError,
  SeededRandom,
  SimulatedClock,
  SimulatedDisk,
  SimulatedLink,
  encodeRecipe,
  packType,
} from "@runnel/shared";
import { FailedLogins } from "../../src/auth/failed-logins.ts";
import { memoryEngine } from "../../src/content/memory/memory-store.ts";
import { MemoryMetaImage, openMemoryMetaStore } from "../../src/meta/memory/meta-store.ts";
import { Volume } from "../../src/volume/volume.ts";
import { ConnectionHandler } from "../../src/wire/connection-handler.ts";

export const TERM_MS = 20_000;
export const executor: Executor = inlineExecutor();

export class ServerRig {
  readonly clock = new SimulatedClock();
  readonly disk = new SimulatedDisk({ clock: this.clock, seed: 1 });
  private readonly image = new MemoryMetaImage();
  readonly warnings: string[] = [];
  volume!: Volume;
  readonly handlers: ConnectionHandler[] = [];
  private readonly first: { firstNode?: number };

  constructor(first: { firstNode?: number }) {
    this.first = first;
  }

  /** `firstNode`: the first node id that is given out; else by chance. */
  static async start(first: { firstNode?: number } = {}): Promise<ServerRig> {
    const server = new ServerRig(first);
    await server.open();
    return server;
  }

  async open(): Promise<void> {
    const { clock, disk, image } = this;
    this.volume = await Volume.open({
      name: "docs",
      clock,
      executor,
      data: await disk.openRoot("/data", { permissions: 0o700 }),
      termMs: TERM_MS,
      openMeta: (create) =>
        openMemoryMetaStore(image, create === undefined ? {} : { create: { ...create, ...this.first } }),
      openEngine: async () => memoryEngine(),
      warn: (message) => void this.warnings.push(message),
    });
  }

  /** A connection that has not said anything yet. */
  dial(): Peer {
    const { clock } = this;
    const line = { delayMs: 0, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };
    const [left, right] = SimulatedLink.pair(clock, new SeededRandom(1), line);
    const handler = new ConnectionHandler({
      link: right,
      clock,
      executor,
      volume: (name) => (name === "docs" ? this.volume : undefined),
      access: undefined,
      failedLogins: new FailedLogins(clock),
      software: "Runnel server",
      warn: (message) => void this.warnings.push(message),
      ended: () => {},
    });
    this.handlers.push(handler);
    return new Peer(this, left);
  }

  /** A client that has attached. */
  async client(instance = "a", more: object = {}): Promise<Peer> {
    const peer = this.dial();
    await peer.ask("hello", { protocol: 1, software: `Runnel on ${instance}` });
    await peer.attach(instance, more);
    return peer;
  }
}

export interface AttachedMessage {
  epoch: string;
  seq: number;
  root: unknown[];
  nodes: [number, number] | null;
  isResumed: boolean;
  isReadOnly: boolean;
  termMs: number;
}

export interface OperationAnswer {
  node: number;
  seq: number;
  version: number;
  conflict: boolean;
}

export class Peer {
  readonly server: ServerRig;
  readonly link: SimulatedLink;
  readonly connection: Connection;
  feed!: Channel;
  attached!: AttachedMessage;
  private n = 0;
  private nextNode = 0;

  constructor(server: ServerRig, link: SimulatedLink) {
    this.server = server;
    this.link = link;
    this.connection = new Connection({
      link,
      isClient: true,
      clock: server.clock,
      executor,
      opened: () => {},
      closed: () => {},
    });
  }

  /** Waits on the simulated clock. */
  async until<T>(promise: Promise<T>): Promise<T> {
    const state = { isSettled: false };
    const settled = (): void => {
      state.isSettled = true;
    };
    promise.then(settled, settled);
    for (let turn = 0; turn < 200 && !state.isSettled; turn++) await this.server.clock.advance(0);
    if (!state.isSettled) await this.server.clock.runUntil(() => state.isSettled, 60_000);
    if (!state.isSettled) throw new Error("no answer");
    return promise;
  }

  ask(operation: string, request: object): Promise<unknown> {
    return this.until(this.connection.call(operation, request));
  }

  /** With the attachment's id. */
  request(operation: string, request: object): Promise<unknown> {
    return this.ask(operation, { attachment: this.feed.id, ...request });
  }

  async attach(instance: string, more: object = {}): Promise<void> {
    this.feed = this.connection.open("attach", {
      volume: "docs",
      instance: instanceOf(instance),
      wantsNodes: true,
      ...more,
    });
    this.attached = (await this.until(this.feed.next())) as AttachedMessage;
    this.nextNode = this.attached.nodes?.[0] ?? 0;
  }

  /** The feed's next item. */
  heard(): Promise<unknown> {
    return this.until(this.feed.next());
  }

  newNode(): number {
    return this.nextNode++;
  }

  /** A change, numbered. */
  async change(operation: string, request: object, n = ++this.n): Promise<OperationAnswer> {
    return (await this.request(operation, { n, received: 0, ...request })) as OperationAnswer;
  }

  make(name: string, type: "file" | "folder" = "file", folder = 1): Promise<OperationAnswer> {
    const attributes = { type: packType(type), mode: 0o644, uid: 0, gid: 0, mtimeNs: 5n, rdev: 0, target: "" };
    return this.change("make", { folder, name, node: this.newNode(), attributes });
  }

  /** Opens a write channel. */
  write(node: number, base: number, sizeBytes: number, more: { n?: number; isResumed?: boolean } = {}): Channel {
    const { n = ++this.n, isResumed = false } = more;
    return this.connection.open("write", {
      attachment: this.feed.id,
      n,
      received: 0,
      node,
      base,
      sizeBytes,
      attributes: {},
      isResumed,
    });
  }

  /** Sends items one after another, and the end. */
  async finish(channel: Channel, items: readonly unknown[], recipe: Recipe): Promise<OperationAnswer> {
    for (const item of items) channel.send(item);
    channel.send(["e", await oidOf(recipe)]);
    return (await this.until(channel.result())) as OperationAnswer;
  }

  /** A whole content as data. */
  async writeAll(node: number, base: number, bytes: Uint8Array): Promise<OperationAnswer> {
    const recipe = await executor.chunkBytes(bytes);
    return this.finish(this.write(node, base, bytes.length), dataItems(bytes, recipe), recipe);
  }

  async feedItem(head: string): Promise<unknown[]> {
    for (;;) {
      const item = (await this.heard()) as unknown[];
      if (item[0] === head) return item;
    }
  }
}

/** A name as the 32 hex digits of an instance. */
export function instanceOf(name: string): string {
  return Buffer.from(name).toString("hex").padEnd(32, "0");
}

export async function oidOf(recipe: Recipe): Promise<Uint8Array> {
  return executor.digest([encodeRecipe(recipe)]);
}

/** Runs of whole chunks, each within its item. */
export function dataItems(bytes: Uint8Array, recipe: Recipe): unknown[] {
  const items: unknown[] = [];
  let at = 0;
  for (const length of recipe.lengths) {
    items.push(["d", "raw", length, bytes.subarray(at, at + length)]);
    at += length;
  }
  return items;
}

/** Bytes of chance: nothing in them repeats. */
export function noise(seed: number, length: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = seed * 2_654_435_761 + 1;
  for (let index = 0; index < words.length; index++) {
    // xorshift32: as good as needed, and fast.
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[index] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

export async function kindOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof RunnelError)
      return error.detail.rule === undefined ? error.kind : `${error.kind} ${error.detail.rule}`;
    throw error;
  }
}
