// Tells who has a volume open, or a folder or file of it: those who follow it under a lease. A server is not told of
// each opening of a file; who wants the small changes of a file has had it open lately.
import { type Clock, ROOT_NODE, RunnelError } from "@runnel/shared";
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
  const isAll = node === ROOT_NODE;
  const follows = (holder: Holder): boolean =>
    isAll || holder.followsAll || holder.follows.has(folder) || holder.follows.has(node);
  return feed
    .list()
    .filter(follows)
    .map((holder) => openerOf(holder, clock.bootMs(), node));
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
