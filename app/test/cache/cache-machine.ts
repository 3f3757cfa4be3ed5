// A machine with a simulated disk, a cache on it, and files of known bytes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inlineExecutor } from "@runnel/native";
import type { DiskRoot, Recipe } from "@runnel/shared";
import { SeededRandom, SimulatedClock, SimulatedDisk, encodeRecipe } from "@runnel/shared";
import type { Cache } from "../../src/agent/cache/cache.ts";
import { openCache } from "../../src/agent/cache/content-cache.ts";

export interface Sample {
  bytes: Uint8Array;
  recipe: Recipe;
  oid: Uint8Array;
}

export class CacheMachine {
  readonly clock = new SimulatedClock();
  readonly disk: SimulatedDisk;
  readonly executor = inlineExecutor();
  /** A real folder for the index. */
  readonly folder = mkdtempSync(join(tmpdir(), "runnel-cache-test-"));
  root!: DiskRoot;
  journal!: DiskRoot;
  boot = 1;

  constructor(seed = 1) {
    this.disk = new SimulatedDisk({ clock: this.clock, seed });
  }

  get indexPath(): string {
    return join(this.folder, "cache.sqlite");
  }

  async openRoots(): Promise<void> {
    this.root = await this.disk.openRoot("/cache", { permissions: 0o700 });
    this.journal = await this.disk.openRoot("/journal", { permissions: 0o700 });
  }

  async open(path = this.indexPath): Promise<Cache> {
    if (this.root === undefined) await this.openRoots();
    const { root, executor, clock, journal } = this;
    return openCache({ root, path, executor, clock, adoptFrom: journal, boot: `boot ${this.boot}` });
  }

  async cutPower(): Promise<void> {
    this.disk.crash();
    this.boot++;
    await this.openRoots();
  }

  async sample(seed: number, sizeBytes: number): Promise<Sample> {
    return this.sampleOf(new SeededRandom(seed).bytes(sizeBytes));
  }

  async sampleOf(bytes: Uint8Array): Promise<Sample> {
    const recipe = await this.executor.chunkBytes(bytes);
    return { bytes, recipe, oid: await this.executor.digest([encodeRecipe(recipe)]) };
  }

  async writeFile(root: DiskRoot, path: string, bytes: Uint8Array): Promise<void> {
    const file = await root.open(path, "create");
    await file.write(0, bytes);
    await file.close();
  }

  /** Ids of the files that are there. */
  async files(): Promise<string[]> {
    const found: string[] = [];
    const folders: string[] = [];
    await this.root.list("contents", (entries) => {
      for (const { name } of entries) folders.push(`contents/${name}`);
    });
    for (const folder of folders) {
      await this.root.list(folder, (entries) => {
        for (const { name } of entries) found.push(`${name}`);
      });
    }
    return found.toSorted();
  }

  clean(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
