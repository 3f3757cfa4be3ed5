// A content in temp/, whole and synced, ready to be put in place.
import type { DiskFile, DiskStat } from "@runnel/shared";

export interface FilledTemp {
  path: string;
  handle: Uint8Array;
  /** Open, with its tuple before the exchange; undefined when it was put in place before an interruption. */
  open: { file: DiskFile; stat: DiskStat } | undefined;
  mtimeNs: bigint;
}
