// Finds what a commit of a file is over, as the saves before it have it: one that is asked for, or one that the drive
// has answered for already.
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { Journal } from "../../journal/journal.ts";
import type { Tree } from "../tree.ts";
import type { RequestOfOp } from "../request-of-op.ts";
import { type Lineage, type Saves, isShownVersion } from "./saves.ts";

/** A file's content as a program has left it, by whatever call. */
export type Change = Omit<RequestOfOp<"commit">, "op" | "caller" | "reason">;

export interface LineagesDeps {
  saves: Saves;
  tree: Tree;
  journal: Pick<Journal, "names">;
}

export class Lineages {
  readonly #deps: LineagesDeps;

  constructor(deps: LineagesDeps) {
    this.#deps = deps;
  }

  /** @throws Gone */
  of({ file, node, baseVersion, baseBytes }: Change, isInTurn: boolean): Lineage {
    const { saves, tree } = this.#deps;
    const lineage = saves.lineage(file, tree.real(node), baseVersion);
    if (lineage === undefined) throw gone();
    const here = this.#here(lineage, baseBytes === 0);
    const { follows, replaces } = here;
    if (isInTurn || follows === undefined) return here;
    return { ...here, follows: undefined, replaces: [...replaces, follows] };
  }

  /** The same of what the drive has answered for; over what is there where what it was over is given up. */
  ofEarly(change: Change): Lineage {
    try {
      return this.of(change, true);
    } catch (error) {
      if (!isRunnelError(error, "Gone")) throw error;
      return this.of({ ...change, file: 0, baseVersion: this.#currentOf(change) }, true);
    }
  }

  /**
   * Gives what a former process left the version that is shown here of the content which it was over: that process had
   * numbers of its own for what it showed.
   */
  asShownHere<Left extends Change>(change: Left): Left {
    if (change.id !== 0 || !isShownVersion(change.baseVersion)) return change;
    const shown = this.#deps.saves.lastShown(this.#deps.tree.real(change.node));
    return { ...change, baseVersion: shown ?? this.#currentOf(change) };
  }

  #currentOf({ node }: Change): number {
    const { tree } = this.#deps;
    return tree.known(tree.real(node))?.version ?? 0;
  }

  /**
   * A content under which layers were joined is nobody's: its files are gone. One that is written anew needs none of
   * them. @throws Gone
   */
  #here(lineage: Lineage, isWrittenAnew: boolean): Lineage {
    const { below, follows, replaces } = lineage;
    if (below === undefined) return lineage;
    // Their own records may just be on their way.
    const saves = follows === undefined ? replaces : [...replaces, follows];
    const kept = new Set(saves.flatMap(({ record }) => record.layers.map(({ file }) => file)));
    const layers = below.layers.filter(({ file }) => kept.has(file) || this.#deps.journal.names(file));
    if (layers.length === below.layers.length) return lineage;
    if (!isWrittenAnew) throw gone();
    return { ...lineage, below: { ...below, layers } };
  }
}

function gone(): RunnelError {
  return new RunnelError("Gone", "commit", "The unsent content that was edited has been given up.");
}
