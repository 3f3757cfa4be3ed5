// A machine with a simulated disk and a journal on it, and what the drive would do beside it.
import { inlineExecutor } from "@runnel/native";
import type { DiskRoot } from "@runnel/shared";
import { SimulatedClock, SimulatedDisk } from "@runnel/shared";
import type { Journal, JournalCommit } from "../../src/agent/journal/journal.ts";
import { openJournal } from "../../src/agent/journal/log-journal.ts";

export const EPOCH = "e".repeat(32);

export class JournalMachine {
  clock = new SimulatedClock();
  readonly disk: SimulatedDisk;
  root!: DiskRoot;
  boot = 1;
  #instances = 0;

  constructor(seed = 1) {
    this.disk = new SimulatedDisk({ clock: this.clock, seed });
  }

  async open(): Promise<Journal> {
    this.root ??= await this.disk.openRoot("/state", { permissions: 0o700 });
    const newInstance = (): string => (++this.#instances).toString(16).padStart(32, "0");
    return openJournal({
      root: this.root,
      folder: "journal",
      clock: this.clock,
      executor: inlineExecutor(),
      boot: `boot ${this.boot}`,
      newInstance,
    });
  }

  /** Power is cut and comes back. */
  async cutPower(): Promise<void> {
    this.disk.crash();
    this.boot++;
    this.root = await this.disk.openRoot("/state", { permissions: 0o700 });
  }

  /** Writes as the drive writes an overlay. */
  async writeData(file: string, bytes: Uint8Array, offset = 0): Promise<void> {
    const open = await this.root.open(`journal/data/${file}`, "create");
    try {
      await open.write(offset, bytes);
    } finally {
      await open.close();
    }
  }

  async readData(file: string): Promise<Uint8Array> {
    const open = await this.root.open(`journal/data/${file}`, "read");
    try {
      return await open.read(0, (await open.stat()).sizeBytes);
    } finally {
      await open.close();
    }
  }

  async dataFiles(): Promise<string[]> {
    const names: string[] = [];
    await this.root.list("journal/data", (entries) => {
      for (const { name } of entries) if (name !== undefined) names.push(name);
    });
    return names.toSorted();
  }

  async segments(): Promise<string[]> {
    const names: string[] = [];
    await this.root.list("journal/log", (entries) => {
      for (const { name } of entries) if (name !== undefined) names.push(name);
    });
    return names.toSorted();
  }
}

export function makeCommit(instance: string, n: number, file = `overlay-${n}`, length = 100): JournalCommit {
  return {
    n,
    instance,
    epoch: EPOCH,
    node: 2 ** 40 + n,
    path: `folder/file ${n}`,
    baseVersion: 2 ** 35,
    baseOid: Uint8Array.from({ length: 32 }, (_, at) => at),
    baseBytes: 4096,
    sizeBytes: 2 ** 33,
    mtimeNs: 1_700_000_000_123_456_789n,
    ctimeNs: 1_700_000_000_123_456_789n + 1n,
    layers: [{ file, extents: [{ offset: 0, length }] }],
    baseContent: 7,
  };
}

export function dataOf(n: number): Uint8Array {
  return Uint8Array.from({ length: 100 }, (_, at) => (at * 31 + n) & 0xff);
}
