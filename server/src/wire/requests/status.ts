// status and whenApplied: how a volume stands with its plain files, and what a person should know of it (rule W45).
import { type RequestOf, RunnelError, type StatusEntry, type VolumeStatus } from "@runnel/shared";
import { splitBySize } from "../split-items.ts";
import type { Call } from "./call.ts";

/** An entry without its texts. */
const ENTRY_BYTES = 64;

export async function serveStatus(_request: RequestOf<"status">, { volume, channel }: Call): Promise<VolumeStatus> {
  const notices = await volume.content.notices();
  // The state from here on is of one moment, with the changes that the feed has sent by then.
  const { pendingCommits, stuck, scan, excluded } = volume.content.status();
  const names = excluded.examples.map((path): StatusEntry => ({ kind: "excluded", path }));
  for (const part of splitBySize([...notices, ...names], entryBytes)) channel.send(part);
  return {
    seq: volume.seq,
    pending: pendingCommits,
    ...(stuck === undefined ? {} : { stuck }),
    ...(scan === undefined ? {} : { scan }),
    excluded: excluded.count,
  };
}

export async function serveWhenApplied({ seq }: RequestOf<"whenApplied">, { volume, channel }: Call): Promise<void> {
  if (seq > volume.seq)
    throw new RunnelError("Invalid", "whenApplied", `There is no change ${seq} yet.`, {
      detail: { asOf: volume.seq },
    });
  const { signal } = channel.abort;
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  if (!signal.aborted) await Promise.race([volume.content.whenApplied(seq), aborted.promise]);
}

function entryBytes(entry: StatusEntry): number {
  let bytes = ENTRY_BYTES;
  for (const text of Object.values(entry)) if (typeof text === "string") bytes += Buffer.byteLength(text);
  return bytes;
}
