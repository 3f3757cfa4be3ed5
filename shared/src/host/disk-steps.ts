// Operations of a DiskRoot that are several steps, one after the other: for disks that gain nothing by doing them in
// one.
import { isRunnelError } from "../errors.ts";
import type { DiskFile, DiskIdentity, DiskRoot, DiskStat, FileLease, WholeFileWrite } from "./disk.ts";
import { withFile } from "./whole-file.ts";

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

export async function statAllInSteps(
  root: DiskRoot,
  paths: readonly string[],
): Promise<(DiskStat | "absent" | "unknown")[]> {
  const stats: (DiskStat | "absent" | "unknown")[] = [];
  for (const path of paths) {
    try {
      stats.push(await root.stat(path));
    } catch (error) {
      if (!isRunnelError(error) || error.kind === "Invalid") throw error;
      stats.push(isRunnelError(error, "NotFound", "NotFolder") ? "absent" : "unknown");
    }
  }
  return stats;
}

export function readFileInSteps(root: DiskRoot, path: string, bytesMax: number): Promise<Uint8Array> {
  return withFile(root, path, "read", (file) => file.read(0, bytesMax));
}

export async function writeFileInSteps(
  root: DiskRoot,
  path: string,
  bytes: Uint8Array,
  how: WholeFileWrite,
): Promise<void> {
  await withFile(root, path, how.mode, (file) => writeTo(file, bytes, how), how.permissions);
}

export async function makeFileInSteps(
  root: DiskRoot,
  path: string,
  bytes: Uint8Array,
  how: WholeFileWrite,
): Promise<DiskIdentity & { file: DiskFile }> {
  const file = await root.open(path, how.mode, how.permissions);
  try {
    await writeTo(file, bytes, how);
    return { file, ...(await file.identify()) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

export function lookForWriterInSteps(root: DiskRoot, path: string): Promise<{ lease: FileLease; stat: DiskStat }> {
  return withFile(root, path, "read", async (file) => {
    const lease = await file.takeLease(() => undefined);
    return { lease, stat: await file.stat() };
  });
}
