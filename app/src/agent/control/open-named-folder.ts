// Opens a folder that a person named, and says by its name why that cannot be.
import { type Disk, type DiskRoot, type ErrorKind, RunnelError, fromSystemError } from "@runnel/shared";

const WHY: Partial<Record<ErrorKind, string>> = {
  NotFound: "does not exist",
  NotFolder: "is not a folder",
  Denied: "cannot be opened by this user",
};

/** @throws RunnelError of the kind that the disk's is of. */
export async function openNamedFolder(disk: Pick<Disk, "openRoot">, path: string): Promise<DiskRoot> {
  try {
    return await disk.openRoot(path);
  } catch (cause) {
    const { kind } = fromSystemError(cause, "open a folder");
    const why = WHY[kind] ?? `cannot be opened (${kind})`;
    throw new RunnelError(kind, "open a folder", `${path} ${why}. Name a folder that is there.`, { cause });
  }
}
