// A volume's own id: made at its first serving, the same through every epoch. It ties the data folder to the marker in the served folder.
import { randomBytes } from "node:crypto";
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";

const FILE = "volume";
const TEMP = "volume.new";
const ID_BYTES = 16;
const MODE = 0o600;

/** `isKnown`: the volume has been served before from this data folder. @throws Corrupt when the file is damaged. */
export async function volumeId(data: DiskRoot): Promise<{ id: string; isKnown: boolean }> {
  const found = await read(data);
  if (found !== undefined) return { id: found, isKnown: true };
  const id = randomBytes(ID_BYTES).toString("hex");
  const file = await data.open(TEMP, "create", MODE);
  try {
    // One that a crash left may be longer.
    await file.truncate(0);
    await file.write(0, Buffer.from(id));
    await file.sync();
  } finally {
    await file.close();
  }
  await data.rename(TEMP, FILE, "replace");
  await data.syncFolder("");
  return { id, isKnown: false };
}

/** The id of one that has been served from this data folder. */
export async function knownVolumeId(data: DiskRoot): Promise<string | undefined> {
  return read(data);
}

async function read(data: DiskRoot): Promise<string | undefined> {
  try {
    const file = await data.open(FILE, "read");
    let text: string;
    try {
      text = Buffer.from(await file.read(0, ID_BYTES * 2 + 1)).toString();
    } finally {
      await file.close();
    }
    if (!/^[0-9a-f]{32}$/.test(text))
      throw new RunnelError("Corrupt", "open volume", `The file "volume" in ${data.path} is damaged.`);
    return text;
  } catch (error) {
    if (isRunnelError(error, "NotFound")) return undefined;
    throw error;
  }
}
