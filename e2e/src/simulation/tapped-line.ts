// A simulated line that is watched frame by frame: each frame that has been handed over is an event, in either
// direction, and the line can be cut right after any of them. What is under way then is lost. Counts the runs of data
// that arrive whole.
import type { Acceptor, Dialer, Link, LinkEvents, Listener, SimulatedLine, SimulatedNetwork } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import { RunCounter } from "./run-counter.ts";

export class TappedLine implements Dialer, Acceptor {
  private readonly network: SimulatedNetwork;
  /** The line; its conditions may be changed at any time. */
  readonly line: SimulatedLine;
  private cutsAfter: readonly number[] = [];
  private wasCut: () => void = () => undefined;
  /** Frames handed over since `watch`. */
  frames = 0;
  cuts = 0;
  /**
   * Bytes of data that arrived in whole runs, at the server and at the client. What the frame before a cut ends is in
   * flight.
   */
  uploadedBytes = 0;
  downloadedBytes = 0;
  /** All that the client was sent. */
  receivedBytes = 0;
  private readonly counters: RunCounter[] = [];

  constructor(network: SimulatedNetwork, line: SimulatedLine) {
    this.network = network;
    this.line = line;
  }

  /** No connection from now on, nor a new one, until `restore`. */
  isDown = false;

  /** Counts frames anew, and cuts the line after these of them. */
  watch(cutsAfter: readonly number[], wasCut: () => void): void {
    this.frames = 0;
    this.cutsAfter = cutsAfter;
    this.wasCut = wasCut;
  }

  takeDown(): void {
    this.isDown = true;
    this.cut();
  }

  restore(): void {
    this.isDown = false;
  }

  async dial(url: string, signal?: AbortSignal): Promise<Link> {
    if (this.isDown) throw new RunnelError("Unreachable", "connect", "The line is down.");
    return this.tapped(
      await this.line.dial(url, signal),
      (bytes) => (this.downloadedBytes += bytes),
      (bytes) => (this.receivedBytes += bytes),
    );
  }

  listen(host: string, port: number, accept: (link: Link) => void): Promise<Listener> {
    return this.network.listen(host, port, (link) =>
      accept(this.tapped(link, (bytes) => (this.uploadedBytes += bytes))),
    );
  }

  private tapped(link: Link, arrived: (bytes: number) => void, came: (bytes: number) => void = () => undefined): Link {
    const runs = new RunCounter();
    this.counters.push(runs);
    const listen = (events: LinkEvents): void =>
      link.listen({
        message: (payload) => {
          const bytes = runs.take(payload);
          came(payload.length);
          events.message(payload);
          this.frames++;
          if (this.cutsAfter.includes(this.frames)) this.cut();
          else arrived(bytes);
        },
        closed: (code, reason) => events.closed(code, reason),
      });
    return new Proxy(link, {
      get: (_target, name) => {
        if (name === "listen") return listen;
        const member: unknown = Reflect.get(link, name, link);
        return typeof member === "function" ? member.bind(link) : member;
      },
    });
  }

  /** Bytes that were fetched of versions without a recipe. */
  get rawBytes(): number {
    return this.counters.reduce((sum, { rawBytes }) => sum + rawBytes, 0);
  }

  private cut(): void {
    this.cuts++;
    this.line.cut();
    this.wasCut();
  }
}
