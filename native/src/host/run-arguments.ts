// Arguments of compression and the memory of its inverse, alike for both executors.
import { RunnelError } from "@runnel/shared/model";
import type { CoreAddon } from "./core-addon.ts";
import { checkSize } from "./disk-arguments.ts";

const LEVEL_MAX = 19;
export const NO_PREFIX = new Uint8Array(0);

/** @throws RangeError for a level that zstd does not have. */
export function checkLevel(level: number): void {
  if (!Number.isInteger(level) || level < 1 || level > LEVEL_MAX) throw new RangeError(`level is ${level}`);
}

/**
 * Memory for what a run says it holds. @throws RunnelError Corrupt when it cannot hold that much, before any is taken.
 */
export function allocateRun(core: CoreAddon, bytes: Uint8Array, rawBytes: number): Uint8Array {
  checkSize(rawBytes, "rawBytes");
  if (!core.mayHoldRun(bytes, rawBytes)) {
    throw new RunnelError("Corrupt", "decompress", `not a zstd run of ${rawBytes} bytes`);
  }
  return new Uint8Array(Buffer.allocUnsafeSlow(rawBytes).buffer);
}
