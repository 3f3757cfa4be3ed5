// The one server of this workspace's tests: a volume, and clients of it over simulated lines. A client is the
// protocol's own Connection against ConnectionHandler.
import type {
  Channel,
  ChunkPreset,
  FeedFromServer,
  FetchItem,
  FindItem,
  LineConditions,
  Recipe,
  ResultOf,
  VersionId,
} from "@runnel/shared";
import {
  LIMITS,
  TIMING,
  Connection,
  FEED_FROM_SERVER,
  FETCH_ITEM,
  FIND_ITEMS,
  FailedTries,
  FailedTriesByAddress,
  RunnelError,
  SeededRandom,
  SimulatedLink,
  WRITE_REPLY,
  check,
  chunkOffsets,
  encodeRecipe,
  isRunnelError,
  packType,
  sliceRecipe,
  checkResult,
} from "@runnel/shared";
import type { AuditLog } from "../../src/audit/audit-log.ts";
import type { DeviceRegistry } from "../../src/auth/device-registry.ts";
import type { Volume } from "../../src/volume/volume.ts";
import { ConnectionHandler } from "../../src/wire/connection-handler.ts";
import { VolumeRig } from "../volume/volume-rig.ts";

export const LINE: LineConditions = { delayMs: 5, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };

export interface Result {
  node: number;
  seq: number;
  version: number;
  conflict: boolean;
}

interface Line {
  link: SimulatedLink;
  /** The server's end. */
  far: SimulatedLink;
  handler: ConnectionHandler;
}

export class ServerRig {
  readonly rig: VolumeRig;
  readonly handlers = new Set<ConnectionHandler>();
  /** With those that ended while something that they were asked for was under way. */
  readonly present = new Set<ConnectionHandler>();
  readonly failedLogins: FailedTriesByAddress;
  readonly cutOffs: FailedTries;
  readonly attaches: FailedTries;
  /** Volumes that the server has besides "docs". */
  readonly others = new Map<string, Volume>();
  /** Count of connections that were authenticated. */
  authenticated = 0;
  /** Why no volume can be served now. */
  private away: RunnelError | undefined;
  /** Set before a client connects: who may do what. */
  devices: DeviceRegistry | undefined;
  /** Set before a client connects: where logins and refusals are recorded. */
  audit: AuditLog | undefined;

  constructor(rig: VolumeRig) {
    this.rig = rig;
    this.failedLogins = new FailedTriesByAddress(rig.clock, {
      atOnce: LIMITS.failedLogins,
      refillMs: TIMING.loginRefillMs,
    });
    this.cutOffs = new FailedTries(rig.clock, { atOnce: LIMITS.cutOffs, refillMs: TIMING.cutOffRefillMs });
    this.attaches = new FailedTries(rig.clock, { atOnce: LIMITS.deviceAttaches, refillMs: TIMING.attachRefillMs });
  }

  static async open(seed = 1, options: ConstructorParameters<typeof VolumeRig>[1] = {}): Promise<ServerRig> {
    return new ServerRig(await VolumeRig.open(seed, options));
  }

  /**
   * A line to the server that has said nothing yet; `back`: conditions of what the server sends, where those differ.
   */
  dial(line: Partial<LineConditions> = {}, back = line): Line {
    const { clock, executor, volume, warnings } = this.rig;
    const there = { ...LINE, ...line };
    const [link, far] = SimulatedLink.pair(clock, new SeededRandom(1), there, { ...LINE, ...back });
    const handler: ConnectionHandler = new ConnectionHandler({
      link: far,
      clock,
      executor,
      volume: (name) => {
        if (this.away !== undefined) throw this.away;
        return name === "docs" ? volume : this.others.get(name);
      },
      devices: this.devices,
      failedLogins: this.failedLogins,
      cutOffs: this.cutOffs,
      attaches: this.attaches,
      audit: this.audit,
      software: "test server",
      warn: (message) => warnings.push(message),
      ofDevice: () => this.present,
      authenticated: () => this.authenticated++,
      ended: () => this.handlers.delete(handler),
      gone: () => this.present.delete(handler),
    });
    this.handlers.add(handler);
    this.present.add(handler);
    return { link, far, handler };
  }

  connect(line: Partial<LineConditions> = {}, back = line): Client {
    const { link, far } = this.dial(line, back);
    return new Client(this.rig, link, far);
  }

  async greeted(line: Partial<LineConditions> = {}, back = line): Promise<Client> {
    const client = this.connect(line, back);
    await client.call("hello", { protocol: 1, software: "test client" });
    return client;
  }

  /** Ends the volume, as when its folder goes. */
  end(error: RunnelError): void {
    this.away = error;
    for (const handler of this.handlers) handler.volumeEnded(this.rig.volume, error);
  }

  async close(): Promise<void> {
    for (const handler of this.handlers) handler.close(new RunnelError("Unreachable", "serve", "The server stops."));
    await this.rig.close();
  }
}

export class Client {
  readonly rig: VolumeRig;
  readonly link: SimulatedLink;
  /** The server's end. */
  readonly far: SimulatedLink;
  readonly connection: Connection;
  closed: RunnelError | undefined;

  constructor(rig: VolumeRig, link: SimulatedLink, far: SimulatedLink) {
    this.rig = rig;
    this.link = link;
    this.far = far;
    this.connection = new Connection({
      link,
      isClient: true,
      clock: rig.clock,
      executor: rig.executor,
      opened: () => undefined,
      closed: (error) => {
        this.closed = error;
      },
    });
  }

  call(operation: string, request: object): Promise<unknown> {
    return this.rig.run(this.connection.call(operation, request));
  }

  async attach(instance: string, more: object = {}): Promise<Attached> {
    const attached = await this.attachUnheard(instance, more);
    void attached.listen();
    return attached;
  }

  /** Leaves the feed to the test. */
  async attachUnheard(instance: string, more: object = {}): Promise<Attached> {
    const channel = this.connection.open("attach", { volume: "docs", instance, wantsNodes: true, ...more });
    const facts = checkResult("attach", await this.rig.run(channel.next()));
    return new Attached(this, channel, facts, instance);
  }
}

type Facts = ResultOf<"attach">;

export class Attached {
  readonly client: Client;
  readonly channel: Channel;
  readonly facts: Facts;
  readonly instance: string;
  readonly feed: FeedFromServer[] = [];
  /** The error that ended the feed. */
  ended: unknown;
  acks = true;
  n = 0;
  private nextNode: number;

  constructor(client: Client, channel: Channel, facts: Facts, instance: string) {
    this.client = client;
    this.channel = channel;
    this.facts = facts;
    this.instance = instance;
    this.nextNode = facts.nodes?.[0] ?? 0;
  }

  /** Records what comes on the feed, and acknowledges it, as it does what others have. */
  async listen(): Promise<void> {
    try {
      for (let item = await this.channel.next(); item !== undefined; item = await this.channel.next()) {
        const told = check(FEED_FROM_SERVER, item, "feed");
        this.feed.push(told);
        const last = told[0] === "changes" ? told[1].at(-1)?.seq : told[0] === "listAgain" ? told[1] : undefined;
        if (this.acks && last !== undefined) this.channel.send(["ack", last]);
        if (this.acks && told[0] === "others") this.channel.send(["heard", told[1]]);
      }
      this.ended = "ended";
    } catch (error) {
      this.ended = error;
    }
  }

  get rig(): VolumeRig {
    return this.client.rig;
  }

  /** Seqs of the changes told so far. */
  get seqs(): number[] {
    return this.feed.flatMap((item) => (item[0] === "changes" ? item[1].map(({ seq }) => seq) : []));
  }

  newNode(): number {
    return this.nextNode++;
  }

  request(more: object): object {
    return { attachment: this.channel.id, ...more };
  }

  numbered(more: object, n = ++this.n): object {
    return this.request({ n, received: 0, ...more });
  }

  call(operation: string, more: object): Promise<unknown> {
    return this.client.call(operation, this.request(more));
  }

  /** Sent at once, not waited for. */
  start(operation: string, more: object, n?: number): Promise<Result> {
    return this.client.connection.call(operation, this.numbered(more, n)).then((result) => checkResult("make", result));
  }

  change(operation: string, more: object, n?: number): Promise<Result> {
    return this.rig.run(this.start(operation, more, n));
  }

  attributes(type: "file" | "folder" | "symlink", target = ""): object {
    return {
      type: packType(type),
      mode: type === "folder" ? 0o755 : 0o644,
      uid: 0,
      gid: 0,
      mtimeNs: 1_600_000_000_000_000_000n,
      rdev: 0,
      target,
    };
  }

  startMake(
    folder: number,
    name: string,
    type: "file" | "folder" | "symlink" = "file",
    target = "",
  ): { node: number; made: Promise<Result> } {
    const node = this.newNode();
    return { node, made: this.start("make", { folder, name, node, attributes: this.attributes(type, target) }) };
  }

  async make(folder: number, name: string, type: "file" | "folder" | "symlink" = "file", target = ""): Promise<number> {
    const { made } = this.startMake(folder, name, type, target);
    return (await this.rig.run(made)).node;
  }

  async renew(): Promise<FeedFromServer | undefined> {
    const k = this.feed.length + 1_000;
    this.channel.send(["current", k]);
    await this.rig.clock.advance(50);
    return this.feed.find((item) => (item[0] === "current" || item[0] === "not") && item[1] === k);
  }

  openWrite(more: object, n?: number): Upload {
    return new Upload(
      this,
      this.client.connection.open("write", this.numbered({ base: 0, attributes: {}, isResumed: false, ...more }, n)),
    );
  }

  /** Writes a run of new data. */
  async write(node: number, base: number, bytes: Uint8Array, n?: number): Promise<Result> {
    const upload = this.openWrite({ node, base, sizeBytes: bytes.length }, n);
    await upload.data(bytes);
    return upload.finish(await this.rig.executor.chunkBytes(bytes));
  }

  async find(more: object): Promise<FindItem[]> {
    const channel = this.client.connection.ask(
      "find",
      this.request({ folder: 1, isDeep: false, follow: false, ...more }),
    );
    const items = await this.rig.run(collect(channel));
    return items.flatMap((item) => check(FIND_ITEMS, item, "find item"));
  }

  async fetch(version: VersionId, more: object = {}): Promise<{ items: FetchItem[]; bulk: Uint8Array[] }> {
    const whole = { version: [version.node, version.seq], held: [], hasRecipe: false, offset: 0, length: 2 ** 40 };
    const channel = this.client.connection.ask("fetch", this.request({ ...whole, ...more }));
    return this.rig.run(collectFetch(channel, this.rig));
  }

  async recipe(node: number, seq: number): Promise<Recipe> {
    const recipe = await this.rig.volume.meta.recipe({ node, seq });
    if (recipe === undefined) throw new Error("There is no recipe.");
    return recipe;
  }
}

async function collect(channel: Channel): Promise<unknown[]> {
  const items: unknown[] = [];
  for (let item = await channel.next(); item !== undefined; item = await channel.next()) items.push(item);
  await channel.result();
  return items;
}

async function collectFetch(channel: Channel, rig: VolumeRig): Promise<{ items: FetchItem[]; bulk: Uint8Array[] }> {
  const items: FetchItem[] = [];
  const bulk: Uint8Array[] = [];
  for (let item = await channel.next(); item !== undefined; item = await channel.next()) {
    const checked = check(FETCH_ITEM, item, "fetch item");
    items.push(checked);
    if (checked[0] !== "d" && checked[0] !== "s" && checked[0] !== "raw") continue;
    const [encoding, rawBytes, encodedBytes] =
      checked[0] === "raw" ? [checked[2], checked[3], checked[4]] : [checked[3], checked[4], checked[5]];
    const encoded = await channel.readBulk(encodedBytes);
    // A delta is given as it came.
    bulk.push(encoding === "zstd" ? await rig.executor.decompress(encoded, rawBytes) : encoded);
  }
  await channel.result();
  return { items, bulk };
}

export class Upload {
  readonly channel: Channel;
  private readonly attached: Attached;
  private readonly answer: Promise<unknown>;

  constructor(attached: Attached, channel: Channel) {
    this.attached = attached;
    this.channel = channel;
    this.answer = channel.result();
    this.answer.catch(() => undefined);
  }

  /** Runs of whole chunks, each of at most a megabyte. */
  async data(bytes: Uint8Array, head: ["d"] | ["r", number] = ["d"], preset: ChunkPreset = 0): Promise<void> {
    const recipe = await this.attached.rig.executor.chunkBytes(bytes, preset);
    const offsets = chunkOffsets(recipe);
    let from = 0;
    while (from < recipe.lengths.length) {
      let to = from + 1;
      while (to < recipe.lengths.length && (offsets[to + 1] ?? 0) - (offsets[from] ?? 0) <= 1024 * 1024) to++;
      const run = bytes.subarray(offsets[from], offsets[to]);
      if (run.length <= 4096) this.channel.send([...head, "raw", run.length, run]);
      else {
        this.channel.send([...head, "raw", run.length, run.length]);
        const sent = this.channel.sendBulk(run);
        sent.catch(() => undefined);
        await this.attached.rig.run(Promise.race([sent, this.answer.then(() => undefined)]));
      }
      from = to;
    }
  }

  copy(version: VersionId, from: number, count: number): void {
    this.channel.send(["c", [version.node, version.seq], from, count]);
  }

  known(recipe: Recipe, place: VersionId | null, index: number): void {
    this.channel.send(["h", encodeRecipe(recipe), place === null ? null : [place.node, place.seq], index]);
  }

  async end(recipe: Recipe): Promise<void> {
    this.channel.send(["e", await this.attached.rig.executor.digest([encodeRecipe(recipe)])]);
  }

  /** Counts of items that the server says it has accepted. */
  readonly taken: number[] = [];

  /** The next thing that the server says besides; undefined when it has ended. */
  async reply(): Promise<["need", number[]] | ["from", number] | undefined> {
    for (;;) {
      const message = await this.attached.rig.run(this.channel.next());
      if (message === undefined) return undefined;
      const reply = check(WRITE_REPLY, message, "write reply");
      if (reply[0] !== "accepted") return reply;
      this.taken.push(reply[1]);
    }
  }

  async result(): Promise<Result> {
    return checkResult("write", await this.attached.rig.run(this.answer));
  }

  async finish(recipe: Recipe): Promise<Result> {
    await this.end(recipe);
    return this.result();
  }
}

export async function kindOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "done",
    (error: unknown) => (isRunnelError(error) ? error.kind : String(error)),
  );
}

/** A part of a content as the recipe has it. */
export function part(
  bytes: Uint8Array,
  recipe: Recipe,
  from: number,
  to: number,
): { bytes: Uint8Array; recipe: Recipe } {
  const offsets = chunkOffsets(recipe);
  return { bytes: bytes.subarray(offsets[from], offsets[to]), recipe: sliceRecipe(recipe, from, to) };
}

/** A name as the 32 hex digits of an instance. */
export function instanceOf(name: string): string {
  return Buffer.from(name).toString("hex").padEnd(32, "0");
}
