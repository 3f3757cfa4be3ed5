// Removes a file, or a folder with all below it, of a drive: one operation for a whole tree, as long as it is not
// larger than the server takes at once.
import type { Entry } from "@runnel/shared";
import { LIMITS, ROOT_NODE, RunnelError, isRunnelError, checkResult } from "@runnel/shared";
import type { Replica } from "../replica/replica.ts";
import type { Operations } from "../wire/operations.ts";
import type { Session } from "../wire/session.ts";
import type { Tree } from "./tree.ts";

export interface RemoveTreeDeps {
  tree: Tree;
  replica: Replica;
  operations: Operations;
  session: Session;
  /** Reports how many of all files and folders are gone; called only where it takes more than one operation. */
  progress?(removed: number, all: number): void;
}

interface Place extends Entry {
  folder: number;
}

export class RemoveTree {
  readonly #deps: RemoveTreeDeps;

  constructor(deps: RemoveTreeDeps) {
    this.#deps = deps;
  }

  /**
   * `path`: in the drive. What others change meanwhile is not removed. @throws NotFound; Stale, naming what changed;
   * Unreachable; the server's refusals. Of a tree too large for one operation a part may be gone then.
   */
  async remove(path: string): Promise<void> {
    const { session, replica } = this.#deps;
    await session.current();
    const known = await this.#deps.tree.find(path);
    // Others may know more of it, or of where it would be.
    await session.elsewhere.current(known === undefined ? [ROOT_NODE] : [known.folder, known.state.node], true);
    const place = await this.#find(path);
    const asOf = replica.facts()?.seq ?? 0;
    try {
      if (place.state.type === "folder") await this.#removeFolder(place, asOf);
      else await this.#removeFile(place, asOf);
    } catch (error) {
      throw isRunnelError(error, "Stale") ? this.#changed(path, error) : error;
    }
  }

  async #find(path: string): Promise<Place> {
    if (path === "")
      throw new RunnelError("Invalid", "remove", "This is the whole drive. Name a file or folder in it.");
    const place = await this.#deps.tree.find(path);
    if (place === undefined) throw new RunnelError("NotFound", "remove", `There is no ${path} in the drive.`);
    return place;
  }

  /**
   * Removes it in one operation where the server takes it all at once, and then all or nothing; else in as many as it
   * takes.
   */
  async #removeFolder(place: Place, asOf: number): Promise<void> {
    const { node } = place.state;
    try {
      await this.#removeAll(place, asOf, false);
      return;
    } catch (error) {
      if (!isRunnelError(error, "TooLarge")) throw error;
    }
    const all = this.#deps.replica.countBelow(node);
    for (let removed = 0, last = 0; last !== node; removed += LIMITS.removeAllNodes) {
      this.#deps.progress?.(removed, all);
      last = await this.#removeAll(place, asOf, true);
    }
  }

  /** Resolves to the last node that was removed. */
  async #removeAll({ folder, name, state: { node } }: Place, asOf: number, isPartial: boolean): Promise<number> {
    const body = { folder, name, node, asOf, ...(isPartial ? { isPartial } : {}) };
    const answer = await this.#deps.operations.change("removeAll", body);
    return checkResult("removeAll", answer).node;
  }

  async #removeFile({ folder, name, state }: Place, asOf: number): Promise<void> {
    const { node, seq } = state;
    if (seq > asOf)
      throw new RunnelError("Stale", "remove", "It was changed meanwhile.", { detail: { nodes: [node] } });
    await this.#deps.operations.change("remove", { folder, name, node, isFolder: false });
  }

  #changed(path: string, error: RunnelError): RunnelError {
    const paths = (error.detail.nodes ?? []).map((node) => this.#deps.replica.pathOf(node) ?? "");
    const [first] = paths.filter((each) => each !== "");
    const others = paths.length > 1 ? ` and ${paths.length - 1} more` : "";
    const what = first === undefined ? path : `${first}${others}`;
    return new RunnelError(
      "Stale",
      "remove",
      `${path} is not removed: ${what} was changed meanwhile. Look at it, then run the command again.`,
      { cause: error },
    );
  }
}
