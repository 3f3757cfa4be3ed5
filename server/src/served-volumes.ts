// The volumes that a server has: those of its start, and those that come later. One that an administrator has stopped
// stays among them, so that whoever has it attached waits for it.
import { type Offer, ServedVolume, type ServedVolumeDeps } from "./served-volume.ts";
import type { Volume } from "./volume/volume.ts";

/** Why a volume that was stopped is not served. */
export const STOPPED = "an administrator has stopped it.";

export class ServedVolumes {
  readonly #deps: ServedVolumeDeps;
  /** All of them, in the order in which they came; it is the same array while they change. */
  readonly list: ServedVolume[];
  #isClosed = false;

  constructor(offers: readonly Offer[], deps: ServedVolumeDeps) {
    this.#deps = deps;
    this.list = offers.map((offer) => new ServedVolume(offer, deps, offer.isStopped === true ? STOPPED : undefined));
  }

  get(name: string): ServedVolume | undefined {
    return this.list.find((volume) => volume.name === name);
  }

  /** Lists those that are open now. */
  get open(): Volume[] {
    return this.list.map(({ volume }) => volume).filter((volume) => volume !== undefined);
  }

  /** Opens those that are not stopped. @throws what waiting does not mend. */
  async start(): Promise<void> {
    await Promise.all(this.list.filter(({ isStopped }) => !isStopped).map((volume) => volume.start()));
  }

  /** Adds a volume; it is for the caller to start it. */
  add(offer: Offer): ServedVolume {
    const volume = new ServedVolume(offer, this.#deps);
    this.list.push(volume);
    return volume;
  }

  /** Takes a volume out; who has it attached is told why. */
  async remove(volume: ServedVolume, why: string): Promise<void> {
    this.list.splice(this.list.indexOf(volume), 1);
    await volume.close(this.#deps.ended, why);
  }

  /** Ends the volume's attachments and closes it; resolves when it is closed. */
  async stop(name: string): Promise<void> {
    const at = this.list.findIndex((volume) => volume.name === name);
    const before = this.list[at];
    if (before === undefined || before.isStopped) return;
    // Whoever attaches meanwhile is told of the one that is stopped.
    this.list[at] = new ServedVolume(before.offer, this.#deps, STOPPED, before.traffic);
    await before.close(this.#deps.ended, STOPPED);
  }

  /** Begins to open a volume that was stopped. */
  resume(name: string): void {
    if (!this.#isClosed) this.get(name)?.resume();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const volume of this.list) await volume.close();
  }
}
