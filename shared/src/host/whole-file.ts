// Files that are open for as long as they are used, and small ones that are read and replaced as a whole: a crash
// leaves the old one or the new one.
import { isRunnelError } from "../errors.ts";
import type { DiskFile, DiskRoot, OpenMode } from "./disk.ts";

const PRIVATE_MODE = 0o600;
const FILE_BYTES_MAX = 64 * 1024 * 1024;

/** Closes what was opened once it has been used, whatever comes of that. */
export async function withOpened<Opened extends { close(): Promise<void> }, T>(
  opened: Opened,
  use: (opened: Opened) => Promise<T>,
): Promise<T> {
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** Opens a file, and closes it once it has been used. */
export async function withFile<T>(
  root: Pick<DiskRoot, "open">,
  path: string,
  mode: OpenMode,
  use: (file: DiskFile) => Promise<T>,
  permissions?: number,
): Promise<T> {
  return withOpened(await root.open(path, mode, permissions), use);
}

/** Opens what lies at the path for reading. @returns undefined when nothing does, or no file. */
export async function openIfThere(root: DiskRoot, path: string): Promise<DiskFile | undefined> {
  try {
    return await root.open(path, "read");
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder", "IsFolder", "Unsupported")) return undefined;
    throw error;
  }
}

/** @returns undefined when there is none. */
export async function readWhole(
  root: DiskRoot,
  name: string,
  bytesMax: number = FILE_BYTES_MAX,
): Promise<string | undefined> {
  try {
    return Buffer.from(await root.readFile(name, bytesMax)).toString();
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder")) return undefined;
    throw error;
  }
}

/**
 * Makes a file of these bytes, whatever a crash left there. Durable when it resolves, but for its name, if `isSynced`.
 */
export async function writeWhole(
  root: DiskRoot,
  path: string,
  bytes: Uint8Array,
  { mode = PRIVATE_MODE, isSynced = false }: { mode?: number; isSynced?: boolean } = {},
): Promise<void> {
  await root.writeFile(path, bytes, { mode: "create", permissions: mode, isSynced });
}

export interface WholeFile {
  /** Name under which it is written before it takes the place; in the same folder unless another is named. */
  temp?: string;
  /** Only this user may read it unless another is named. */
  mode?: number;
}

/** Durable when it resolves. */
export async function replaceWhole(root: DiskRoot, path: string, text: string, how: WholeFile = {}): Promise<void> {
  const { temp = `${path}.new`, mode = PRIVATE_MODE } = how;
  await writeWhole(root, temp, Buffer.from(text), { mode, isSynced: true });
  await root.rename(temp, path, "replace");
  await root.syncFolder(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
}
