// Paths of nodes for a person, each folder looked up once.
import { LIMITS, ROOT_NODE } from "@runnel/shared";
import type { MetaStore } from "../meta/meta-store.ts";

/** More is a damaged tree, in which nothing has a path. */
const DEPTH_MAX = 2 * LIMITS.depth + 2;

export class Paths {
  readonly #meta: Pick<MetaStore, "namesOf">;
  readonly #names = new Map<number, Promise<{ folder: number; name: string } | undefined>>();

  constructor(meta: Pick<MetaStore, "namesOf">) {
    this.#meta = meta;
  }

  /** Returns one of the paths of a node, "/"-separated from the root; "" for the root, and what has no name. */
  async of(node: number): Promise<string> {
    const steps: string[] = [];
    for (let at = node; at !== ROOT_NODE;) {
      const place = await this.#placeOf(at);
      if (place === undefined || steps.length > DEPTH_MAX) return "";
      steps.unshift(place.name);
      at = place.folder;
    }
    return steps.join("/");
  }

  #placeOf(node: number): Promise<{ folder: number; name: string } | undefined> {
    let place = this.#names.get(node);
    if (place === undefined) {
      place = this.#meta.namesOf(node).then(([first]) => first);
      this.#names.set(node, place);
    }
    return place;
  }
}
