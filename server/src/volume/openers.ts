// Tells who has a volume open, or a folder or file of it: those who follow it under a lease. A server is not told of
// each opening of a file; who wants the small changes of a file has had it open lately.
import { type Clock, ROOT_NODE, RunnelError, type SeenOpener } from "@runnel/shared";
import type { Holder } from "../feed/holder.ts";
import type { Volume } from "./volume.ts";

export interface Opener {
  /** Id of the device; "" for a program of the server's own user, and for a client from before a restart. */
  device: string;
  /** Name that the client calls itself. */
  who: string;
  /** Wall clock, milliseconds: when it attached; 0 for a client from before a restart. */
  sinceMs: number;
  isConnected: boolean;
  /** Milliseconds for which it may still answer from what it has; 0: it has no lease. */
  leaseMs: number;
  /** Count of folders that it follows; undefined: all of them. */
  folders: number | undefined;
  /** True when it had the file open lately, of a path that is a file. */
  hasRead: boolean;
}

/**
 * Lists who follows the path, in the order in which they came. `path` is "/"-separated from the volume's root, "" for
 * the whole volume. @throws RunnelError NotFound when nothing is there.
 */
export async function openersOf({ feed, meta }: Volume, clock: Clock, path: string): Promise<Opener[]> {
  let [folder, node] = [ROOT_NODE, ROOT_NODE];
  for (const name of path.split("/").filter((part) => part !== "")) {
    const state = await meta.lookup(node, name);
    if (state === undefined) throw new RunnelError("NotFound", "openers", `There is no ${path}.`);
    [folder, node] = [node, state.node];
  }
  return followers(feed, folder, node).map((holder) => openerOf(holder, clock.bootMs(), node));
}

/**
 * Lists the same for others who have the volume, without what names a client but to people (W189): each device once,
 * first those who had the file open. `own` is who asks.
 */
export function seenOpeners({ feed }: Volume, own: Holder, folder: number, node: number): SeenOpener[] {
  const seen = new Map<string, SeenOpener>();
  for (const holder of followers(feed, folder, node)) {
    const key = ownerOf(holder);
    const before = seen.get(key);
    const { name, sender, sinceMs } = holder;
    seen.set(key, {
      name,
      isOwn: key === ownerOf(own),
      isConnected: before?.isConnected === true || sender !== undefined,
      sinceMs: before === undefined ? sinceMs : earlier(before.sinceMs, sinceMs),
      hasRead: before?.hasRead === true || sender?.hasRead?.(node) === true,
    });
  }
  return [...seen.values()].toSorted((one, other) => rankOf(one) - rankOf(other));
}

/** Lists who follows the node in the folder, in the order in which they came. */
function followers(feed: Volume["feed"], folder: number, node: number): Holder[] {
  const isAll = node === ROOT_NODE;
  return feed
    .list()
    .filter(({ followsAll, follows }) => isAll || followsAll || follows.has(folder) || follows.has(node));
}

/** Returns what makes several holders one opener: their device, where devices are told apart. */
function ownerOf({ device, instance }: Holder): string {
  return device === "" ? `instance ${instance}` : `device ${device}`;
}

/** Returns the earlier of two times of which 0 is not known. */
function earlier(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);
}

function rankOf({ hasRead, isConnected }: SeenOpener): number {
  if (hasRead) return 0;
  return isConnected ? 1 : 2;
}

function openerOf(holder: Holder, nowMs: number, node: number): Opener {
  const { device, who, sinceMs, sender, leaseUntilMs, followsAll } = holder;
  return {
    device,
    who,
    sinceMs,
    isConnected: sender !== undefined,
    leaseMs: Math.max(0, leaseUntilMs - nowMs),
    folders: followsAll ? undefined : holder.follows.size,
    hasRead: sender?.hasRead?.(node) === true,
  };
}
