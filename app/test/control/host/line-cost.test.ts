// Contract of what systems say of a line: NetworkManager over a bus of its own, with a service in its place; Windows'
// command with what it prints; and the memory engine.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { RealClock, SimulatedClock } from "@runnel/shared";
import dbus, { type MessageBus } from "dbus-next";
import { type LineCost, SharedLineCost, type WatchCost } from "../../../src/agent/control/host/line-cost/line-cost.ts";
import { MemoryCost } from "../../../src/agent/control/host/line-cost/memory-cost.ts";
import { networkManagerCost } from "../../../src/agent/control/host/line-cost/linux-cost.ts";
import { windowsCost } from "../../../src/agent/control/host/line-cost/windows-cost.ts";

const NAME = "org.freedesktop.NetworkManager";
/** NMMetered. */
const [UNKNOWN, YES, NO, GUESS_YES, GUESS_NO] = [0, 1, 2, 3, 4];

class NetworkManager extends dbus.interface.Interface {
  metered: unknown = UNKNOWN;

  constructor() {
    super(NAME);
  }

  get Metered(): unknown {
    return this.metered;
  }
}
NetworkManager.configureMembers({ properties: { Metered: { signature: "u", access: dbus.interface.ACCESS_READ } } });

/** A system's bus, and what NetworkManager says there. */
class SystemBus {
  readonly address: string;
  readonly daemon: ChildProcess;
  readonly service = new NetworkManager();
  #bus: MessageBus | undefined;

  private constructor(daemon: ChildProcess, address: string) {
    this.daemon = daemon;
    this.address = address;
  }

  static async start(): Promise<SystemBus> {
    const args = ["--session", "--nofork", "--print-address=1"];
    const daemon = spawn("dbus-daemon", args, { stdio: ["ignore", "pipe", "ignore"] });
    const [line] = (await once(createInterface({ input: daemon.stdout as Readable }), "line")) as [string];
    return new SystemBus(daemon, line.trim());
  }

  async arrive(): Promise<void> {
    this.#bus = dbus.sessionBus({ busAddress: this.address });
    this.#bus.export("/org/freedesktop/NetworkManager", this.service);
    await this.#bus.requestName(NAME, 0);
  }

  say(metered: number): void {
    this.service.metered = metered;
    NetworkManager.emitPropertiesChanged(this.service, { Metered: metered }, []);
  }

  async leave(): Promise<void> {
    await this.#bus?.releaseName(NAME);
    this.#bus?.disconnect();
  }

  async end(): Promise<void> {
    this.#bus?.disconnect();
    this.daemon.kill("SIGKILL");
    if (this.daemon.exitCode === null && this.daemon.signalCode === null) await once(this.daemon, "exit");
  }
}

/** Follows it, and waits for what it says. */
class Follower implements Disposable {
  readonly #cost: LineCost;
  readonly #following: ReturnType<LineCost["follow"]>;
  changes = 0;
  #changed = Promise.withResolvers<void>();

  constructor(cost: LineCost) {
    this.#cost = cost;
    this.#following = cost.follow(() => {
      this.changes++;
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    });
  }

  async hears(isMetered: boolean): Promise<void> {
    await this.#following.answered;
    while (this.#cost.isMetered !== isMetered) await this.#changed.promise;
  }

  get answered(): Promise<void> {
    return this.#following.answered;
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
  }
}

interface Saying {
  watch: WatchCost;
  say(isMetered: boolean): Promise<void>;
  end(): Promise<void>;
}

function contract(system: string, open: () => Promise<Saying>): void {
  test(`a line is metered when it is so, and not when nobody follows it: ${system}`, async () => {
    const { watch, say, end } = await open();
    const cost = new SharedLineCost(watch);
    try {
      expect(cost.isMetered).toBe(false);
      {
        using one = new Follower(cost);
        using other = new Follower(cost);
        await one.hears(false);
        await say(true);
        await one.hears(true);
        await other.hears(true);
        await say(false);
        await other.hears(false);
        await say(true);
        await one.hears(true);
      }
      expect(cost.isMetered).toBe(false);
      using again = new Follower(cost);
      await again.hears(true);
    } finally {
      await end();
    }
  });
}

contract("memory", () => {
  const memory = new MemoryCost();
  const say = (isMetered: boolean): Promise<void> => Promise.resolve(void (memory.isMetered = isMetered));
  return Promise.resolve({ watch: memory.watch, say, end: () => Promise.resolve() });
});

contract("Windows", () => {
  const clock = new SimulatedClock();
  let printed = "Unrestricted\r\n";
  const say = async (isMetered: boolean): Promise<void> => {
    printed = isMetered ? "Variable\r\n" : "Unrestricted\r\n";
    await clock.advance(120_000);
  };
  const watch = windowsCost(clock, () => Promise.resolve(printed));
  return Promise.resolve({ watch, say, end: () => Promise.resolve() });
});

test("Windows that says nothing, or something else, has no metered line", async () => {
  const words = ["Fixed", "", "Unknown", "You cannot call a method on a null-valued expression.", "Variable"];
  const clock = new SimulatedClock();
  const cost = new SharedLineCost(
    windowsCost(clock, () => {
      const word = words.shift();
      return word === "" ? Promise.reject(new Error("no such program")) : Promise.resolve(word ?? "");
    }),
  );
  using follower = new Follower(cost);
  await follower.answered;
  const said = [cost.isMetered];
  for (let turn = 0; turn < 4; turn++) {
    await clock.advance(120_000);
    said.push(cost.isMetered);
  }
  expect(said).toEqual([true, false, false, false, true]);
});

const hasBus = spawnSync("dbus-daemon", ["--version"]).status === 0;

(hasBus ? describe : describe.skip)("NetworkManager", () => {
  let system: SystemBus;

  beforeEach(async () => {
    system = await SystemBus.start();
  });

  afterEach(() => system.end());

  contract("NetworkManager", async () => {
    await system.arrive();
    const say = (isMetered: boolean): Promise<void> => Promise.resolve(system.say(isMetered ? YES : NO));
    return { watch: networkManagerCost(new RealClock(), system.address), say, end: () => Promise.resolve() };
  });

  test("a line that is guessed to be metered is, and one that is not known or guessed otherwise is not", async () => {
    await system.arrive();
    const cost = new SharedLineCost(networkManagerCost(new RealClock(), system.address));
    using follower = new Follower(cost);
    for (const other of [GUESS_NO, UNKNOWN, NO]) {
      system.say(GUESS_YES);
      await follower.hears(true);
      system.say(other);
      await follower.hears(false);
    }
  });

  test("a system without NetworkManager has no metered line until one comes, nor when it has gone", async () => {
    const cost = new SharedLineCost(networkManagerCost(new RealClock(), system.address));
    using follower = new Follower(cost);
    await follower.answered;
    expect(cost.isMetered).toBe(false);
    system.service.metered = YES;
    await system.arrive();
    await follower.hears(true);
    await system.leave();
    await follower.hears(false);
  });

  test("what another program says in NetworkManager's place is not believed", async () => {
    await system.arrive();
    const cost = new SharedLineCost(networkManagerCost(new RealClock(), system.address));
    using follower = new Follower(cost);
    await follower.answered;
    const liar = dbus.sessionBus({ busAddress: system.address });
    const body = [NAME, { Metered: new dbus.Variant("u", YES) }, []];
    const face = "org.freedesktop.DBus.Properties";
    const path = "/org/freedesktop/NetworkManager";
    const signal = dbus.Message.newSignal(path, face, "PropertiesChanged", "sa{sv}as", body);
    liar.send(signal);
    // The bus has passed on the one when it answers the other.
    const [destination, peer] = ["org.freedesktop.DBus", "org.freedesktop.DBus.Peer"];
    await liar.call(new dbus.Message({ destination, path, interface: peer, member: "Ping" }));
    liar.disconnect();
    system.say(GUESS_YES);
    await follower.hears(true);
    system.say(NO);
    await follower.hears(false);
    expect(follower.changes).toBe(2);
  });

  test("a bus that is not there, or breaks, says nothing of a line", async () => {
    const clock = new SimulatedClock();
    await system.arrive();
    system.service.metered = YES;
    const cost = new SharedLineCost(networkManagerCost(clock, system.address));
    using follower = new Follower(cost);
    await follower.hears(true);
    await system.end();
    // It is asked again a minute later.
    await clock.runUntil(() => !cost.isMetered, 120_000);
    expect(cost.isMetered).toBe(false);
    for (const address of [system.address, "unix:path=/nonexistent/bus", "nonsense", ""]) {
      const none = new SharedLineCost(networkManagerCost(clock, address));
      using deaf = new Follower(none);
      await deaf.answered;
      expect(none.isMetered).toBe(false);
    }
  });
});
