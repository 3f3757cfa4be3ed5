// Attributes that drives show of a node and the served folder does not have, since the server's system would trust it:
// set-uid, set-gid and sticky bits, owners, devices [F168]. They lie in an extended attribute, or where there can be
// none in a record (shown-records.ts), so that they survive the loss of the index, with what the disk had then: a field
// that another program has changed since is that program's.
import type { DiskRoot, DiskStat, FileType, NodeState, Xattr } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import { z } from "zod";
import type { ShownRecords } from "./shown-records.ts";
import { STORE_FILE_MODE, STORE_FOLDER_MODE } from "./store-layout.ts";

/** No client can name it. */
export const SHOWN_XATTR = "user.runnel.shown";

/** A file system that does not hold it says one of these. */
const REFUSALS = ["Denied", "Unsupported", "Invalid", "NoSpace", "TooLarge", "Quota"] as const;

const id = z.number().int().min(0).max(0xffff_ffff);
const fields = { mode: z.number().int().min(0).max(0o7777), uid: id, gid: id };
const record = z.object({
  shown: z.object({ ...fields, type: z.enum(["char", "block"]).optional(), rdev: z.number().int().min(0).optional() }),
  disk: z.object(fields),
});

/** Type on disk in the place of a node: for a device an empty file. */
export function typeOnDisk(type: FileType): FileType {
  return isDevice(type) ? "file" : type;
}

export function isDevice(type: FileType): type is "char" | "block" {
  return type === "char" || type === "block";
}

/** Makes at a path what lies on disk in the place of a node, empty, for the server alone. */
export async function makeNode(root: DiskRoot, path: string, { type, target, rdev }: NodeState): Promise<void> {
  if (type === "folder") return root.makeFolder(path, STORE_FOLDER_MODE);
  if (type === "symlink") return root.makeSymlink(path, target);
  if (typeOnDisk(type) !== "file") return root.makeSpecial(path, type, STORE_FILE_MODE, rdev);
  return (await root.open(path, "createNew", STORE_FILE_MODE)).close();
}

/** @returns undefined when the disk has all of it. */
function encodeShown({ type, mode, uid, gid, rdev }: NodeState, disk: DiskStat): Uint8Array | undefined {
  const isSame = type === disk.type && mode === disk.mode && uid === disk.uid && gid === disk.gid;
  if (isSame) return undefined;
  const device = isDevice(type) ? { type, rdev } : {};
  const value: z.infer<typeof record> = {
    shown: { mode, uid, gid, ...device },
    disk: { mode: disk.mode, uid: disk.uid, gid: disk.gid },
  };
  return Buffer.from(JSON.stringify(value));
}

/** Attributes of a node that are not as the disk has them; none for a value that this engine did not write. */
export function decodeShown(
  value: Uint8Array | undefined,
  disk: DiskStat,
): Partial<Pick<NodeState, "type" | "mode" | "uid" | "gid" | "rdev">> {
  const parsed = record.safeParse(value === undefined ? undefined : parseJson(value));
  if (!parsed.success) return {};
  const { shown, disk: then } = parsed.data;
  const { type, rdev = 0 } = shown;
  const isPlaceholder = type !== undefined && disk.type === "file" && disk.sizeBytes === 0;
  return {
    ...(isPlaceholder ? { type, rdev } : {}),
    ...(disk.mode === then.mode ? { mode: shown.mode } : {}),
    ...(disk.uid === then.uid ? { uid: shown.uid } : {}),
    ...(disk.gid === then.gid ? { gid: shown.gid } : {}),
  };
}

function parseJson(value: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(value).toString());
  } catch {
    return undefined;
  }
}

export function shownOf(xattrs: readonly Xattr[]): Uint8Array | undefined {
  return xattrs.find(([name]) => name === SHOWN_XATTR)?.[1];
}

/**
 * Says at a path what the disk does not say of the node there, durably once its batch is. `isNew`: nothing has been
 * said of it before. `known`: its tuple. Where the disk takes neither attribute nor record only the index knows.
 */
export async function keepShown(
  { root, shown }: { root: DiskRoot; shown: ShownRecords },
  path: string,
  state: NodeState,
  isNew: boolean,
  known?: DiskStat,
): Promise<void> {
  try {
    const stat = known ?? (await root.stat(path));
    const value = encodeShown(state, stat);
    const hasAttribute = await isKeptInXattr(root, path, stat.type, value, isNew);
    if (!hasAttribute && value !== undefined) await keepRecord(shown, await root.handle(path), value);
    else if (!isNew && shown.mayHaveAny) await shown.remove(await root.handle(path));
  } catch (error) {
    if (!isRunnelError(error, "NotFound", "NotFolder")) throw error;
  }
}

/** False where it cannot be. */
async function isKeptInXattr(
  root: DiskRoot,
  path: string,
  type: FileType,
  value: Uint8Array | undefined,
  isNew: boolean,
): Promise<boolean> {
  if (type !== "folder" && type !== "file") return false;
  if (value === undefined && isNew) return true;
  try {
    await root.setXattr(path, [SHOWN_XATTR, value ?? null]);
    return true;
  } catch (error) {
    if (!isRunnelError(error, ...REFUSALS)) throw error;
    // The older value must not stand for it.
    if (value !== undefined && !isNew) await root.setXattr(path, [SHOWN_XATTR, null]).catch(() => undefined);
    return false;
  }
}

async function keepRecord(shown: ShownRecords, handle: Uint8Array, value: Uint8Array): Promise<void> {
  try {
    await shown.put(handle, value);
  } catch (error) {
    if (!isRunnelError(error, ...REFUSALS)) throw error;
    await shown.remove(handle);
  }
}
