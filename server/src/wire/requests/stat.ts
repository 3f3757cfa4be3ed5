// stat and xattrs: the facts of single files and folders.
import { type NodeState, type RequestOf, RunnelError, type SentResultOf, packState } from "@runnel/shared";
import type { Call } from "./call.ts";

export async function serveStat(request: RequestOf<"stat">, { volume }: Call): Promise<SentResultOf<"stat">> {
  const asOf = volume.seq;
  const nodes = await volume.meta.nodes(request.nodes);
  const names = await Promise.all(request.names.map(([folder, name]) => volume.meta.lookup(folder, name)));
  const packed = (state: NodeState | undefined): ReturnType<typeof packState> | null =>
    state === undefined ? null : packState(state);
  return { asOf, nodes: nodes.map(packed), names: names.map(packed) };
}

export async function serveXattrs({ node }: RequestOf<"xattrs">, { volume }: Call): Promise<SentResultOf<"xattrs">> {
  const state = await volume.meta.node(node);
  if (state === undefined)
    throw new RunnelError("NotFound", "xattrs", "This file or folder is gone.", { detail: { asOf: volume.seq } });
  const xattrs = await volume.meta.xattrs(node);
  return { seq: state.xattrSeq ?? 0, xattrs: xattrs.map(([name, value]) => [name, value]) };
}
