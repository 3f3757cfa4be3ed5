// A volume's own id: made at its first serving, the same through every epoch. It ties the data folder to the marker in
// the served folder. Drawn and written down first, and the volume's from when the folder has its marker: a first
// serving that ends in between begins again with the same id.
import { randomBytes } from "node:crypto";
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, readWhole, writeWhole } from "@runnel/shared";

const FILE = "volume";
const DRAWN = "volume.new";
const ID_BYTES = 16;
/** A longer file is damaged. */
const FILE_BYTES_MAX = 2 * ID_BYTES + 1;

/** `isKnown`: the volume has been served before from this data folder. */
export interface VolumeId {
  id: string;
  isKnown: boolean;
}

/** The volume's, drawn if it has none. @throws Corrupt when the file is damaged. */
export async function volumeId(data: DiskRoot): Promise<VolumeId> {
  const found = await foundVolumeId(data);
  if (found !== undefined) return found;
  const id = newVolumeId();
  await drawVolumeId(data, id);
  return { id, isKnown: false };
}

export function newVolumeId(): string {
  return randomBytes(ID_BYTES).toString("hex");
}

/** Writes it down, durably, before the folder has its marker or at once after. */
export async function drawVolumeId(data: DiskRoot, id: string): Promise<void> {
  await writeWhole(data, DRAWN, Buffer.from(id), { isSynced: true });
  await data.syncFolder("");
}

/** The folder has its marker: one without is unavailable from now on [F21]. */
export async function knowVolumeId(data: DiskRoot): Promise<void> {
  if ((await foundVolumeId(data))?.isKnown !== false) return;
  await data.rename(DRAWN, FILE, "replace");
  await data.syncFolder("");
}

/** Without drawing one. @throws Corrupt */
export async function foundVolumeId(data: DiskRoot): Promise<VolumeId | undefined> {
  const known = await readWhole(data, FILE, FILE_BYTES_MAX);
  if (known === undefined) {
    const drawn = await readWhole(data, DRAWN, FILE_BYTES_MAX);
    return drawn !== undefined && ID.test(drawn) ? { id: drawn, isKnown: false } : undefined;
  }
  if (!ID.test(known)) throw new RunnelError("Corrupt", "open volume", `The file "volume" in ${data.path} is damaged.`);
  return { id: known, isKnown: true };
}

const ID = /^[0-9a-f]{32}$/;
