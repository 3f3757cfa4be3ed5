// A network between the clients of a simulation, beside their lines to the server: there they dial each other, by keys
// that nobody has to prove. Connections break or fall silent by chance, and with their processes.
import { ColleagueDoor, type DeviceAtHome, MemoryCost } from "@runnel/app/internals";
import type { Clock, Executor, Link, SeededRandom, SimulatedLink, TlsIdentity } from "@runnel/shared";
import { RunnelError, SimulatedNetwork, sleep } from "@runnel/shared";
import { LateLink } from "../../simulation/late-link.ts";
import type { Process } from "../../simulation/machine.ts";

const DELAY_MS = 1;
const DIAL_MS = 4;
/** Shares of connections that break, or fall silent for good, and when. */
const BREAKS_SHARE = 0.15;
const SILENT_SHARE = 0.1;
const FAULT_MS = 2_000;
const KEY_BYTES = 32;

export class LocalNetwork {
  readonly network: SimulatedNetwork;
  readonly clock: Clock;
  readonly random: SeededRandom;
  /** Keys of those who listen, by port. */
  readonly keys = new Map<number, string>();
  /** Key of whoever dials at this moment. */
  dialing: Uint8Array | undefined;

  constructor(clock: Clock, random: SeededRandom) {
    this.clock = clock;
    this.random = random;
    this.network = new SimulatedNetwork(clock, random);
  }

  /** Connects at once. @throws Unreachable when nobody listens there. */
  connect(port: number, key: Uint8Array): SimulatedLink {
    const { random, clock } = this;
    const conditions = { delayMs: DELAY_MS, jitterMs: DELAY_MS, bytesPerSecond: Infinity, isBlackHole: false };
    this.dialing = key;
    try {
      const link = this.network.connect(port, conditions);
      const fate = random.below(1000) / 1000;
      const afterMs = random.below(FAULT_MS);
      if (fate < BREAKS_SHARE) clock.after(afterMs, () => link.cut());
      else if (fate < BREAKS_SHARE + SILENT_SHARE) clock.after(afterMs, () => void (conditions.isBlackHole = true));
      return link;
    } finally {
      this.dialing = undefined;
    }
  }

  device(name: string, process: Process, executor: Executor): SimulatedDevice {
    return new SimulatedDevice(this, name, process, executor);
  }
}

/** A process of a client, as its colleagues know it. */
export class SimulatedDevice implements DeviceAtHome {
  readonly door: ColleagueDoor;
  readonly lineCost = new MemoryCost().cost;
  readonly #network: LocalNetwork;
  readonly #process: Process;
  readonly #key: Uint8Array;
  readonly #ports = new Set<number>();
  readonly #links = new Set<SimulatedLink>();

  constructor(network: LocalNetwork, name: string, process: Process, executor: Executor) {
    this.#network = network;
    this.#process = process;
    this.#key = new Uint8Array(Buffer.from(name.padEnd(KEY_BYTES).slice(0, KEY_BYTES)));
    this.door = new ColleagueDoor({
      clock: process,
      executor,
      software: "Runnel",
      identity: () => Promise.resolve({} as TlsIdentity),
      acceptor: () => ({ listen: (host, _port, accept) => this.#listen(host, accept) }),
    });
  }

  key(): Promise<Uint8Array> {
    return Promise.resolve(this.#key);
  }

  addresses(): string[] {
    return ["10.0.0.1"];
  }

  dialerFor(fingerprint: string): ReturnType<DeviceAtHome["dialerFor"]> {
    return {
      dial: async (url, signal) => {
        const port = Number(new URL(url).port);
        await sleep(this.#process, DIAL_MS);
        if (signal?.aborted === true) throw new RunnelError("Interrupted", "dial", "The attempt was ended.");
        if ((this.#network.keys.get(port) ?? fingerprint) !== fingerprint)
          throw new RunnelError("Denied", "dial", "Another device answers there.");
        const link = this.#network.connect(port, this.#key);
        this.#links.add(link);
        return new LateLink(link, this.#process);
      },
    };
  }

  /** All connections of this process break, those to its door and its own. */
  cut(): void {
    for (const port of this.#ports) this.#network.network.cut(port);
    for (const link of this.#links) link.cut();
    this.#links.clear();
  }

  /** The process has been killed. */
  end(): void {
    for (const port of this.#ports) {
      this.#network.network.kill(port);
      this.#network.keys.delete(port);
    }
    this.cut();
  }

  async #listen(host: string, accept: (link: Link) => void): ReturnType<SimulatedNetwork["listen"]> {
    const network = this.#network;
    const listener = await network.network.listen(host, 0, (link) => {
      const peerKey = network.dialing;
      this.#process.event(() => accept(new KeyedLink(link, this.#process, peerKey)));
    });
    const { port } = listener;
    this.#ports.add(port);
    network.keys.set(port, Buffer.from(this.#key).toString("base64url"));
    const close = async (): Promise<void> => {
      this.#ports.delete(port);
      network.keys.delete(port);
      await listener.close();
    };
    return { port, close };
  }
}

/** A link whose other end has shown a key. */
class KeyedLink extends LateLink {
  readonly peerKey: Uint8Array | undefined;

  constructor(link: Link, process: Process, peerKey: Uint8Array | undefined) {
    super(link, process);
    this.peerKey = peerKey;
  }
}
