// States of each content that a program saved: recorded → sent → committed → settled, or unsent until it can be sent. Pure: events in, states out; who
// sends, records and shows learns what there is to do. A save takes the place of an unsent one only where it holds that one's content.
import type { NodeState, VersionId } from "@runnel/shared";
import type { ConflictCopy, JournalCommit } from "../../journal/journal.ts";

/** recorded: in the journal. unwanted: sent, and a program here has removed the file since. unsent: waits to be sent, by an attempt of its own. */
export type SaveState = "recorded" | "sent" | "unwanted" | "committed" | "unsent";
/** drop: its file was removed by a program here, or a person gave it up, or another save has taken its place. */
export type SaveEvent = "send" | "answer" | "fail" | "settle" | "drop";

/** Steps that are not here cannot happen. */
export const NEXT_STATES: Readonly<Record<SaveState, Partial<Record<SaveEvent, SaveState | "settled">>>> = {
  recorded: { send: "sent", fail: "unsent", drop: "unwanted" },
  sent: { answer: "committed", fail: "unsent", drop: "unwanted" },
  unwanted: { send: "unwanted", answer: "committed", fail: "settled", drop: "unwanted" },
  committed: { settle: "settled", drop: "committed" },
  unsent: { send: "sent", drop: "settled" },
};

export interface Save {
  record: JournalCommit;
  state: SaveState | "settled";
  /** The open file that it came from; 0: that is closed. */
  file: number;
  /** A program waits for its first attempt. */
  isAwaited: boolean;
  /** Why the last attempt failed; undefined for what a former process left and nobody has tried. */
  failure: unknown;
  /** The version by which this client calls an unsent content that programs see; 0: they do not. */
  shownAs: number;
}

/** Contents and version that a commit of an open file is over. */
export interface Lineage {
  node: number;
  baseVersion: number;
  /** The unsent content that the program has edited. */
  below: JournalCommit | undefined;
  /** The conflict copy that the edited content has become, and that this becomes with it. */
  copy: ConflictCopy | undefined;
  /** Unsent saves whose content the new one has. */
  replaces: Save[];
}

/** A content that programs were shown, and where it is now: a save, or the version that it has become. */
interface Shown {
  record: JournalCommit;
  save: Save | undefined;
  version: VersionId | undefined;
}

/** Beginning of the numbers of shown contents, above all versions of servers. */
const SHOWN_FROM = 2 ** 52;
/** Contents that were shown: programs may still have one of the last open. */
const SHOWN_MAX = 10_000;
/** Removed files remembered: a commit of one may be about to be recorded. */
const REMOVED_MAX = 10_000;

export class Saves {
  readonly #all = new Set<Save>();
  readonly #byNode = new Map<number, Set<Save>>();
  readonly #shown = new Map<number, Shown>();
  /** Version that the last save of an open file has become, by whatever attempt. */
  readonly #became = new Map<number, VersionId>();
  readonly #removed = new Set<number>();
  #shownLast = SHOWN_FROM;

  /** `pending`: what a former process left. */
  constructor(pending: readonly JournalCommit[]) {
    for (const record of pending) this.#add({ record, state: "unsent", file: 0, isAwaited: false });
  }

  /** Adds a save. The ones that `lineage` says it replaces are settled: the journal has ended them by the record. */
  add(record: JournalCommit, file: number, replaces: readonly Save[]): Save {
    const state = this.#removed.has(record.node) ? "unwanted" : "recorded";
    const save = this.#add({ record, state, file, isAwaited: true });
    for (const former of replaces) {
      for (const shown of this.#shown.values()) if (shown.save === former) shown.save = save;
      this.#leave(former);
    }
    return save;
  }

  /** `failure`: of `fail`. `version`: of `answer`, what the server made of it. */
  step(save: Save, event: SaveEvent, result: { failure?: unknown; version?: VersionId } = {}): SaveState | "settled" {
    const next = save.state === "settled" ? undefined : NEXT_STATES[save.state][event];
    if (next === undefined) throw new TypeError(`A save that is ${save.state} cannot ${event}.`);
    if (event === "fail") [save.failure, save.isAwaited] = [result.failure, false];
    if (event === "answer" && result.version !== undefined) this.#becomes(save, result.version);
    if (next === "settled") this.#leave(save);
    else save.state = next;
    return next;
  }

  /** Gives a save another record: under another number, or of another node. */
  rerecord(save: Save, record: JournalCommit): void {
    this.#unindex(save);
    save.record = record;
    this.#index(save);
  }

  /** Saves that wait, or are being sent by an attempt that no program waits for; the oldest first. */
  unsent(): Save[] {
    return [...this.#all].filter(({ state, isAwaited }) => state === "unsent" || (state === "sent" && !isAwaited));
  }

  of(node: number): readonly Save[] {
    return [...(this.#byNode.get(node) ?? [])];
  }

  /** Numbers of an instance whose results may still be asked for. */
  *numbers(instance: string): Generator<number> {
    for (const save of this.#all) {
      const { record } = save;
      if (record.instance !== instance) continue;
      yield record.n;
      if (record.copy !== undefined) yield record.copy.n;
    }
  }

  /** Shows an unsent content to programs from here on. */
  show(save: Save): void {
    if (save.shownAs !== 0) return;
    save.shownAs = ++this.#shownLast;
    this.#shown.set(save.shownAs, { record: save.record, save, version: undefined });
    for (const [version, shown] of this.#shown) {
      if (this.#shown.size <= SHOWN_MAX) break;
      if (shown.save === undefined) this.#shown.delete(version);
    }
  }

  /** Hides a content that cannot be shown; its file shows the server's version, and a save over that does not hold it. */
  hide(save: Save): void {
    save.shownAs = 0;
  }

  /**
   * The unsent content that a file of this epoch shows. Where its state is `current`, only over the version that it was made of: of a file that has another
   * one the server may have had this content, and a later one, before a power cut took from the journal that it did.
   */
  shownOf({ node, version }: Pick<NodeState, "node" | "version">, epoch: string, isCurrent: boolean): Save | undefined {
    const save = this.of(node).findLast(
      ({ shownAs, state, record }) => shownAs !== 0 && state !== "committed" && record.epoch === epoch,
    );
    return isCurrent && save?.record.baseVersion !== version ? undefined : save;
  }

  isShown(version: number): boolean {
    const save = this.#shown.get(version)?.save;
    return save?.shownAs === version && save.state !== "committed";
  }

  /** No open file is over the content that was shown so. */
  forget(shownAs: number): void {
    this.#shown.delete(shownAs);
  }

  /** A commit of an open file. undefined: what it has edited was given up. */
  lineage(file: number, node: number, baseVersion: number): Lineage | undefined {
    const own = file === 0 ? [] : [...this.#all].filter((save) => save.file === file && save.state !== "committed");
    const shown = this.#shown.get(baseVersion);
    if (shown === undefined && baseVersion >= SHOWN_FROM) return undefined;
    const version = this.#became.get(file) ?? shown?.version;
    if (version !== undefined)
      return { node: version.node, baseVersion: version.seq, below: undefined, copy: undefined, replaces: own };
    const last = shown === undefined ? own.at(-1) : shown.save;
    if (shown !== undefined && last === undefined) return undefined;
    const target = { node: last?.record.node ?? node, baseVersion: shown?.record.baseVersion ?? baseVersion };
    // A program has not seen what another one has made of it since.
    const isSeen = last !== undefined && last.shownAs === baseVersion;
    const replaces = isSeen && !own.includes(last) ? [...own, last] : own;
    return { ...target, below: shown?.record, copy: last?.record.copy, replaces };
  }

  /** A program here has removed the file. Returns what has been settled by that. */
  removed(node: number): Save[] {
    this.#removed.add(node);
    const [oldest] = this.#removed;
    if (this.#removed.size > REMOVED_MAX && oldest !== undefined) this.#removed.delete(oldest);
    return this.of(node).filter((save) => this.step(save, "drop") === "settled");
  }

  /** Ends what this open file has held. @returns the saves that only that has held: they are to be settled. */
  closed(file: number): Save[] {
    this.#became.delete(file);
    const own = [...this.#all].filter((save) => save.file === file);
    const held = own.filter(isHeld);
    for (const save of own) save.file = 0;
    return held;
  }

  #becomes(save: Save, version: VersionId): void {
    if (save.file !== 0) this.#became.set(save.file, version);
    for (const shown of this.#shown.values()) if (shown.save === save) shown.version = version;
  }

  #add(save: Pick<Save, "record" | "state" | "file" | "isAwaited">): Save {
    const added: Save = { ...save, failure: undefined, shownAs: 0 };
    this.#all.add(added);
    this.#index(added);
    return added;
  }

  #leave(save: Save): void {
    save.state = "settled";
    save.isAwaited = false;
    this.#all.delete(save);
    this.#unindex(save);
    for (const shown of this.#shown.values()) if (shown.save === save) shown.save = undefined;
  }

  #index(save: Save): void {
    const saves = this.#byNode.get(save.record.node) ?? new Set();
    this.#byNode.set(save.record.node, saves.add(save));
  }

  #unindex(save: Save): void {
    const saves = this.#byNode.get(save.record.node);
    saves?.delete(save);
    if (saves?.size === 0) this.#byNode.delete(save.record.node);
  }
}

/** Returns whether it was sent after its program had got the error: the open file still has its layers, and what the program saves next is made of them too. */
export function isHeld({ state, isAwaited, file }: Save): boolean {
  return state === "committed" && !isAwaited && file !== 0;
}
