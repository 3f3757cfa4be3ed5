// Extended attributes between the tree and the disk: setting those of commits as far as the file system holds them, and
// finding what other programs made of them. What the file system refuses is in the meta store only, and stays when
// others change.
// oxlint-disable-next-line no-restricted-imports -- of some attributes
import { createHash } from "node:crypto";
import type { DiskRoot, Xattr, XattrChange } from "@runnel/shared";
import { changeXattrs, isRunnelError, isXattrName } from "@runnel/shared";
import type { DiskXattrs } from "../../../meta/meta-store.ts";
import { shownOf } from "./shown.ts";

/** Digest of what lies on disk, by name. */
export function xattrDigest(xattrs: readonly Xattr[]): string {
  const hash = createHash("sha256");
  for (const [name, value] of xattrs) hash.update(`${name}\0${value.length}\0`).update(value);
  return xattrs.length === 0 ? "" : hash.digest("hex");
}

function recorded(digest: string, refused: string[]): DiskXattrs | undefined {
  return digest === "" && refused.length === 0 ? undefined : { digest, refused };
}

/**
 * Sets one on disk. Resolves to what to record: with another program's change in it that was not taken in yet, the
 * record stays behind, so that the next probe finds that.
 */
export async function applyXattr(
  root: DiskRoot,
  path: string,
  change: XattrChange,
  row: DiskXattrs | undefined,
): Promise<DiskXattrs | undefined> {
  const before = (await root.xattrs(path)).filter(([name]) => isXattrName(name));
  const refused = (row?.refused ?? []).filter((name) => name !== change[0]);
  const isRefused = await isRefusedBy(root.setXattr(path, change));
  // The older value must not stand for it.
  if (isRefused) await root.setXattr(path, [change[0], null]).catch(() => undefined);
  const isOurs = xattrDigest(before) === (row?.digest ?? "");
  const after = changeXattrs(before, isRefused ? [change[0], null] : change);
  const isKept = isRefused && change[1] !== null;
  return recorded(isOurs ? xattrDigest(after) : (row?.digest ?? ""), isKept ? [...refused, change[0]] : refused);
}

async function isRefusedBy(setting: Promise<void>): Promise<boolean> {
  try {
    await setting;
    return false;
  } catch (error) {
    if (!isRunnelError(error, "Denied", "Unsupported", "Invalid", "NoSpace", "TooLarge", "Quota")) throw error;
    return true;
  }
}

/** Finds what another program made of them: all that the node has now, and what to record; undefined when nothing. */
export async function foundXattrs(
  root: DiskRoot,
  path: string,
  row: DiskXattrs | undefined,
  stored: () => Promise<readonly Xattr[]>,
): Promise<{ xattrs: Xattr[]; disk: DiskXattrs | undefined } | undefined> {
  const { xattrs: found } = await readXattrs(root, path);
  const digest = xattrDigest(found);
  if (digest === (row?.digest ?? "")) return undefined;
  const refused = row?.refused ?? [];
  let xattrs: Xattr[] = found;
  for (const each of await stored()) if (refused.includes(each[0])) xattrs = changeXattrs(xattrs, each);
  return { xattrs, disk: recorded(digest, refused) };
}

export interface FoundXattrs {
  /** But for our own. */
  xattrs: Xattr[];
  /** Attributes of the node that the disk does not have (shown.ts). */
  shown: Uint8Array | undefined;
}

/** Reads none of what is gone or may not be read; an event tells. */
export async function readXattrs(root: DiskRoot, path: string): Promise<FoundXattrs> {
  try {
    const all = await root.xattrs(path);
    return { xattrs: all.filter(([name]) => isXattrName(name)), shown: shownOf(all) };
  } catch (error) {
    if (isRunnelError(error, "NotFound", "NotFolder", "Unavailable", "Denied")) return { xattrs: [], shown: undefined };
    throw error;
  }
}

export function diskXattrs(found: readonly Xattr[]): DiskXattrs | undefined {
  return recorded(xattrDigest(found), []);
}
