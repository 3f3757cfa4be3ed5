// status: how a volume stands with its plain files, and what a person should know of it (rule W45).
import type { Channel, StatusEntry, VolumeStatus } from "@runnel/shared";
import type { Volume } from "../volume/volume.ts";
import { splitBySize } from "./split-items.ts";

/** An entry without its texts. */
const ENTRY_BYTES = 64;

export async function serveStatus(volume: Volume, channel: Channel): Promise<void> {
  const notices = await volume.content.notices();
  // What follows is of one moment, with the changes that the feed has told by then.
  const { pendingCommits, stuck, look, excluded } = volume.content.status();
  const names = excluded.examples.map((path): StatusEntry => ({ kind: "leftOut", path }));
  for (const part of splitBySize([...notices, ...names], entryBytes)) channel.send(part);
  const status: VolumeStatus = {
    seq: volume.seq,
    pending: pendingCommits,
    ...(stuck === undefined ? {} : { stuck }),
    ...(look === undefined ? {} : { look }),
    leftOut: excluded.count,
  };
  channel.end(status);
}

function entryBytes(entry: StatusEntry): number {
  let bytes = ENTRY_BYTES;
  for (const text of Object.values(entry)) if (typeof text === "string") bytes += Buffer.byteLength(text);
  return bytes;
}
