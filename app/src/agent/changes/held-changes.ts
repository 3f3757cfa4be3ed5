// Changes that are not to be sent now, in their order: those of what is paused, and those that depend on one of them.
// The rest goes on without them.
import { placesIn } from "../journal/operation-nodes.ts";
import { type Queued, isSave } from "./own-change.ts";

export class HeldChanges {
  #all: Queued[] = [];
  /** The lowest numbers of those that concern a node, a name, or names in a folder: what is older depends on none. */
  readonly #firstByNode = new Map<number, number>();
  readonly #firstByName = new Map<string, number>();
  readonly #firstByPlace = new Map<number, number>();
  readonly #numbers = new Set<number>();

  get size(): number {
    return this.#all.length;
  }

  has(n: number): boolean {
    return this.#numbers.has(n);
  }

  add(queued: Queued): void {
    this.#all.push(queued);
    this.#numbers.add(queued.n);
    for (const node of subjectsOf(queued)) put(this.#firstByNode, node, queued.n);
    for (const name of namesOf(queued)) put(this.#firstByName, name, queued.n);
    for (const folder of placesOf(queued)) put(this.#firstByPlace, folder, queued.n);
  }

  /** Says whether something can only be done after one of these. */
  areBefore(queued: Queued): boolean {
    if (this.#all.length === 0) return false;
    if (numbersIn(queued).some((n) => this.#numbers.has(n))) return true;
    const isAfter = (first: number | undefined): boolean => first !== undefined && first < queued.n;
    const [subjects, places] = [subjectsOf(queued), placesOf(queued)];
    return (
      [...subjects, ...places].some((node) => isAfter(this.#firstByNode.get(node))) ||
      namesOf(queued).some((name) => isAfter(this.#firstByName.get(name))) ||
      // A folder may have to be empty.
      (places.length > 0 && subjects.some((node) => isAfter(this.#firstByPlace.get(node))))
    );
  }

  /** Says whether one of these has ended by itself: a person has given it up, or its file is gone. */
  get haveEnded(): boolean {
    return this.#all.some(({ state }) => state === "settled");
  }

  takeAll(): Queued[] {
    const all = this.#all;
    this.#all = [];
    this.#firstByNode.clear();
    this.#firstByName.clear();
    this.#firstByPlace.clear();
    this.#numbers.clear();
    return all;
  }
}

function put<Key>(first: Map<Key, number>, key: Key, n: number): void {
  first.set(key, Math.min(first.get(key) ?? Infinity, n));
}

function placesOf(queued: Queued): readonly number[] {
  return isSave(queued) ? [] : placesIn(queued.record.operation);
}

/** Lists the nodes that something is done to, other than by names in them. */
function subjectsOf(queued: Queued): number[] {
  if (isSave(queued)) return [queued.node, queued.record.node];
  const places = placesOf(queued);
  return [queued.record.operation.node, ...queued.nodes.filter((node) => !places.includes(node))];
}

function namesOf(queued: Queued): string[] {
  return isSave(queued) ? [] : queued.names.map(([folder, name]) => `${folder}/${name}`);
}

/** Lists the operations that it names, by their numbers. */
function numbersIn(queued: Queued): readonly number[] {
  if (isSave(queued)) return queued.follows === undefined ? [] : [queued.follows.n];
  const { operation } = queued.record;
  const own = operation.op === "rename" || operation.op === "remove" ? (operation.expects?.own ?? []) : [];
  return queued.content === undefined ? own : [...own, queued.content.n];
}
