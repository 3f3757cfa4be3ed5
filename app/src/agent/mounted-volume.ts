// One mount: the parts of the agent composed around a volume and a drive. Which engines they are is for open-mount.ts (or a simulation).
import { hostname } from "node:os";
import { type Drive, type DriveNotice, WINDOWS_PERSON } from "@runnel/native/drive";
import type { Change, Clock, Dialer, DiskRoot, Executor, Predicate } from "@runnel/shared";
import { ROOT_NODE, RunnelError } from "@runnel/shared";
import type { Cache } from "./cache/cache.ts";
import type { Commits } from "./drive/commits.ts";
import { Contents } from "./drive/contents.ts";
import { DriveHost } from "./drive/drive-host.ts";
import { LikelyBases } from "./drive/likely-bases.ts";
import { Space } from "./drive/space.ts";
import { Names } from "./drive/names.ts";
import { RemoveTree } from "./drive/remove-tree.ts";
import type { Owner } from "./drive/tree.ts";
import { Tree } from "./drive/tree.ts";
import type { Unsent } from "./drive/unsent.ts";
import { savingOf } from "./drive/saving.ts";
import type { UnsentContents } from "./drive/unsent-contents.ts";
import type { DriveUnsentFiles } from "./drive/unsent-files.ts";
import { Xattrs } from "./drive/xattrs.ts";
import type { Journal } from "./journal/journal.ts";
import type {
  FoundEntry,
  Mount,
  MountSettings,
  MountStatistics,
  MountStatus,
  ServerStatus,
  UnsentFile,
} from "./mount.ts";
import type { Replica } from "./replica/replica.ts";
import { Room } from "./room.ts";
import { rightChanged, sentenceOf } from "./sentences.ts";
import { Statistics } from "./statistics.ts";
import { ReadAhead } from "./transfer/read-ahead.ts";
import { transferOf } from "./transfer/transfer.ts";
import { Wants } from "./transfer/wants.ts";
import { Listings } from "./wire/listings.ts";
import { Operations } from "./wire/operations.ts";
import type { AttachFacts, Resume } from "./wire/session-parts.ts";
import { Session } from "./wire/session.ts";
import { WaitingChanges } from "./wire/waiting-changes.ts";
import { WholeListing } from "./wire/whole-listing.ts";
import { askVolumeStatus } from "./wire/volume-status.ts";

export interface MountParts {
  settings: MountSettings;
  volume: string;
  clock: Clock;
  dialer: Dialer;
  executor: Executor;
  drive: Drive;
  replica: Replica;
  cache: Cache;
  journal: Journal;
  /** The journal's data folder. */
  data: DiskRoot;
  /** Where the cache's contents lie. */
  cacheRoot: DiskRoot;
  software: string;
  /** What makes this device known to the server. */
  token?(): string | undefined;
  /** The drive is opened so. */
  isReadOnly: boolean;
  /** The server lets this device do something else than before. */
  rightChanged?(isReadOnly: boolean): void;
  /** A folder of this computer, made where it is missing. */
  openFolder(path: string): Promise<DiskRoot>;
  /** Closes what open-mount opened. */
  release(): Promise<void>;
  log(message: string, error?: unknown): void;
}

/** A request that reads asks twice at the most, each time for a silence. */
const READ_DEADLINE_SILENCES = 2.5;
const PROBLEMS_MAX = 20;
/** What programs are likely to read next may take this part of the cache. */
const AHEAD_OF_CACHE = 8;
/** A fast line fills this much of a disk meanwhile, and no more. */
const KEEP_CACHE_EVERY_MS = 1000;

/** Whom programs see as the owner, if it is not who is stored. */
function ownerOf({ mapOwner }: MountSettings): Owner | undefined {
  if (!mapOwner) return undefined;
  const [uid = WINDOWS_PERSON.uid, gid = WINDOWS_PERSON.gid] = [process.getuid?.(), process.getgid?.()];
  return { uid, gid };
}

export class MountedVolume implements Mount {
  readonly settings: MountSettings;
  readonly ended: Promise<string>;
  private readonly parts: MountParts;
  private readonly session: Session;
  private readonly operations: Operations;
  private readonly tree: Tree;
  private readonly listings: Listings;
  private readonly whole: WholeListing;
  private readonly commits: Commits;
  private readonly unsent: Unsent;
  private readonly unsentContents: UnsentContents;
  readonly unsentFiles: DriveUnsentFiles;
  private readonly contents: Contents;
  private readonly readAhead: ReadAhead;
  private readonly wants: Wants;
  private readonly host: DriveHost;
  private readonly space: Space;
  private readonly figures: Statistics;
  private readonly room: Room;
  private end!: (reason: string) => void;
  private finishing: Promise<void> | undefined;
  private epoch = "";
  private answeredNatively = 0;
  private wasConnected = false;
  private readonly problems: string[] = [];
  private readonly conflicts: { path: string; keptBeside: string }[] = [];
  private readonly waiting: WaitingChanges;

  private constructor(parts: MountParts) {
    this.parts = parts;
    this.settings = parts.settings;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    const { clock, dialer, executor, drive, replica, cache, journal, data, volume } = parts;
    const session = new Session({
      url: parts.settings.url,
      volume,
      clock,
      dialer,
      executor,
      instance: () => journal.instance,
      software: `${parts.software} on ${hostname()}`,
      isReadOnly: parts.isReadOnly,
      ...(parts.token === undefined ? {} : { token: () => parts.token?.() }),
      wasUsed: () => this.wasUsed(),
      resume: () => this.resume(),
      listsAll: true,
      events: {
        attached: (facts) => this.attached(facts),
        changes: (changes, coming) => this.changes(changes, coming),
        content: (version, difference) => this.wants.came(version, difference),
        current: (seq) => replica.advance(seq),
        listAgain: () => this.listAgain(),
        lease: (untilMs) => drive.setLease(untilMs),
        silence: (ms) => drive.setDeadlineMin(READ_DEADLINE_SILENCES * ms),
        waiting: (n, whom, untilMs) => this.waiting.note(n, whom, untilMs),
        lack: (version, offset, length) => transfer.bytesOfCommitted(version, offset, length),
        link: (isConnected, why) => this.linked(isConnected, why),
      },
    });
    this.session = session;
    this.listings = new Listings({ session, replica, progress: (folder) => this.host.progress(folder) });
    this.whole = new WholeListing({
      session,
      listings: this.listings,
      failed: (error) => this.problem(`The drive could not be listed: ${error.message}`),
    });
    const cacheDisk = { root: parts.cacheRoot, holds: "the cache" };
    this.room = new Room([{ root: data, holds: "unsent changes" }, cacheDisk], clock);
    this.operations = new Operations({ session, journal, clock, answered: (error) => this.room.told(error) });
    this.waiting = new WaitingChanges((n) => this.operations.isOutstanding(n));
    this.tree = new Tree(
      replica,
      {
        list: (folder) => this.listings.list(folder),
        stat: (nodes) => this.listings.stat(nodes),
      },
      ownerOf(parts.settings),
    );
    this.figures = new Statistics(drive, session);
    const { reused } = this.figures;
    const transfer = transferOf({ cache, session, executor, clock, reused });
    const { downloads, ownRecipes } = transfer;
    const { operations, tree } = this;
    const problem = (sentence: string): void => this.problem(sentence);
    this.readAhead = new ReadAhead({
      cache,
      session,
      executor,
      clock,
      names: replica,
      roomBytes: parts.settings.cacheBytes / AHEAD_OF_CACHE,
      log: parts.log,
    });
    const settled = (node: number): Promise<void> => this.commits.settled(node);
    replica.onDamage(problem);
    cache.onIndexDamage(problem);
    cache.onDamaged(({ node }, bytes) => this.damaged(node, bytes));
    this.wants = new Wants({
      cache,
      downloads,
      session,
      clock,
      isOpen: (node) => this.contents.isOpen(node),
      log: parts.log,
    });
    const { readAhead, wants } = this;
    this.contents = new Contents({ drive, tree, cache, downloads, ownRecipes, readAhead, wants, clock, settled });
    const { log, openFolder } = parts;
    const likelyBases = new LikelyBases({ tree, replica, cache });
    const { contents } = this;
    const saving = savingOf({
      drive,
      tree,
      operations,
      session,
      cache,
      journal,
      clock,
      executor,
      data,
      transfer,
      contents,
      likelyBases,
      epoch: () => this.epoch,
      saved: (version, sizeBytes) => {
        wants.made(version);
        this.space.saved(sizeBytes);
      },
      conflict: (path, node) => this.conflict(path, node),
      problem,
      log,
      openFolder,
    });
    this.commits = saving.commits;
    this.unsent = saving.unsent;
    this.unsentFiles = saving.unsentFiles;
    this.unsentContents = saving.unsentContents;
    const hasLease = (): boolean => session.hasLease;
    const names = new Names({ drive, tree, operations, clock, unsent: this.unsent, likelyBases, hasLease, problem });
    const { commits, unsentContents } = this;
    const xattrs = new Xattrs({ drive, tree, session, operations });
    this.space = new Space({ session, clock, log });
    this.host = new DriveHost({
      drive,
      space: this.space,
      session,
      replica,
      tree,
      names,
      contents,
      unsentContents,
      commits,
      xattrs,
      operations,
      clock,
      answersOffline: () => void this.figures.offlineAnswers++,
      read: (error, gaveWay) => this.room.read(error, gaveWay),
      log,
    });
  }

  /** Usable when it resolves: attached, and the root is listed. @throws what a person must know; nothing is left mounted then. */
  static async open(parts: MountParts): Promise<MountedVolume> {
    const mount = new MountedVolume(parts);
    try {
      await mount.session.start(mount.wasMountedBefore());
      await mount.whole.root();
      await mount.tree.entries(ROOT_NODE);
      await parts.drive.start({
        requests: (batch) => mount.host.requests(batch),
        notice: (notice) => mount.notice(notice),
      });
    } catch (error) {
      await mount.session.close();
      await parts.release();
      throw error;
    }
    mount.fill();
    mount.keepCache();
    return mount;
  }

  /** What was known then can be shown without the server. */
  private wasMountedBefore(): boolean {
    const { replica, drive } = this.parts;
    const facts = replica.facts();
    const root = replica.node(ROOT_NODE);
    if (facts === undefined || root === undefined) return false;
    this.epoch = facts.epoch;
    drive.putNode(this.tree.entry(root), false);
    return true;
  }

  async status(asksServer: boolean): Promise<MountStatus> {
    const { session, parts } = this;
    const server = asksServer ? await this.serverStatus() : null;
    const facts = parts.replica.facts();
    const unsent = this.unsent.list();
    const right = session.mayOnlyRead === parts.isReadOnly ? [] : [rightChanged(session.mayOnlyRead)];
    const state = session.isResponsive ? (facts?.isWhole === true ? "connected" : "listing") : "offline";
    return {
      url: this.settings.url,
      volume: parts.volume,
      mountpoint: this.settings.mountpoint,
      state,
      hasLease: session.hasLease,
      isReadOnly: parts.isReadOnly,
      sentence: sentenceOf(state, unsent.length, session.refusal, parts.isReadOnly),
      epoch: this.epoch,
      seq: facts?.seq ?? 0,
      unsentFiles: unsent.length,
      unsentBytes: unsent.reduce((sum, commit) => sum + commit.sizeBytes, 0),
      waiting: this.waiting.list(),
      conflicts: [...this.conflicts],
      problems: [...right, ...(await this.room.problems()), ...this.unsent.problems(), ...this.problems],
      cacheBytes: parts.cache.usedBytes(),
      pid: process.pid,
      server,
    };
  }

  private async serverStatus(): Promise<ServerStatus | null> {
    try {
      return await askVolumeStatus(this.session);
    } catch (error) {
      this.parts.log("The server could not be asked how it is.", error);
      return null;
    }
  }

  statistics(): MountStatistics {
    return this.figures.read();
  }

  resetStatistics(): void {
    this.figures.reset();
  }

  async flush(up: boolean): Promise<UnsentFile[]> {
    // What programs wrote into files that are still open counts too. A commit that fails is among the unsent.
    const errno = await this.parts.drive.commitDirty();
    await this.commits.idle();
    const wasEmpty = this.unsent.isEmpty;
    await this.unsentFiles.send();
    if (wasEmpty && errno !== 0)
      throw new RunnelError("Io", "flush", `A file that a program has open could not be saved (errno ${errno}).`);
    await this.operations.idle();
    if (up) {
      const { session } = this;
      await session.patiently(session.call("whenUp", { seq: this.parts.replica.facts()?.seq ?? 0 }), "flush");
    }
    return this.unsentFiles.list();
  }

  find(predicate: Predicate): AsyncIterable<FoundEntry> {
    return this.listings.find(predicate);
  }

  async remove(path: string, progress?: (removed: number, all: number) => void): Promise<void> {
    // What was written here into files below it is not to come after their removal.
    await this.flush(false);
    const { tree, operations, session } = this;
    const parts = { tree, operations, session, replica: this.parts.replica };
    await new RemoveTree({ ...parts, ...(progress && { progress }) }).remove(path);
    await this.unsent.removedBelow(path);
  }

  async unmount(force: boolean): Promise<{ unsentFiles: number }> {
    if (!this.isEnding) await this.parts.drive.close(force);
    await this.finish("unmounted", force);
    return { unsentFiles: this.unsent.list().length };
  }

  /**
   * Whoever asks first gives the reason; all wait until nothing is open, since the next mount opens the same journal. With `force` what is under way fails
   * at once for want of a connection, and is kept as unsent.
   */
  private async finish(reason: string, force: boolean): Promise<void> {
    this.finishing ??= this.letGo(reason);
    if (force) await this.session.close();
    await this.finishing;
  }

  private get isEnding(): boolean {
    return this.finishing !== undefined;
  }

  private async letGo(reason: string): Promise<void> {
    await this.commits.idle();
    this.readAhead.close();
    this.wants.close();
    this.unsent.close();
    await this.session.close();
    await this.parts.release();
    this.end(reason);
  }

  private notice(notice: DriveNotice): void {
    if (notice.op === "closed") this.closed(notice);
    else if (notice.op === "unmounted") {
      this.finish(notice.reason, false).catch((error: unknown) =>
        this.parts.log("The mount did not end cleanly.", error),
      );
    }
  }

  private closed({ file, node }: DriveNotice & { op: "closed" }): void {
    const real = this.tree.real(node);
    this.contents.closed(real);
    this.wants.closed(real, this.parts.replica.node(real)?.version ?? 0);
    this.commits
      .closed(file)
      .then(() => this.unsentContents.clean())
      .catch((error: unknown) => this.parts.log("What was never saved could not be removed.", error));
  }

  private wasUsed(): boolean {
    const answered = Object.values(this.parts.drive.statistics().native).reduce((sum, count) => sum + count, 0);
    const isMore = answered > this.answeredNatively;
    this.answeredNatively = answered;
    return isMore;
  }

  private resume(): Resume | undefined {
    const facts = this.parts.replica.facts();
    return facts?.isWhole === true ? { epoch: facts.epoch, seq: facts.seq, follows: "all" } : undefined;
  }

  private async attached(facts: AttachFacts): Promise<void> {
    const { replica, cache, drive, journal } = this.parts;
    if (replica.facts()?.epoch !== facts.epoch) {
      if (this.epoch !== "" && this.epoch !== facts.epoch)
        this.problem("The server's volume was made anew; the drive was listed again.");
      replica.reset(facts.epoch, facts.root);
      cache.forgetVersions();
      drive.dropFolder(0);
      if (this.epoch !== "") await journal.renew();
    } else if (!facts.isResumed) {
      replica.forgetCompleteness();
      drive.dropFolder(0);
    }
    if (facts.isReadOnly !== this.session.mayOnlyRead) this.parts.rightChanged?.(facts.isReadOnly);
    this.epoch = facts.epoch;
    this.whole.ask(facts.listing);
    replica.putState(facts.seq, facts.root);
    drive.putNode(this.tree.entry(facts.root), false);
  }

  private linked(isConnected: boolean, why: string): void {
    if (!isConnected) {
      this.wants.disconnected();
      if (this.wasConnected) this.parts.log(`offline: ${why}`);
      this.wasConnected = false;
      return;
    }
    this.wasConnected = true;
    this.wants.connected();
    this.space.refresh();
    this.unsent.replay().catch((error: unknown) => this.parts.log("Unsent changes could not be sent.", error));
    if (this.parts.replica.facts()?.isWhole !== true) this.fill();
  }

  private changes(changes: readonly Change[], comingSeqs: readonly number[]): void {
    this.host.apply(changes);
    if (comingSeqs.length > 0) this.wants.announced(changes, comingSeqs);
  }

  private listAgain(): void {
    this.parts.replica.forgetCompleteness();
    this.parts.drive.dropFolder(0);
    this.fill();
  }

  private fill(): void {
    if (!this.isEnding) this.whole.begin();
  }

  private keepCache(): void {
    const { clock, cache, log } = this.parts;
    const { cacheBytes } = this.settings;
    clock.after(KEEP_CACHE_EVERY_MS, () => {
      if (this.isEnding) return;
      this.contents.doubtOld();
      const evicted = cache.usedBytes() > cacheBytes ? cache.evict(cacheBytes) : Promise.resolve();
      evicted.catch((error: unknown) => log("The cache could not be cleaned.", error)).finally(() => this.keepCache());
    });
  }

  private conflict(path: string, node: number): void {
    const now = this.tree.pathOf(node);
    // The last close won: the other content is the version before.
    const keptBeside = now === path ? "among the server's old versions" : now;
    // One that has lost its name elsewhere has the one under which it is kept.
    if (this.conflicts.length < PROBLEMS_MAX) this.conflicts.push({ path: path === "" ? now : path, keptBeside });
  }

  private problem(sentence: string): void {
    this.parts.log(sentence);
    if (this.problems.includes(sentence)) return;
    this.problems.push(sentence);
    if (this.problems.length > PROBLEMS_MAX) this.problems.shift();
  }

  private damaged(node: number, bytes: number): void {
    const what = `${bytes} cached bytes of ${this.parts.replica.pathOf(node) ?? "a file that is gone"}`;
    this.problem(`Damaged on this computer's disk: ${what}. They were not used and are fetched again.`);
  }
}
