// Shared by tests of traffic: data that no compressor shrinks, and the cost of a script on a drive on the wire.
import type { LinkEmulator } from "../emulator/index.ts";
import type { Device } from "./product.ts";
import { onMount } from "./run.ts";
import { waitFor } from "./wait.ts";

/** Lease traffic goes on: quiet means half a second without a byte. */
const QUIET_MS = 500;
const QUIET_DEADLINE_MS = 60_000;
const SCRIPT_DEADLINE_MS = 120_000;

/** Bytes that look random, the same for a seed in every run. */
export function noise(sizeBytes: number, seed: number): Uint8Array {
  const bytes = Buffer.alloc(sizeBytes);
  let state = seed >>> 0;
  for (let at = 0; at + 4 <= sizeBytes; at += 4) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes.writeUInt32LE((state ^ (state >>> 15)) >>> 0, at);
  }
  return bytes;
}

export async function quiet(link: LinkEmulator): Promise<void> {
  await waitFor(async () => (await link.counts()).quietMs > QUIET_MS, QUIET_DEADLINE_MS, "a quiet line");
}

/**
 * TCP payload both ways that a script on the drive ($1) costs, until its effects are in the server's plain files and
 * the line is quiet.
 */
export async function costOf(
  on: { link: LinkEmulator; device: Device; drive: string },
  script: string,
  ...args: string[]
): Promise<number> {
  await quiet(on.link);
  await on.link.resetCounts();
  await onMount(script, [on.drive, ...args], { deadlineMs: SCRIPT_DEADLINE_MS });
  await on.device.flush(on.drive, { up: true });
  await quiet(on.link);
  const { up, down } = await on.link.counts();
  return up.sentBytes + down.sentBytes;
}
