// Observations: what a probe has found at names, and how it differs from what was recorded. Pure.
import type { AttributeChange, DiskStat } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import type { FoundEntry } from "../disk/found.ts";
import { isSameHandle } from "../disk/same-file.ts";

/** A name that differs from what was recorded. */
export interface Observation {
  folder: number;
  name: string;
  path: string;
  /** Row of the name; undefined for a new one. */
  row: DiskRow | undefined;
  /** Thing that lies there; undefined when nothing does. */
  found: FoundEntry | undefined;
}

/** Something is there that was not recorded for this name. */
export type Arrival = Observation & { found: FoundEntry };
/** The recorded file, with another tuple. */
export type Known = Arrival & { row: DiskRow };
export type Settable = Omit<AttributeChange, "sizeBytes">;

export function isArrival(observed: Observation): observed is Arrival {
  return observed.found !== undefined && !isSameHandle(observed.row?.handle, observed.found.handle);
}

export function isKnown(observed: Observation): observed is Known {
  return observed.found !== undefined && isSameHandle(observed.row?.handle, observed.found.handle);
}

/** It may have further names, whose tuples change with this one. */
export function isLinked({ stat }: Pick<DiskRow, "stat">): boolean {
  return stat.type !== "folder" && stat.nlink > 1;
}

export function isFolderChanged(row: DiskStat, stat: DiskStat): boolean {
  return row.mode !== stat.mode || row.uid !== stat.uid || row.gid !== stat.gid || row.mtimeNs !== stat.mtimeNs;
}

export function changedAttributes(before: DiskStat, now: DiskStat): Settable {
  const change: Settable = {};
  if (before.mode !== now.mode && now.type !== "symlink") change.mode = now.mode;
  if (before.uid !== now.uid) change.uid = now.uid;
  if (before.gid !== now.gid) change.gid = now.gid;
  return change;
}
