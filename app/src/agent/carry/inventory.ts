// An inventory on a stick: digest keys of the chunks that a device holds, so that they are not carried to it again
// [F223]. A hint: a key too many costs the other side the line, a key too few the stick.
import { DIGEST_BYTES, type Executor, RunnelError } from "@runnel/shared";
import { STICK_LIMITS } from "@runnel/shared/supply";

const MAGIC = Buffer.from("RNLKEYS1");
const KEY_BYTES = 8;
const HEAD_BYTES = MAGIC.length + 8;
export const INVENTORY_BYTES_MAX = HEAD_BYTES + 1024 + STICK_LIMITS.inventoryKeys * KEY_BYTES + DIGEST_BYTES;

export interface Inventory {
  device: string;
  /** Ascending. */
  keys: BigUint64Array;
}

/** Takes over the keys, in any order. */
export async function encodeInventory(
  { device, keys }: Inventory,
  executor: Pick<Executor, "digest">,
): Promise<Uint8Array> {
  keys.sort();
  const name = Buffer.from(device);
  const bytes = Buffer.alloc(HEAD_BYTES + name.length + keys.length * KEY_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32BE(name.length, MAGIC.length);
  bytes.writeUInt32BE(keys.length, MAGIC.length + 4);
  name.copy(bytes, HEAD_BYTES);
  for (const [at, key] of keys.entries()) bytes.writeBigUInt64BE(key, HEAD_BYTES + name.length + at * KEY_BYTES);
  return Buffer.concat([bytes, await executor.digest([bytes])]);
}

/** @throws RunnelError Corrupt where it is not as written. */
export async function decodeInventory(bytes: Uint8Array, executor: Pick<Executor, "digest">): Promise<Inventory> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.length < HEAD_BYTES + DIGEST_BYTES || !view.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged();
  const nameBytes = view.readUInt32BE(MAGIC.length);
  const count = view.readUInt32BE(MAGIC.length + 4);
  const end = HEAD_BYTES + nameBytes + count * KEY_BYTES;
  if (nameBytes > 4 * STICK_LIMITS.deviceCharacters || count > STICK_LIMITS.inventoryKeys) throw damaged();
  if (view.length !== end + DIGEST_BYTES) throw damaged();
  if (!view.subarray(end).equals(await executor.digest([view.subarray(0, end)]))) throw damaged();
  const keys = new BigUint64Array(count);
  for (let at = 0; at < count; at++) keys[at] = view.readBigUInt64BE(HEAD_BYTES + nameBytes + at * KEY_BYTES);
  return { device: view.subarray(HEAD_BYTES, HEAD_BYTES + nameBytes).toString(), keys: keys.sort() };
}

/** Returns whether ascending keys have this one. */
export function hasKey(keys: BigUint64Array, key: bigint): boolean {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? 0n) < key) low = middle + 1;
    else high = middle;
  }
  return keys[low] === key;
}

function damaged(): RunnelError {
  return new RunnelError("Corrupt", "read an inventory", "An inventory on the stick is damaged.");
}
