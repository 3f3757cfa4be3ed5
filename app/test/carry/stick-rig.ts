// Sticks in real folders, and drives in memory that carry to and from them.
import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realDisk } from "@runnel/native";
import { type Disk, chunkOffsets, digestKey, digestAt } from "@runnel/shared";
import type { CarryingMount, DriveCarriesOut, DriveTakesIn } from "../../src/agent/carry/carried.ts";
import { Carrier } from "../../src/agent/carry/carry.ts";
import type { WantedContent } from "../../src/agent/transfer/sources/chunk-source.ts";
import { NEVER, all, clock, executor, wantedContent } from "../supply/supply-rig.ts";

export const EPOCH = "0123456789abcdef".repeat(2);
export const NO_PROGRESS = { signal: NEVER, progress: () => undefined };

export class StickRig implements AsyncDisposable {
  readonly folder: string;
  readonly stick: string;
  disk: Disk = realDisk();

  private constructor(folder: string) {
    this.folder = folder;
    this.stick = join(folder, "stick");
  }

  static async make(): Promise<StickRig> {
    const rig = new StickRig(await mkdtemp(join(tmpdir(), "runnel-stick-")));
    await mkdir(rig.stick);
    return rig;
  }

  carrier(): Carrier {
    return new Carrier({ disk: this.disk, executor, clock, workFolder: this.folder });
  }

  /** Deps of a stick that is opened without a carrier. */
  get deps() {
    return { disk: this.disk, executor, clock, workFolder: this.folder };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

interface HeldFile {
  seq: number;
  bytes: Uint8Array;
  path: string;
}

/** A drive whose files are in memory; those that it lacks it takes from the stick, or else over the line. */
export class MemoryDrive implements CarryingMount {
  readonly epoch = EPOCH;
  /** Files on the server, by node. */
  readonly server: Map<number, HeldFile>;
  /** Nodes of which the content is here. */
  readonly here: Set<number>;
  /** Bytes that came over the line. */
  lineBytes = 0;
  /** Content that waits to be sent. */
  unsent: Uint8Array | undefined;

  constructor(server: Map<number, HeldFile>, here: Iterable<number>) {
    this.server = server;
    this.here = new Set(here);
  }

  async carryOut(out: DriveCarriesOut, paths: readonly string[]): Promise<void> {
    for (const [node, { seq, bytes, path }] of paths.length > 0 ? this.server : []) {
      await this.#give(out, await contentAt(node, seq, bytes), bytes);
      await out.carried([node, seq, bytes.length, path]);
    }
    if (this.unsent === undefined) return;
    await this.#give(out, await contentAt(99, 0, this.unsent), this.unsent);
    out.carriedUnsent(this.unsent.length);
  }

  async takeIn(taking: DriveTakesIn): Promise<void> {
    for await (const [node, seq, sizeBytes] of taking.versions(EPOCH)) {
      const file = this.server.get(node);
      if (file === undefined || file.seq !== seq) taking.took("superseded", sizeBytes);
      else if (this.here.has(node)) taking.took("already", sizeBytes);
      else {
        await this.#bring(taking, await contentAt(node, seq, file.bytes), file.bytes);
        this.here.add(node);
        taking.took("here", sizeBytes);
      }
    }
  }

  async *chunkKeys(): AsyncGenerator<readonly bigint[]> {
    for (const node of this.here) {
      const file = this.server.get(node);
      if (file === undefined) continue;
      const { recipe } = await contentAt(node, file.seq, file.bytes);
      yield Array.from(recipe.lengths, (_, index) => BigInt.asIntN(64, digestKey(digestAt(recipe, index))));
    }
  }

  async #give({ sink }: DriveCarriesOut, content: WantedContent, bytes: Uint8Array): Promise<void> {
    const offsets = chunkOffsets(content.recipe);
    for (const { from, count } of await sink.lacks(content, all(content))) {
      for (let index = from; index < from + count; index++) {
        const chunk = bytes.subarray(offsets[index] ?? 0, offsets[index + 1] ?? 0);
        await sink.put(content, { from: index, count: 1, bytes: chunk });
      }
    }
  }

  /** Counts as of the line what the source does not bring, or brings wrong. */
  async #bring({ source }: DriveTakesIn, content: WantedContent, bytes: Uint8Array): Promise<void> {
    const offsets = chunkOffsets(content.recipe);
    const came = new Set<number>();
    const located = await source.locate(content, all(content), NEVER);
    for await (const run of source.get(content, located, NEVER)) {
      const start = offsets[run.from] ?? 0;
      for (let index = run.from; index < run.from + run.count; index++) {
        const [from, to] = [offsets[index] ?? 0, offsets[index + 1] ?? 0];
        if (Buffer.compare(run.bytes.subarray(from - start, to - start), bytes.subarray(from, to)) === 0)
          came.add(index);
        else source.wrong(content, index);
      }
    }
    for (const [index, length] of content.recipe.lengths.entries()) if (!came.has(index)) this.lineBytes += length;
  }
}

export function filesOf(contents: Readonly<Record<number, Uint8Array>>): Map<number, HeldFile> {
  return new Map(
    Object.entries(contents).map(([node, bytes]) => [Number(node), { seq: 5, bytes, path: `folder/file-${node}` }]),
  );
}

async function contentAt(node: number, seq: number, bytes: Uint8Array): Promise<WantedContent> {
  return { ...(await wantedContent(bytes)), version: { node, seq } };
}
