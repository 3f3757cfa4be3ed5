// Small files that are read and replaced as a whole: a crash leaves the old one or the new one.
import type { DiskRoot } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";

const PRIVATE_MODE = 0o600;
const FILE_BYTES_MAX = 64 * 1024 * 1024;

/** undefined when there is none. */
export async function readWhole(root: DiskRoot, name: string): Promise<string | undefined> {
  try {
    const file = await root.open(name, "read");
    try {
      return Buffer.from(await file.read(0, FILE_BYTES_MAX)).toString();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isRunnelError(error, "NotFound")) return undefined;
    throw error;
  }
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
  const file = await root.open(temp, "create", mode);
  try {
    // A file that a crash left may be longer.
    await file.truncate(0);
    await file.write(0, Buffer.from(text));
    await file.sync();
  } finally {
    await file.close();
  }
  await root.rename(temp, path, "replace");
  await root.syncFolder(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
}
