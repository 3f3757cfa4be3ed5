// Commits of contents: a dirty file of the drive becomes a version at the server, through the journal.
import { basename } from "node:path";
import type { Drive, Early } from "@runnel/native/drive";
import type { Clock, NodeState, VersionId } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { Save } from "../../changes/own-change.ts";
import type { OwnChanges } from "../../changes/own-changes.ts";
import type { WriteBack } from "../../changes/write-back.ts";
import type { Cache, CachedContent } from "../../cache/cache.ts";
import { dirtyBytes, type Journal, type JournalCommit } from "../../journal/journal.ts";
import { fullHere } from "../../full-disks.ts";
import type { BaseUsers, Sender, SentContent } from "../../transfer/send-content.ts";
import type { Operations } from "../../wire/operations.ts";
import type { Bases } from "./bases.ts";
import type { Contents } from "../contents.ts";
import type { JoinedLayers, LayerJoins } from "./join-layers.ts";
import type { LikelyBases } from "./likely-bases.ts";
import type { RequestOfOp } from "../request-of-op.ts";
import type { Change, Lineages } from "./lineages.ts";
import type { Lineage, Saves } from "./saves.ts";
import { stackEdit } from "./stack-edit.ts";
import type { Tree } from "../tree.ts";
import type { UnsentSaves } from "./unsent.ts";

export interface CommitsDeps {
  drive: Drive;
  tree: Tree;
  changes: OwnChanges;
  operations: Operations;
  cache: Cache;
  journal: Journal;
  sender: Sender;
  saves: Saves;
  lineages: Lineages;
  bases: Bases;
  unsent: UnsentSaves;
  joins: LayerJoins;
  writeBack: WriteBack;
  clock: Clock;
  epoch(): string;
  contents: Contents;
  likelyBases: Pick<LikelyBases, "of">;
  /** The content that a save made is in the cache. */
  saved(version: VersionId, sizeBytes: number): void;
  log(message: string, error: unknown): void;
}

const NO_OID = new Uint8Array(0);

export class Commits {
  readonly #deps: CommitsDeps;
  readonly #settling = new Map<number, Promise<void>>();
  /** Layers that no record of the journal names, of what could not be recorded or is wanted by nobody, by open file. */
  readonly #unrecorded = new Map<number, Set<string>>();
  #running = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(deps: CommitsDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when the content of a node's last commit is in the cache: whoever opens the node finds it there, and does
   * not begin to bring another one of the same version.
   */
  async settled(node: number): Promise<void> {
    const committed = this.#deps.saves.of(node).filter(({ state }) => state === "committed");
    await Promise.all([this.#settling.get(node), ...committed.map(({ sending }) => sending)]);
  }

  /** Resolves when no commit is under way. */
  async idle(): Promise<void> {
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  async commit(request: RequestOfOp<"commit">): Promise<void> {
    const isDurable = request.reason === "fsync";
    await this.#save(request, isDurable, (result) => this.#deps.drive.committed(request.id, result));
  }

  /**
   * Takes in a content that the drive has answered for: it has its place among other changes in this turn of the loop,
   * and is sent when it is recorded. Resolves then; until then the drive's log has it. @throws as Recordings
   */
  async takeIn(request: RequestOfOp<"commit"> & Early): Promise<void> {
    const { drive, writeBack, tree, saves, lineages, unsent, journal } = this.#deps;
    const change = lineages.asShownHere(request);
    const committed = (result: { version: number }): void => {
      if (change.id !== 0) drive.committed(change.id, result);
    };
    if (change.id !== 0) drive.tookIn(change.id);
    if (this.#isUnwanted(change)) return this.#leave(change, committed);
    const answered = writeBack.answers(tree.real(change.node));
    this.#running++;
    try {
      const lineage = lineages.ofEarly(change);
      const { follows, replaces } = lineage;
      const recordOf = (n: number): JournalCommit => ({
        ...this.#recordOf(lineage, change, n),
        early: change.earlyNumber,
      });
      const save = saves.begin(recordOf, change.file, follows);
      save.request = change.id;
      const records = replaces.map(({ record }) => record);
      save.recording = writeBack.recordings.untilDone(
        () => save.state === "settled" || journal.put(save.record, false, records),
      );
      saves.recorded(save, replaces);
      const kept = unsent.keepInTurn(save);
      const isKept = save.state === "unsent";
      if (isKept) writeBack.add(save);
      writeBack.outbox.replaced(replaces);
      // The drive's log says that it is recorded before the journal says that it is done.
      const recorded = save.recording.then(() => committed({ version: isKept ? save.shownAs : 0 }));
      await Promise.all([recorded, kept]);
    } finally {
      answered[Symbol.dispose]();
      this.#ended();
    }
  }

  #ended(): void {
    this.#running--;
    if (this.#running === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** Answers once all that programs were answered before the server is on stable storage here. */
  async sync(request: RequestOfOp<"sync">): Promise<void> {
    const { writeBack, journal, drive } = this.#deps;
    if (writeBack.isOn) {
      await writeBack.recordings.done();
      await journal.sync();
    }
    drive.done(request.id);
  }

  /** `isDurable`: a program that is answered before the server is so when it is on stable storage here. */
  async #save(change: Change, isDurable: boolean, committed: (result: { version: number }) => void): Promise<void> {
    const { writeBack, tree } = this.#deps;
    const node = tree.real(change.node);
    this.#running++;
    try {
      if (this.#isUnwanted(change)) return this.#leave(change, committed);
      let failure: unknown;
      const begins = async (): Promise<boolean> => {
        if (writeBack.mayBegin([node])) await writeBack.budget.room(dirtyBytes(change));
        return writeBack.begins([node]);
      };
      const mayBegin = await begins().catch((error: unknown) => {
        failure = error;
        return false;
      });
      const isInTurn = mayBegin || failure !== undefined;
      await using joined = isInTurn ? await this.#joinBelow(change) : undefined;
      for (let rest = this.#atRest(change, isInTurn); rest !== undefined; rest = this.#atRest(change, isInTurn))
        await rest;
      using entered = failure === undefined ? writeBack.enter(node, mayBegin) : writeBack.outbox.expect();
      if (entered !== undefined) {
        await this.#saveInTurn(change, { isDurable, joined }, failure === undefined ? committed : undefined);
        // It waits behind a change that cannot be sent, and its program hears of that.
        if (failure !== undefined) throw failure;
        return;
      }
      if (mayBegin) return await this.#save(change, isDurable, committed);
      await this.#saveOver(change, committed);
    } catch (error) {
      // The file may have been removed meanwhile.
      if (!isRunnelError(error) || !this.#isUnwanted(change)) throw error;
      this.#leave(change, committed);
    } finally {
      this.#ended();
    }
  }

  /**
   * Says whether a program here has removed the file that it is a content of. The drive does not hand over what is
   * written to such a one, once it knows.
   */
  #isUnwanted({ file, node, baseVersion }: Change): boolean {
    const { saves, tree } = this.#deps;
    const real = tree.real(node);
    return saves.isGone(saves.lineage(file, real, baseVersion)?.node ?? real);
  }

  /** Answers as any disk does: the program has what it saved as long as the file is open. */
  #leave(change: Change, committed: (result: { version: number }) => void): void {
    this.#keepUnrecorded(change);
    committed({ version: 0 });
  }

  #keepUnrecorded({ file, layers }: Change): void {
    const files = this.#unrecorded.get(file) ?? new Set();
    for (const { path } of layers) files.add(basename(path));
    this.#unrecorded.set(file, files);
  }

  /**
   * Resolves when what it is a change of may be at rest: the content that the last commit made is this one's base, and
   * of an unsent content that is being sent it must be known what becomes of it, unless this one is sent in its turn.
   * @returns undefined when it is. @throws Gone
   */
  #atRest(change: Change, isInTurn: boolean): Promise<unknown> | undefined {
    const { node, replaces } = this.#deps.lineages.of(change, isInTurn);
    const sending = replaces.flatMap((save) => save.sending ?? []);
    const settling = this.#settling.get(node);
    return settling === undefined && sending.length === 0 ? undefined : Promise.all([settling, ...sending]);
  }

  /** Joins layers of what it is an edit of, and is not sent. */
  async #joinBelow(change: Change): Promise<JoinedLayers | undefined> {
    const { below } = this.#deps.lineages.of(change, true);
    return below && this.#deps.joins.join(below, change.baseVersion);
  }

  /** The program has its answer, if any, when the journal has the content, which is sent in its turn. */
  async #saveInTurn(
    change: Change,
    { isDurable, joined }: { isDurable: boolean; joined: JoinedLayers | undefined },
    committed: ((result: { version: number }) => void) | undefined,
  ): Promise<void> {
    const { saves, unsent, writeBack, tree } = this.#deps;
    const known = this.#deps.lineages.of(change, true);
    // It may have been sent meanwhile, or be an edit of what it was sent after.
    const below = joined === undefined || known.below?.layers !== joined.of ? undefined : joined.inPlaceIn(known.below);
    const lineage = below === undefined ? known : { ...known, below };
    let save: Save | undefined;
    try {
      save = saves.begin((n) => this.#recordOf(lineage, change, n), change.file, lineage.follows);
      save.request = change.id;
      save.recording = this.#record(save, lineage, isDurable);
      await save.recording;
    } catch (error) {
      const refusal = tree.refusalOf(lineage.node);
      await this.#failed(change, save, error, refusal);
      throw refusal ?? error;
    }
    if (below !== undefined) {
      saves.joined(change.baseVersion, below);
      joined?.recorded(change.file);
    }
    if (!(await unsent.keepInTurn(save))) return committed?.({ version: 0 });
    save.isToldFailed = committed === undefined && save.file !== 0;
    committed?.({ version: save.shownAs });
    writeBack.add(save);
    writeBack.outbox.replaced(lineage.replaces);
  }

  async #saveOver(change: Change, committed: (result: { version: number }) => void): Promise<void> {
    const { tree, saves } = this.#deps;
    const lineage = this.#deps.lineages.of(change, false);
    let save: Save | undefined;
    let sent: SentContent;
    try {
      save = saves.begin((n) => this.#recordOf(lineage, change, n), change.file);
      save.request = change.id;
      await this.#record(save, lineage, false);
      sent = await this.#send(save, change);
      saves.answered(save, sent.result);
    } catch (error) {
      const refusal = tree.refusalOf(lineage.node);
      await this.#failed(change, save, error, refusal);
      throw refusal ?? error;
    }
    const { result } = sent;
    const settling = this.#settle(change.file, save, sent);
    const nodes = new Set([lineage.node, result.node]);
    for (const node of nodes) this.#settling.set(node, settling);
    committed({ version: result.version });
    await settling;
    for (const node of nodes) if (this.#settling.get(node) === settling) this.#settling.delete(node);
  }

  /**
   * The program gets the error; the bytes wait, whatever the reason, until a later save has them or they can be sent.
   */
  async #failed(change: Change, save: Save | undefined, error: unknown, refusal: unknown): Promise<void> {
    const { changes, unsent } = this.#deps;
    const isRecorded = save !== undefined && save.state !== "begun";
    if (save?.state === "begun") changes.step(save, "settle");
    // The make of the file was refused: what is written to it can go nowhere.
    if (isRecorded && refusal !== undefined) changes.step(save, "drop");
    if (!isRecorded || refusal !== undefined) this.#keepUnrecorded(change);
    if (isRecorded) await unsent.keep(save, error);
  }

  #recordOf({ node, baseVersion, below, copy, follows, replaces }: Lineage, change: Change, n: number): JournalCommit {
    const { tree, journal, bases } = this.#deps;
    const { baseBytes, sizeBytes, mtimeNs, ctimeNs, baseContent } = change;
    const layers = change.layers.map(({ path, extents }) => ({ file: basename(path), extents }));
    const edit = { baseBytes, sizeBytes, mtimeNs, ctimeNs, layers };
    const attributes = attributesOf(tree.known(node)) ?? (below ?? (follows ?? replaces.at(-1))?.record)?.attributes;
    const record: JournalCommit = {
      baseOid: NO_OID,
      baseContent,
      epoch: this.#deps.epoch(),
      ...below,
      baseVersion: copy === undefined ? baseVersion : 0,
      ...(below === undefined ? edit : stackEdit(below, edit)),
      n,
      instance: journal.instance,
      node,
      path: tree.pathOf(copy === undefined ? change.node : node),
      ...(attributes && { attributes }),
    };
    delete record.early;
    delete record.follows;
    if (follows !== undefined) record.follows = follows.n;
    delete record.copy;
    if (copy !== undefined) record.copy = copy;
    if (below === undefined) record.baseOid = bases.find(record)?.oid ?? NO_OID;
    return record;
  }

  /** @throws NoSpace when the journal has no space for it; and what making the file was refused with. */
  async #record(save: Save, { node, replaces }: Lineage, isDurable: boolean): Promise<void> {
    const { tree, journal, saves } = this.#deps;
    const refusal = tree.refusalOf(node);
    if (refusal !== undefined) throw refusal;
    const records = replaces.map(({ record }) => record);
    try {
      await journal.put(save.record, isDurable, records);
    } catch (error) {
      if (!isRunnelError(error, "NoSpace")) throw error;
      throw fullHere("record a save", journal.dataFolder, error);
    }
    saves.recorded(save, replaces);
  }

  async #send(save: Save, { readBefore }: Change): Promise<SentContent> {
    const { changes, tree, journal, sender, unsent, bases, likelyBases, epoch } = this.#deps;
    changes.step(save, "send");
    const { record } = save;
    if (record.epoch !== epoch()) throw new RunnelError("Stale", "commit", "The volume was made anew.");
    if (record.copy !== undefined) await unsent.make(record);
    const making = tree.makingOf(record.node);
    const isNew = record.baseBytes === 0 && bases.find(record) === undefined;
    const guesses = isNew ? likelyBases.of({ ...record, readBefore }) : [];
    try {
      using base = await bases.hold(record);
      const settled = making && { n: making.n, settled: making.made.settled };
      return await sender.send(record, base?.content, { making: settled, guesses });
    } catch (error) {
      await making?.made.settled;
      const node = tree.real(record.node);
      if (making === undefined || node === record.node) throw error;
      // The make met another file under its name, whose content this is to become, by the conflict rule.
      changes.rerecord(save, { ...record, node });
      // The number is this node's for good from here on: after a power cut the record must not say it of the other one.
      await journal.put(save.record, true);
      return sender.send(save.record, undefined);
    }
  }

  /** The drive has closed a file: what it handed over and the journal never recorded is nobody's. */
  async closed(file: number): Promise<void> {
    const files = this.#unrecorded.get(file);
    this.#unrecorded.delete(file);
    const { saves, unsent, writeBack } = this.#deps;
    const held = saves.closed(file);
    writeBack.outbox.pump();
    for (const save of held) {
      await save.sending;
      if (save.state === "committed") await unsent.settle(save);
    }
    if (files !== undefined) await this.#deps.journal.discard([...files]);
  }

  /**
   * The program has its answer: the content goes to the cache, and the drive reads it from there. A program that has
   * the file open reads on from its own layers where that fails.
   */
  async #settle(file: number, save: Save, sent: SentContent): Promise<void> {
    const { unsent, saved } = this.#deps;
    // After `committed`: the drive rebases a file onto a version that it has.
    await Promise.resolve();
    await unsent.finish(save, sent, async () => {
      const { sizeBytes } = save.record;
      if (sizeBytes === 0) return;
      const content = await sent.keep(this.#usersOf(file, sent));
      saved(content.version, sizeBytes);
      this.#readFrom(file, content);
    });
  }

  /** Returns whether the open file, if any, reads from that content now, and not from its layers. */
  #readFrom(file: number, content: CachedContent): boolean {
    const { contents, drive } = this.#deps;
    contents.give(content);
    const isRebased = drive.rebase(file, content.id);
    if (isRebased) contents.rebased(content);
    return isRebased;
  }

  /**
   * Takes into the cache what an attempt has sent that no program waited for. An open file that it came from is told:
   * its layers are that version, and are not sent again.
   */
  async takeSentLater(save: Save, sent: SentContent): Promise<void> {
    const { drive, tree } = this.#deps;
    const { node, version } = sent.result;
    const isElsewhere = node !== tree.real(save.node);
    const isKnown = save.file !== 0 && drive.saved(save.file, save.request, version, isElsewhere);
    const content = await sent.keep();
    // Whoever opens it next does so without asking.
    if (!isKnown && content.sizeBytes > 0) this.#deps.contents.giveSaved(content);
    // An open file goes on over its own layers where its programs' content has become another file.
    if (isKnown && !isElsewhere && save.file !== 0 && this.#readFrom(save.file, content)) save.isToldFailed = false;
  }

  #usersOf(file: number, { result }: SentContent): BaseUsers {
    const { contents } = this.#deps;
    return {
      holdsOf: (content) => contents.holdsOf(content),
      release: (content) => contents.release(content, result.version, file),
    };
  }

  /**
   * A file nobody has open is cut or extended: a commit over its current version, or over what of it could not be sent.
   */
  async truncate(state: NodeState, sizeBytes: number): Promise<void> {
    const { changes, operations, clock, saves, writeBack } = this.#deps;
    const isEarly = await writeBack.begins([state.node]);
    if (!isEarly) operations.mayChange("truncate");
    await this.settled(state.node);
    const nowNs = clock.wallNs();
    const unsent = saves.shownOf(state, this.#deps.epoch(), true);
    if (unsent !== undefined || isEarly) {
      const baseBytes = Math.min(unsent?.record.sizeBytes ?? state.sizeBytes, sizeBytes);
      const times = { mtimeNs: nowNs, ctimeNs: nowNs };
      const over = {
        id: 0,
        file: 0,
        node: state.node,
        baseVersion: unsent?.shownAs ?? state.version,
        baseContent: 0,
        layers: [],
        readBefore: 0,
      };
      await this.#save({ ...over, ...times, baseBytes, sizeBytes }, false, () => undefined);
      return;
    }
    const change = changes.begin();
    try {
      const sent = await this.#sendCut(state, sizeBytes, change.n);
      try {
        if (sizeBytes > 0) await sent.keep(this.#usersOf(0, sent));
      } finally {
        await sent.release();
      }
    } finally {
      changes.step(change, "settle");
    }
  }

  /**
   * Sends the content of a file's current version at another length. The hold ends with it: whoever keeps what was sent
   * may write to where the base lies.
   */
  async #sendCut({ node, version, sizeBytes: before }: NodeState, sizeBytes: number, n: number): Promise<SentContent> {
    const { cache, journal, clock, tree, sender, epoch } = this.#deps;
    const nowNs = clock.wallNs();
    using hold = before === 0 ? undefined : await cache.create({ node, seq: version }, before);
    const base = hold?.content;
    const record: JournalCommit = {
      n,
      instance: journal.instance,
      epoch: epoch(),
      node,
      path: tree.pathOf(node),
      baseVersion: version,
      baseOid: base?.oid ?? NO_OID,
      baseBytes: Math.min(before, sizeBytes),
      sizeBytes,
      mtimeNs: nowNs,
      ctimeNs: nowNs,
      layers: [],
      baseContent: base?.id ?? 0,
    };
    return await sender.send(record, base);
  }
}

function attributesOf(state: NodeState | undefined): JournalCommit["attributes"] {
  return state && { mode: state.mode, uid: state.uid, gid: state.gid };
}
