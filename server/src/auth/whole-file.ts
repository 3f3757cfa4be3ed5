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

/** Durable when it resolves; only this user may read it. */
export async function replaceWhole(root: DiskRoot, name: string, text: string): Promise<void> {
  const temp = `${name}.new`;
  const file = await root.open(temp, "create", PRIVATE_MODE);
  try {
    // One that a crash left may be longer.
    await file.truncate(0);
    await file.write(0, Buffer.from(text));
    await file.sync();
  } finally {
    await file.close();
  }
  await root.rename(temp, name, "replace");
  await root.syncFolder("");
}
