// Room on the disk: what accepted commits will need is set aside before they are answered, so that bringing them up cannot fail for space.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";

/** Left for the store's own records and for folders that grow. */
const MARGIN_BYTES = 1024 * 1024;

export class Reservations {
  readonly #root: DiskRoot;
  readonly #cutTrash: (bytes: number) => Promise<void>;
  #bytes = 0;

  constructor(root: DiskRoot, cutTrash: (bytes: number) => Promise<void>) {
    this.#root = root;
    this.#cutTrash = cutTrash;
  }

  /** @throws NoSpace. The returned function gives the room back, once. */
  async take(bytes: number): Promise<() => void> {
    // Set aside at once: others who ask meanwhile see it taken.
    this.#bytes += bytes;
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
    const missing = await this.#missing();
    if (missing > 0) await this.#cutTrash(missing);
    if (missing > 0 && (await this.#missing()) > 0) {
      throw new RunnelError("NoSpace", "reserve space", "The server's disk has no room for this.");
    }
  }

  async #missing(): Promise<number> {
    const { availableBytes } = await this.#root.space();
    return this.#bytes + MARGIN_BYTES - availableBytes;
  }
}
