// Contract of what tells that the machine slept or has another network, and the one that looks for it: on simulated
// clocks, and in a network of its own whose address changes.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { type Clock, SimulatedClock } from "@runnel/shared";
import { addressesOf } from "../../src/agent/machine/host/this-machine.ts";
import type { MachineChange, MachineChanges } from "../../src/agent/machine/machine-changes.ts";
import { MemoryMachine } from "../../src/agent/machine/memory-machine.ts";
import { PolledMachine } from "../../src/agent/machine/polled-machine.ts";

/** A machine, and how each change happens to it. */
interface Rig {
  machine: MachineChanges;
  happen(change: MachineChange): Promise<void>;
  /** Lets minutes pass in which nothing happens. */
  pass(): Promise<void>;
}

function memoryRig(): Rig {
  const machine = new MemoryMachine();
  return { machine, happen: async (change) => machine.change(change), pass: async () => undefined };
}

function polledRig(): Rig & { timers(): number } {
  const inner = new SimulatedClock();
  let sleptMs = 0;
  // The boot clock goes on in a sleep, timers do not, as on Linux.
  const clock: Clock = {
    bootMs: () => inner.bootMs() + sleptMs,
    wallNs: () => inner.wallNs(),
    after: (delayMs, fire) => inner.after(delayMs, fire),
  };
  let address = 1;
  return {
    machine: new PolledMachine(clock, () => `eth0 10.0.0.${address}/24`),
    happen: async (change) => {
      if (change === "woke") sleptMs += 60_000;
      else address++;
      await inner.advance(3_000);
    },
    pass: () => inner.advance(300_000),
    timers: () => inner.pendingTimers,
  };
}

describe.each<[string, () => Rig]>([
  ["in memory", memoryRig],
  ["that is looked at", polledRig],
])("a machine %s", (_, make) => {
  test.each(["woke", "network"] as const)("tells all who watch of %j, once, until they watch no more", async (what) => {
    const { machine, happen, pass } = make();
    const heard: [number, MachineChange][] = [];
    const one = machine.watch((change) => heard.push([1, change]));
    const two = machine.watch((change) => heard.push([2, change]));
    await pass();
    expect(heard).toEqual([]);
    await happen(what);
    await pass();
    expect(heard).toEqual([
      [1, what],
      [2, what],
    ]);
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    await happen(what);
    expect(heard.slice(2)).toEqual([[2, what]]);
    two[Symbol.dispose]();
    await happen(what);
    expect(heard).toHaveLength(3);
  });

  test("may be left by who is just told", async () => {
    const { machine, happen } = make();
    let told = 0;
    const watching = machine.watch(() => {
      told++;
      watching[Symbol.dispose]();
    });
    await happen("network");
    await happen("woke");
    expect(told).toBe(1);
  });
});

test("a machine that nobody watches is not looked at", async () => {
  const { machine, happen, timers } = polledRig();
  machine.watch(() => undefined)[Symbol.dispose]();
  expect(timers()).toBe(0);
  await happen("network");
  const heard: MachineChange[] = [];
  machine.watch((change) => heard.push(change));
  await happen("woke");
  expect(heard).toEqual(["woke"]);
});

test("the addresses of a machine are those of its networks, in whatever order they are said", () => {
  const lo = { address: "127.0.0.1", netmask: "255.0.0.0", mac: "", internal: true, cidr: "127.0.0.1/8" } as const;
  const eth = { ...lo, address: "10.0.0.1", internal: false, cidr: "10.0.0.1/24" } as const;
  const of = (...names: string[]): string =>
    addressesOf(
      Object.fromEntries([
        ["lo", [{ ...lo, family: "IPv4" }]],
        ...names.map((name) => [name, [{ ...eth, family: "IPv4" }]]),
      ]),
    );
  expect(of()).toBe("");
  expect(of("b", "a")).toBe(of("a", "b"));
  expect(of("a")).toBe("a 10.0.0.1/24");
});

const MODULE = fileURLToPath(new URL("../../src/agent/machine/host/this-machine.ts", import.meta.url));
const WATCHES = `
import { thisMachine } from ${JSON.stringify(MODULE)};
setInterval(() => {}, 1000);
thisMachine.watch((change) => console.log(change));
console.log("watching");`;
const canUnshare = spawnSync("unshare", ["--net", "ip", "link", "show"]).status === 0;
const skipped = canUnshare ? "" : " (skipped: no network of one's own can be made here)";

(canUnshare ? test : test.skip)(`a real network whose address changes is told of${skipped}`, async () => {
  const child = spawn("unshare", ["--net", process.execPath, "--input-type=module", "-e", WATCHES], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 20_000,
    killSignal: "SIGKILL",
  });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe("watching");
    const inside = (...words: string[]): void => {
      const done = spawnSync("nsenter", ["--net", "--target", String(child.pid), "ip", ...words]);
      expect(done.stderr.toString()).toBe("");
    };
    inside("link", "add", "other", "type", "veth", "peer", "name", "far");
    inside("link", "set", "far", "up");
    inside("addr", "add", "10.9.8.7/24", "dev", "other");
    inside("link", "set", "other", "up");
    expect((await lines.next()).value).toBe("network");
    inside("addr", "del", "10.9.8.7/24", "dev", "other");
    expect((await lines.next()).value).toBe("network");
  } finally {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
});
