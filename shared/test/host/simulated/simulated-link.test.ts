import { describe, expect, test } from "@jest/globals";
import type { Link } from "../../../src/host/link.ts";
import { SeededRandom } from "../../../src/host/simulated/seeded-random.ts";
import { SimulatedClock } from "../../../src/host/simulated/simulated-clock.ts";
import type { LineConditions } from "../../../src/host/simulated/simulated-link.ts";
import { type SimulatedLine, SimulatedNetwork } from "../../../src/host/simulated/simulated-network.ts";
import { TIMING } from "../../../src/limits.ts";
import { Ear, linkContract } from "../../contracts/link-contract.ts";

interface Pair {
  clock: SimulatedClock;
  line: SimulatedLine;
  left: Link;
  right: Link;
}

async function makePair(conditions: Partial<LineConditions> = {}, seed = 1): Promise<Pair> {
  const clock = new SimulatedClock({ bootMs: 0 });
  const network = new SimulatedNetwork(clock, new SeededRandom(seed));
  let right: Link | undefined;
  const { port } = await network.listen("127.0.0.1", 0, (link) => {
    right = link;
  });
  const line = network.line(conditions);
  const dialing = line.dial(`ws://127.0.0.1:${port}/docs`);
  await clock.runUntilIdle();
  const left = await dialing;
  if (right === undefined) throw new Error("not accepted");
  return { clock, line, left, right };
}

async function arrivalsOf(seed: number): Promise<string> {
  const { clock, left, right } = await makePair({ jitterMs: 30 }, seed);
  const arrivals: number[] = [];
  right.listen({ message: () => arrivals.push(clock.bootMs()), closed: () => {} });
  for (let count = 0; count < 20; count++) {
    left.send(Uint8Array.of(count));
    await clock.advance(5);
  }
  await clock.runUntilIdle();
  expect(arrivals).toHaveLength(20);
  return arrivals.join(" ");
}

function start(): { clock: SimulatedClock; network: SimulatedNetwork } {
  const clock = new SimulatedClock({ bootMs: 0 });
  return { clock, network: new SimulatedNetwork(clock, new SeededRandom(1)) };
}

const outcome = (dialing: Promise<Link>): Promise<string> =>
  dialing.then(
    () => "connected",
    (error: { kind: string }) => error.kind,
  );

describe("a simulated link", () => {
  linkContract(async () => {
    const { clock, left, right } = await makePair({ jitterMs: 50, bytesPerSecond: 10_000_000 });
    return {
      left,
      right,
      until: async (condition) => {
        expect(await clock.runUntil(condition)).toBe(true);
      },
      dispose: async () => {},
    };
  });

  test("is as late as its delay and its rate make it", async () => {
    const { clock, left, right } = await makePair({ delayMs: 100, bytesPerSecond: 1000 });
    const startMs = clock.bootMs();
    const arrivals: number[] = [];
    right.listen({ message: () => arrivals.push(clock.bootMs() - startMs), closed: () => {} });
    left.send(new Uint8Array(94));
    left.send(new Uint8Array(494 - 2));
    expect(left.bufferedBytes).toBe(586);
    await clock.advance(100);
    expect(left.bufferedBytes).toBe(492);
    await clock.runUntilIdle();
    expect(arrivals).toEqual([200, 700]);
    expect(left.bufferedBytes).toBe(0);
  });

  test("loses what is under way when it is cut, and tells both ends", async () => {
    const { clock, line, left, right } = await makePair();
    const [leftEar, rightEar] = [new Ear(), new Ear()];
    left.listen(leftEar);
    right.listen(rightEar);
    left.send(new Uint8Array(1));
    await clock.advance(9);
    line.cut();
    left.send(new Uint8Array(2));
    await clock.runUntilIdle();
    expect(rightEar.messages).toEqual([]);
    for (const ear of [leftEar, rightEar]) expect(ear.closings.map(({ code }) => code)).toEqual([1006]);
  });

  test("holds everything back in a black hole, and brings it in order afterwards", async () => {
    const { clock, line, left, right } = await makePair();
    const [leftEar, rightEar] = [new Ear(), new Ear()];
    left.listen(leftEar);
    right.listen(rightEar);
    line.isBlackHole = true;
    left.send(Uint8Array.of(1));
    right.send(Uint8Array.of(9));
    await clock.advance(60_000);
    left.send(Uint8Array.of(2));
    await clock.advance(10);
    expect([leftEar.messages, rightEar.messages]).toEqual([[], []]);
    left.send(Uint8Array.of(3));
    line.isBlackHole = false;
    left.close(4000, "done");
    await clock.runUntilIdle();
    expect(rightEar.messages.map(([number]) => number)).toEqual([1, 2, 3]);
    expect(leftEar.messages.map(([number]) => number)).toEqual([9]);
    expect(rightEar.closings).toEqual([{ code: 4000, reason: "done" }]);
  });

  test("lost by one end only, it brings what that end had sent late, and then tells the other", async () => {
    const { clock, line, left, right } = await makePair();
    const [leftEar, rightEar] = [new Ear(), new Ear()];
    left.listen(leftEar);
    right.listen(rightEar);
    left.send(Uint8Array.of(1));
    const arrive = line.lose();
    left.send(Uint8Array.of(2));
    right.send(Uint8Array.of(9));
    await clock.advance(60_000);
    expect(leftEar.closings.map(({ code }) => code)).toEqual([1006]);
    expect([leftEar.messages, rightEar.messages, rightEar.closings]).toEqual([[], [], []]);
    arrive();
    await clock.runUntilIdle();
    expect(rightEar.messages.map(([number]) => number)).toEqual([1]);
    expect(rightEar.closings.map(({ code }) => code)).toEqual([1006]);
    expect(leftEar.messages).toEqual([]);
  });

  test("does the same again with the same seed", async () => {
    expect(await arrivalsOf(3)).toBe(await arrivalsOf(3));
    expect(await arrivalsOf(3)).not.toBe(await arrivalsOf(4));
  });
});

describe("a simulated network", () => {
  test("connects after two round trips to whoever listens", async () => {
    const { clock, network } = start();
    const { port } = await network.listen("127.0.0.1", 7300, () => {});
    await expect(network.listen("127.0.0.1", 7300, () => {})).rejects.toMatchObject({ kind: "Busy" });
    const dialing = outcome(network.line({ delayMs: 25 }).dial(`ws://127.0.0.1:${port}/docs`));
    await clock.runUntilIdle();
    expect([await dialing, clock.bootMs()]).toEqual(["connected", 100]);
  });

  test("[limit connectStepMs] says what cannot be reached, and when it was given up", async () => {
    const { clock, network } = start();
    const line = network.line();
    await expect(line.dial("nonsense")).rejects.toMatchObject({ kind: "Invalid" });
    const missing = outcome(line.dial("ws://127.0.0.1:1/"));
    await clock.runUntilIdle();
    expect(await missing).toBe("Unreachable");
    line.isDown = true;
    await expect(line.dial("ws://127.0.0.1:7300/")).rejects.toMatchObject({ kind: "Unreachable" });
    line.isDown = false;
    line.isBlackHole = true;
    await network.listen("127.0.0.1", 7300, () => {});
    const swallowed = outcome(line.dial("ws://127.0.0.1:7300/"));
    const ended = outcome(line.dial("ws://127.0.0.1:7300/", AbortSignal.abort()));
    const before = clock.bootMs();
    expect(await ended).toBe("Interrupted");
    await clock.runUntilIdle();
    expect([await swallowed, clock.bootMs() - before]).toEqual(["Unreachable", TIMING.connectStepMs]);
  });

  test("ends the links of a server that stops, and breaks those of one that is killed", async () => {
    const { clock, network } = start();
    for (const [end, code] of [
      ["close", 1001],
      ["kill", 1006],
    ] as const) {
      const listener = await network.listen("127.0.0.1", 0, () => {});
      const dialing = network.line().dial(`ws://127.0.0.1:${listener.port}/`);
      await clock.runUntilIdle();
      const ear = new Ear();
      (await dialing).listen(ear);
      if (end === "close") await listener.close();
      else network.kill(listener.port);
      await clock.runUntilIdle();
      expect(ear.closings.map((closing) => closing.code)).toEqual([code]);
    }
  });

  test("keeps the next server's port when the one that was killed closes its listener after all", async () => {
    const { clock, network } = start();
    const killed = await network.listen("127.0.0.1", 0, () => {});
    network.kill(killed.port);
    await network.listen("127.0.0.1", killed.port, () => {});
    await killed.close();
    const dialing = network.line().dial(`ws://127.0.0.1:${killed.port}/`);
    await clock.runUntilIdle();
    await expect(dialing).resolves.toBeDefined();
  });
});
