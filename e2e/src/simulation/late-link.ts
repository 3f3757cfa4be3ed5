// A link as a program's event loop sees it: what has arrived at the machine is known of when the loop comes to it.
import type { Link, LinkEvents } from "@runnel/shared";
import type { Process } from "./machine.ts";

export class LateLink implements Link {
  private readonly link: Link;
  private readonly process: Process;
  /** Bytes that the loop has taken in. */
  receivedBytes: number;

  constructor(link: Link, process: Process) {
    this.link = link;
    this.process = process;
    this.receivedBytes = link.receivedBytes;
  }

  listen(events: LinkEvents): void {
    const { link, process } = this;
    const later = (tell: () => void): void => {
      const { receivedBytes } = link;
      process.event(() => {
        this.receivedBytes = receivedBytes;
        tell();
      });
    };
    link.listen({
      message: (payload) => later(() => events.message(payload)),
      closed: (code, reason) => later(() => events.closed(code, reason)),
    });
  }

  send(payload: Uint8Array): void {
    this.link.send(payload);
  }

  sendParts(head: Uint8Array, body: Uint8Array, gone: () => void): void {
    this.link.sendParts(head, body, gone);
  }

  get bufferedBytes(): number {
    return this.link.bufferedBytes;
  }

  get sentBytes(): number {
    return this.link.sentBytes;
  }

  get remoteAddress(): string {
    return this.link.remoteAddress;
  }

  limit(bytes: number | undefined): void {
    this.link.limit(bytes);
  }

  close(code: number, reason: string): void {
    this.link.close(code, reason);
  }
}
