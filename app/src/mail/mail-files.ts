// Files of a mail on its way, and the volume that its parts lie in: the edges that a transaction needs.
import type { FramedMail, MailReference } from "./reference.ts";

/** Bytes of a mail in a file of the spool: from an offset on, up to the end. */
export interface MailFile {
  path: string;
  offset: number;
  sizeBytes: number;
}

/** A body in a file of its own. */
export interface CutPart {
  path: string;
  offset: number;
  length: number;
  base64Line: number | undefined;
}

export interface MailFiles {
  /**
   * Writes what comes to a file. @throws RunnelError TooLarge; Invalid for lines that do not end with CR LF; NoSpace;
   * Interrupted when the sender went before the end.
   */
  receive(content: AsyncIterable<Uint8Array>, sizeBytesMax: number): Promise<MailFile>;
  /** Reads how a content that came from another relay is framed. @throws RunnelError Invalid, TooLarge */
  readFrame(file: MailFile): Promise<FramedMail>;
  /** Cuts bodies of at least that size into files of their own, and digests the mail. */
  cut(file: MailFile, smallestBytes: number): Promise<{ digest: string; parts: readonly CutPart[] }>;
  /** Puts a mail together again. @throws RunnelError Corrupt when it is not the one that was sent; as `objectOf` */
  rebuild(
    rest: MailFile,
    reference: MailReference,
    objectOf: (oid: string, sizeBytes: number) => AsyncIterable<Uint8Array>,
  ): Promise<MailFile>;
  /** The bytes, without those of the parts. */
  read(file: MailFile, without?: readonly { offset: number; length: number }[]): AsyncIterable<Uint8Array>;
  /** Removes what was made for this mail. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface MailVolume {
  /** The address, wss://HOST:PORT/VOLUME. */
  readonly url: string;
  /** @throws RunnelError: whatever keeps a content from being put */
  put(path: string): Promise<{ oid: string; sizeBytes: number }>;
  /** @throws RunnelError: whatever keeps it from being had */
  get(oid: string, sizeBytes: number): AsyncIterable<Uint8Array>;
}
