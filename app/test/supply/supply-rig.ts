// A supply over a real folder, and contents to be looked for in it.
import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realDisk, threadExecutor } from "@runnel/native";
import { type Disk, type DiskRoot, type Recipe, RealClock, digestAt, presetFor } from "@runnel/shared";
import { FolderSource } from "../../src/agent/supply/folder-source.ts";
import type { Scanned } from "@runnel/shared/supply";
import { SqliteSupplyIndex } from "../../src/agent/supply/sqlite-supply-index.ts";
import type { ChunkSpan, WantedContent } from "../../src/agent/transfer/sources/chunk-source.ts";

export const executor = threadExecutor();
export const clock = new RealClock();
export const NEVER = new AbortController().signal;

export class SupplyRig {
  readonly folder: string;
  readonly path: string;
  readonly disk: Disk = realDisk();
  readonly index: SqliteSupplyIndex;
  readonly source: FolderSource;

  private constructor(folder: string) {
    this.folder = folder;
    this.path = join(folder, "old");
    this.index = SqliteSupplyIndex.open(join(folder, "index.sqlite"));
    const openRoot = (path: string): Promise<DiskRoot> => this.disk.openRoot(path);
    this.source = new FolderSource({ path: this.path, index: this.index, executor, clock, openRoot });
  }

  static async make(): Promise<SupplyRig> {
    const folder = await mkdtemp(join(tmpdir(), "runnel-supply-"));
    await mkdir(join(folder, "old"));
    return new SupplyRig(folder);
  }

  scan(): Promise<Scanned> {
    return this.source.scan(NEVER, () => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.index.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function wantedContent(bytes: Uint8Array, node = 7): Promise<WantedContent> {
  const recipe = await executor.chunkBytes(bytes, presetFor(bytes.length));
  return { version: { node, seq: 3 }, sizeBytes: bytes.length, recipe };
}

export function all({ recipe }: WantedContent): ChunkSpan[] {
  return [{ from: 0, count: recipe.lengths.length }];
}

/** Takes all that a source brings, tells it what is wrong, and returns the chunks that were right. */
export async function takenChunks(source: FolderSource, content: WantedContent): Promise<Set<number>> {
  const right = new Set<number>();
  const { recipe } = content;
  for await (const run of source.get(content, all(content), NEVER)) {
    let at = 0;
    for (let index = run.from; index < run.from + run.count; index++) {
      const length = recipe.lengths[index] ?? 0;
      const digest = await executor.digest([run.bytes.subarray(at, at + length)]);
      if (isSame(recipe, index, digest)) right.add(index);
      else source.wrong(content, index);
      at += length;
    }
  }
  return right;
}

function isSame(recipe: Recipe, index: number, digest: Uint8Array): boolean {
  return Buffer.compare(digestAt(recipe, index), digest) === 0;
}
