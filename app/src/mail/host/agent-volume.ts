// Objects of the volume that two relays know, through the agent of this user.
import { type Clock, RunnelError, formatObjectUri } from "@runnel/shared/base";
import { type Client, connect } from "../../client/client.ts";
import type { MailVolume } from "../mail-files.ts";

export interface AgentVolumeSettings {
  /** wss://HOST:PORT/VOLUME */
  url: string;
  /** Time that what is put lives at least. */
  lifeMs: number;
  /** Time for a body to be put or got; afterwards the mail goes without the volume. */
  withinMs: number;
}

export class AgentVolume implements MailVolume {
  readonly url: string;
  readonly #settings: AgentVolumeSettings;
  readonly #clock: Clock;

  constructor(settings: AgentVolumeSettings, clock: Clock) {
    this.url = settings.url;
    this.#settings = settings;
    this.#clock = clock;
  }

  async put(path: string): Promise<{ oid: string; sizeBytes: number }> {
    const { url, lifeMs } = this.#settings;
    const { oid, size } = await this.#inTime((client, signal) => client.put(path, { to: url, lifeMs, signal }));
    return { oid, sizeBytes: size };
  }

  async *get(oid: string, sizeBytes: number): AsyncGenerator<Uint8Array> {
    const uri = formatObjectUri({ oid, sizeBytes, hints: [this.url] });
    using client = await connect();
    using limit = this.#limit();
    yield* client.get(uri, { signal: limit.signal });
  }

  async #inTime<T>(work: (client: Client, signal: AbortSignal) => Promise<T>): Promise<T> {
    using client = await connect();
    using limit = this.#limit();
    return await work(client, limit.signal);
  }

  #limit(): { signal: AbortSignal; [Symbol.dispose](): void } {
    const stop = new AbortController();
    const late = new RunnelError("Unreachable", "reach the volume", "The volume takes too long.");
    const timer = this.#clock.after(this.#settings.withinMs, () => stop.abort(late));
    return { signal: stop.signal, [Symbol.dispose]: () => timer.cancel() };
  }
}
