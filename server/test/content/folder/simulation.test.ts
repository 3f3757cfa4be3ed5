// Clients and programs on the server work in one folder at once, while the server is killed and its power cut. Whatever
// happens, in the end the tree shows the folder, and every version can be read, or is said to be lost or dropped.
import { describe, expect, test } from "@jest/globals";
import type { SimulatedDisk } from "@runnel/shared";
import { ROOT_NODE, SeededRandom, isRunnelError } from "@runnel/shared";
import { TestVolume, locked } from "./test-volume.ts";

const NAMES = ["a", "b", "c", "d"];
const LONG = process.env["RUNNEL_LONG"] === "1";
const SEEDS = Number(process.env["SEEDS"] ?? (LONG ? 1500 : 60));
const FIRST_SEED = Number(process.env["SEED"] ?? 1);

class Simulation {
  readonly volume: TestVolume;
  readonly random: SeededRandom;
  readonly history: string[] = [];
  fault: SimulatedDisk["fault"];

  constructor(seed: number) {
    this.volume = new TestVolume(seed);
    this.random = new SeededRandom(seed);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.random.below(items.length)] as T;
  }

  /** A refusal is an answer. */
  async try(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      this.history.push(what);
    } catch (error) {
      this.history.push(`(${what}: ${isRunnelError(error) ? error.kind : "refused"})`);
    }
  }

  async folder(): Promise<number> {
    const below = await this.volume.meta.lookup(ROOT_NODE, this.pick(NAMES));
    return below?.type === "folder" && this.random.coin(0.7) ? below.node : ROOT_NODE;
  }

  async client(): Promise<void> {
    const { volume } = this;
    const folder = await this.folder();
    const name = this.pick(NAMES);
    const to = await this.folder();
    const toName = this.pick(NAMES);
    const state = await volume.meta.lookup(folder, name);
    const text = `committed ${this.random.below(1000)}`;
    const id = `${folder}/${name}`;
    switch (this.random.below(8)) {
      case 0:
        return this.try(`make folder ${id}`, () => volume.make(folder, name, { type: "folder", mode: 0o755 }));
      case 1:
        return this.try(`remove ${id}`, () => volume.remove(folder, name));
      case 2:
        return this.try(`rename ${id} ${to}/${toName}`, () =>
          volume.rename(folder, name, to, toName, this.pick(["replace", "replace", "exchange"])),
        );
      case 3:
        return this.try(`link ${id} ${to}/${toName}`, () =>
          volume.commit({ op: "link", node: state?.node ?? 0, folder: to, name: toName }),
        );
      case 4:
        return this.try(`chmod ${id}`, () =>
          volume.commit({ op: "setAttr", node: state?.node ?? 0, change: { mode: this.pick([0o600, 0o644]) } }),
        );
      default:
        if (state === undefined) return this.try(`make ${id} ${text}`, () => volume.file(folder, name, text));
        return this.try(`write ${id} ${state.node} ${text}`, () => volume.write(state.node, text));
    }
  }

  path(): string {
    return this.random.coin(0.4) ? `${this.pick(NAMES)}/${this.pick(NAMES)}` : this.pick(NAMES);
  }

  async program(): Promise<void> {
    const { other } = this.volume;
    const path = this.path();
    const to = this.path();
    switch (this.random.below(8)) {
      case 0:
        return this.try(`! mkdir ${path}`, () => other.makeFolder(path, 0o755));
      case 1:
        return this.try(`! rm ${path}`, () => other.removeFile(path));
      case 2:
        return this.try(`! rmdir ${path}`, () => other.removeFolder(path));
      case 3:
        return this.try(`! mv ${path} ${to}`, () => other.rename(path, to, "replace"));
      case 4:
        return this.try(`! ln ${path} ${to}`, () => other.link(path, to));
      case 5:
        return this.try(`! chmod ${path}`, () => other.setStat(path, { mode: 0o640 }));
      default:
        // Unsynced, a power cut may keep the new bytes and the old tuple, which nothing but a scrub can notice.
        return this.try(`! write ${path}`, () => this.volume.writeFile(path, `other ${this.random.below(1000)}`, true));
    }
  }

  async disturb(): Promise<void> {
    const how = this.pick(["kill", "cutPower"] as const);
    this.history.push(`*** ${how}`);
    if (this.random.coin(0.5)) await this.volume.meta.checkpoint();
    this.volume[how]();
    await this.volume.restart(this.fault);
  }

  /** Makes a place refuse what is put or removed there, or lets it again. */
  lock(isLocked: boolean): void {
    if (!isLocked && this.fault === undefined) return;
    const place = this.pick(NAMES.flatMap((name) => [name, `${name}/`]));
    this.fault = isLocked ? locked([place]) : undefined;
    this.volume.disk.fault = this.fault;
    this.history.push(isLocked ? `*** locked ${place}` : "*** unlocked");
  }

  /** Runs with nobody else there: what is reported, scanned and applied comes in any order, many commits to a batch. */
  async runAlone(locks: boolean): Promise<void> {
    const { volume } = this;
    await volume.start();
    await volume.settle();
    const delayMsMax = this.pick([0, 3, 30]);
    if (delayMsMax > 0) volume.disk.delayMs = () => (this.random.coin(0.3) ? this.random.below(delayMsMax) : 0);
    for (let step = 0; step < 120; step++) {
      await this.client();
      if (locks && this.random.coin(0.06)) this.lock(this.random.coin(0.5));
      if (this.random.coin(0.15)) await volume.clock.advance(this.pick([0, 1, 5, 60, 300, 3000]));
    }
    this.lock(false);
    await volume.settle(40_000);
    volume.disk.delayMs = () => 0;
    expect(await volume.store.notices()).toEqual([]);
    const reported = volume.externals.flat().filter(({ op }) => op !== "setRecipe" && op !== "externalAttributes");
    expect(reported).toEqual([]);
  }

  async run(disturbs: boolean, locks = false): Promise<void> {
    const { volume } = this;
    await volume.start();
    await volume.settle();
    for (let step = 0; step < 40; step++) {
      if (this.random.coin(0.55)) await this.client();
      else await this.program();
      const wait = this.pick([0, 0, 0, 60, 300, 3000]);
      if (wait > 0) {
        await volume.clock.advance(wait);
        this.history.push(`… ${wait}`);
      }
      if (locks && this.random.coin(0.1)) this.lock(this.random.coin(0.5));
      if (disturbs && this.random.coin(0.05)) await this.disturb();
    }
    this.lock(false);
    await volume.settle(locks ? 40_000 : 20_000);
  }

  async check(): Promise<void> {
    const { volume } = this;
    expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined, isScanning: false });
    expect(await volume.tree()).toEqual(await volume.files());
    for (const record of volume.log) {
      if (record.kind !== "commit" || record.operation.op !== "write") continue;
      const { node, version } = record.result;
      const text = await volume.readVersion(node, version).catch((error: unknown) => error);
      if (isRunnelError(text, "Gone", "Lost")) continue;
      expect(text).toBe(Buffer.from(record.data).toString());
    }
  }
}

async function simulate(seed: number, run: (simulation: Simulation) => Promise<void>): Promise<void> {
  const simulation = new Simulation(seed);
  try {
    await run(simulation);
    await simulation.check();
  } catch (error) {
    throw new Error(`Seed ${seed}:\n${simulation.history.filter((line) => !line.startsWith("(")).join("\n")}`, {
      cause: error,
    });
  }
  await simulation.volume.store.close();
}

describe("clients in a folder that no other program writes to", () => {
  const seeds = LONG ? 600 : 12;

  test(`find no version lost and no conflict (seeds ${FIRST_SEED} to ${FIRST_SEED + seeds - 1})`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) await simulate(seed, (one) => one.runAlone(false));
  }, 600_000);

  test(`[F166] nor where places refuse what is put there for some time (seeds ${FIRST_SEED} to ${FIRST_SEED + seeds - 1})`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++) await simulate(seed, (one) => one.runAlone(true));
  }, 600_000);
});

describe("clients and programs in one folder", () => {
  test(`end with the tree as the folder is (seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1})`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) await simulate(seed, (one) => one.run(false));
  }, 600_000);

  test(`[F31] and with a server that is killed and loses its power (seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1})`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) await simulate(seed, (one) => one.run(true));
  }, 600_000);

  test(`[F166] and where places refuse what is put there for some time (seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1})`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) await simulate(seed, (one) => one.run(true, true));
  }, 600_000);

  test.each([
    ["keeps a version whose row the roll forward had given an older one's number", 6641],
    ["mends no row after a commit that is in the index and not yet known to be pending", 10_175],
    ["loses no version to a rename of another program that the roll forward finds done", 21_881],
  ])("[F31] %s (seed %i)", (_title, seed) => simulate(seed, (one) => one.run(true)));
});
