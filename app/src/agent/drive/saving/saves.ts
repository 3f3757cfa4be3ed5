// Contents that programs here saved, among the changes of this client: which of them programs see, and what the next
// save of a file is made of. A save takes the place of an unsent one only where it holds that one's content.
import { type NodeState, RecentMap } from "@runnel/shared";
import { type Save, isFollowing, isOutstanding } from "../../changes/own-change.ts";
import type { OwnChanges } from "../../changes/own-changes.ts";
import type { ConflictCopy, JournalCommit } from "../../journal/journal.ts";

/** Contents and version that a commit of an open file is over. */
export interface Lineage {
  node: number;
  baseVersion: number;
  /** The unsent content that the program has edited. */
  below: JournalCommit | undefined;
  /** The conflict copy that the edited content has become, and that this becomes with it. */
  copy: ConflictCopy | undefined;
  /** The save on its way whose content the new one has: what becomes of it is not known yet. */
  follows: Save | undefined;
  /** Unsent saves whose content the new one has, but for that one. */
  replaces: Save[];
}

/** A content that programs were shown, and the save that has it now. */
interface Shown {
  record: JournalCommit;
  save: Save;
  /** Order of the save that it was shown for. */
  order: number;
}

/** Says whether a version is that of an unsent content, which only this client shows. */
export function isShownVersion(version: number): boolean {
  return version >= SHOWN_FROM;
}

/** Beginning of the numbers of shown contents, above all versions of servers. */
const SHOWN_FROM = 2 ** 52;
/** Contents that were shown: programs may still have one of the last open. */
const SHOWN_MAX = 10_000;
/** Removed files remembered: a commit of one may be about to be recorded. */
const REMOVED_MAX = 10_000;

export interface SavesAsk {
  /** It is sent in its turn among other changes. */
  isQueued(save: Save): boolean;
  /** A file has a name, as far as is known here. */
  isNamed(node: number): boolean;
}

export class Saves {
  readonly #changes: OwnChanges;
  readonly #shown = new Map<number, Shown>();
  /** Saves of open files. */
  readonly #byFile = new Map<number, Set<Save>>();
  readonly #following = new WeakMap<Save, Set<Save>>();
  /** The last save of an open file that the server has, by whatever attempt. */
  readonly #became = new Map<number, Save>();
  readonly #removed = new RecentMap<number, true>(REMOVED_MAX);
  #shownLast = SHOWN_FROM;
  #orderLast = 0;
  readonly #asks: SavesAsk;

  /** `pending`: what a former process left. */
  constructor(changes: OwnChanges, pending: readonly JournalCommit[], asks: SavesAsk) {
    this.#changes = changes;
    this.#asks = asks;
    const left = { state: "unsent", isAwaited: false, file: 0, follows: undefined } as const;
    const saves = new Map(pending.map((record) => [`${record.instance}/${record.n}`, this.#add(record, left)]));
    for (const save of saves.values()) {
      const { instance, follows } = save.record;
      if (follows !== undefined) this.#follow(save, saves.get(`${instance}/${follows}`));
    }
  }

  /** Begins a save of an open file; it is to be recorded next. */
  begin(recordOf: (n: number) => JournalCommit, file: number, follows?: Save): Save {
    return this.#add(recordOf(this.#changes.nextNumber()), { state: "begun", isAwaited: true, file, follows });
  }

  /** The journal has recorded it, and has ended by that the ones that `lineage` says it replaces. */
  recorded(save: Save, replaces: readonly Save[]): void {
    this.#changes.step(save, "record");
    // A file that got a name meanwhile got it with this one's content.
    for (const change of replaces.flatMap((former) => this.#changes.namedWith(former)))
      if (change.n > save.n) change.content = save;
    if (this.isGone(save.record.node) && !this.#isNamedWith(save)) this.#changes.step(save, "drop");
    this.replaced(save, replaces);
  }

  /** The journal has ended these by the record of another one, which holds their content. */
  replaced(save: Save, replaces: readonly Save[]): void {
    for (const former of replaces.filter(isKept)) {
      for (const shown of this.#shown.values()) if (shown.save === former) shown.save = save;
      this.#leaveFile(former);
      this.#changes.step(former, "drop");
    }
  }

  /** The server has made that version of it. */
  answered(save: Save, { node, version: seq }: { node: number; version: number }): void {
    this.#changes.step(save, "answer");
    save.version = { node, seq };
    if (save.file !== 0) this.#became.set(save.file, save);
  }

  /** An attempt has failed: it waits, unless nobody wants it any more. @returns true when it waits. */
  failed(save: Save, failure: unknown): boolean {
    save.failure = failure;
    return this.#changes.step(save, "fail") === "unsent";
  }

  /** Saves that wait, or are being sent by an attempt that no program waits for; the oldest first. */
  unsent(): Save[] {
    return [...this.#changes.saves()].filter(isUnsent);
  }

  get hasUnsent(): boolean {
    for (const save of this.#changes.saves()) if (isUnsent(save)) return true;
    return false;
  }

  /** Counts the saves that programs wait for: the server does not have their contents yet. */
  countAwaited(): number {
    return [...this.#changes.saves()].filter(isOutstanding).length;
  }

  of(node: number): Save[] {
    return this.#changes.savesOf(node);
  }

  /** Shows an unsent content to programs from here on. */
  show(save: Save): void {
    if (save.shownAs !== 0) return;
    save.shownAs = ++this.#shownLast;
    this.#shown.set(save.shownAs, { record: save.record, save, order: save.order });
    for (const [version, shown] of this.#shown) {
      if (this.#shown.size <= SHOWN_MAX) break;
      if (shown.save.state === "settled") this.#shown.delete(version);
    }
  }

  /**
   * Hides a content that cannot be shown; its file shows the server's version, and a save over that does not hold it.
   */
  hide(save: Save): void {
    save.shownAs = 0;
  }

  /**
   * The unsent content that a file of this epoch shows. Where its state is `current`, only over the version that it was
   * made of: of a file that has another one the server may have had this content, and a later one, before a power cut
   * took from the journal that it did.
   */
  shownOf({ node, version }: Pick<NodeState, "node" | "version">, epoch: string, isCurrent: boolean): Save | undefined {
    const save = this.of(node).findLast(
      ({ shownAs, state, record }) => shownAs !== 0 && state !== "committed" && record.epoch === epoch,
    );
    // A save that waits for its turn comes to the server over whatever is there.
    if (save === undefined || !isCurrent || this.#asks.isQueued(save)) return save;
    return save.record.baseVersion === version ? save : undefined;
  }

  /** Saves that hold the content of one that is on its way. */
  following(save: Save): Save[] {
    return [...(this.#following.get(save) ?? [])].filter(({ state }) => state !== "settled");
  }

  /** It waits for no other save any more, and has another record for that. */
  freed(save: Save): void {
    if (save.follows !== undefined) this.#following.get(save.follows)?.delete(save);
    save.follows = undefined;
    const shown = this.#shown.get(save.shownAs);
    if (shown !== undefined) shown.record = save.record;
  }

  /** Lists the layers of a shown content. */
  layersShown(version: number): JournalCommit["layers"] {
    return this.#shown.get(version)?.record.layers ?? [];
  }

  /** Gives what is saved over a shown content a record of the same content, of fewer layers: the former ones go. */
  joined(version: number, record: JournalCommit): void {
    const shown = this.#shown.get(version);
    if (shown !== undefined) shown.record = record;
  }

  isShown(version: number): boolean {
    const save = this.#shown.get(version)?.save;
    return save?.shownAs === version && isKept(save);
  }

  /** The version as which the content of a file is shown that waits or is on its way, if one is. */
  lastShown(node: number): number | undefined {
    return this.of(node).findLast((save) => save.shownAs !== 0 && isKept(save))?.shownAs;
  }

  /** A commit of an open file. undefined: what it has edited was given up. */
  lineage(file: number, node: number, baseVersion: number): Lineage | undefined {
    const own = file === 0 ? [] : this.#ofFile(file).filter(isKept);
    const shown = this.#shown.get(baseVersion);
    if (shown === undefined && baseVersion >= SHOWN_FROM) return undefined;
    const became = this.#became.get(file);
    // The drive gives what was edited since it was last told of a version: of whichever that was.
    const isShownLater = shown !== undefined && (became === undefined || shown.order > became.order);
    const version = (isShownLater ? shown.save : became)?.version;
    if (version !== undefined)
      return { node: version.node, baseVersion: version.seq, below: undefined, copy: undefined, ...this.#lineOf(own) };
    const last = shown === undefined ? own.at(-1) : shown.save;
    if (last?.state === "settled") return undefined;
    const target = { node: last?.record.node ?? node, baseVersion: shown?.record.baseVersion ?? baseVersion };
    // A program has not seen what another one has made of it since.
    const isSeen = last !== undefined && last.shownAs === baseVersion;
    const held = isSeen && !own.includes(last) ? [...own, last] : own;
    return { ...target, below: shown?.record, copy: last?.record.copy, ...this.#lineOf(held) };
  }

  /** A program here has removed the file. Returns what has been settled by that. */
  removed(node: number): Save[] {
    this.#removed.set(node, true);
    const unwanted = this.of(node).filter((save) => save.state !== "begun" && !this.#isNamedWith(save));
    return unwanted.filter((save) => this.#changes.step(save, "drop") === "settled");
  }

  /** Says whether a file was removed here, and nothing gave it back a name: a refusal, or somebody else. */
  isGone(node: number): boolean {
    return this.#removed.has(node) && !this.#asks.isNamed(node);
  }

  /** Ends what this open file has held. @returns the saves that only that has held: they are to be settled. */
  closed(file: number): Save[] {
    this.#became.delete(file);
    const own = this.#ofFile(file);
    const held = own.filter(isHeld);
    for (const save of own) save.file = 0;
    this.#byFile.delete(file);
    return held;
  }

  /**
   * Divides what a new save has the content of: the one that is being sent is known better once it is answered, and one
   * with which its file got a name is to be there before that name.
   */
  #lineOf(held: readonly Save[]): Pick<Lineage, "follows" | "replaces"> {
    const isOnItsWay = ({ state, sending }: Save): boolean => state === "sent" && sending !== undefined;
    const isToBeThere = (save: Save): boolean => isOnItsWay(save) || this.#isNamedWith(save);
    const follows = held.findLast(isToBeThere) ?? held.findLast(isFollowing)?.follows;
    const before = new Set<Save>();
    for (let each = follows; each !== undefined; each = each.follows) before.add(each);
    return { follows, replaces: held.filter((save) => !before.has(save)) };
  }

  #isNamedWith(save: Save): boolean {
    return this.#changes.namedWith(save).length > 0;
  }

  #follow(save: Save, before: Save | undefined): void {
    save.follows = before;
    if (before !== undefined) this.#following.set(before, (this.#following.get(before) ?? new Set()).add(save));
  }

  #ofFile(file: number): Save[] {
    const own = this.#byFile.get(file);
    for (const save of own ?? []) if (save.state === "settled") own?.delete(save);
    return [...(own ?? [])];
  }

  #leaveFile(save: Save): void {
    this.#byFile.get(save.file)?.delete(save);
    save.file = 0;
  }

  #add(record: JournalCommit, how: Pick<Save, "state" | "isAwaited" | "file" | "follows">): Save {
    const untried = { failure: undefined, sending: undefined, recording: undefined, version: undefined, shownAs: 0 };
    const untold = { request: 0, isToldFailed: false };
    const save = this.#changes.add<Save>({
      n: record.n,
      node: record.node,
      names: [],
      record,
      ...how,
      ...untried,
      ...untold,
      order: ++this.#orderLast,
    });
    this.#follow(save, save.follows);
    if (save.file !== 0) this.#byFile.set(save.file, (this.#byFile.get(save.file) ?? new Set()).add(save));
    return save;
  }
}

/** It waits, or is being sent by an attempt that no program waits for. */
function isUnsent({ state, isAwaited }: Save): boolean {
  return state === "unsent" || (state === "sent" && !isAwaited);
}

/** The journal keeps its content, which the server is not known to have. */
function isKept({ state }: Save): boolean {
  return state === "recorded" || state === "sent" || state === "unwanted" || state === "unsent";
}

/**
 * Returns whether it was sent after its program had got the error, and the open file still has its layers: what the
 * program saves next may be made of them too.
 */
export function isHeld({ state, isToldFailed, file }: Save): boolean {
  return state === "committed" && isToldFailed && file !== 0;
}
