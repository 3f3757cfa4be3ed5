// Frees what the cache holds of a file or folder, at a person's word; never what is pinned, in use or not sent.
import { RunnelError, nextTurn } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Evicted } from "../mount-status.ts";
import type { Replica } from "../replica/replica.ts";
import { FilesBelow } from "./files-below.ts";
import type { Pins } from "./pins.ts";

export interface EvictDeps {
  replica: Replica;
  cache: Cache;
  pins: Pins;
}

const ENTRIES_AT_ONCE = 100;

/** `node`: of the file or folder at the path. @throws RunnelError Busy where a pin keeps all of it. */
export async function evict({ replica, cache, pins }: EvictDeps, path: string, node: number): Promise<Evicted> {
  const pin = pins.pinOf(node);
  if (pin !== undefined) {
    const what = pin.path === path ? `${shown(path)} is pinned` : `${shown(path)} is pinned with ${shown(pin.path)}`;
    throw new RunnelError("Busy", "evict", `${what}. Unpin that first.`);
  }
  const evicted: Evicted = { files: 0, bytes: 0, filesInUse: 0, filesPinned: 0 };
  const below = new FilesBelow(replica, node);
  for (let files = below.next(ENTRIES_AT_ONCE); files !== undefined; files = below.next(ENTRIES_AT_ONCE)) {
    for (const state of files) {
      if (pins.pinOf(state.node) !== undefined) evicted.filesPinned++;
      else await evictFile(cache, state.node, evicted);
    }
    await new Promise<void>(nextTurn);
  }
  return evicted;
}

async function evictFile(cache: Cache, node: number, evicted: Evicted): Promise<void> {
  let bytes = 0;
  let isInUse = false;
  for (const content of cache.versionsOf(node)) {
    const freed = await cache.remove(content);
    if (freed === undefined) isInUse = true;
    else bytes += freed;
  }
  if (isInUse) evicted.filesInUse++;
  else if (bytes > 0) evicted.files++;
  evicted.bytes += bytes;
}

function shown(path: string): string {
  return path === "" ? "The whole drive" : path;
}
