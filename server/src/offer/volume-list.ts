// The volumes that were made while a server ran [F200], in its own folder: the next start serves them again.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, isVolumeName, readWhole, replaceWhole } from "@runnel/shared";
import { z } from "zod";

export const VOLUME_LIST = "volumes.json";
const FORMAT = 1;
/** More than a server could open: each has files of its own. */
export const LISTED_MAX = 1_000;

const listed = z.object({
  name: z.string().refine(isVolumeName),
  /** Absolute. */
  folder: z.string().startsWith("/"),
  madeMs: z.number(),
  isStopped: z.boolean(),
});
export type ListedVolume = Readonly<z.output<typeof listed>>;

const contents = z.object({ format: z.literal(FORMAT), volumes: z.array(listed).max(LISTED_MAX) });

/** @throws RunnelError Version for a newer format; Corrupt: no volume is served or left out by a damaged file. */
export async function readVolumeList(root: DiskRoot): Promise<ListedVolume[]> {
  const text = await readWhole(root, VOLUME_LIST);
  if (text === undefined) return [];
  const value = parsed(text);
  const { format } = z.object({ format: z.number() }).catch({ format: 0 }).parse(value);
  if (format > FORMAT) {
    const sentence = `${VOLUME_LIST} in ${root.path} was written by a newer Runnel (format ${format}). Update this one.`;
    throw new RunnelError("Version", "serve", sentence, { detail: { need: format } });
  }
  const checked = contents.safeParse(value);
  if (checked.success) return checked.data.volumes;
  const sentence = `${VOLUME_LIST} in ${root.path} is damaged. Put it back from a backup, or remove it and make the volumes of their folders anew.`;
  throw new RunnelError("Corrupt", "serve", sentence, { cause: checked.error });
}

/** Durable when it resolves. */
export function writeVolumeList(root: DiskRoot, volumes: readonly ListedVolume[]): Promise<void> {
  return replaceWhole(root, VOLUME_LIST, `${JSON.stringify({ format: FORMAT, volumes }, undefined, 1)}\n`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
