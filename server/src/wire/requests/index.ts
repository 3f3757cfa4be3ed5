// The handler of each request on a volume. A request that is defined (shared/src/protocol/requests) does not compile
// until it stands here.
import { REQUESTS, type RequestOf, RunnelError, type VolumeRequestName } from "@runnel/shared";
import type { Right } from "../../auth/registry-file.ts";
import type { Call, Handler } from "./call.ts";
import { CHANGES, serveRemoveAll } from "./change.ts";
import { serveAnnounce, serveLocate } from "./colleagues.ts";
import { serveFetch, serveGetHash } from "./fetch.ts";
import { serveFind } from "./find.ts";
import { serveFindGet } from "./find-get.ts";
import { serveOpeners } from "./openers.ts";
import { serveStat, serveXattrs } from "./stat.ts";
import { serveStatus, serveWhenApplied } from "./status.ts";
import { serveWrite } from "./write.ts";

/** Node ids that are given out at once. */
export const NODES_AT_ONCE = 4096;

const HANDLERS: { readonly [Name in VolumeRequestName]: Handler<Name> } = {
  ...CHANGES,
  removeAll: serveRemoveAll,
  write: serveWrite,
  find: serveFind,
  findGet: serveFindGet,
  fetch: serveFetch,
  getHash: serveGetHash,
  stat: serveStat,
  xattrs: serveXattrs,
  space: (_request, { volume }) => volume.content.space(),
  openers: serveOpeners,
  announce: serveAnnounce,
  locate: serveLocate,
  status: serveStatus,
  settle: ({ seq }, { volume }) => volume.conflicts.settle(seq),
  whenApplied: serveWhenApplied,
  newNodes: async ({ count = NODES_AT_ONCE }, { volume, attachment }) => {
    const range = await volume.meta.allocateNodes(count, attachment.holder.nodeOwner);
    return [range.first, range.count];
  },
  detach: async (_request, { attachment, channel, detach }) => {
    await detach();
    // The answer goes ahead of the feed's end, at which a client may leave.
    channel.end();
    attachment.channel.end();
  },
};

/**
 * Serves a request to the end of its channel. @throws what the channel is to fail with; ReadOnly without the right
 * (W72).
 */
export async function serveRequest<Name extends VolumeRequestName>(
  name: Name,
  request: RequestOf<Name>,
  call: Call,
): Promise<void> {
  requireRight(name, call.attachment.right);
  call.channel.end(await HANDLERS[name](request, call));
}

function requireRight(name: VolumeRequestName, right: Right): void {
  if (REQUESTS[name].right !== "write" || right === "write") return;
  throw new RunnelError(
    "ReadOnly",
    name,
    "This device may only read here. Ask whoever runs the server for an invite that lets it write.",
  );
}
