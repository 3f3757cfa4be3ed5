// Attributes of what programs make, and names that may be refused elsewhere.
import type { NewAttributes, NodeState } from "@runnel/shared";
import type { RequestOfOp } from "./request-of-op.ts";
import type { Owner } from "./tree.ts";

const S_ISGID = 0o2000;
/** Longest name that encrypted folders (eCryptfs) can hold. */
const SAFE_NAME_BYTES = 143;

/**
 * Names that some file systems refuse: the server may, and the program is to hear that before it has written anything.
 */
export function isRefusedElsewhere(name: string): boolean {
  return /["*:<>?\\|\p{Cc}]|[. ]$/u.test(name) || Buffer.byteLength(name) > SAFE_NAME_BYTES;
}

/**
 * Returns the attributes of what is made in a folder by whoever is to own it. In one with S_ISGID it has its group, and
 * a folder that bit as well (mkdir(2)).
 */
export function attributesIn(
  parent: NodeState,
  { type, mode, rdev, target }: Pick<RequestOfOp<"make">, "type" | "mode" | "rdev" | "target">,
  owner: Owner,
  mtimeNs: bigint,
): NewAttributes {
  const inherited = parent.mode & S_ISGID;
  const gid = inherited === 0 ? owner.gid : parent.gid;
  return { type, mode: type === "folder" ? mode | inherited : mode, uid: owner.uid, gid, mtimeNs, rdev, target };
}
