// The disk that a client would have after a power cut: a simulated one, to which everything is done that is done to the
// real folder. What was not synced survives there or does not, as SimulatedDisk has it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Clock, DiskFile, DiskRoot } from "@runnel/shared";
import { SimulatedDisk, isRunnelError } from "@runnel/shared";

const ROOT = "/";
const FOLDER_MODE = 0o700;

export class ShadowDisk {
  private readonly disk: SimulatedDisk;
  private root: DiskRoot | undefined;
  /** Path of the real folder now. */
  folder = "";

  constructor(clock: Clock, seed: number) {
    this.disk = new SimulatedDisk({ clock, seed });
  }

  async makeRoot(path: string): Promise<void> {
    await this.disk.openRoot(`/${this.below(path)}`, { permissions: FOLDER_MODE });
  }

  async open(path: string, mode: "write" | "create"): Promise<DiskFile> {
    if (mode === "write") await this.know(path);
    return (await this.top()).open(this.below(path), mode);
  }

  async makeFolder(path: string): Promise<void> {
    await (await this.top()).makeFolder(this.below(path));
  }

  async link(from: string, to: string): Promise<void> {
    await this.know(from);
    await (await this.top()).link(this.below(from), this.below(to));
  }

  async rename(from: string, to: string): Promise<void> {
    await this.know(from);
    await (await this.top()).rename(this.below(from), this.below(to), "replace");
  }

  async removeFile(path: string): Promise<void> {
    if (await this.has(path)) await (await this.top()).removeFile(this.below(path));
  }

  async removeFolder(path: string): Promise<void> {
    await (await this.top()).removeFolder(this.below(path));
  }

  async syncFolder(path: string): Promise<void> {
    await (await this.top()).syncFolder(this.below(path));
  }

  /** The power is cut: what is left is written to another folder, where the client goes on. */
  async cutPower(folder: string): Promise<void> {
    this.disk.crash();
    this.root = undefined;
    await this.write("", folder);
    this.folder = folder;
  }

  private async write(path: string, folder: string): Promise<void> {
    const root = await this.top();
    mkdirSync(join(folder, path), { recursive: true, mode: FOLDER_MODE });
    const names: string[] = [];
    await root.list(path, (entries) => void names.push(...entries.flatMap(({ name }) => name ?? [])));
    for (const name of names) {
      const below = path === "" ? name : `${path}/${name}`;
      if ((await root.stat(below)).type === "folder") {
        await this.write(below, folder);
        continue;
      }
      const file = await root.open(below, "read");
      writeFileSync(join(folder, below), await file.read(0, (await file.stat()).sizeBytes), { mode: 0o600 });
      await file.close();
    }
  }

  /**
   * A file that the drive's own code made is learned of when it is first used from here; none of it has been synced.
   */
  private async know(path: string): Promise<void> {
    if (await this.has(path)) return;
    const bytes = readFileSync(path);
    const root = await this.top();
    await this.disk.openRoot(`/${this.below(dirname(path))}`, { permissions: FOLDER_MODE });
    const file = await root.open(this.below(path), "createNew");
    await file.write(0, bytes);
    await file.close();
  }

  private async has(path: string): Promise<boolean> {
    try {
      await (await this.top()).stat(this.below(path));
      return true;
    } catch (error) {
      if (isRunnelError(error, "NotFound")) return false;
      throw error;
    }
  }

  private async top(): Promise<DiskRoot> {
    this.root ??= await this.disk.openRoot(ROOT);
    return this.root;
  }

  private below(path: string): string {
    return relative(this.folder, path);
  }
}
