// A volume's own id: made at its first serving, the same through every epoch. It ties the data folder to the marker in the served folder. Drawn and
// written down first, and the volume's from when the folder has its marker: a first serving that ends in between begins again with the same id.
import { randomBytes } from "node:crypto";
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";

const FILE = "volume";
const DRAWN = "volume.new";
const ID_BYTES = 16;
const MODE = 0o600;

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
  const file = await data.open(DRAWN, "create", MODE);
  try {
    // A file that a crash left may be longer.
    await file.truncate(0);
    await file.write(0, Buffer.from(id));
    await file.sync();
  } finally {
    await file.close();
  }
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
  const known = await read(data, FILE);
  if (known === undefined) {
    const drawn = await read(data, DRAWN);
    return drawn !== undefined && ID.test(drawn) ? { id: drawn, isKnown: false } : undefined;
  }
  if (!ID.test(known)) throw new RunnelError("Corrupt", "open volume", `The file "volume" in ${data.path} is damaged.`);
  return { id: known, isKnown: true };
}

const ID = /^[0-9a-f]{32}$/;

async function read(data: DiskRoot, name: string): Promise<string | undefined> {
  try {
    const file = await data.open(name, "read");
    try {
      return Buffer.from(await file.read(0, ID_BYTES * 2 + 1)).toString();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isRunnelError(error, "NotFound")) return undefined;
    throw error;
  }
}
