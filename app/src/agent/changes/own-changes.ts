// The one register of what this client changes, until it is settled: numbers, in the order in which they are begun,
// nodes and names. What is shown to programs, waited for and told to the server is read from here.
import { LIMITS } from "@runnel/shared";
import type { Journal, JournalCommit } from "../journal/journal.ts";
import { type Received, receivedOf } from "../wire/received.ts";
import {
  type MadeFile,
  type Make,
  type OwnChange,
  type OwnName,
  type Save,
  type TreeChange,
  isContentUnsent,
  isMake,
  isOutstanding,
  isSave,
  isTreeChange,
  nodesOf,
} from "./own-change.ts";
import { type ChangeEvent, type ChangeState, nextState } from "./change-states.ts";

export class OwnChanges {
  readonly #journal: Pick<Journal, "instance" | "nextNumber" | "ending">;
  readonly #all = new Set<OwnChange>();
  /** Changes that are not answered, and that a program waits for. */
  readonly #outstanding = new Set<OwnChange>();
  readonly #saves = new Set<Save>();
  readonly #treeChanges = new Set<TreeChange>();
  readonly #byNode = new Map<number, Set<OwnChange>>();
  readonly #savesByNode = new Map<number, Set<Save>>();
  readonly #makesByNode = new Map<number, Set<Make>>();
  readonly #byName = new Map<string, Set<OwnChange>>();
  #highest = 0;
  /** Answers that had come when that was last worked out, and how often that is to be said again. */
  #received: (Received & { instance: string; reads: number }) | undefined;
  #waiters: { left: Set<OwnChange>; resolve(): void }[] = [];

  constructor(journal: Pick<Journal, "instance" | "nextNumber" | "ending">) {
    this.#journal = journal;
  }

  /** The highest number that was given. */
  get highest(): number {
    return this.#highest;
  }

  /** Returns the next number of the instance; it is for a change that is added at once. */
  nextNumber(): number {
    const n = this.#journal.nextNumber();
    this.#highest = Math.max(this.#highest, n);
    return n;
  }

  /** A change of names or attributes, or the number for one that follows. */
  begin(names: readonly OwnName[] = []): OwnChange {
    return this.add({ n: this.nextNumber(), state: "begun", isAwaited: true, names });
  }

  add<Kind extends OwnChange>(change: Kind): Kind {
    this.#all.add(change);
    if (isSave(change)) this.#saves.add(change);
    if (isTreeChange(change)) this.#treeChanges.add(change);
    if (isOutstanding(change)) this.#outstanding.add(change);
    this.#index(change);
    return change;
  }

  /** @throws TypeError for a step that cannot happen. */
  step(change: OwnChange, event: ChangeEvent): ChangeState {
    change.state = nextState(change.state, event);
    if (event === "fail" || change.state === "settled") change.isAwaited = false;
    if (!isOutstanding(change)) this.#answered(change);
    if (change.state === "settled") {
      this.#all.delete(change);
      if (isSave(change)) this.#saves.delete(change);
      if (isTreeChange(change)) this.#treeChanges.delete(change);
      this.#unindex(change);
    }
    return change.state;
  }

  /** Gives a save another record: under another number, or of another node. */
  rerecord(save: Save, record: JournalCommit): void {
    this.#unindex(save);
    [save.record, save.n] = [record, record.n];
    this.#index(save);
  }

  /** A program waits for the server's answer to something. */
  get hasOutstanding(): boolean {
    return this.#outstanding.size > 0;
  }

  /** Changes that concern a node, the oldest first. */
  of(node: number): OwnChange[] {
    return [...(this.#byNode.get(node) ?? [])];
  }

  /** Notes the file that a change makes, and that programs use before the answer. */
  noteMade(change: OwnChange, made: MadeFile): void {
    const make: Make = Object.assign(change, { made });
    for (const node of nodesOf(make)) addTo(this.#makesByNode, node, make);
  }

  /** Makes of a file of this node, or in it, that programs did not wait for; the oldest first. */
  makesAt(node: number): Make[] {
    return [...(this.#makesByNode.get(node) ?? [])];
  }

  /** Saves of a node, the oldest first. */
  savesOf(node: number): Save[] {
    return [...(this.#savesByNode.get(node) ?? [])];
  }

  /** The content that a file, known by any of these ids, had before the change of that number, and the server lacks. */
  contentBefore(n: number, nodes: readonly number[]): Save | undefined {
    const had = nodes.flatMap((node) => this.savesOf(node)).filter((save) => save.n < n && isContentUnsent(save));
    return had.toSorted((one, other) => one.n - other.n).at(-1);
  }

  /** Says whether the change that makes a node is to be sent still, or again. */
  isToBeMade(node: number): boolean {
    return this.of(node)
      .filter((change) => isTreeChange(change))
      .some(({ state, record: { operation } }) => {
        return operation.op === "make" && operation.node === node && state !== "committed";
      });
  }

  saves(): ReadonlySet<Save> {
    return this.#saves;
  }

  /** Changes by which a file got a name while it had that content, which is to be at the server before. */
  namedWith(save: Save): TreeChange[] {
    return this.of(save.node)
      .filter((change) => isTreeChange(change))
      .filter(({ content }) => content === save);
  }

  /** Changes of names and attributes that programs were told of before the server. */
  treeChanges(): ReadonlySet<TreeChange> {
    return this.#treeChanges;
  }

  /**
   * Answers that the server need not keep for a repetition: of changes that are to be sent again, or would be after a
   * power cut, it must. Where there are many, less is said than could be: working it out takes as long as all of them.
   */
  get received(): Received {
    const { instance } = this.#journal;
    const known = this.#received;
    if (known !== undefined && known.instance === instance && known.reads-- > 0)
      return known.but === undefined ? { received: known.received } : { received: known.received, but: known.but };
    const needed = new Set(this.#journal.ending());
    for (const change of this.#all) {
      const record = isSave(change) && change.record.instance === instance ? change.record : undefined;
      if (record !== undefined || isOutstanding(change) || isTreeChange(change)) needed.add(change.n);
      if (record?.copy !== undefined) needed.add(record.copy.n);
      for (const n of isTreeChange(change) ? expectedBy(change) : []) needed.add(n);
    }
    const received = receivedOf(this.#highest, needed);
    this.#received = { ...received, instance, reads: Math.min(SAID_AGAIN_MAX, Math.floor(needed.size / MANY)) };
    return received;
  }

  /** Resolves when all that was begun until now, and of which this holds, has been answered. */
  async idle(isMeant: (change: OwnChange) => boolean = () => true): Promise<void> {
    const left = new Set([...this.#outstanding].filter(isMeant));
    if (left.size > 0) await new Promise<void>((resolve) => this.#waiters.push({ left, resolve }));
  }

  /**
   * Tells a change from here, which is not answered yet, from another client's change of such a name in the same
   * moment.
   */
  isOwnName(...[folder, name, node]: OwnName): boolean {
    for (const { names } of this.#byName.get(nameKey(folder, name)) ?? [])
      if (names.some((own) => own[0] === folder && own[1] === name && own[2] === node)) return true;
    return false;
  }

  /** Says whether a program here saves its content just now, which is no news for this kernel. */
  isOwnNode(node: number): boolean {
    for (const save of this.#savesByNode.get(node) ?? []) if (save.isAwaited && save.node === node) return true;
    return false;
  }

  /** Notes whom a change waits for, as the server says. */
  noteWaiting(n: number, whom: readonly string[], untilMs: number): void {
    for (const change of this.#outstanding) if (change.n === n) change.waits = { for: [...whom], untilMs };
  }

  /** Lists what waits for others, until it is answered. */
  waiting(): { operation: string; for: string[]; untilMs: number }[] {
    return [...this.#outstanding].flatMap(({ n, waits }) =>
      waits === undefined ? [] : [{ operation: `change ${n}`, for: [...waits.for], untilMs: waits.untilMs }],
    );
  }

  /** The same by the changes' numbers: only whom they wait for. */
  waitingFor(): Map<number, readonly string[]> {
    const waiting = [...this.#outstanding].filter(({ waits }) => waits !== undefined);
    return new Map(waiting.map(({ n, waits }) => [n, waits?.for ?? []]));
  }

  #answered(change: OwnChange): void {
    if (!this.#outstanding.delete(change)) return;
    for (const { left, resolve } of this.#waiters) if (left.delete(change) && left.size === 0) resolve();
    this.#waiters = this.#waiters.filter(({ left }) => left.size > 0);
  }

  #index(change: OwnChange): void {
    for (const node of nodesOf(change)) addTo(this.#byNode, node, change);
    if (isSave(change)) addTo(this.#savesByNode, change.record.node, change);
    for (const [folder, name] of change.names) addTo(this.#byName, nameKey(folder, name), change);
  }

  #unindex(change: OwnChange): void {
    for (const node of nodesOf(change)) removeFrom(this.#byNode, node, change);
    if (isMake(change)) for (const node of nodesOf(change)) removeFrom(this.#makesByNode, node, change);
    if (isSave(change)) removeFrom(this.#savesByNode, change.record.node, change);
    for (const [folder, name] of change.names) removeFrom(this.#byName, nameKey(folder, name), change);
  }
}

/** Lists operations whose results a change that is to be sent may be compared with (rule W186). */
function expectedBy({ record: { operation } }: TreeChange): readonly number[] {
  if (operation.op !== "rename" && operation.op !== "remove") return [];
  return operation.expects?.own ?? [];
}

/** Number of changes from which on what is received is not worked out each time. */
const MANY = 64;
/** The server keeps some thousands of results that are not said to be received. */
const SAID_AGAIN_MAX = LIMITS.outstandingOperations / 16;

function nameKey(folder: number, name: string): string {
  return `${folder}/${name}`;
}

function addTo<Key, Value>(index: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const values = index.get(key);
  if (values === undefined) index.set(key, new Set([value]));
  else values.add(value);
}

function removeFrom<Key, Value>(index: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const values = index.get(key);
  values?.delete(value);
  if (values?.size === 0) index.delete(key);
}
