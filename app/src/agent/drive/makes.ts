// States of files that are made here, which programs use before the server has answered: sent, then committed; or bound to the node that had the name already,
// refused, or unconfirmed. Pure: answers in, states out; whoever asks the server and shows the files says what was answered.
import type { NodeState, RunnelError } from "@runnel/shared";
import type { Making } from "../wire/operations.ts";

export type MakeState = "sent" | "committed" | "bound" | "refused" | "unconfirmed";
/** answer: the server has made it. exist: its name was there. fail: nobody knows whether it was made. */
export type MakeEvent =
  | { is: "answer" | "fail" }
  | { is: "exist"; node: number }
  | { is: "refuse"; error: RunnelError };

/** Steps that are not here cannot happen: a make is answered once. */
export const NEXT_MAKE_STATES: Readonly<Record<MakeState, Partial<Record<MakeEvent["is"], MakeState>>>> = {
  sent: { answer: "committed", exist: "bound", refuse: "refused", fail: "unconfirmed" },
  committed: {},
  bound: {},
  refused: {},
  unconfirmed: {},
};

export interface Made {
  folder: number;
  name: string;
  state: NodeState;
  making: Making;
}

/** Refusals remembered: programs may still have such files open. */
const REFUSED_MAX = 1000;

export class Makes {
  readonly #sent = new Map<number, Made>();
  readonly #names = new Map<string, number>();
  /** Nodes that an id of this client stands for: a create without O_EXCL met a file under its name. */
  readonly #bound = new Map<number, number>();
  readonly #refused = new Map<number, RunnelError>();
  /** Times that folders have from makes which are not answered yet. */
  readonly #touched = new Map<number, { makes: number; timeNs: bigint }>();

  add(made: Made): void {
    const { folder, name, state } = made;
    this.#sent.set(state.node, made);
    this.#names.set(keyOf(folder, name), state.node);
    this.#touched.set(folder, { makes: (this.#touched.get(folder)?.makes ?? 0) + 1, timeNs: state.mtimeNs });
  }

  /** @throws TypeError for a make that has been answered. */
  step(node: number, event: MakeEvent): MakeState {
    const made = this.#sent.get(node);
    const next = made && NEXT_MAKE_STATES.sent[event.is];
    if (made === undefined || next === undefined) throw new TypeError(`A make that is not sent cannot ${event.is}.`);
    this.#sent.delete(node);
    const key = keyOf(made.folder, made.name);
    if (this.#names.get(key) === node) this.#names.delete(key);
    const touched = this.#touched.get(made.folder);
    if (touched !== undefined && --touched.makes === 0) this.#touched.delete(made.folder);
    if (event.is === "exist") this.#bound.set(node, event.node);
    if (event.is === "refuse") this.#refuse(node, event.error);
    return next;
  }

  /** Returns the make of a node while it is not answered. */
  get(node: number): Made | undefined {
    return this.#sent.get(node);
  }

  /** Returns the make under a name while it is not answered. */
  named(folder: number, name: string): Made | undefined {
    return this.#sent.get(this.#names.get(keyOf(folder, name)) ?? -1);
  }

  /** Makes in a folder that are not answered, but for those whose name a later one has. */
  *in(folder: number): Generator<Made> {
    for (const made of this.#sent.values())
      if (made.folder === folder && this.named(folder, made.name) === made) yield made;
  }

  /** Returns the server's id for a node that this client may know under an id of its own. */
  real(node: number): number {
    return this.#bound.get(node) ?? node;
  }

  refusalOf(node: number): RunnelError | undefined {
    return this.#refused.get(node);
  }

  /** Returns the time that a folder has from makes which are not answered yet. */
  touchedNs(folder: number): bigint | undefined {
    return this.#touched.get(folder)?.timeNs;
  }

  #refuse(node: number, error: RunnelError): void {
    this.#refused.set(node, error);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > REFUSED_MAX && oldest !== undefined) this.#refused.delete(oldest);
  }
}

function keyOf(folder: number, name: string): string {
  return `${folder}/${name}`;
}
