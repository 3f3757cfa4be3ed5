// A network in memory: servers listen on it, each machine dials over a line of its own that can be slow, cut or
// swallowed.
import { RunnelError } from "../../errors.ts";
import { TIMING } from "../../limits.ts";
import { type Clock, sleep } from "../clock.ts";
import type { Acceptor, Dialer, Link, Listener } from "../link.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { type LineConditions, SimulatedLink } from "./simulated-link.ts";

const PORT_FIRST = 49_152;
const CLOSE_GOING_AWAY = 1001;
/** TCP's handshake and the WebSocket's. */
const DIAL_ROUND_TRIPS = 2;

interface Listening {
  accept: (link: Link) => void;
  links: Set<SimulatedLink>;
}

export class SimulatedNetwork implements Acceptor {
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly #listening = new Map<number, Listening>();
  #portNext = PORT_FIRST;

  constructor(clock: Clock, random: SeededRandom) {
    this.clock = clock;
    this.random = random;
  }

  /** All hosts are one. */
  async listen(_host: string, port: number, accept: (link: Link) => void): Promise<Listener> {
    const chosen = port === 0 ? this.#portNext++ : port;
    if (this.#listening.has(chosen))
      throw new RunnelError("Busy", "listen", `Port ${chosen} is in use by another program.`);
    const listening: Listening = { accept, links: new Set() };
    this.#listening.set(chosen, listening);
    return {
      port: chosen,
      close: async () => {
        // A process that was killed may come to this when the next one listens.
        if (this.#listening.get(chosen) === listening) this.#listening.delete(chosen);
        for (const link of listening.links) link.close(CLOSE_GOING_AWAY, "The server stops.");
      },
    };
  }

  /** Breaks the links of whoever listens there. */
  cut(port: number): void {
    for (const link of this.#listening.get(port)?.links ?? []) link.cut();
  }

  /** The process that listens there is killed: its links break. */
  kill(port: number): void {
    this.cut(port);
    this.#listening.delete(port);
  }

  line(conditions: Partial<LineConditions> = {}): SimulatedLine {
    return new SimulatedLine(this, conditions);
  }

  /** @throws RunnelError Unreachable when nothing listens there. */
  connect(port: number, conditions: LineConditions): SimulatedLink {
    const listening = this.#listening.get(port);
    if (listening === undefined) throw unreachable(port, "nothing listens there");
    const [dialing, accepting] = SimulatedLink.pair(this.clock, this.random, conditions);
    for (const link of listening.links) if (link.isEnded) listening.links.delete(link);
    listening.links.add(accepting);
    listening.accept(accepting);
    return dialing;
  }
}

/** Line of one machine to the network. Its conditions may be changed at any time. */
export class SimulatedLine implements Dialer, LineConditions {
  readonly #network: SimulatedNetwork;
  #links = new Set<SimulatedLink>();
  #isBlackHole: boolean;
  /** Dialing fails at once, as without a network. */
  isDown = false;
  delayMs: number;
  jitterMs: number;
  bytesPerSecond: number;
  /** After a black hole its links stay silent for as long again, new ones do not: TCP sends again ever more seldom. */
  backsOff = false;
  #blackHoleMs = 0;

  constructor(network: SimulatedNetwork, conditions: Partial<LineConditions>) {
    this.#network = network;
    this.delayMs = conditions.delayMs ?? 10;
    this.jitterMs = conditions.jitterMs ?? 0;
    this.bytesPerSecond = conditions.bytesPerSecond ?? Infinity;
    this.#isBlackHole = conditions.isBlackHole ?? false;
  }

  get isBlackHole(): boolean {
    return this.#isBlackHole;
  }

  set isBlackHole(isBlackHole: boolean) {
    if (isBlackHole === this.#isBlackHole) return;
    this.#isBlackHole = isBlackHole;
    const { clock } = this.#network;
    if (isBlackHole) {
      this.#blackHoleMs = clock.bootMs();
      return;
    }
    const links = [...this.#links];
    const release = (): void => {
      if (!this.#isBlackHole) for (const link of links) link.release();
    };
    if (this.backsOff) clock.after(clock.bootMs() - this.#blackHoleMs, release);
    else release();
  }

  async dial(url: string, signal?: AbortSignal): Promise<Link> {
    const { clock } = this.#network;
    const parsed = URL.parse(url);
    if (parsed?.protocol !== "ws:")
      throw new RunnelError("Invalid", "dial", "A server's address looks like ws://127.0.0.1:PORT/VOLUME.");
    const port = Number(parsed.port);
    if (this.isDown) throw unreachable(port, "there is no network");
    await Promise.race([
      sleep(clock, this.#isBlackHole ? TIMING.connectStepMs : 2 * DIAL_ROUND_TRIPS * this.delayMs),
      aborted(signal),
    ]);
    if (signal?.aborted) throw new RunnelError("Interrupted", "dial", "The attempt was ended.");
    if (this.isDown || this.#isBlackHole) throw unreachable(port, "it does not answer");
    const link = this.#network.connect(port, this);
    for (const old of this.#links) if (old.isEnded) this.#links.delete(old);
    this.#links.add(link);
    return link;
  }

  /**
   * All links over this line break, but only this machine is told. What it had sent arrives when the function is called
   * that this returns.
   */
  lose(): () => void {
    const arrivals = Array.from(this.#links, (link) => link.lose());
    this.#links.clear();
    return () => {
      for (const arrive of arrivals) arrive();
    };
  }

  /** Breaks all links over this line. */
  cut(): void {
    for (const link of this.#links) link.cut();
    this.#links.clear();
  }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}

function unreachable(port: number, why: string): RunnelError {
  return new RunnelError("Unreachable", "dial", `Cannot reach a server at port ${port}: ${why}.`);
}
