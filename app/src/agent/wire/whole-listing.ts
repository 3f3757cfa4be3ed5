// Runs the listing of the whole tree alongside all else until the replica is whole; the first one is asked for with the
// attachment.
import { type Channel, type RunnelError, fromSystemError, isRunnelError } from "@runnel/shared";
import type { Listings } from "./listings.ts";
import type { Session } from "./session.ts";

export interface WholeListingDeps {
  session: Session;
  listings: Listings;
  /** Called when the whole tree is there. */
  listed(): void;
  failed(error: RunnelError): void;
}

export class WholeListing {
  readonly #deps: WholeListingDeps;
  #asked: Channel | undefined;
  /** While it runs: the root has come, or it has ended without. */
  #rootListed: Promise<void> | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: WholeListingDeps) {
    this.#deps = deps;
  }

  /** Hands over a listing for the next `begin` to read. */
  ask(asked: Channel | undefined): void {
    this.#asked = asked;
  }

  /** Lists the whole tree and follows it, unless that is being done. */
  begin(): void {
    if (this.#rootListed !== undefined) return;
    const { listings, listed, failed } = this.#deps;
    const asked = this.#asked;
    this.#asked = undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#rootListed = promise;
    this.#running = listings
      .listAll(asked, resolve)
      .then(listed)
      .catch((error: unknown) => {
        if (!isRunnelError(error, "Unreachable")) failed(fromSystemError(error, "list"));
      })
      .finally(() => {
        this.#rootListed = undefined;
        this.#running = undefined;
        resolve();
      });
  }

  /** Lists it from the beginning, also while that is being done. */
  beginAgain(): void {
    this.#deps.listings.listAgain();
    this.begin();
  }

  /** Resolves when the listing that runs has ended, as far as it came. */
  async ended(): Promise<void> {
    await this.#running;
  }

  /**
   * Resolves when the root is listed, which comes first, or the listing has ended without it. @throws Unreachable after
   * a silence.
   */
  async root(): Promise<void> {
    if (this.#rootListed !== undefined) await this.#deps.session.whileAlive(this.#rootListed, "list");
  }
}
