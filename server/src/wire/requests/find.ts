// find: entries below a folder as a stream, each folder with the seq it was read as of; follows what it lists when
// asked (a listing registers before it reads). With a predicate only what matches is sent, with the path of its folder.
import type { Channel, Entry, Predicate, RequestOf } from "@runnel/shared";
import { ROOT_NODE, RunnelError, checkPredicate, matches, packState } from "@runnel/shared";
import type { Volume } from "../../volume/volume.ts";
import type { Sending } from "../device-share.ts";
import { PAGE_BYTES, entryBytes, splitBySize } from "../split-items.ts";
import type { Call } from "./call.ts";

const PAGE_ENTRIES = 500;
/** The message's form allows 4096. */
const TOGETHER_MAX = 1000;
/**
 * Folders of a deep listing are sent together up to so much: alone a small one hardly shrinks. More would keep other
 * answers waiting on a narrow line.
 */
const TOGETHER_BYTES = 64 * 1024;

export async function serveFind(request: RequestOf<"find">, call: Call): Promise<void> {
  const { connection, places } = call.sending;
  await places.finds.run(connection, () => list(request, call));
}

async function list(request: RequestOf<"find">, { attachment, volume, channel, sending }: Call): Promise<void> {
  const { holder } = attachment;
  const predicate =
    request.predicate === undefined || request.predicate === null ? undefined : checkPredicate(request.predicate);
  const top = await volume.meta.node(request.folder);
  if (top === undefined || top.nlink === 0)
    throw new RunnelError("NotFound", "find", "The folder is not there.", { detail: { asOf: volume.seq } });
  if (top.type !== "folder") throw new RunnelError("NotFolder", "find", "Only folders can be listed.");
  if (request.follow && request.isDeep && request.folder === ROOT_NODE && predicate === undefined)
    holder.followsAll = true;
  const pages = new Pages(channel, predicate !== undefined || !request.isDeep);
  const stack: { folder: number; path: string }[] = [{ folder: request.folder, path: "" }];
  for (let next = stack.pop(); next !== undefined && !channel.abort.signal.aborted; next = stack.pop()) {
    if (request.follow) volume.feed.follow(holder, next.folder);
    await listFolder(volume, next, predicate, pages, sending, request.isDeep ? stack : undefined);
  }
  pages.flush();
}

/** Findings on their way to the client. */
class Pages {
  private readonly channel: Channel;
  /** Someone waits for each. */
  private readonly isEager: boolean;
  private gathered: unknown[][] = [];
  private gatheredBytes = 0;

  constructor(channel: Channel, isEager: boolean) {
    this.channel = channel;
    this.isEager = isEager;
  }

  add(page: unknown[], bytes: number): void {
    if (this.gatheredBytes + bytes > TOGETHER_BYTES) this.flush();
    this.gathered.push(page);
    this.gatheredBytes += bytes;
    if (this.isEager || this.gathered.length >= TOGETHER_MAX) this.flush();
  }

  get isAborted(): boolean {
    return this.channel.abort.signal.aborted;
  }

  flush(): void {
    const { gathered } = this;
    if (gathered.length > 0) this.channel.send(gathered.length === 1 ? gathered[0] : gathered);
    this.gathered = [];
    this.gatheredBytes = 0;
  }
}

async function listFolder(
  volume: Volume,
  at: { folder: number; path: string },
  predicate: Predicate | undefined,
  pages: Pages,
  sending: Sending,
  deeper: { folder: number; path: string }[] | undefined,
): Promise<void> {
  const asOf = volume.seq;
  const said = { upTo: "", isAll: false };
  const page = async (): Promise<void> => {
    const entries = await volume.meta.list(at.folder, said.upTo, PAGE_ENTRIES);
    said.isAll = entries.length < PAGE_ENTRIES;
    said.upTo = entries.at(-1)?.name ?? "";
    const chosen = predicate === undefined ? entries : entries.filter((entry) => isMatch(predicate, entry));
    const parts = splitBySize(chosen, entryBytes);
    if (parts.length === 0 && predicate === undefined) parts.push([]);
    for (const [index, part] of parts.entries()) {
      const item: unknown[] = [
        at.folder,
        asOf,
        said.isAll && index === parts.length - 1,
        part.map((entry) => [entry.name, packState(entry.state)]),
      ];
      if (predicate !== undefined) item.push(at.path);
      pages.add(item, PAGE_BYTES + part.reduce((sum, entry) => sum + entryBytes(entry), 0));
    }
    for (const { name, state } of entries) {
      if (deeper !== undefined && state.type === "folder")
        deeper.push({ folder: state.node, path: at.path === "" ? name : `${at.path}/${name}` });
    }
  };
  while (!said.isAll && !pages.isAborted) await sending.inTurn(page);
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
