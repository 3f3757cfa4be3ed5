// The name of what is kept beside: `report (conflict 2026-11-21 03.09.02).txt`, of the commit's wall clock in UTC.
import { LIMITS, NS_PER_MS } from "@runnel/shared/model";

/** A longer ending is part of the name, not an extension. */
const EXTENSION_BYTES_MAX = 32;

function stamp(wallNs: bigint): string {
  const iso = new Date(Number(wallNs / NS_PER_MS)).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19).replaceAll(":", ".")}`;
}

/** Cut at a code point so that it has at most so many UTF-8 bytes. */
function cutBytes(text: string, bytesMax: number): string {
  let kept = "";
  let bytes = 0;
  for (const point of text) {
    bytes += Buffer.byteLength(point);
    if (bytes > bytesMax) break;
    kept += point;
  }
  return kept;
}

/** The `count`-th name to try, from 1. The same arguments give the same name. */
export function conflictName(name: string, wallNs: bigint, count: number): string {
  const dot = name.lastIndexOf(".");
  const hasExtension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= EXTENSION_BYTES_MAX;
  const extension = hasExtension ? name.slice(dot) : "";
  const stem = hasExtension ? name.slice(0, dot) : name;
  const mark = ` (conflict ${stamp(wallNs)}${count > 1 ? ` ${count}` : ""})`;
  return cutBytes(stem, LIMITS.nameBytes - Buffer.byteLength(mark + extension)) + mark + extension;
}
