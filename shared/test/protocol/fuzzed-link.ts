// A link whose other end is the fuzzer: it hears frames, and what it sends goes nowhere.
import type { Link, LinkEvents } from "../../src/host/link.ts";

export class FuzzedLink implements Link {
  readonly bufferedBytes = 0;
  readonly sentBytes = 0;
  readonly receivedBytes = 0;
  readonly remoteAddress: string;
  events: LinkEvents | undefined;
  isClosed = false;

  constructor(remoteAddress = "") {
    this.remoteAddress = remoteAddress;
  }

  listen(events: LinkEvents): void {
    this.events = events;
  }

  limit(): void {}

  send(): void {}

  sendParts(_head: Uint8Array, _body: Uint8Array, gone: () => void): void {
    gone();
  }

  close(code: number, reason: string): void {
    if (this.isClosed) return;
    this.isClosed = true;
    queueMicrotask(() => this.events?.closed(code, reason));
  }
}
