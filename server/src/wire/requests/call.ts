// Things that a handler of a request works with.
import type { Channel, RequestOf, SentResultOf, VolumeRequestName } from "@runnel/shared";
import type { Volume } from "../../volume/volume.ts";
import type { Attachment } from "../attachment.ts";
import type { Sending } from "../device-share.ts";

/** A request on a volume that is under way. */
export interface Call {
  attachment: Attachment;
  volume: Volume;
  channel: Channel;
  /** The client's address, as it shows here; "" where there is none. */
  address: string;
  sending: Sending;
  /** Ends the attachment's use of the volume; its feed is still open then. */
  detach(): Promise<void>;
}

/** Resolves with what the channel ends with. @throws what it fails with. */
export type Handler<Name extends VolumeRequestName> = (
  request: RequestOf<Name>,
  call: Call,
) => Promise<SentResultOf<Name>>;
