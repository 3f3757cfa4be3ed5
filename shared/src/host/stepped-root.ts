// A DiskRoot that does in single steps, one after the other, what others do in one: for disks that gain nothing by it.
import { isRunnelError } from "../errors.ts";
import type { DiskFile, DiskIdentity, DiskRoot, DiskStat, FileLease, OpenMode, WholeFileWrite } from "./disk.ts";
import { withFile } from "./whole-file.ts";

type InOneGo = Pick<DiskRoot, "statAll" | "readFile" | "writeFile" | "makeFile" | "lookForWriter">;

export abstract class SteppedRoot implements InOneGo {
  abstract stat(path: string): Promise<DiskStat>;
  abstract open(path: string, mode: OpenMode, permissions?: number): Promise<DiskFile>;

  async statAll(paths: readonly string[]): Promise<(DiskStat | "absent" | "unknown")[]> {
    const stats: (DiskStat | "absent" | "unknown")[] = [];
    for (const path of paths) {
      try {
        stats.push(await this.stat(path));
      } catch (error) {
        if (!isRunnelError(error) || error.kind === "Invalid") throw error;
        stats.push(isRunnelError(error, "NotFound", "NotFolder") ? "absent" : "unknown");
      }
    }
    return stats;
  }

  readFile(path: string, bytesMax: number): Promise<Uint8Array> {
    return withFile(this, path, "read", (file) => file.read(0, bytesMax));
  }

  async writeFile(path: string, bytes: Uint8Array, how: WholeFileWrite): Promise<void> {
    await withFile(this, path, how.mode, (file) => writeTo(file, bytes, how), how.permissions);
  }

  async makeFile(path: string, bytes: Uint8Array, how: WholeFileWrite): Promise<DiskIdentity & { file: DiskFile }> {
    const file = await this.open(path, how.mode, how.permissions);
    try {
      await writeTo(file, bytes, how);
      return { file, ...(await file.identify()) };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  lookForWriter(path: string): Promise<{ lease: FileLease; stat: DiskStat }> {
    return withFile(this, path, "read", async (file) => {
      const lease = await file.takeLease(() => undefined);
      return { lease, stat: await file.stat() };
    });
  }
}

async function writeTo(
  file: DiskFile,
  bytes: Uint8Array,
  { mode, stat = {}, isSynced = false }: WholeFileWrite,
): Promise<void> {
  if (mode === "create") await file.truncate(0);
  await file.write(0, bytes);
  try {
    if (Object.keys(stat).length > 0) await file.setStat(stat);
  } catch (error) {
    if (!isRunnelError(error, "Denied", "Unsupported", "Invalid")) throw error;
  }
  if (isSynced) await file.sync();
}
