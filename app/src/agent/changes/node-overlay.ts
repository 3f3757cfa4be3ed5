// Overlay of one node: what own changes that are pending have set of it. Of each field the last one counts, of links
// all. A folder may have tens of thousands of them, so that nothing here looks at all of them.
import type { NodeState, XattrChange } from "@runnel/shared";

const FIELDS = ["mode", "uid", "gid", "mtimeNs", "ctimeNs", "xattrSeq"] as const;
/** Fields of a state that a change of names or attributes sets; `xattrSeq` 0: it has no extended attributes. */
export type Patch = Partial<Pick<NodeState, (typeof FIELDS)[number]>>;

/** A change of the node. */
interface Step {
  n: number;
  fields: Patch;
  links: number;
  xattr: XattrChange | undefined;
}

/** Steps that have ended are looked over when there are more than that beside those that have not. */
const ENDED_MAX = 32;

export class NodeOverlay {
  readonly #steps = new Map<number, Step>();
  /** Steps that set a field, in their order; some of them have ended. */
  readonly #setBy = new Map<keyof Patch, Step[]>();
  #links = 0;
  /** Number of steps that change an extended attribute. */
  #xattrs = 0;

  get isEmpty(): boolean {
    return this.#steps.size === 0;
  }

  add(n: number, fields: Patch, links: number, xattr?: XattrChange): void {
    const step = { n, fields, links, xattr };
    this.#steps.set(n, step);
    this.#links += links;
    if (xattr !== undefined) this.#xattrs++;
    for (const field of FIELDS) {
      if (fields[field] === undefined) continue;
      const setBy = this.#setBy.get(field);
      if (setBy === undefined) this.#setBy.set(field, [step]);
      else setBy.push(step);
    }
  }

  end(n: number): void {
    const step = this.#steps.get(n);
    if (step === undefined) return;
    this.#steps.delete(n);
    this.#links -= step.links;
    if (step.xattr !== undefined) this.#xattrs--;
    for (const [field, setBy] of this.#setBy)
      if (setBy.length > 2 * this.#steps.size + ENDED_MAX)
        this.#setBy.set(
          field,
          setBy.filter((each) => this.#has(each)),
        );
  }

  /** Returns a state with all of it. */
  over(state: NodeState): NodeState {
    const shown = { ...state, ...this.#last(-1) };
    shown.nlink += this.#links;
    if (shown.xattrSeq === 0) delete shown.xattrSeq;
    return shown;
  }

  /** Changes of extended attributes, in their order. */
  xattrs(): XattrChange[] {
    if (this.#xattrs === 0) return [];
    return [...this.#steps.values()].flatMap(({ xattr }) => (xattr === undefined ? [] : [xattr]));
  }

  /** Returns the times that changes with greater numbers than `n` have set. */
  timesAfter(n: number): Pick<Patch, "mtimeNs" | "ctimeNs"> {
    const { mtimeNs, ctimeNs } = this.#last(n);
    return { ...(mtimeNs === undefined ? {} : { mtimeNs }), ...(ctimeNs === undefined ? {} : { ctimeNs }) };
  }

  /** Returns the fields that changes with greater numbers than `n` have set. */
  #last(n: number): Patch {
    const fields: Patch = {};
    for (const [field, setBy] of this.#setBy) {
      while (setBy.length > 0 && !this.#has(setBy.at(-1))) setBy.pop();
      const last = setBy.at(-1);
      if (last !== undefined && last.n > n) Object.assign(fields, { [field]: last.fields[field] });
    }
    return fields;
  }

  #has(step: Step | undefined): boolean {
    return step !== undefined && this.#steps.get(step.n) === step;
  }
}
