// Room on the disk: what accepted commits will need is set aside before they are answered, so that applying them cannot
// fail for space.
import type { Clock, DiskRoot } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";

/** Left for the store's own records and for folders that grow. */
const MARGIN_BYTES = 1024 * 1024;
/** Free bytes, beyond those set aside, above which the disk's last answer is still good. */
const PLENTY_BYTES = 1024 * 1024 * 1024;
const FRESH_MS = 1_000;

export class Reservations {
  readonly #root: DiskRoot;
  readonly #clock: Clock;
  readonly #cutTrash: (missing: () => Promise<number>) => Promise<void>;
  #bytes = 0;
  /** Free bytes by the disk's last answer, less what was set aside since, and until when that is good. */
  #left = 0;
  #leftUntilMs = 0;

  /** `cutTrash` asks how much is missing when its turn has come: others may have freed space until then. */
  constructor(root: DiskRoot, clock: Clock, cutTrash: (missing: () => Promise<number>) => Promise<void>) {
    this.#root = root;
    this.#clock = clock;
    this.#cutTrash = cutTrash;
  }

  /** @throws NoSpace. The returned function gives the space back, once. */
  async take(bytes: number): Promise<() => void> {
    // Set aside at once: others who ask meanwhile see it taken.
    this.#bytes += bytes;
    this.#left -= bytes;
    let isTaken = true;
    const release = (): void => {
      if (isTaken) this.#bytes -= bytes;
      isTaken = false;
    };
    try {
      await this.#ensure();
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  async #ensure(): Promise<void> {
    if (this.#left > PLENTY_BYTES && this.#clock.bootMs() < this.#leftUntilMs) return;
    if ((await this.#missing()) <= 0) return;
    await this.#cutTrash(() => this.#missing());
    if ((await this.#missing()) > 0)
      throw new RunnelError("NoSpace", "reserve space", "The server's disk has no room for this.");
  }

  async #missing(): Promise<number> {
    const untilMs = this.#clock.bootMs() + FRESH_MS;
    const { availableBytes } = await this.#root.space();
    const missing = this.#bytes + MARGIN_BYTES - availableBytes;
    [this.#left, this.#leftUntilMs] = [-missing, untilMs];
    return missing;
  }
}
