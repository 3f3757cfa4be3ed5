// announce and locate: by which clients of a volume find each other (rules W194 to W196).
import type { RequestOf, SentResultOf } from "@runnel/shared";
import type { Call } from "./call.ts";

export async function serveAnnounce(
  request: RequestOf<"announce">,
  { volume, attachment, address }: Call,
): Promise<SentResultOf<"announce">> {
  const { device, name } = attachment.holder;
  return volume.colleagues.announce(attachment, { device, name, address }, request);
}

export function serveLocate(
  request: RequestOf<"locate">,
  { volume, attachment, channel }: Call,
): Promise<SentResultOf<"locate">> {
  return volume.colleagues.locate(attachment, request, channel.abort.signal);
}
