// FileSource: an open file that was recorded to hold a version. A file that other programs can write is never trusted
// further than its stat tuple: what was read counts only when the tuple was still the recorded one afterwards.
import type { DiskFile, DiskRoot, DiskStat } from "@runnel/shared";
import { openIfThere } from "@runnel/shared";
import { isSameTuple } from "../disk/same-file.ts";

export class FileSource {
  readonly file: DiskFile;
  readonly stat: DiskStat;

  private constructor(file: DiskFile, stat: DiskStat) {
    this.file = file;
    this.stat = stat;
  }

  /** Undefined when another file is at the path, or something else happened to this one. */
  static async open(root: DiskRoot, path: string, recorded: DiskStat): Promise<FileSource | undefined> {
    const file = await openIfThere(root, path);
    if (file === undefined) return undefined;
    try {
      const stat = await file.stat();
      if (isSameTuple(stat, recorded)) return new FileSource(file, stat);
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    return undefined;
  }

  /** The file is as it was when it was opened: the ctime only grows, so nothing happened in between either. */
  async isUnchanged(): Promise<boolean> {
    return isSameTuple(await this.file.stat(), this.stat);
  }

  /** Undefined when the file changed. */
  async read(offset: number, length: number): Promise<Uint8Array | undefined> {
    const bytes = await this.file.read(offset, length);
    return bytes.length === length && (await this.isUnchanged()) ? bytes : undefined;
  }

  /** Copies within the system. False when the file changed: what was written is to be written again. */
  async copyTo(target: DiskFile, offset: number, at: number, length: number): Promise<boolean> {
    const copied = await target.copyFrom(this.file, offset, at, length);
    return copied === length && (await this.isUnchanged());
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}
