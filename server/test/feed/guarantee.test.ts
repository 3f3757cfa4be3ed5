// Close-to-open in a simulation: clients with replicas and leases over lines that delay, break and sleep, and a server
// that restarts. When a commit is answered, nobody answers programs under a lease from what was before it; and no
// commit is answered later than a term.
import { describe, expect, test } from "@jest/globals";
import { SeededRandom, SimulatedClock, TIMING } from "@runnel/shared";
import type { Change } from "@runnel/shared";
import { Feed } from "../../src/feed/feed.ts";
import type { FeedSender, Holder } from "../../src/feed/holder.ts";
import { TERM_MS, changeOf } from "./followers.ts";

const FOLDERS = 4;
const STEPS = 1500;

/** A wire that delivers in order, late, and nothing once the line is cut. */
class Wire {
  isCut = false;
  private readonly world: World;
  private arrivedMs = 0;

  constructor(world: World) {
    this.world = world;
  }

  send(deliver: () => void): void {
    const { clock, random } = this.world;
    this.arrivedMs = Math.max(this.arrivedMs, clock.bootMs() + 1 + random.below(random.coin(0.05) ? 3000 : 100));
    clock.after(this.arrivedMs - clock.bootMs(), () => {
      if (!this.isCut) deliver();
    });
  }
}

type ToClient =
  | { is: "attached"; isResumed: boolean }
  | { is: "change"; seq: number; folder: number }
  | { is: "listed"; folder: number; seq: number }
  | { is: "current"; sentMs: number }
  | { is: "listAgain"; seq: number }
  | { is: "closed" };

/** A connection's attachment as the server has it: keeps feed items back until what was missed has been sent. */
class Attached implements FeedSender {
  holder: Holder | undefined;
  private readonly send: (message: ToClient) => void;
  private held: Change[] | undefined = [];

  constructor(send: (message: ToClient) => void) {
    this.send = send;
  }

  releaseAfter(seq: number): void {
    const { held } = this;
    this.held = undefined;
    this.changes((held ?? []).filter((change) => change.seq > seq));
  }

  changes(changes: readonly Change[]): void {
    if (this.held !== undefined) this.held.push(...changes);
    else
      for (const change of changes)
        this.send({ is: "change", seq: change.seq, folder: change.bindings[0]?.folder ?? -1 });
  }

  waiting(): void {}
  lack(): void {}

  listAgain(seq: number): void {
    this.send({ is: "listAgain", seq });
  }

  close(): void {
    this.send({ is: "closed" });
  }

  tell(message: ToClient): void {
    this.send(message);
  }
}

interface Connected {
  /** The server has answered; before that the client says nothing. */
  isReady: boolean;
  toServer: Wire;
  toClient: Wire;
  attached: Attached;
}

class Client {
  readonly instance: string;
  private readonly world: World;
  /** Last seq applied of each folder that it follows: what it would answer programs from. */
  readonly replica = new Map<number, number>();
  private appliedSeq = 0;
  leaseUntilMs = 0;
  isAsleep = false;
  private isDeaf = false;
  private inbox: ToClient[] = [];
  private connected: Connected | undefined;
  /** Answers to questions from before it was idle say nothing: the server has heard "idle" since. */
  private idleMs = -1;

  constructor(world: World, instance: string) {
    this.world = world;
    this.instance = instance;
  }

  get holder(): Holder | undefined {
    return this.connected?.attached.holder;
  }

  answersFrom(folder: number): number | undefined {
    return this.leaseUntilMs > this.world.clock.bootMs() ? this.replica.get(folder) : undefined;
  }

  // --- the client ---

  step(): void {
    const { random } = this.world;
    if (this.isAsleep) {
      if (random.coin(0.1)) this.wake();
      return;
    }
    const choice = random.below(100);
    if (this.connected === undefined) {
      if (choice < 40) this.connect();
    } else if (choice < 40) this.ask();
    else if (choice < 55) this.list(random.below(FOLDERS));
    else if (choice < 60) this.idle();
    else if (choice < 66) this.cut(random.coin());
    else if (choice < 70) this.isAsleep = true;
    else if (choice < 73) this.isDeaf = !this.isDeaf;
  }

  private wake(): void {
    this.isAsleep = false;
    // The timer may ask before what has come is read.
    if (this.world.random.coin()) this.ask();
    for (const message of this.inbox.splice(0)) this.take(message);
  }

  private connect(): void {
    const [toServer, toClient] = [new Wire(this.world), new Wire(this.world)];
    const attached = new Attached((message) =>
      toClient.send(() => {
        if (this.isAsleep) this.inbox.push(message);
        else this.take(message);
      }),
    );
    this.connected = { isReady: false, toServer, toClient, attached };
    const [seq, follows] = [this.appliedSeq, [...this.replica.keys()]];
    toServer.send(() => this.world.attach(this.instance, attached, seq, follows));
  }

  private ask(): void {
    const sentMs = this.world.clock.bootMs();
    this.say((holder, send) => {
      if (this.world.feed.renew(holder)) send({ is: "current", sentMs });
    });
  }

  private list(folder: number): void {
    this.say((holder, send) => {
      this.world.feed.follow(holder, folder);
      send({ is: "listed", folder, seq: this.world.seqOf(folder) });
    });
  }

  private idle(): void {
    this.leaseUntilMs = 0;
    this.idleMs = this.world.clock.bootMs();
    this.say((holder) => this.world.feed.idle(holder));
  }

  private say(what: (holder: Holder, send: (message: ToClient) => void) => void): void {
    const { connected } = this;
    if (connected?.isReady !== true) return;
    connected.toServer.send(() => {
      const { holder } = connected.attached;
      if (holder?.sender === connected.attached) what(holder, (message) => connected.attached.tell(message));
    });
  }

  cut(isKnownThere: boolean): void {
    const { connected } = this;
    if (connected === undefined) return;
    connected.toServer.isCut = true;
    connected.toClient.isCut = true;
    this.connected = undefined;
    this.inbox = [];
    const { feed } = this.world;
    // The server may hear of it much later.
    this.world.clock.after(isKnownThere ? 0 : 5_000, () => {
      if (connected.attached.holder !== undefined) feed.detach(connected.attached.holder, false);
    });
  }

  private take(message: ToClient): void {
    if (message.is === "attached") {
      if (this.connected !== undefined) this.connected.isReady = true;
      if (!message.isResumed) this.forget();
      this.ask();
    } else if (message.is === "change") this.apply(message.folder, message.seq);
    else if (message.is === "listed")
      this.replica.set(message.folder, Math.max(message.seq, this.replica.get(message.folder) ?? 0));
    else if (message.is === "current" && message.sentMs > this.idleMs)
      this.leaseUntilMs = Math.max(this.leaseUntilMs, message.sentMs + TERM_MS - TIMING.leaseMarginMs);
    else if (message.is === "listAgain") {
      this.forget();
      this.acknowledge(message.seq);
    } else if (message.is === "closed") this.cut(true);
  }

  private apply(folder: number, seq: number): void {
    if (this.replica.has(folder)) this.replica.set(folder, Math.max(seq, this.replica.get(folder) ?? 0));
    this.appliedSeq = Math.max(this.appliedSeq, seq);
    this.acknowledge(seq);
  }

  private acknowledge(seq: number): void {
    if (!this.isDeaf) this.say((holder) => this.world.feed.acknowledge(holder, seq));
  }

  private forget(): void {
    this.replica.clear();
    this.appliedSeq = 0;
  }
}

class World {
  readonly clock = new SimulatedClock();
  readonly random: SeededRandom;
  feed: Feed;
  readonly clients: Client[];
  private readonly history: Change[] = [];
  private readonly attached = new Set<string>();
  readonly faults: string[] = [];
  answered = 0;
  waitedFor = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.feed = new Feed(this.clock, TERM_MS, []);
    this.clients = Array.from({ length: 4 }, (_, index) => new Client(this, `client ${index}`));
  }

  seqOf(folder: number): number {
    return this.history.findLast((change) => change.bindings[0]?.folder === folder)?.seq ?? 0;
  }

  attach(instance: string, attached: Attached, seq: number, follows: readonly number[]): void {
    const { feed } = this;
    this.attached.add(instance);
    const holder = feed.attach({ instance, who: instance, device: "" }, attached, seq);
    attached.holder = holder;
    // Things happen between the two, as in attaching for real.
    this.clock.after(this.random.below(60), () => {
      if (holder.sender !== attached || feed !== this.feed) return;
      const isResumed = this.random.coin(0.8);
      if (isResumed) for (const folder of follows) feed.follow(holder, folder);
      attached.tell({ is: "attached", isResumed });
      const missed = isResumed ? this.history.filter((change) => change.seq > seq && holder.touches(change)) : [];
      for (const change of missed)
        attached.tell({ is: "change", seq: change.seq, folder: change.bindings[0]?.folder ?? -1 });
      attached.releaseAfter(isResumed ? (this.history.at(-1)?.seq ?? 0) : 0);
    });
  }

  commit(): void {
    const folder = this.random.below(FOLDERS);
    const seq = this.history.length + 1;
    const change = changeOf(seq, folder);
    this.history.push(change);
    const by = this.random.coin(0.7) ? this.clients[this.random.below(this.clients.length)] : undefined;
    const startMs = this.clock.bootMs();
    const { feed } = this;
    void feed.publish([change], by?.holder, 1).then(() => {
      if (feed !== this.feed) return;
      this.answered++;
      const tookMs = this.clock.bootMs() - startMs;
      if (tookMs > 0) this.waitedFor++;
      if (tookMs > TERM_MS) this.faults.push(`commit ${seq} took ${tookMs} ms`);
      for (const client of this.clients) {
        if (client === by || client.instance === by?.instance) continue;
        const from = client.answersFrom(folder);
        if (from !== undefined && from < seq)
          this.faults.push(`${client.instance} answers from ${from} in folder ${folder} after commit ${seq}`);
      }
    });
  }

  restart(): void {
    for (const client of this.clients) client.cut(true);
    this.feed.close();
    this.feed = new Feed(
      this.clock,
      TERM_MS,
      [...this.attached].map((instance) => ({ instance, termMs: 0 })),
    );
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      const choice = this.random.below(1000);
      if (choice < 300) this.commit();
      else if (choice < 304) this.restart();
      else this.clients[this.random.below(this.clients.length)]?.step();
      await this.clock.advance(this.random.coin(0.1) ? this.random.below(8_000) : this.random.below(400));
    }
    await this.clock.advance(2 * TERM_MS);
  }
}

async function faultsOf(seed: number): Promise<World> {
  const world = new World(seed);
  await world.run(STEPS);
  return world;
}

const SEEDS = process.env["RUNNEL_LONG"] === undefined ? 8 : 300;

describe("close-to-open", () => {
  test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
    "[W15] [W17] [W18] [W19] holds, and no commit takes longer than a term, seed %i",
    async (seed) => {
      const world = await faultsOf(seed);
      expect(world.faults).toEqual([]);
      expect(world.answered).toBeGreaterThan(STEPS / 5);
      expect(world.waitedFor).toBeGreaterThan(20);
    },
  );
});

describe("the simulation finds a planted bug:", () => {
  async function isFound(
    method: "attach" | "publish",
    plant: (original: (...args: unknown[]) => unknown) => (this: Feed, ...args: unknown[]) => unknown,
  ): Promise<boolean> {
    const original = Reflect.get(Feed.prototype, method) as (...args: unknown[]) => unknown;
    Reflect.set(Feed.prototype, method, plant(original));
    try {
      for (let seed = 1; seed <= SEEDS; seed++) if ((await faultsOf(seed)).faults.length > 0) return true;
      return false;
    } finally {
      Reflect.set(Feed.prototype, method, original);
    }
  }

  test("a commit that waits for nobody", async () => {
    expect(
      await isFound(
        "publish",
        (original) =>
          async function (...args) {
            void original.apply(this, args);
          },
      ),
    ).toBe(true);
  });

  test("a client that comes back and is waited for only in what it says it follows", async () => {
    expect(
      await isFound(
        "attach",
        (original) =>
          function (...args) {
            const holder = original.apply(this, args) as Holder;
            holder.uncertainUntil = undefined;
            return holder;
          },
      ),
    ).toBe(true);
  });

  test("a client that comes back without its lease", async () => {
    expect(
      await isFound(
        "attach",
        (original) =>
          function (...args) {
            const holder = original.apply(this, args) as Holder;
            holder.leaseUntilMs = 0;
            return holder;
          },
      ),
    ).toBe(true);
  });
});
