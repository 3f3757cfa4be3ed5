// openers: who has a file or folder open, as others who have the volume may know (rule W189).
import { LIMITS, type RequestOf, RunnelError, type SentResultOf } from "@runnel/shared";
import { seenOpeners } from "../../volume/openers.ts";
import type { Call } from "./call.ts";

export async function serveOpeners(
  { node, folder }: RequestOf<"openers">,
  { volume, attachment }: Call,
): Promise<SentResultOf<"openers">> {
  if ((await volume.meta.node(node)) === undefined)
    throw new RunnelError("NotFound", "openers", "The server does not have this file or folder.");
  const all = seenOpeners(volume, attachment.holder, folder, node);
  return { openers: all.slice(0, LIMITS.openers), total: all.length };
}
