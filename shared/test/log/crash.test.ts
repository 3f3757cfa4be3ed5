import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { SeededRandom } from "../../src/host/simulated/seeded-random.ts";
import type { OpenedLog } from "../../src/log/log.ts";
import { FORMAT, LogMachine, bytesOf, readText, replayed } from "./log-machine.ts";

const SEEDS = process.env["RUNNEL_LONG"] === undefined ? 150 : 5000;

/** A record says which it is; its length is anything up to some pages. */
function record(number: number, random: SeededRandom): Uint8Array {
  const filler = random.coin(0.8) ? random.below(100) : random.below(20_000);
  return bytesOf(`${number}:${"x".repeat(filler)}`);
}

/** A log in use until the power is cut: what was written, how far it was acknowledged, what was refused. */
class Life {
  readonly random: SeededRandom;
  readonly machine: LogMachine;
  /** Every record whose write was acknowledged, in order, with its segment. */
  accepted: { number: number; segment: number }[] = [];
  /** Count of those that were acknowledged as durable. */
  durable = 0;
  /** Offered when the power went: may be there or not, behind the accepted ones. */
  undecided = new Set<number>();
  /** Records in segments below this one may be gone. */
  droppedBefore = 0;
  next = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.machine = new LogMachine(seed);
  }

  /**
   * Runs random calls and cuts the power after a random number of disk operations, in the middle of whatever is going
   * on.
   */
  async run(): Promise<void> {
    const { machine, random } = this;
    const opened = await machine.open();
    await this.check(opened);
    const meter = { rest: random.below(60) };
    machine.disk.fault = (operation) => {
      if (meter.rest-- <= 0) {
        machine.disk.life += 1;
        return "Io";
      }
      return operation === "write" && random.coin(0.03) ? "NoSpace" : undefined;
    };
    // Writes overtake syncs.
    machine.disk.delayMs = (operation) => (operation === "sync" ? random.below(10) : random.below(3));
    const calls: Promise<unknown>[] = [];
    for (let call = 0; call < 40 && meter.rest > 0; call++) {
      calls.push(this.call(opened).catch(() => {}));
      if (random.coin(0.3)) await machine.clock.runUntilIdle();
      else await machine.clock.advance(random.below(4));
    }
    await machine.clock.runUntilIdle();
    await Promise.allSettled(calls);
    machine.disk.fault = undefined;
    machine.disk.delayMs = () => 0;
    await machine.crash();
  }

  async call({ log }: OpenedLog): Promise<void> {
    const { random } = this;
    if (random.coin(0.1)) {
      const segment = await log.rotate();
      if (random.coin(0.3)) return;
      this.droppedBefore = segment - random.below(2);
      await log.dropBefore(this.droppedBefore);
      return;
    }
    const group = Array.from({ length: 1 + random.below(3) }, () => this.next++);
    for (const number of group) this.undecided.add(number);
    const payloads = group.map((number) => record(number, random));
    try {
      const places = await log.write(payloads);
      this.accepted.push(...places.map(({ segment }, index) => ({ number: group[index] ?? 0, segment })));
    } catch (error) {
      // Without room for it, it was refused for good; any other failure leaves it open.
      if ((error as { kind: string }).kind === "NoSpace") for (const number of group) this.undecided.delete(number);
      throw error;
    }
    if (random.coin(0.7)) {
      const count = this.accepted.length;
      await log.sync();
      this.durable = Math.max(this.durable, count);
    }
  }

  /**
   * Checks the log's records: the accepted ones as far as they were durable and perhaps further, without a gap, and
   * nothing refused.
   */
  async check(opened: OpenedLog): Promise<void> {
    const records: { number: number; segment: number }[] = [];
    await opened.log.replay(({ place, payload }) => {
      records.push({ number: Number(Buffer.from(payload).toString().split(":")[0]), segment: place.segment });
    });
    const found = records.map(({ number }) => number);
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    expect(found.filter((number) => !this.undecided.has(number))).toEqual([]);
    const all = [...this.undecided].toSorted((a, b) => a - b);
    const first = all.indexOf(found[0] ?? all[0] ?? 0);
    // A prefix of what was offered and not refused, begun where segments were dropped.
    expect(found).toEqual(all.slice(first, first + found.length));
    const required = this.accepted.slice(0, this.durable).filter(({ segment }) => segment >= this.droppedBefore);
    expect(found).toEqual(expect.arrayContaining(required.map(({ number }) => number)));
    this.accepted = records;
    this.durable = records.length;
    this.undecided = new Set(found);
  }
}

describe("a power cut", () => {
  test(`[F6] [F10] [F11] [F12] leaves a prefix with everything acknowledged, and nothing refused (seeds 0 to ${SEEDS - 1})`, async () => {
    let inFlight = 0;
    for (let seed = 0; seed < SEEDS; seed++) {
      const life = new Life(seed);
      try {
        for (let count = 0; count < 4; count++) {
          await life.run();
          if (life.accepted.length > life.durable) inFlight += 1;
        }
        await life.check(await life.machine.open());
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
    // Otherwise the power was cut when nothing was at stake.
    expect(inFlight).toBeGreaterThan(SEEDS / 4);
  });
});

async function changed(machine: LogMachine, segment: number, at: number): Promise<string> {
  const bytes = await machine.read(segment);
  const damaged = bytes.slice();
  damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
  await machine.replace(segment, damaged);
  try {
    const opened = await machine.open();
    const texts = await replayed(opened);
    const cut = await machine.read(segment);
    return `${texts.join(" ")}, ${opened.tornBytes} torn, ${cut.length} left`;
  } catch (error) {
    const { kind, message } = error as { kind: string; message: string };
    expect(kind === "Version" || message.includes(`000000000${segment}.log`)).toBe(true);
    expect(await machine.read(segment)).toEqual(damaged);
    return kind;
  } finally {
    await machine.replace(segment, bytes);
  }
}

describe("a changed byte", () => {
  test("[F7] [F8] is noticed wherever it is in a log that was closed; only that of the mark costs nothing", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    await log.append([bytesOf("one"), bytesOf("two")]);
    await log.rotate();
    await log.append([bytesOf("three")]);
    await log.write([bytesOf("four")]);
    await log.write([bytesOf("five")]);
    await log.close();
    for (const segment of [1, 2]) {
      const { length } = await machine.read(segment);
      const mark = segment === 2 ? length - 16 : length;
      for (let at = 0; at < length; at++) {
        const outcome = await changed(machine, segment, at);
        if (at >= mark) expect(outcome).toBe(`one two three four five, 16 torn, ${mark} left`);
        else expect(["Corrupt", at >= 4 && at < 8 ? "Version" : "Corrupt"]).toContain(outcome);
      }
    }
  });

  test("[F6] [F7] in a log left open is noticed unless it is in the last group, which is cut", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    await log.append([bytesOf("one"), bytesOf("two")]);
    const lastGroup = log.current.sizeBytes;
    await log.append([bytesOf("three"), bytesOf("four")]);
    const { length } = await machine.read(1);
    for (let at = 32; at < length; at++) {
      const outcome = await changed(machine, 1, at);
      if (at < lastGroup) expect(outcome).toBe("Corrupt");
      else expect(outcome).toMatch(/^one two( three)?, \d+ torn, \d+ left$/);
    }
  });

  test("[F6] in what was never synced is a torn tail, though whole records follow", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    await log.append([bytesOf("safe")]);
    const safe = log.current.sizeBytes;
    await log.write([bytesOf("lost")]);
    await log.write([bytesOf("whole but behind it")]);
    expect(await changed(machine, 1, safe + 16)).toBe(`safe, 55 torn, ${safe} left`);
  });

  test("[F7] names the segment and the byte, also of what is cut off or missing", async () => {
    const machine = new LogMachine();
    const { log } = await machine.open();
    for (const text of ["one", "two", "three"]) {
      await log.append([bytesOf(text)]);
      await log.rotate();
    }
    await log.close();
    const whole = await machine.read(2);
    const expectCorrupt = async (segment: number, at: number): Promise<void> => {
      const message = expect.stringContaining(`segment 000000000${segment}.log, byte ${at}:`);
      await expect(machine.open().then(replayed)).rejects.toMatchObject({ kind: "Corrupt", message });
    };
    await machine.replace(2, whole.subarray(0, 40));
    await expectCorrupt(2, 40);
    await machine.replace(2, Uint8Array.from([...whole, 0]));
    await expectCorrupt(2, whole.length);
    await machine.replace(
      2,
      Uint8Array.from(whole, (byte, at) => (at === 50 ? byte ^ 1 : byte)),
    );
    await expectCorrupt(2, 32);
    await machine.replace(2, await machine.read(1));
    await expectCorrupt(2, 8);
    await machine.root.removeFile(machine.path(2));
    await expectCorrupt(2, 0);
  });

  test("[F5] a stored file that contains a log, and bytes made to look like a record, are no records", async () => {
    const machine = new LogMachine();
    const first = await machine.open();
    await first.log.append([bytesOf("inner")]);
    const inner = await machine.read(1);
    const at = first.log.current.sizeBytes;
    await first.log.write([inner, inner]);
    const bytes = await machine.read(1);
    // The head is gone: what is left of the payload must not be taken for a record.
    bytes.fill(0, at, at + 16);
    await machine.replace(1, bytes);
    const opened = await machine.open();
    expect(await replayed(opened)).toEqual(["inner"]);
    expect(opened.tornBytes).toBe(2 * (16 + inner.length));
  });
});

const sample = (segment: number): Uint8Array =>
  readFileSync(join(import.meta.dirname, `samples/format-1/000000000${segment}.bin`));

describe("a sample of format 1", () => {
  test("[F1] [F2] [F4] [F8] is read as it was written", async () => {
    const machine = new LogMachine();
    await (await machine.open()).log.close();
    await machine.replace(1, sample(1));
    await machine.replace(2, sample(2));
    const opened = await machine.open();
    expect(opened.tornBytes).toBe(0);
    const places: unknown[] = [];
    await opened.log.replay(({ place, version }) => {
      places.push({ ...place, version });
    });
    expect(await replayed(opened)).toEqual([
      "first record",
      "second, of the same group",
      "é".repeat(600),
      "after the rotation",
    ]);
    expect(places).toEqual([
      { segment: 1, offset: 48, length: 12, version: 1 },
      { segment: 1, offset: 76, length: 25, version: 1 },
      { segment: 1, offset: 117, length: 1200, version: 1 },
      { segment: 2, offset: 48, length: 18, version: 1 },
    ]);
    expect(await readText(opened, { segment: 2, offset: 48, length: 18 })).toBe("after the rotation");
    await opened.log.close();
    expect(Buffer.from(await machine.read(2)).equals(sample(2))).toBe(true);
    expect(FORMAT.magic).toBe("TEST");
  });
});
