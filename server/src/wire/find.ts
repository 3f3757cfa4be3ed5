// find: entries below a folder as a stream, each folder with the seq it was read as of; follows what it lists when asked (a listing registers
// before it reads). With a predicate only what matches is sent, with the path of its folder.
import type { Channel, Entry, Predicate, RequestOf } from "@runnel/shared";
import { ROOT_NODE, RunnelError, checkPredicate, matches, packState } from "@runnel/shared";
import type { Holder } from "../feed/holder.ts";
import type { Volume } from "../volume/volume.ts";
import { entryBytes, splitBySize } from "./split-items.ts";

const PAGE_ENTRIES = 500;

export async function serveFind(
  volume: Volume,
  holder: Holder,
  request: RequestOf<"find">,
  channel: Channel,
  whenDrained: () => Promise<void>,
): Promise<void> {
  const predicate =
    request.predicate === undefined || request.predicate === null ? undefined : checkPredicate(request.predicate);
  const top = await volume.meta.node(request.folder);
  if (top === undefined || top.nlink === 0)
    throw new RunnelError("NotFound", "find", "The folder is not there.", { detail: { asOf: volume.seq } });
  if (top.type !== "folder") throw new RunnelError("NotFolder", "find", "Only folders can be listed.");
  if (request.follow && request.isDeep && request.folder === ROOT_NODE && predicate === undefined)
    holder.followsAll = true;
  const stack: { folder: number; path: string }[] = [{ folder: request.folder, path: "" }];
  for (let next = stack.pop(); next !== undefined && !channel.abort.signal.aborted; next = stack.pop()) {
    if (request.follow) volume.feed.follow(holder, next.folder);
    await listFolder(volume, next, predicate, channel, whenDrained, request.isDeep ? stack : undefined);
  }
  channel.end();
}

async function listFolder(
  volume: Volume,
  at: { folder: number; path: string },
  predicate: Predicate | undefined,
  channel: Channel,
  whenDrained: () => Promise<void>,
  deeper: { folder: number; path: string }[] | undefined,
): Promise<void> {
  const asOf = volume.seq;
  let after = "";
  for (;;) {
    await whenDrained();
    const page = await volume.meta.list(at.folder, after, PAGE_ENTRIES);
    const isLast = page.length < PAGE_ENTRIES;
    const chosen = predicate === undefined ? page : page.filter((entry) => isMatch(predicate, entry));
    const parts = splitBySize(chosen, entryBytes);
    if (parts.length === 0 && predicate === undefined) parts.push([]);
    for (const [index, part] of parts.entries()) {
      const item: unknown[] = [
        at.folder,
        asOf,
        isLast && index === parts.length - 1,
        part.map((entry) => [entry.name, packState(entry.state)]),
      ];
      if (predicate !== undefined) item.push(at.path);
      channel.send(item);
    }
    for (const { name, state } of page) {
      if (deeper !== undefined && state.type === "folder")
        deeper.push({ folder: state.node, path: at.path === "" ? name : `${at.path}/${name}` });
    }
    const last = page.at(-1);
    if (isLast || last === undefined || channel.abort.signal.aborted) return;
    after = last.name;
  }
}

function isMatch(predicate: Predicate, { name, state }: Entry): boolean {
  return matches(predicate, {
    name,
    type: state.type,
    sizeBytes: state.sizeBytes,
    mtimeNs: state.mtimeNs,
    seq: state.seq,
  });
}
