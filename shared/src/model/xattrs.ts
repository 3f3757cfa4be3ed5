// Extended attributes of a node: those of users (user.*), kept as one map by name. Which may be, and what a change
// makes of them.
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";

export type Xattr = readonly [name: string, value: Uint8Array];
/** null removes it; one that is not there is removed already. */
export type XattrChange = readonly [name: string, value: Uint8Array | null];

const PREFIX = "user.";
/** Prefix of the server's own attributes: they show on no drive, and no client sets them. */
const OWN_PREFIX = "user.runnel.";

export function isXattrName(name: string): boolean {
  const isLong = Buffer.byteLength(name) > LIMITS.xattrNameBytes;
  return (
    name.startsWith(PREFIX) &&
    !name.startsWith(OWN_PREFIX) &&
    name.length > PREFIX.length &&
    !isLong &&
    name.isWellFormed() &&
    !name.includes("\0")
  );
}

/**
 * Returns the attributes after the change, sorted by name. @throws RunnelError NoSpace when they would take more than a
 * node may have.
 */
export function changeXattrs(xattrs: readonly Xattr[], [name, value]: XattrChange): Xattr[] {
  const changed = xattrs.filter(([known]) => known !== name);
  if (value !== null) changed.push([name, value]);
  checkXattrs(changed);
  return sortXattrs(changed);
}

export function sortXattrs(xattrs: readonly Xattr[]): Xattr[] {
  return xattrs.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** @throws RunnelError NoSpace. */
export function checkXattrs(xattrs: readonly Xattr[]): void {
  let names = 0;
  let values = 0;
  for (const [name, value] of xattrs) {
    names += Buffer.byteLength(name) + 1;
    values += value.length;
  }
  const limit = names > LIMITS.xattrValueBytes ? LIMITS.xattrValueBytes : LIMITS.xattrsBytes;
  if (names <= LIMITS.xattrValueBytes && names + values <= LIMITS.xattrsBytes) return;
  throw new RunnelError("NoSpace", "set attribute", "The file has too many extended attributes: remove some first.", {
    detail: { limit },
  });
}
