// A server's connection under random frames and a conversation with mistakes: it never throws into the link, never
// leaves anyone waiting.
import { describe, expect, test } from "@jest/globals";
import { SeededRandom } from "../../src/host/simulated/seeded-random.ts";
import { Channel } from "../../src/protocol/channel.ts";
import { Connection } from "../../src/protocol/connection.ts";
import type { FuzzReport } from "./fuzz.ts";
import { conversation, emptyReport, mutated, randomFrames, runStream } from "./fuzz.ts";

const SEED = 20_261_121;

async function fuzzRandom(seed: number, inputs: number): Promise<FuzzReport> {
  const random = new SeededRandom(seed);
  const report = emptyReport();
  while (report.inputs < inputs) await runStream(randomFrames(random, 60), report);
  return report;
}

async function fuzzConversation(seed: number, inputs: number): Promise<FuzzReport> {
  const random = new SeededRandom(seed);
  const recorded = conversation();
  const report = emptyReport();
  while (report.inputs < inputs) await runStream(mutated(random, recorded), report);
  return report;
}

const CLEAN = { thrown: [], hanging: 0, strange: [] };

/** Puts a bug in place of a method for as long as `use` takes. */
async function planted(
  prototype: object,
  method: string,
  bug: (this: unknown, ...args: unknown[]) => unknown,
  use: () => Promise<void>,
): Promise<void> {
  const original: unknown = Reflect.get(prototype, method);
  Reflect.set(prototype, method, bug);
  try {
    await use();
  } finally {
    Reflect.set(prototype, method, original);
  }
}

describe("a connection under attack", () => {
  test("[W6] takes the conversation without mistakes to its end", async () => {
    const report = emptyReport();
    await runStream(conversation(), report);
    expect(report).toMatchObject({ ...CLEAN, refused: 0 });
    expect(report.handled).toBeGreaterThan(20);
  });

  test(`[W1] [W55] random frames, seed ${SEED}: refused or handled, nothing thrown, nobody left waiting`, async () => {
    const report = await fuzzRandom(SEED, 12_000);
    expect(report).toMatchObject(CLEAN);
    expect(report.refused).toBeGreaterThan(500);
    expect(report.handled).toBeGreaterThan(100);
  });

  test(`[W1] [W55] a conversation with mistakes, seed ${SEED}: refused or handled, nothing thrown, nobody left waiting`, async () => {
    const report = await fuzzConversation(SEED, 20_000);
    expect(report).toMatchObject(CLEAN);
    expect(report.refused).toBeGreaterThan(100);
    expect(report.refused).toBeLessThan(report.connections);
    expect(report.handled).toBeGreaterThan(2000);
  });
});

describe("the fuzzer finds a planted bug:", () => {
  test("waiters forgotten when the connection ends", () =>
    planted(
      Channel.prototype,
      "rejectWaiters",
      () => undefined,
      async () => {
        const report = await fuzzConversation(1, 2000);
        expect(report.hanging).toBeGreaterThan(0);
      },
    ));

  test("an empty message that is not expected", () => {
    const receive = Reflect.get(Connection.prototype, "receive") as (message: Uint8Array) => void;
    return planted(
      Connection.prototype,
      "receive",
      function (message) {
        if ((message as Uint8Array).length === 0) throw new RangeError("no first byte");
        receive.call(this as Connection, message as Uint8Array);
      },
      async () => {
        const report = await fuzzRandom(1, 4000);
        expect(report.thrown.length).toBeGreaterThan(0);
      },
    );
  });

  test("an error of the program in place of a refusal", () =>
    planted(
      Channel.prototype,
      "receiveCredit",
      () => {
        throw new TypeError("not a RunnelError");
      },
      async () => {
        const report = await fuzzConversation(1, 2000);
        expect(report.strange.length).toBeGreaterThan(0);
      },
    ));
});
