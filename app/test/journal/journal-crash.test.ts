// Power is cut at every disk operation in turn, in the midst of what a busy drive does.
import { expect, test } from "@jest/globals";
import { SeededRandom } from "@runnel/shared";
import type { Journal } from "../../src/agent/journal/journal.ts";
import { JournalMachine, dataOf, makeCommit } from "./journal-machine.ts";

class History {
  readonly given = new Set<string>();
  /** instance/n of puts that resolved and were never given to done. */
  readonly durable = new Set<string>();
  readonly put = new Set<string>();
  /** Durable puts, ended or not. */
  readonly proven = new Set<string>();

  number(journal: Journal): number {
    const n = journal.nextNumber();
    const key = `${journal.instance}/${n}`;
    if (this.given.has(key)) throw new Error(`${key} was given twice`);
    this.given.add(key);
    return n;
  }
}

/** Works as one process; ends when the disk dies. */
async function live(machine: JournalMachine, history: History, random: SeededRandom): Promise<void> {
  const journal = await machine.open();
  await journal.sweep();
  const work = async (): Promise<void> => {
    for (let count = 0; count < 4; count++) {
      const n = history.number(journal);
      const instance = journal.instance;
      const key = `${instance}/${n}`;
      // The number goes into the name: instances share the folder.
      const file = `o-${instance.slice(-4)}-${n}`;
      await machine.writeData(file, dataOf(n));
      const isDurable = random.coin();
      history.put.add(key);
      await journal.put(makeCommit(instance, n, file), isDurable);
      if (isDurable) {
        history.durable.add(key);
        history.proven.add(key);
      }
      if (random.coin(0.4)) {
        history.durable.delete(key);
        await journal.done(instance, n);
      }
      if (random.coin(0.1)) await journal.renew();
      if (random.coin(0.3)) await machine.clock.advance(600);
    }
  };
  await Promise.all([work(), work()]);
  if (random.coin()) await journal.close();
}

async function crashAt(seed: number): Promise<boolean> {
  const machine = new JournalMachine(seed);
  const random = new SeededRandom(seed);
  const history = new History();
  let wasCut = false;
  for (let life = 0; life < 2; life++) {
    const at = machine.disk.operations + random.below(140);
    machine.disk.fault = () => {
      if (machine.disk.operations < at) return undefined;
      machine.disk.fault = undefined;
      wasCut = true;
      machine.disk.crash();
      return "Io";
    };
    const lived = live(machine, history, random).catch((error: unknown) => {
      if (!wasCut) throw error;
    });
    await lived;
    // Calls that were under way in the dead machine end in errors that nobody hears.
    machine.disk.fault = undefined;
    await machine.cutPower();
  }
  const journal = await machine.open();
  const pending = new Set<string>();
  for (const commit of journal.pending()) {
    const key = `${commit.instance}/${commit.n}`;
    pending.add(key);
    expect(history.put.has(key)).toBe(true);
    expect(await machine.readData(commit.layers[0]?.file ?? "")).toEqual(dataOf(commit.n));
  }
  for (const key of history.durable) if (!pending.has(key)) throw new Error(`${key} was lost`);
  for (const { instance, n } of journal.unverified()) {
    if (history.proven.has(`${instance}/${n}`)) throw new Error("a durable put is unproven");
  }
  history.number(journal);
  await journal.close();
  return wasCut;
}

test("[F41] [F43] [F44] a power cut at any disk operation loses no durable put, damages none, and repeats no number", async () => {
  let cuts = 0;
  for (let seed = 1; seed <= 400; seed++) {
    try {
      if (await crashAt(seed)) cuts++;
    } catch (cause) {
      throw new Error(`seed ${seed}: ${String(cause)}`, { cause });
    }
  }
  expect(cuts).toBeGreaterThan(200);
});
