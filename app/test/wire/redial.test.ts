// Connecting again, over a line of the system that swallows what is sent: the queue of a stopped process that listens
// is full.
import { afterEach, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import {
  type Dialer,
  type Link,
  RealClock,
  SeededRandom,
  SimulatedClock,
  SimulatedNetwork,
  WsAcceptor,
  WsDialer,
} from "@runnel/shared";
import { tempSecrets } from "@runnel/shared/test/host/local/temp-secrets.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { MemoryMachine } from "../../src/agent/machine/memory-machine.ts";
import { Redial } from "../../src/agent/wire/redial.ts";

const INSTANCE = "1".repeat(32);
/** Hands on to the port that it is given. */
const DOOR = `
const { connect, createServer } = require("node:net");
const server = createServer((from) => {
  const to = connect(Number(process.argv[1]), "127.0.0.1");
  for (const [one, other] of [[from, to], [to, from]]) one.on("error", () => other.destroy()).pipe(other);
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));
`;
/** More than a queue of one takes. */
const FILLERS = 4;
/**
 * Count of attempts that have begun before the line is back: TCP has just asked for the first again after 7 s, and does
 * so next seconds later.
 */
const BEGUN = 14;

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

async function startDoor(port: number): Promise<{ door: ChildProcess; doorPort: number }> {
  const door = spawn(process.execPath, ["-e", DOOR, String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  endings.push(() => door.kill("SIGKILL"));
  const [line] = await once(door.stdout, "data");
  return { door, doorPort: Number(String(line)) };
}

function fill(port: number): void {
  for (let number = 0; number < FILLERS; number++) {
    const socket: Socket = connect(port, "127.0.0.1").on("error", () => undefined);
    endings.push(() => socket.destroy());
  }
}

test("a line that has swallowed an attempt is found again by a later one, while the first still hangs", async () => {
  const { named: secrets, remove } = tempSecrets();
  endings.push(remove);
  const listener = await new WsAcceptor({ secrets }).listen("127.0.0.1", 0, () => undefined);
  endings.push(() => listener.close());
  const { door, doorPort } = await startDoor(listener.port);
  door.kill("SIGSTOP");
  fill(doorPort);
  const ended: number[] = [];
  let begun = 0;
  const real = new WsDialer(() => ({}), secrets);
  const dialer: Dialer = {
    dial: async (url, signal) => {
      const number = begun++;
      if (begun === BEGUN) door.kill("SIGCONT");
      try {
        return await real.dial(url, signal);
      } finally {
        ended.push(number);
      }
    },
  };
  const parts = {
    url: `ws://127.0.0.1:${doorPort}/docs`,
    clock: new RealClock(),
    dialer,
    executor: inlineExecutor(),
    software: "test",
  };
  const failed: unknown[] = [];
  const redial = new Redial(parts, INSTANCE, 0, (error) => failed.push(error));
  const { link } = await redial.next(false, new AbortController().signal);
  endings.push(() => link.close(1000, ""));
  expect(failed).toEqual([]);
  expect(begun).toBeGreaterThanOrEqual(BEGUN);
  expect(ended[0]).toBeGreaterThan(0);
}, 30_000);

test("attempts over a slow line of which nothing is known are not given up for later ones, nor does one connection too many stay", async () => {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork(clock, new SeededRandom(1));
  const accepted: Link[] = [];
  const closed: number[] = [];
  await network.listen("127.0.0.1", 7473, (link) => {
    accepted.push(link);
    link.listen({ message: () => undefined, closed: (code) => void closed.push(code) });
  });
  const dialer = network.line({ delayMs: 2_500 });
  const parts = { url: "ws://127.0.0.1:7473/docs", clock, dialer, executor: inlineExecutor(), software: "test" };
  const redial = new Redial(parts, INSTANCE, 0, () => undefined);
  const connecting = redial.next(false, new AbortController().signal);
  await clock.advance(700 + 10_000);
  const { roundTripMs } = await connecting;
  expect(roundTripMs).toBe(5_000);
  await clock.advance(60_000);
  expect(accepted).toHaveLength(1 + closed.length);
});

test("who was not let in does not come again soon, and who is let go of does not come at all", async () => {
  const clock = new SimulatedClock();
  let begun = 0;
  const dialer: Dialer = {
    dial: async () => {
      begun++;
      return new Promise<never>(() => undefined);
    },
  };
  const parts = { url: "ws://127.0.0.1:7473/docs", clock, dialer, executor: inlineExecutor(), software: "test" };
  const ending = new AbortController();
  const connecting = new Redial(parts, INSTANCE, 0, () => undefined).next(true, ending.signal);
  connecting.catch(() => undefined);
  await clock.advance(29_000);
  expect(begun).toBe(0);
  // Count of attempts that there may be at once, however long they hang.
  await clock.advance(60_000);
  expect(begun).toBe(18);
  ending.abort(new Error("no more"));
  await expect(connecting).rejects.toThrow("no more");
  await clock.advance(60_000);
  expect(begun).toBe(18);
});

test.each(["woke", "network"] as const)(
  "after a long outage a machine whose change is %j dials at once, also when all attempts of before hang",
  async (what) => {
    const clock = new SimulatedClock();
    const machine = new MemoryMachine();
    const begunMs: number[] = [];
    const dial = async (): Promise<never> => {
      begunMs.push(clock.bootMs());
      return new Promise<never>(() => undefined);
    };
    const parts = { url: "ws://127.0.0.1:7473/docs", clock, dialer: { dial }, executor: inlineExecutor() };
    const ending = new AbortController();
    const redial = new Redial({ ...parts, software: "test", machine }, INSTANCE, 0, () => undefined);
    const connecting = redial.next(false, ending.signal);
    connecting.catch(() => undefined);
    await clock.advance(600_000);
    expect(begunMs).toHaveLength(18);
    machine.change(what);
    const changedMs = clock.bootMs();
    await clock.advance(700);
    expect(begunMs.filter((ms) => ms > changedMs)).toHaveLength(1);
    ending.abort(new Error("no more"));
    await expect(connecting).rejects.toThrow("no more");
    const begun = begunMs.length;
    machine.change(what);
    await clock.advance(60_000);
    expect(begunMs).toHaveLength(begun);
  },
);
