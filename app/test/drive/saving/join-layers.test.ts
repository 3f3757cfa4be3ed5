// Files that programs save again and again without a line: what each save leaves of the ones before it, and that a
// crash leaves what was saved last.
import { describe, expect, test } from "@jest/globals";
import { SeededRandom, isRunnelError } from "@runnel/shared";
import type { Save } from "../../../src/agent/changes/own-change.ts";
import { firstToJoin } from "../../../src/agent/drive/saving/join-layers.ts";
import type { JournalCommit } from "../../../src/agent/journal/journal.ts";
import { openComposed } from "../../../src/agent/transfer/compose.ts";
import { JournalMachine } from "../../journal/journal-machine.ts";
import { SaveRig } from "./save-rig.ts";

const KiB = 1024;

function layersOf(...sizes: number[]): JournalCommit["layers"] {
  return sizes.map((length, at) => ({ file: `layer-${at}`, extents: [{ offset: 7, length }] }));
}

async function contentOf(rig: SaveRig, record: JournalCommit): Promise<Buffer> {
  const data = await rig.machine.disk.openRoot("/state/journal/data");
  const composed = await openComposed(data, { ...record, base: undefined });
  const bytes = Buffer.alloc(record.sizeBytes);
  await composed.read(0, bytes).finally(() => composed.close());
  return bytes;
}

/** Writes as a program does: to a file whose bytes are these. */
class Program {
  bytes = Buffer.alloc(0);
  readonly rig: SaveRig;
  #letter = 0;

  constructor(rig: SaveRig) {
    this.rig = rig;
  }

  /** Writes, and resolves when that is on the disk. */
  async save(offset: number, length: number): Promise<Save> {
    const written = Buffer.alloc(length, 1 + (this.#letter++ % 250));
    const bytes = Buffer.alloc(Math.max(this.bytes.length, offset + length));
    this.bytes.copy(bytes);
    written.copy(bytes, offset);
    this.bytes = bytes;
    return this.rig.fsync(1, offset, written, bytes.length);
  }
}

async function asyncRig(machine?: JournalMachine): Promise<SaveRig> {
  const rig = await new SaveRig(machine).open();
  rig.isAsync = true;
  return rig;
}

describe("layers", () => {
  test("are joined once there are many, from the oldest one on that is no larger than what came after it", () => {
    const small = Array.from({ length: 7 }, () => 4 * KiB);
    expect(firstToJoin(layersOf())).toBeUndefined();
    expect(firstToJoin(layersOf(...small))).toBeUndefined();
    expect(firstToJoin(layersOf(4 * KiB, ...small))).toBe(0);
    expect(firstToJoin(layersOf(64 * KiB, ...small))).toBe(0);
    expect(firstToJoin(layersOf(1024 * KiB, ...small))).toBeUndefined();
    expect(firstToJoin(layersOf(1024 * KiB, 20 * KiB, ...small))).toBe(1);
    expect(firstToJoin(layersOf(1024 * KiB, 512 * KiB, ...small, 600 * KiB))).toBe(0);
    expect(firstToJoin(layersOf(0, 0, ...small, 0))).toBe(0);
    expect(firstToJoin(layersOf(256 * KiB * KiB, ...small, 256 * KiB * KiB - 1))).toBe(1);
  });

  test("that programs read from as they are stay, and so do those below them", () => {
    const ten = layersOf(...Array.from({ length: 10 }, () => 4 * KiB));
    expect(firstToJoin(ten, new Set(["layer-0"]))).toBe(1);
    expect(firstToJoin(ten, new Set(["layer-5"]))).toBeUndefined();
  });
});

describe("a file that is saved many times without a line", () => {
  test("takes as much disk, as many descriptors, and as long records, as what is left of it", async () => {
    const rig = await asyncRig();
    const program = new Program(rig);
    let record: JournalCommit | undefined;
    for (let count = 0; count < 300; count++) {
      ({ record } = await program.save(count * KiB, KiB));
      expect(record.layers.length).toBeLessThan(20);
      expect(rig.overlays.length).toBe(record.layers.length);
    }
    await rig.machine.clock.advance(2_000);
    expect(rig.journal.pending()).toEqual([record]);
    const files = await rig.machine.dataFiles();
    expect(files).toEqual(record?.layers.map(({ file }) => file).toSorted());
    expect(record && (await contentOf(rig, record)).equals(program.bytes)).toBe(true);
    await rig.again();
    const [left] = rig.unsent.list();
    expect(left).toEqual(record);
  });

  test("has what was written last wherever it was written", async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = new SeededRandom(seed);
      const rig = await asyncRig();
      const program = new Program(rig);
      for (let count = 0; count < 60; count++) {
        const { record } = await program.save(random.below(40) * 512, 1 + random.below(3000));
        if (count % 7 === 0) expect((await contentOf(rig, record)).equals(program.bytes)).toBe(true);
        if (random.coin(0.1)) await rig.machine.clock.advance(600);
      }
    }
  });

  test("keeps the layers that a program has open as they are", async () => {
    const rig = await asyncRig();
    rig.inUse.add("layer-1");
    const program = new Program(rig);
    for (let count = 0; count < 20; count++) {
      const { record } = await program.save(count * KiB, KiB);
      expect(record.layers[0]?.file).toBe("layer-1");
      expect(record.layers.length).toBeLessThan(12);
    }
  });

  test("refuses what another program saves over one of its earlier contents, whose layers were joined since", async () => {
    const rig = await asyncRig();
    const program = new Program(rig);
    for (let count = 0; count < 3; count++) await program.save(count * KiB, KiB);
    const { version } = rig;
    for (let count = 3; count < 20; count++) await program.save(count * KiB, KiB);
    const pending = rig.journal.pending();
    rig.version = version;
    await expect(rig.fsync(2, 0, Buffer.alloc(5), 3 * KiB)).rejects.toMatchObject({ kind: "Gone" });
    expect(rig.journal.pending()).toEqual(pending);
  });

  test("is saved as before where there is no space to join its layers", async () => {
    const rig = await asyncRig();
    const program = new Program(rig);
    rig.machine.disk.fault = (operation, path) =>
      operation === "open" && path.includes("joined-") ? "NoSpace" : undefined;
    for (let count = 0; count < 12; count++)
      expect((await program.save(count, 1)).record.layers).toHaveLength(count + 1);
    rig.machine.disk.fault = undefined;
    const { record } = await program.save(12, 1);
    expect(record.layers).toHaveLength(2);
    expect((await contentOf(rig, record)).equals(program.bytes)).toBe(true);
  });

  test("[F43] [F100] has what the last answered save had, or the next, after a power cut at any disk operation", async () => {
    let cuts = 0;
    for (let seed = 1; seed <= 120; seed++) {
      const random = new SeededRandom(seed);
      const machine = new JournalMachine(seed);
      const rig = await asyncRig(machine);
      const program = new Program(rig);
      let saved = Buffer.alloc(0);
      let isCut = false;
      const at = machine.disk.operations + 20 + random.below(900);
      machine.disk.fault = () => {
        if (machine.disk.operations < at) return undefined;
        machine.disk.fault = undefined;
        isCut = true;
        machine.disk.crash();
        return "Io";
      };
      try {
        for (let count = 0; count < 40; count++) {
          await program.save(random.coin() ? program.bytes.length : random.below(1 + program.bytes.length), 100);
          saved = program.bytes;
          if (random.coin(0.2)) await machine.clock.advance(600);
        }
      } catch (error) {
        if (!isRunnelError(error) && !isCut) throw error;
      }
      machine.disk.fault = undefined;
      await machine.cutPower();
      const after = await asyncRig(machine);
      const [record] = after.journal.pending();
      const left = record === undefined ? Buffer.alloc(0) : await contentOf(after, record);
      const isSaved = left.equals(saved) || left.equals(program.bytes);
      if (!isSaved) throw new Error(`seed ${seed}: what is left is not what was saved`);
      expect(after.journal.pending().length).toBeLessThan(2);
      if (record !== undefined) expect(await after.journal.verify(record)).toBe(true);
      if (isCut) cuts++;
      await after.journal.close();
    }
    expect(cuts).toBeGreaterThan(60);
  });
});
