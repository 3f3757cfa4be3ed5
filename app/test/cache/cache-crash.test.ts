// Power is cut, or the process killed, at any disk operation; the index may be older than the files. Whatever the cache
// then says is present has the bytes of its version.
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { SeededRandom, isRunnelError } from "@runnel/shared";
import type { Cache, CachedContent } from "../../src/agent/cache/cache.ts";
import { CacheMachine } from "./cache-machine.ts";
import type { Sample } from "./cache-machine.ts";

const NODES = 4;
const SEQS = 6;
const SIZE = 30_000;

const samples = new Map<string, Sample>();

class Volume {
  readonly machine: CacheMachine;

  constructor(machine: CacheMachine) {
    this.machine = machine;
  }

  /** Versions of a node share most of their bytes. */
  async sample(node: number, seq: number): Promise<Sample> {
    const key = `${node}/${seq}`;
    const known = samples.get(key);
    if (known !== undefined) return known;
    const bytes = new SeededRandom(node).bytes(SIZE);
    bytes.set(new SeededRandom(seq * 100 + node).bytes(500), seq * 4500);
    const made = await this.machine.sampleOf(bytes);
    samples.set(key, made);
    return made;
  }
}

async function work(cache: Cache, volume: Volume, random: SeededRandom): Promise<void> {
  const version = { node: 1 + random.below(NODES), seq: 1 + random.below(SEQS) };
  const sample = await volume.sample(version.node, version.seq);
  const choice = random.below(10);
  const found = cache.find(version);
  if (choice < 5) {
    using hold = await cache.create(version, SIZE);
    const { content } = hold;
    const offset = random.below(SIZE);
    await cache.write(content, offset, sample.bytes.subarray(offset, offset + random.below(SIZE)));
    if (random.coin(0.8)) cache.setRecipe(content, sample.recipe, sample.oid);
  } else if (choice < 8) {
    await edit(cache, found, volume, random);
  } else if (choice === 8) {
    await volume.machine.writeFile(volume.machine.journal, `o-${version.node}-${version.seq}`, sample.bytes);
    await cache.adopt(`/journal/o-${version.node}-${version.seq}`, { version, sizeBytes: SIZE, ...sample });
  } else await cache.evict(random.below(4) * SIZE);
  if (random.coin(0.3)) await volume.machine.clock.advance(1500);
}

/** Edits as a commit does: the changed bytes over those of the base. */
async function edit(
  cache: Cache,
  found: CachedContent | undefined,
  volume: Volume,
  random: SeededRandom,
): Promise<void> {
  const base = found && (await cache.verify(found));
  if (base === undefined) return;
  const seq = 1 + random.below(SEQS);
  await editTo(cache, base, seq, await volume.sample(base.version.node, seq), volume.machine);
}

/** Versions of a node differ where one of the two has its mark. */
async function editTo(
  cache: Cache,
  base: CachedContent,
  seq: number,
  { bytes, recipe, oid }: Sample,
  machine: CacheMachine,
): Promise<void> {
  const name = `e-${base.id}`;
  await machine.writeFile(machine.journal, name, bytes);
  const file = await machine.journal.open(name, "read");
  const offsets = new Set([base.version.seq * 4500, seq * 4500]);
  const pieces = [...offsets].sort((a, b) => a - b).map((offset) => ({ file, from: offset, offset, length: 500 }));
  const version = { node: base.version.node, seq };
  try {
    const alone = { holds: 0, release: () => true };
    await cache.edit(base, alone, { version, sizeBytes: SIZE, recipe, oid }, { keptBytes: SIZE, pieces });
  } finally {
    await file.close();
  }
}

async function check(cache: Cache, volume: Volume): Promise<number> {
  let held = 0;
  for (let node = 1; node <= NODES; node++) {
    for (const found of cache.versionsOf(node)) {
      const content = await cache.verify(found);
      if (content === undefined) continue;
      const sample = await volume.sample(node, content.version.seq);
      for (const { offset, length } of cache.present(content)) {
        held += length;
        const bytes = await cache.read(content, offset, length);
        if (Buffer.compare(bytes, sample.bytes.subarray(offset, offset + length)) !== 0) {
          throw new Error(
            `content ${content.id} of ${node}/${content.version.seq} has other bytes at ${offset}+${length}`,
          );
        }
      }
      if (content.recipe !== undefined) expect(content.recipe).toEqual(sample.recipe);
    }
  }
  expect(cache.usedBytes()).toBe(held);
  return held;
}

function copyIndex(from: string, to: string): void {
  for (const suffix of ["", "-wal"]) if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix);
}

/** Lives one, two; then looks. Returns how many bytes were there at the end. */
async function scenario(seed: number, isPowerCut: boolean): Promise<number> {
  const machine = new CacheMachine(seed);
  const volume = new Volume(machine);
  const random = new SeededRandom(seed);
  let path = machine.indexPath;
  for (let life = 0; life < 3; life++) {
    const cache = await machine.open(path);
    await check(cache, volume);
    const copies = [join(machine.folder, `${life}-first.sqlite`)];
    copyIndex(path, copies[0] as string);
    const power = { isCut: false };
    const dieAt = machine.disk.operations + random.below(80);
    machine.disk.fault = () => {
      if (power.isCut) return "Io";
      if (machine.disk.operations < dieAt || life === 0) return undefined;
      power.isCut = true;
      if (isPowerCut) machine.disk.crash();
      return "Io";
    };
    for (let count = 0; count < 14 && !power.isCut; count++) {
      await work(cache, volume, random).catch((error: unknown) => {
        if (!power.isCut || !isRunnelError(error)) throw error;
      });
      if (power.isCut && !isPowerCut) break;
      const copy = join(machine.folder, `${life}-${count}.sqlite`);
      copyIndex(path, copy);
      copies.push(copy);
    }
    if (life === 0) await cache.close();
    else {
      // The state that SQLite had on disk: all of it after a kill, some earlier state after a power cut.
      const last = join(machine.folder, `${life}-last.sqlite`);
      copyIndex(path, last);
      path = isPowerCut ? (copies[random.below(copies.length)] ?? last) : last;
    }
    machine.disk.fault = undefined;
    if (isPowerCut && life > 0) await machine.cutPower();
    else await machine.openRoots();
  }
  const cache = await machine.open(path);
  const held = await check(cache, volume);
  await cache.close();
  machine.clean();
  return held;
}

async function runAll(isPowerCut: boolean, runs: number): Promise<void> {
  let held = 0;
  for (let seed = 1; seed <= runs; seed++) {
    try {
      held += await scenario(seed, isPowerCut);
    } catch (cause) {
      throw new Error(`seed ${seed}: ${String(cause)}`, { cause });
    }
  }
  // Otherwise nothing was looked at.
  expect(held).toBeGreaterThan(runs * 1000);
}

test("[F51] [F52] [F53] [F55] a power cut at any disk operation loses bytes but never mixes versions", async () => {
  await runAll(true, 60);
}, 120_000);

test("[F51] [F52] [F55] a killed process leaves at most what was written, and never mixes versions", async () => {
  await runAll(false, 40);
}, 120_000);

test("[F51] an index that a power cut threw back behind an edit gives none of its bytes for the old version's", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const machine = new CacheMachine(seed);
    const volume = new Volume(machine);
    const [old, next] = [await volume.sample(1, 1), await volume.sample(1, 2)];
    let cache = await machine.open();
    const hold = await cache.create({ node: 1, seq: 1 }, SIZE);
    const { content } = hold;
    await cache.write(content, 0, old.bytes);
    cache.setRecipe(content, old.recipe, old.oid);
    hold[Symbol.dispose]();
    // The names are as old: they are on disk too.
    await machine.root.syncFolder("contents/01");
    await machine.root.syncFolder("contents");
    await cache.close();
    cache = await machine.open();
    const before = join(machine.folder, "before.sqlite");
    copyIndex(machine.indexPath, before);
    await editTo(cache, cache.find({ node: 1, seq: 1 }) as CachedContent, 2, next, machine);
    await machine.cutPower();
    cache = await machine.open(before);
    await check(cache, volume);
    await cache.close();
    machine.clean();
  }
});
