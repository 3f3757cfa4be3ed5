// Answers programs before the server has what they changed: in mode async, while this client has a write lease there,
// or no line. Each change is planned over the tree as programs see it, recorded in the journal, shown, and sent in its
// turn.
import type { Early } from "@runnel/native/drive";
import type { Change, Clock } from "@runnel/shared";
import { ROOT_NODE, RunnelError, isRunnelError } from "@runnel/shared";
import { type TreeOperation, type TreeOperationOf, planOperation } from "@runnel/shared/tree";
import type { Journal, JournalOperation } from "../journal/journal.ts";
import { nodesIn, withNodes } from "../journal/operation-nodes.ts";
import type { Operations } from "../wire/operations.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Session } from "../wire/session.ts";
import { asAsked, asSeen } from "./as-asked.ts";
import { Certainty } from "./certainty.ts";
import { EarlyAnswers, type EarlyAnswersDeps } from "./early-answers.ts";
import { Coverage, changedBy, coveredBy } from "./coverage.ts";
import { Outbox, isGivenUp } from "./outbox.ts";
import { UnsentBudget, type UnsentBudgetDeps } from "./unsent-budget.ts";
import type { Queued, Save, TreeChange } from "./own-change.ts";
import type { OwnChanges } from "./own-changes.ts";
import type { PendingTree } from "./pending-tree.ts";
import { HiddenChanges } from "./hidden-changes.ts";
import { Recordings } from "./recordings.ts";
import { givesName, isOnlyContentOf, xattrOf } from "./recorded-changes.ts";
import { hasNoContent } from "./refusal.ts";
import type { Making } from "../transfer/send-content.ts";
import type { Turn } from "../transfer/upload.ts";

/** Circumstances of an attempt at a content in its turn among other changes. */
export interface InTurn {
  /** The change that makes its file, where that is not answered yet. */
  making: Making | undefined;
  /** Says that nobody else can have changed its file since it was recorded. */
  isCertain: boolean;
  turn: Turn;
}

export interface WriteBackDeps
  extends Pick<UnsentBudgetDeps, "settings" | "data">, Pick<EarlyAnswersDeps, "drive" | "earlyLog" | "isOwnerShown"> {
  /** Programs are answered so: mode async. */
  isOn: boolean;
  clock: Clock;
  session: Session;
  operations: Operations;
  changes: OwnChanges;
  pauses: Passages;
  journal: Journal;
  pending: PendingTree;
  epoch(): string;
  /** Makes one attempt at a content. `isCertain`: nobody else can have changed its file meanwhile. */
  sendSave(save: Save, how: InTurn): Promise<void>;
  /** The server has made a folder, or has one of the name, which the node stands for from now on. */
  madeFolder(made: TreeOperationOf<"make">, real: number, seq: number): void;
  /** The server's id for a node. */
  real(node: number): number;
  /** A change came to something else than programs were shown, or is shown to them only now. */
  ended(change: Change): void;
  /** Nothing came of a change that programs were shown. @returns the node that the one it was to make stands for. */
  refused(change: TreeChange, error: RunnelError): number | undefined;
  pathOf(operation: TreeOperation): string;
  /** Resolves when what a folder holds is known here. @throws Unreachable, and what the server says of it. */
  list(folder: number): Promise<unknown>;
  /** Called when a program is answered though somebody else may have changed something: there is no line. */
  answersOffline(): void;
  log(message: string, error: unknown): void;
}

/** The most that the drive may have answered of contents and this side has not taken in, with a margin. */
const EARLY_BYTES_MAX = 128 * 1024 ** 2;

export class WriteBack {
  readonly #deps: WriteBackDeps;
  readonly outbox: Outbox;
  readonly budget: UnsentBudget;
  readonly early: EarlyAnswers;
  readonly recordings: Recordings;
  readonly #coverage: Coverage;
  readonly #certainty: Certainty;
  /** Recalls that are being served. */
  readonly #recalls = new Set<symbol>();
  readonly #hidden: HiddenChanges;

  constructor(deps: WriteBackDeps) {
    this.#deps = deps;
    this.early = new EarlyAnswers(deps);
    this.recordings = new Recordings(deps);
    this.#hidden = new HiddenChanges(deps, (record) => this.#plan(record));
    const { session } = deps;
    this.#coverage = new Coverage(() => session.writeLeases.held, deps.pending);
    this.#certainty = new Certainty({
      highest: () => deps.changes.highest,
      hasLease: () => session.hasLease,
      hasWriteLease: () => session.writeLeases.held.size > 0,
      isOwn: (change) => this.#isOwn(change),
    });
    this.outbox = new Outbox({
      clock: deps.clock,
      isConnected: () => deps.session.isConnected,
      isPaused: ({ record }) =>
        deps.pauses.isPaused("operation" in record ? nodesIn(record.operation) : [record.node], record.path),
      sendChange: (change, after) => this.#send(change, after),
      lacksRoom: () => this.budget.isAwaited,
      isCertain: ({ n }) => this.#certainty.isCertain(n),
      sendSave: (save, making, turn) =>
        deps.sendSave(save, { making, isCertain: this.#certainty.isCertain(save.n), turn }),
      lessened: () => this.budget.changed(),
      lacksSpace: (error) => this.budget.fail(error),
      refused: (change, error) => this.#refused(change, error),
    });
    this.budget = new UnsentBudget({
      ...deps,
      usedBytes: () => this.outbox.bytes,
      isConnected: () => deps.session.isResponsive,
      isHeld: () => this.outbox.isIdle,
      awaited: () => this.outbox.pump(),
    });
  }

  get isOn(): boolean {
    return this.#deps.isOn;
  }

  /** A program asks for something. */
  programAsks(): void {
    this.outbox.programAsks();
    const isFree = this.isOn && this.#recalls.size === 0 && this.#hidden.isEmpty;
    this.early.renew(isFree && this.budget.hasRoom(EARLY_BYTES_MAX));
  }

  /** Says whether nobody else can change anything of these nodes now. */
  isExclusive(nodes: readonly number[]): boolean {
    return this.#deps.session.isResponsive && this.#coverage.covers(nodes);
  }

  /**
   * Says whether programs are answered before the server now that change something of these nodes. When not, what was
   * to be sent before has been, so that what follows comes after it. @throws ReadOnly when they are paused, and may not
   * wait here.
   */
  async begins(nodes: readonly number[]): Promise<boolean> {
    const { session, changes, pauses } = this.#deps;
    if (pauses.isPaused(nodes)) {
      if (!this.isOn) this.mustGo("change", nodes);
      await changes.idle();
      return this.mayBegin(nodes);
    }
    const mayAsk = this.isOn && session.isResponsive && !session.mayOnlyRead && this.#recalls.size === 0;
    if (mayAsk && !this.mayBegin(nodes)) await this.#acquire(nodes);
    if (this.mayBegin(nodes)) await changes.idle((change) => this.#coverage.concerns(change));
    else await this.sent();
    return this.mayBegin(nodes);
  }

  /**
   * Asks for what covers these nodes. While something uncertain is to be sent that is the root, which makes certain
   * what nobody else has changed: who has a part only would wait for others with it, and they for that part.
   */
  async #acquire(nodes: readonly number[]): Promise<void> {
    const { session } = this.#deps;
    const areCertain = this.outbox.isIdle || !this.outbox.some(({ n }) => this.#certainty.isUncertain(n));
    for (const node of nodes) {
      const isCovered = (): boolean => this.#coverage.covers([node]);
      const folder = areCertain ? this.#coverage.folderOf(node) : ROOT_NODE;
      if (folder !== undefined && !isCovered()) await session.writeLeases.acquire(folder, isCovered);
    }
  }

  /** @throws ReadOnly when these nodes are paused: what is done to them is for the server to answer. */
  mustGo(operation: string, nodes: readonly number[]): void {
    const why = this.#deps.pauses.why(nodes);
    if (why !== undefined) throw new RunnelError("ReadOnly", operation, why);
  }

  /** Programs may be answered before the server now that change something of these nodes; `covered`: by a lease. */
  mayBegin(nodes: readonly number[], covered = nodes): boolean {
    const { session, pauses } = this.#deps;
    if (!this.isOn || session.mayOnlyRead) return false;
    if (pauses.isPaused(nodes)) return true;
    return session.isResponsive ? this.#coverage.covers(covered) : this.#recalls.size === 0;
  }

  /**
   * Plans a change and shows it, in this turn of the loop; `recorded` resolves when it is in the journal. @returns
   * undefined when programs are not answered before the server any more: it is to be begun again. @throws what the
   * rules of the tree refuse.
   */
  change(
    operationAt: (timeNs: bigint) => TreeOperation,
  ): { change: Change | undefined; recorded: Promise<void> } | undefined {
    const { clock, journal, pending, pathOf } = this.#deps;
    const timeNs = clock.wallNs();
    const asked = operationAt(timeNs);
    const places = coveredBy(asked);
    if (!this.mayBegin(nodesIn(asked), places)) return undefined;
    const arePlacesCovered = this.#begun(places);
    const operation = asSeen(asked, this.#deps);
    const { change } = planOperation(pending.rows(journal.instance), operation, timeNs, journal.instance);
    const covered = [...places, ...changedBy(asked, change)];
    if (!this.mayBegin(nodesIn(asked), covered)) return undefined;
    const isCovered = arePlacesCovered && this.#begun(covered);
    if (change === undefined) return { change, recorded: Promise.resolve() };
    const path = pathOf(operation);
    const n = this.#deps.changes.nextNumber();
    if (!isCovered) this.#certainty.madeWithout(n);
    const record: JournalOperation = {
      n,
      instance: journal.instance,
      epoch: this.#deps.epoch(),
      timeNs,
      operation,
      path,
    };
    const own = this.#begin(record, change);
    return { change, recorded: this.#record(own, this.outbox.expect()) };
  }

  /**
   * Takes in a change that a program has been answered before this side heard of it, in this turn of the loop. What the
   * rules of the tree refuse by now is sent all the same: the server says what is in the way. `recorded` resolves when
   * it is in the journal.
   */
  takeIn(
    asked: TreeOperation,
    { answeredNs: timeNs, earlyNumber: early }: Early,
  ): { change: Change | undefined; recorded: Promise<void> } {
    const { journal, changes, pathOf, epoch } = this.#deps;
    const isCovered = this.#taken(coveredBy(asked));
    const operation = asSeen(asked, this.#deps);
    const n = changes.nextNumber();
    if (!isCovered) this.#certainty.madeWithout(n);
    const record = { n, instance: journal.instance, epoch: epoch(), timeNs, operation, path: pathOf(operation), early };
    const planned = this.#plan(record);
    const change = planned === "unknown" ? undefined : planned;
    return { change, recorded: this.#recordAtLast(this.#begin(record, change), this.outbox.expect()) };
  }

  /**
   * Records what has been answered already: without space it is sent meanwhile. @throws as Recordings
   */
  async #recordAtLast(own: TreeChange, expected: Disposable): Promise<void> {
    const { changes, journal } = this.#deps;
    changes.step(own, "record");
    this.outbox.add(own);
    expected[Symbol.dispose]();
    await this.recordings.untilDone(() => own.state === "settled" || journal.putOperation(own.record));
  }

  /** The drive ends: what cannot be recorded is left in its log. */
  ends(): void {
    this.recordings.end();
    this.early.stop();
  }

  /**
   * Begins to answer for a content of a node, which is added next; ends with the disposal. @returns undefined when
   * programs are not answered before the server any more.
   */
  enter(node: number, mayBegin = true): Disposable | undefined {
    return mayBegin && this.mayBegin([node]) ? this.#expect(this.#begun([node])) : undefined;
  }

  /** The same for a content for which a program has been answered already. */
  answers(node: number): Disposable {
    return this.#expect(this.#taken([node]));
  }

  #expect(isCovered: boolean): Disposable {
    const expected = this.outbox.expect();
    return isCovered ? expected : this.#certainty.recording(expected);
  }

  /** The same as `#begun` of what was answered under a lease, which may be over by now. */
  #taken(nodes: readonly number[]): boolean {
    return this.#coverage.covers(nodes) || this.#certainty.uncovered();
  }

  /** @returns false when the number of what is begun is to be told, since no lease covers it beside those held. */
  #begun(nodes: readonly number[]): boolean {
    if (this.#coverage.covers(nodes)) return true;
    this.#deps.answersOffline();
    return this.#certainty.uncovered();
  }

  /**
   * Resolves when all has been sent but for what is paused, for what goes to the server by itself. @throws Unreachable
   */
  async sent(): Promise<void> {
    if (!this.outbox.isIdle)
      await this.#deps.session.withRequestTimeout(
        this.#sent(() => true),
        "send changes",
      );
  }

  /** Work of programs where a lease is held is not waited for if it comes later. */
  #sent(isMeant: (queued: Queued) => boolean): Promise<void> {
    const isAll = this.#deps.session.writeLeases.held.size === 0;
    return isAll ? this.outbox.idle() : this.outbox.sent(isMeant);
  }

  /** Lays what a former process left over the tree again, and sends it with the contents that it left. */
  restore(saves: readonly Save[]): void {
    const { changes, journal } = this.#deps;
    const operations = journal.operations();
    if (!this.isOn && operations.length === 0) return;
    const damaged = journal.unverified();
    const left: (Save | TreeChange)[] = [...saves];
    for (const record of operations) {
      const lost = damaged.find((commit) => isOnlyContentOf(record, commit));
      const change = lost === undefined ? this.#plan(record) : undefined;
      const own = this.#begin(record, change === "unknown" ? undefined : change);
      changes.step(own, "record");
      if (lost !== undefined) {
        changes.step(own, "fail");
        void this.#refused(own, hasNoContent(lost));
        continue;
      }
      if (change === "unknown") this.#hidden.add(own);
      left.push(own);
    }
    for (const { n } of left) this.#certainty.madeWithout(n);
    this.outbox.add(...left.toSorted((one, other) => one.n - other.n));
  }

  /** Shows what `restore` could not, where there is a line. */
  show(): Promise<void> {
    return this.#hidden.show();
  }

  /** Plans what a former process left. @returns undefined when there is nothing to show of it. */
  #plan(record: JournalOperation): Change | "unknown" | undefined {
    const { journal, pending, epoch, real } = this.#deps;
    if (record.epoch !== epoch()) return undefined;
    try {
      const operation = withNodes(record.operation, real);
      return planOperation(pending.rows(journal.instance), operation, record.timeNs, journal.instance).change;
    } catch (error) {
      // The server has done it, and told so; or it says what is in the way.
      if (!isRunnelError(error)) throw error;
      return error.kind === "Unknown" ? "unknown" : undefined;
    }
  }

  /** Sends a content in its turn. */
  add(save: Save): void {
    this.outbox.add(save);
  }

  granted(folder: number, isContinued: boolean): void {
    this.#certainty.granted(folder, isContinued);
  }

  leaseLost(): void {
    this.early.stop();
    this.#certainty.lost();
  }

  told(changes: readonly Change[] | undefined): void {
    this.#certainty.told(changes);
  }

  #isOwn(change: Change): boolean {
    if (this.#deps.pending.has(change)) return true;
    const [state] = change.nodes;
    if (state === undefined || state.version !== change.seq) return false;
    const { node, sizeBytes, mtimeNs } = state;
    const saves = this.#deps.changes.savesOf(node);
    return saves.some(({ record }) => record.sizeBytes === sizeBytes && record.mtimeNs === mtimeNs);
  }

  /** The lease on what is followed is here: the write lease may be had again, which makes certain most that waits. */
  leased(): void {
    if (!this.isOn || !this.#certainty.isUnsure || this.outbox.isIdle) return;
    this.#deps.session.writeLeases
      .acquire(ROOT_NODE, () => this.#coverage.covers([ROOT_NODE]))
      .catch((error: unknown) => this.#deps.log("The write lease could not be asked for.", error));
  }

  /** Somebody else waits: resolves when all that touches the folder has been sent, in its order. */
  async recalled(folder: number): Promise<void> {
    const recall = Symbol("recall");
    this.#recalls.add(recall);
    await this.early.stopped();
    const isMeant = (queued: Queued): boolean => this.#coverage.touches(queued, folder);
    try {
      await this.#sent(isMeant);
    } finally {
      this.#recalls.delete(recall);
      // Changes of what is paused wait on, and others may change the same.
      if (this.outbox.some(isMeant) || (folder === ROOT_NODE && this.outbox.size > 0)) this.#certainty.mayBeChanged();
    }
  }

  linked(isConnected: boolean): void {
    this.#recalls.clear();
    this.early.stop();
    if (isConnected) this.outbox.resume();
    this.budget.changed();
  }

  #begin(record: JournalOperation, change: Change | undefined): TreeChange {
    const { changes, pending, real } = this.#deps;
    if (change !== undefined) pending.add(record.n, change, xattrOf(record));
    const names = change?.bindings.map(({ folder, name, node }) => [folder, name, node] as const) ?? [];
    const { node } = record.operation;
    // A former process may have recorded the id that its file had then, or the node that this stands for now.
    const ids = real(node) === node ? [node] : [node, real(node)];
    const nodes = change?.nodes.map((each) => each.node) ?? nodesIn(record.operation);
    if (ids.length > 1) nodes.push(...ids);
    const content = givesName(record) ? changes.contentBefore(record.n, ids) : undefined;
    return changes.add<TreeChange>({ n: record.n, state: "begun", isAwaited: false, names, nodes, record, content });
  }

  async #record(own: TreeChange, expected: Disposable): Promise<void> {
    const { changes, journal, pending } = this.#deps;
    try {
      await journal.putOperation(own.record);
    } catch (error) {
      pending.end(own.n);
      changes.step(own, "settle");
      expected[Symbol.dispose]();
      throw error;
    }
    changes.step(own, "record");
    this.outbox.add(own);
    expected[Symbol.dispose]();
  }

  async #send(own: TreeChange, after: readonly number[]): Promise<void> {
    const { changes, operations, journal, madeFolder, pending, ended, epoch } = this.#deps;
    const { n, timeNs, operation, instance } = own.record;
    let made: number | undefined;
    changes.step(own, "send");
    try {
      if (own.record.epoch !== epoch() || instance !== journal.instance)
        throw new RunnelError("Epoch", operation.op, "The volume was made anew.");
      if (own.content !== undefined && this.#isLost(own.content, operation)) throw hasNoContent(own.content.record);
      // Behind a long upload it may be executed when the write lease has run out.
      const isCertain = this.#certainty.isCertain(n) && !this.outbox.hasLongUnderWay;
      const asked = asAsked(operation, isCertain, (node) => this.outbox.making(node)?.n, this.#deps.real);
      const { node, seq } = await operations.sendRecorded(n, asked, timeNs, after);
      if (operation.op === "make") made = node;
      if (operation.op === "make" && operation.attributes.type === "folder") madeFolder(operation, node, seq);
    } catch (error) {
      changes.step(own, "fail");
      throw error;
    }
    changes.step(own, "answer");
    const unheard = pending.end(n);
    if (unheard !== undefined) ended(unheard);
    await this.#endInJournal(own, made);
    changes.step(own, "settle");
  }

  /** `other`: the node that its own stands for from now on, by which what waits may name it. */
  async #endInJournal({ record }: TreeChange, other = record.operation.node): Promise<void> {
    const { journal, log } = this.#deps;
    const { instance, n, epoch, operation } = record;
    try {
      if (other !== operation.node) await journal.bind(epoch, operation.node, other);
      await journal.done(instance, n);
    } catch (error) {
      // It is settled by its number at the next start.
      log("A change could not be ended in the journal.", error);
    }
  }

  /**
   * Gives up the names that a file got with a content, before that is given up, or becomes another file's: neither an
   * empty file nor what others have written is to take the place of one that is saved.
   */
  async dropNames(content: Save, why: RunnelError): Promise<void> {
    const { changes, journal } = this.#deps;
    for (const own of changes.namedWith(content)) {
      // A change on its way fails as its content does, and is given up then.
      await journal.done(own.record.instance, own.n);
      if (own.state === "recorded") changes.step(own, "fail");
      if (own.state === "unsent") await this.#refused(own, why);
    }
    this.outbox.pump();
  }

  /** Says whether the server does not have a content in the file that was to get a name with it, and will not. */
  #isLost(content: Save, { node }: TreeOperation): boolean {
    const { real } = this.#deps;
    // It lies beside the file, in which others have something else.
    if (real(content.version?.node ?? content.record.node) !== real(node)) return true;
    if (content.version !== undefined) return false;
    return content.state === "settled" || (isGivenUp(content) && !this.outbox.has(content));
  }

  async #refused(own: TreeChange, error: RunnelError): Promise<void> {
    const { changes, pending, refused } = this.#deps;
    pending.end(own.n);
    changes.step(own, "drop");
    await this.#endInJournal(own, refused(own, error));
  }
}
