// Node ids of an attachment: what it makes has to have one that was given to its device, or to the client that it is.
// Others were given to somebody who may be away with them, and has not sent yet what has them.
import { RunnelError } from "@runnel/shared";
import type { MetaStore, NodeOwner } from "../meta/meta-store.ts";

type Meta = Pick<MetaStore, "allocateNodes" | "givenNodes">;

/** Ranges of former attachments that are remembered: beyond these they are looked up again. */
const KNOWN_MAX = 100;

export class OwnNodes {
  readonly #meta: Meta;
  readonly #owner: NodeOwner | undefined;
  #known: { first: number; count: number }[] = [];

  /** `owner`: undefined where devices are not told apart. */
  constructor(meta: Meta, owner: NodeOwner | undefined) {
    this.#meta = meta;
    this.#owner = owner;
  }

  async give(count: number): Promise<{ first: number; count: number }> {
    return this.#know(await this.#meta.allocateNodes(count, this.#owner));
  }

  /** @throws Invalid for an id that is another's, or was never given out. */
  check(node: number): Promise<void> | undefined {
    const owner = this.#owner;
    if (owner === undefined || this.#known.some(({ first, count }) => first <= node && node < first + count))
      return undefined;
    return this.#look(node, owner);
  }

  async #look(node: number, { device, instance }: NodeOwner): Promise<void> {
    const given = await this.#meta.givenNodes(node);
    const isOwn = given?.owner === undefined || given.owner.device === device || given.owner.instance === instance;
    if (given === undefined || !isOwn)
      throw new RunnelError("Invalid", "make", `Node id ${node} was not given to this device.`, {
        detail: { rule: "node id" },
      });
    this.#know(given);
  }

  #know<Range extends { first: number; count: number }>(range: Range): Range {
    this.#known = [range, ...this.#known].slice(0, KNOWN_MAX);
    return range;
  }
}
