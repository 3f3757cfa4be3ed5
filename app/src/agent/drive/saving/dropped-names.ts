// Gives up the names that files got with contents which the server will not have in them: neither an empty file nor
// what others have written is to get such a name, or to take the place of a file that is saved [F193].
import type { RunnelError } from "@runnel/shared";
import type { Save } from "../../changes/own-change.ts";
import { becomesCopy, hasNoContent } from "../../changes/refusal.ts";
import type { Tree } from "../tree.ts";
import type { Saves } from "./saves.ts";

export interface DroppedNamesDeps {
  saves: Pick<Saves, "following">;
  tree: Pick<Tree, "real">;
  /** Gives up the names that its file got with a content, and says why. */
  dropNames(save: Save, why: RunnelError): Promise<void>;
  log(message: string, error: unknown): void;
}

export class DroppedNames {
  readonly #deps: DroppedNamesDeps;

  constructor(deps: DroppedNamesDeps) {
    this.#deps = deps;
  }

  /** The content is about to be given up. Names that stay in the journal are refused as they come to be sent. */
  async of(save: Save, why = hasNoContent(save.record)): Promise<void> {
    const { dropNames, log } = this.#deps;
    await dropNames(save, why).catch((error: unknown) => log("Names could not be given up with a content.", error));
  }

  /** The content is about to become a conflict copy, and so are those that hold it. */
  async ofCopy(save: Save): Promise<void> {
    await this.#ofAll(save, becomesCopy(save.record));
  }

  /** `save` is an edit of that node from here on, or its content, as `first` is: it may have been another one's. */
  async unlessIn(node: number, save: Save, first: Save): Promise<void> {
    if (this.#deps.tree.real(save.record.node) !== node) await this.#ofAll(save, hasNoContent(first.record));
  }

  async #ofAll(save: Save, why: RunnelError): Promise<void> {
    await this.of(save, why);
    for (const next of this.#deps.saves.following(save)) await this.#ofAll(next, why);
  }
}
