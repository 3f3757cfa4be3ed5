// Saves that could not be sent: kept in the journal, sent again when the server is back, each executed once, until a
// person gives them up. What was changed elsewhere meanwhile, or belongs to another epoch, becomes a conflict copy: an
// overwrite must be certain.
import { posix } from "node:path";
import type { Clock, Timer } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import { type Save, isFollowing } from "../../changes/own-change.ts";
import type { OwnChanges } from "../../changes/own-changes.ts";
import type { InTurn } from "../../changes/write-back.ts";
import type { Journal, JournalCommit } from "../../journal/journal.ts";
import type { Sender, SentContent } from "../../transfer/send-content.ts";
import type { Session } from "../../wire/session.ts";
import type { Bases } from "./bases.ts";
import type { ConflictCopies } from "./conflict-copies.ts";
import { DroppedNames, type DroppedNamesDeps } from "./dropped-names.ts";
import { type Saves, isHeld } from "./saves.ts";
import type { Tree } from "../tree.ts";
import type { UnsentContents } from "./unsent-contents.ts";
import { type UnsentItem, isPassing, itemOf, nameOf, wordsOf } from "./unsent-item.ts";

export interface UnsentDeps extends DroppedNamesDeps {
  tree: Tree;
  changes: OwnChanges;
  session: Session;
  journal: Journal;
  sender: Sender;
  saves: Saves;
  bases: Bases;
  copies: ConflictCopies;
  contents: UnsentContents;
  /** Says what pause it waits for, if any. */
  whyHeld(save: Save): string | undefined;
  clock: Clock;
  epoch(): string;
  /** It is sent in its turn among other changes. */
  isQueued(save: Save): boolean;
  /** Takes into the cache what an attempt has sent that no program waited for. */
  takeSent(save: Save, sent: SentContent): Promise<void>;
  /** A content was not saved at the first attempt. */
  unsaved(path: string, failure: unknown): void;
  problem(sentence: string): void;
  log(message: string, error: unknown): void;
}

/** Interval at which what a connected server refused is tried again: it may have space by then. */
const AGAIN_MS = 30_000;
const NO_OID = new Uint8Array(0);
/** Names tried for a copy in one attempt. */
const PLANS_MAX = 5;
/** Files named one by one; more are counted. */
const NAMED_MAX = 10;

export class UnsentSaves {
  readonly #deps: UnsentDeps;
  readonly #droppedNames: DroppedNames;
  /** Contents whose bytes are not, or may not be, what was written; never sent. */
  readonly #damaged: { record: JournalCommit; sentence: string }[];
  #replaying: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(deps: UnsentDeps) {
    this.#deps = deps;
    this.#droppedNames = new DroppedNames(deps);
    const { journal } = deps;
    if (journal.tornBytes > 0)
      deps.problem(
        `The journal's last ${journal.tornBytes} bytes were torn and are cut: of a change that no program was told is kept.`,
      );
    this.#damaged = journal.unverified().map((record) => ({
      record,
      sentence: `The last change to ${record.path} may not have survived the power cut; its bytes are kept in ${journal.dataFolder}.`,
    }));
  }

  list(): JournalCommit[] {
    return this.#deps.saves.unsent().map(({ record }) => record);
  }

  get isEmpty(): boolean {
    return !this.#deps.saves.hasUnsent;
  }

  /** Lists all that waits, and what will not be sent. */
  items(): UnsentItem[] {
    const { saves, whyHeld } = this.#deps;
    const waiting = saves.unsent().map((save) => itemOf(save, whyHeld(save)));
    return [
      ...waiting,
      ...this.#damaged.map(({ record, sentence }) => ({ record, reason: sentence, isHeld: false, isStuck: true })),
    ];
  }

  /** A sentence for each that waits and says why, and for what cannot be sent at all. */
  problems(): string[] {
    // A pause is no problem.
    const { saves, whyHeld, session } = this.#deps;
    const isWanted = (save: Save): boolean =>
      isRunnelError(save.failure, "Unreachable") && (session.isSuspended || whyHeld(save) !== undefined);
    const known = saves.unsent().filter((save) => save.failure !== undefined && !isWanted(save));
    const named = known
      .slice(0, NAMED_MAX)
      .map(
        ({ record, failure }) =>
          `${nameOf(record)} is not saved on the server: ${wordsOf(failure)} Its last content is kept here and sent when that is possible.`,
      );
    if (known.length > NAMED_MAX) named.push(`${known.length - NAMED_MAX} more files are not saved on the server.`);
    return [...this.#damaged.map(({ sentence }) => sentence), ...named];
  }

  /** The first attempt of a save failed: it waits here, unless a program here has removed the file meanwhile. */
  async keep(save: Save, failure: unknown): Promise<void> {
    const { saves, contents } = this.#deps;
    if (isBaseLost(failure)) await this.#unmake(save);
    save.isToldFailed = save.file !== 0;
    if (!saves.failed(save, failure)) return this.#end(save.record);
    saves.show(save);
    contents.shown(save);
    this.#deps.unsaved(nameOf(save.record), failure);
    this.#arm();
  }

  /** A recorded save waits for its turn, and is shown meanwhile. @returns false when nobody wants it any more. */
  async keepInTurn(save: Save): Promise<boolean> {
    const { saves, contents } = this.#deps;
    if (!saves.failed(save, undefined)) {
      await this.#end(save.record);
      return false;
    }
    saves.show(save);
    contents.shown(save);
    return true;
  }

  /** A program here has removed the file. */
  async removed(node: number): Promise<void> {
    const { saves, contents } = this.#deps;
    for (const { record } of saves.removed(node)) await this.#end(record);
    contents.clean(node);
  }

  /** Gives up what could not be sent of files at or below a path that lost their name when a person removed that. */
  async removedBelow(path: string): Promise<void> {
    const { saves, tree } = this.#deps;
    for (const { record } of saves.unsent()) {
      const isBelow = record.path === path || record.path.startsWith(`${path}/`);
      if (isBelow && !tree.isNamed(record.node)) await this.removed(record.node);
    }
  }

  /**
   * A person gives it up. @throws Busy while it is being sent, or a program has it open.
   */
  async discard(record: JournalCommit): Promise<void> {
    const { changes, saves, contents, copies, log } = this.#deps;
    const save = saves.unsent().find((each) => isSame(each.record, record));
    if (save !== undefined) {
      if (save.state !== "unsent") throw busy(record, "it is being sent just now");
      if (save.file !== 0 || !contents.release(save)) throw busy(record, "a program has it open");
      changes.step(save, "drop");
      await this.#droppedNames.of(save);
      contents.changed(record.node);
      await copies.unmake(record).catch((error: unknown) => log("An empty copy could not be removed.", error));
    }
    const index = this.#damaged.findIndex((each) => isSame(each.record, record));
    if (index >= 0) this.#damaged.splice(index, 1);
    await this.#deps.journal.done(record.instance, record.n);
  }

  /**
   * Makes the file that a content is kept in, under the name that was chosen for it. @throws Exists when that has been
   * taken.
   */
  async make(record: JournalCommit): Promise<void> {
    if (!(await this.#deps.copies.make(record)))
      throw new RunnelError("Exists", "commit", "The name of the conflict copy has been taken.");
  }

  /** Makes an attempt in its turn among other changes. */
  async sendInTurn(save: Save, { making, isCertain, turn }: InTurn): Promise<void> {
    await save.recording?.catch(() => undefined);
    if (save.state !== "unsent") return;
    const wasTried = save.failure !== undefined;
    save.sending = this.#attempt(save, async () => {
      if (isCertain) {
        const sent = await this.#sendCertain(save, { making, wasTried, turn });
        if (sent !== undefined) return sent;
      }
      await (making ?? this.#deps.tree.makingOf(save.record.node)?.made)?.settled;
      if (this.#deps.changes.isToBeMade(save.record.node)) throw notMade(save.record);
      return this.#send(save);
    }).finally(() => (save.sending = undefined));
    await save.sending;
    this.#arm();
  }

  /** Sends what waits, oldest first. Called when attached. */
  async replay(): Promise<void> {
    this.#replaying ??= this.#replayAll().finally(() => {
      this.#replaying = undefined;
    });
    await this.#replaying;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer?.cancel();
    if (this.#isClosed || this.isEmpty) return;
    this.#timer = this.#deps.clock.after(AGAIN_MS, () => {
      this.replay().catch((error: unknown) => this.#deps.log("Unsent changes could not be sent.", error));
    });
  }

  async #replayAll(): Promise<void> {
    const { saves, session, whyHeld } = this.#deps;
    for (const save of saves.unsent()) {
      if (!session.isResponsive || this.#isClosed) break;
      if (save.state !== "unsent" || this.#deps.isQueued(save) || isFollowing(save)) continue;
      if (whyHeld(save) !== undefined) continue;
      save.sending = this.#attempt(save, () => this.#send(save)).finally(() => (save.sending = undefined));
      await save.sending;
      if (save.state === "unsent" && isRunnelError(save.failure, "Unreachable")) break;
    }
    this.#arm();
  }

  /** Makes one attempt; what it fails with is the save's. */
  async #attempt(save: Save, send: () => Promise<SentContent>): Promise<void> {
    const { changes, saves, contents, journal } = this.#deps;
    const { node } = save.record;
    changes.step(save, "send");
    let sent: SentContent;
    try {
      if (!(await journal.verify(save.record))) return this.#damage(save);
      sent = await send();
      saves.answered(save, sent.result);
    } catch (failure) {
      // Without the version below it nobody can be shown the whole.
      if (isBaseLost(failure)) {
        saves.hide(save);
        await this.#unmake(save);
      }
      if (!saves.failed(save, failure)) await this.#end(save.record);
      else if (!isPassing(failure)) await this.#replaceByNext(save);
      for (const each of new Set([node, save.record.node])) contents.changed(each);
      return;
    }
    const { record } = save;
    this.#report(record);
    await this.finish(save, sent, () => this.#deps.takeSent(save, sent));
    for (const each of new Set([node, record.node, sent.result.node])) contents.changed(each);
  }

  /**
   * Takes what is committed into the cache by `keep`, and settles it, unless an open file has its layers still.
   * Whatever fails, it is saved.
   */
  async finish(save: Save, sent: SentContent, keep: () => Promise<unknown>): Promise<void> {
    const { log } = this.#deps;
    try {
      await keep();
    } catch (error) {
      // Only what should make the next read cheap is missing.
      log("A committed content could not be kept in the cache.", error);
    }
    const isRebased = await this.#rebaseNext(save);
    if (isRebased && !isHeld(save)) await this.settle(save);
    await sent.release().catch((error: unknown) => log("What was sent could not be closed.", error));
  }

  /**
   * Makes saves that hold the content of one that is committed edits of its version [F193]. @returns false when that
   * could not be recorded: the committed one is settled by its number at the next start, and they are rebased then.
   */
  async #rebaseNext(save: Save): Promise<boolean> {
    const { saves, changes, bases, journal, log } = this.#deps;
    const { version } = save;
    if (version === undefined) return true;
    let isRecorded = true;
    await this.#droppedNames.unlessIn(version.node, save, save);
    await this.#eachNext(save, async (next) => {
      // Names that its file may have got with it since that one became a copy.
      await this.#droppedNames.unlessIn(version.node, next, save);
      const { follows: _, ...record } = { ...next.record, node: version.node, baseVersion: version.seq };
      changes.rerecord(next, { ...record, baseOid: bases.find(record)?.oid ?? NO_OID });
      saves.freed(next);
      await journal.put(next.record, true).catch((error: unknown) => {
        isRecorded = false;
        log("What was saved after a content could not be recorded as an edit of it.", error);
      });
    });
    return isRecorded;
  }

  /** Lets saves that hold the content of one that was refused take its place. */
  async #replaceByNext(save: Save): Promise<void> {
    const { saves, changes, journal, log } = this.#deps;
    const { node, path, baseVersion, copy } = save.record;
    const own = copy === undefined ? {} : { node, path, baseVersion, copy };
    if (saves.following(save).length > 0) await this.#droppedNames.of(save);
    await this.#eachNext(save, async (next) => {
      if (copy !== undefined) await this.#droppedNames.ofCopy(next);
      const { follows: _, ...record } = { ...next.record, ...own };
      try {
        await journal.put(record, true, [save.record]);
      } catch (error) {
        log("What was saved after a refused content could not be recorded in its place.", error);
        return;
      }
      changes.rerecord(next, record);
      saves.freed(next);
      saves.replaced(next, [save]);
    });
  }

  /** Has each save that holds the content of one recorded anew by `record`, while nothing is saved over it. */
  async #eachNext(save: Save, record: (next: Save) => Promise<void>): Promise<void> {
    const { saves } = this.#deps;
    const done = new Set<Save>();
    for (;;) {
      const next = saves.following(save).find((each) => !done.has(each));
      if (next === undefined) return;
      await next.recording?.catch(() => undefined);
      // Another one may have taken its place meanwhile.
      if (next.state === "settled") continue;
      done.add(next);
      next.sending = record(next).finally(() => (next.sending = undefined));
      await next.sending;
    }
  }

  /** Settles a save that is committed, once no open file has its layers any more. */
  async settle(save: Save): Promise<void> {
    this.#deps.changes.step(save, "settle");
    await this.#end(save.record);
  }

  #report({ copy, path }: JournalCommit): void {
    if (copy !== undefined && path !== copy.of)
      this.#deps.problem(
        `${copy.of} was changed elsewhere while it waited to be sent; this version is kept as ${posix.basename(path)}.`,
      );
  }

  /** Exactly once by its number; when the file has changed meanwhile, or the epoch, it becomes a copy. */
  async #send(save: Save): Promise<SentContent> {
    const { journal, epoch } = this.#deps;
    await this.#rebind(save);
    const isOfHere = save.record.epoch === epoch() && save.record.instance === journal.instance;
    if (isOfHere && save.record.copy === undefined) {
      try {
        return await this.#sendAsEdit(save.record);
      } catch (error) {
        if (!isRunnelError(error, "Stale", "NotFound") || (await this.#isCurrent(save.record))) throw error;
      }
    }
    if (!isOfHere || save.record.copy === undefined) await this.#plan(save);
    // No file is made for what is not there to be put in.
    if (isBaseLost(save.failure)) await this.#bringBase(save.record);
    // Somebody may take a name between its choice and its making.
    for (let count = 1; !(await this.#deps.copies.make(save.record)); count++) {
      if (count === PLANS_MAX) throw new RunnelError("Exists", "replay", "No name was free for the conflict copy.");
      await this.#plan(save);
    }
    return this.#sendOver(save.record, () => true);
  }

  /** Over its base, whatever is there: that is of this client. @returns undefined when it has another place now. */
  async #sendCertain(
    save: Save,
    { making, wasTried, turn }: Pick<InTurn, "making" | "turn"> & { wasTried: boolean },
  ): Promise<SentContent | undefined> {
    const { journal, epoch, bases, sender } = this.#deps;
    const { record } = save;
    const isOfHere = record.epoch === epoch() && record.instance === journal.instance && record.copy === undefined;
    if (!isOfHere) return undefined;
    try {
      using base = await bases.hold(record);
      const again = wasTried ? { mayStart: () => true } : {};
      return await sender.send(record, base?.content, { making, turn, ...again });
    } catch (error) {
      if (!isRunnelError(error, "Stale", "NotFound", "Exists")) throw error;
      return undefined;
    }
  }

  /** The make of its file met another one under its name, whose content it is to become. */
  async #rebind(save: Save): Promise<void> {
    const { tree, changes, journal } = this.#deps;
    const node = tree.real(save.record.node);
    if (node === save.record.node) return;
    changes.rerecord(save, { ...save.record, node });
    // The number is this node's for good from here on: after a power cut the record must not say it of the other one.
    await journal.put(save.record, true);
  }

  async #plan(save: Save): Promise<void> {
    const { changes, copies, contents, journal } = this.#deps;
    const { node } = save.record;
    // First: after a kill nobody would know any more with which content a file got a name.
    await this.#droppedNames.ofCopy(save);
    await copies.plan(save.record, (planned) => changes.rerecord(save, planned));
    await this.#eachNext(save, async (next) => {
      changes.rerecord(next, { ...next.record, follows: save.n });
      await journal.put(next.record, true);
    });
    contents.changed(node);
  }

  async #sendAsEdit(record: JournalCommit): Promise<SentContent> {
    const isCurrent = await this.#isCurrent(record);
    return this.#sendOver(record, () => isCurrent);
  }

  /** The server says so: what it does not answer proves nothing. */
  async #isCurrent(record: JournalCommit): Promise<boolean> {
    const state = await this.#deps.tree.asked(record.node);
    return state !== undefined && state.nlink > 0 && state.version === record.baseVersion;
  }

  async #sendOver(record: JournalCommit, mayStart: () => boolean): Promise<SentContent> {
    const { bases, sender } = this.#deps;
    using base = await bases.hold(record);
    return await sender.send(record, base?.content, { mayStart });
  }

  async #bringBase(record: JournalCommit): Promise<void> {
    const { bases, sender } = this.#deps;
    using base = await bases.hold(record);
    await sender.bringBase(record, base?.content);
  }

  /** The file that was made for it stays empty: it goes, and the next attempt is another one. */
  async #unmake(save: Save): Promise<void> {
    const { copies, log } = this.#deps;
    const { record } = save;
    try {
      if (!(await copies.isMade(record))) return;
      // First: what is sent to a file that this client has removed is committed and seen by nobody.
      await this.#plan(save);
      await copies.unmake(record);
    } catch (error) {
      log("An empty copy could not be removed.", error);
    }
  }

  /** Marks a save whose bytes have rotted: they are never sent as what was written. */
  #damage(save: Save): void {
    const { changes, saves, contents, journal, log } = this.#deps;
    const { record } = save;
    const sentence = `Damaged on this computer's disk: the unsent change to ${record.path}. It is not sent; its bytes are kept in ${journal.dataFolder}.`;
    this.#damaged.push({ record, sentence });
    log(sentence, undefined);
    const failure = new RunnelError("Corrupt", "replay", sentence);
    if (saves.failed(save, failure)) changes.step(save, "drop");
    contents.changed(record.node);
  }

  /**
   * Ends it in the journal: nobody needs it any more. Where that fails it is settled by its number at the next start.
   */
  async #end(record: JournalCommit): Promise<void> {
    const { journal, log } = this.#deps;
    await journal
      .done(record.instance, record.n)
      .catch((error: unknown) => log("A save that is done could not be ended in the journal.", error));
  }
}

function notMade(record: JournalCommit): RunnelError {
  return new RunnelError("Unreachable", "send", `${nameOf(record)} is not made on the server yet.`);
}

/** The server no longer has what was edited. */
function isBaseLost(failure: unknown): boolean {
  return isRunnelError(failure, "Gone", "Lost");
}

function isSame(one: JournalCommit, other: JournalCommit): boolean {
  return one.instance === other.instance && one.n === other.n;
}

function busy(record: JournalCommit, why: string): RunnelError {
  return new RunnelError("Busy", "discard", `${nameOf(record)} is not discarded: ${why}. Try again later.`);
}
