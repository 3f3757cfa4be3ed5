// Begins a mount, follows its server through links that come and go, and ends it.
import type { DriveNotice } from "@runnel/native/drive";
import { type Change, ROOT_NODE } from "@runnel/shared";
import type { NodeReserve } from "../changes/node-reserve.ts";
import type { WriteBack } from "../changes/write-back.ts";
import type { Colleagues } from "../colleagues/colleagues.ts";
import type { Contents } from "../drive/contents.ts";
import type { FeedApplier } from "../drive/feed-applier.ts";
import type { RequestHandler } from "../drive/request-handler.ts";
import type { Commits } from "../drive/saving/commits.ts";
import type { Saves } from "../drive/saving/saves.ts";
import type { UnsentContents } from "../drive/saving/unsent-contents.ts";
import type { UnsentSaves } from "../drive/saving/unsent.ts";
import type { Tree } from "../drive/tree.ts";
import type { VolumeSpace } from "../drive/volume-space.ts";
import type { DrivePause } from "../pauses/drive-pause.ts";
import type { FolderPauses } from "../pauses/folder-pauses.ts";
import type { Pins } from "../pins/pins.ts";
import type { ReadAhead } from "../transfer/read-ahead.ts";
import type { PushSubscriptions } from "../transfer/push-subscriptions.ts";
import type { MountWatch } from "../view/mount-watch.ts";
import type { AttachFacts, Resume } from "../wire/session-deps.ts";
import type { Session } from "../wire/session.ts";
import type { WholeListing } from "../wire/whole-listing.ts";
import type { Conflicts } from "./conflicts.ts";
import type { Incidents } from "./incidents.ts";
import type { MountDeps } from "./mount-deps.ts";

/**
 * Interval at which the cache is brought down to its budget: a fast line fills so much of a disk meanwhile, and no
 * more.
 */
const KEEP_CACHE_EVERY_MS = 1000;
/** The most that an unmount waits for what is still to be sent. */
const UNMOUNT_SENDS_MS = 5_000;

export interface LifecycleDeps extends MountDeps {
  session: Session;
  tree: Tree;
  wholeListing: WholeListing;
  readAhead: ReadAhead;
  subscriptions: PushSubscriptions;
  contents: Contents;
  commits: Commits;
  unsent: UnsentSaves;
  writeBack: WriteBack;
  nodeReserve: NodeReserve;
  unsentContents: UnsentContents;
  saves: Saves;
  requestHandler: RequestHandler;
  feedApplier: FeedApplier;
  volumeSpace: VolumeSpace;
  pins: Pins;
  drivePause: DrivePause;
  folderPauses: FolderPauses;
  incidents: Incidents;
  conflicts: Conflicts;
  colleagues: Colleagues;
  watch: MountWatch;
}

export class Lifecycle {
  epoch = "";
  private readonly deps: LifecycleDeps;
  private readonly end = Promise.withResolvers<string>();
  private finishing: Promise<void> | undefined;
  private answeredNatively = 0;
  private wasConnected = false;
  private wasOffline = false;
  private isRestored = false;

  constructor(deps: LifecycleDeps) {
    this.deps = deps;
  }

  /** Resolves with the reason when the mount has ended. */
  get ended(): Promise<string> {
    return this.end.promise;
  }

  get isEnding(): boolean {
    return this.finishing !== undefined;
  }

  /**
   * Resolves once the drive is attached and its root is listed. @throws what a person must know; nothing is left
   * mounted then.
   */
  async begin(): Promise<void> {
    const { session, wholeListing, tree, drive, requestHandler, replica, pins, drivePause, watch, writeBack, release } =
      this.deps;
    try {
      const isKnown = this.showKnown();
      if (isKnown) {
        this.deps.folderPauses.begin();
        this.restoreUnsent();
        await drivePause.begin();
      } else {
        delete this.deps.settings.pause;
        delete this.deps.settings.pausedFolders;
      }
      await session.start(isKnown);
      await wholeListing.root();
      await tree.entries(ROOT_NODE);
      await writeBack.show();
      // From the first request on: this side may be late in hearing of it.
      drive.heartbeat(session.ownTime.totalLateMs);
      await drive.start({
        requests: (batch) => requestHandler.requests(batch),
        notice: (notice) => this.notice(notice),
      });
    } catch (error) {
      await session.close();
      watch.transfers.close();
      await release();
      throw error;
    }
    this.list();
    if (replica.facts()?.isWhole === true) pins.listed();
    this.keepCache();
  }

  /**
   * Ends the mount. Whoever asks first gives the reason; all wait until nothing is open, since the next mount opens the
   * same journal. With `force` what is under way fails at once for want of a connection, and is kept as unsent.
   */
  async finish(reason: string, force: boolean): Promise<void> {
    this.finishing ??= this.closeAll(reason, force);
    if (force) await this.deps.session.close();
    await this.finishing;
  }

  /**
   * Returns whether programs used the drive since the last call, without this side hearing of it, or have been told of
   * what is still to be sent.
   */
  wasUsed(): boolean {
    if (!this.deps.writeBack.outbox.isIdle) return true;
    const answered = Object.values(this.deps.drive.statistics().native).reduce((sum, count) => sum + count, 0);
    const isMore = answered > this.answeredNatively;
    this.answeredNatively = answered;
    return isMore;
  }

  /** Returns what a new attachment resumes from. */
  resume(): Resume | undefined {
    const facts = this.deps.replica.facts();
    return facts?.isWhole === true ? { epoch: facts.epoch, seq: facts.seq, follows: "all" } : undefined;
  }

  async attached(facts: AttachFacts): Promise<void> {
    const { replica, cache, drive, journal, session, tree, wholeListing, incidents, rightChanged, writeBack } =
      this.deps;
    if (!facts.isResumed) writeBack.told(undefined);
    if (replica.facts()?.epoch !== facts.epoch) {
      if (this.epoch !== "" && this.epoch !== facts.epoch)
        incidents.addProblem("The server's volume was made anew; the drive was listed again.");
      replica.reset(facts.epoch, facts.root);
      tree.clear();
      cache.forgetVersions();
      drive.dropFolder(0);
      if (this.epoch !== "") await journal.renew();
    } else if (!facts.isResumed) {
      replica.forgetCompleteness();
      drive.dropFolder(0);
    }
    if (facts.isReadOnly !== session.mayOnlyRead) rightChanged?.(facts.isReadOnly);
    this.epoch = facts.epoch;
    this.deps.folderPauses.attached(facts.epoch);
    this.restoreUnsent();
    this.deps.conflicts.attached(facts.seq);
    wholeListing.ask(facts.listing);
    replica.putState(facts.seq, facts.root);
    drive.putNode(tree.entry(facts.root), false);
  }

  linked(isConnected: boolean, why: string): void {
    const { subscriptions, volumeSpace, unsent, writeBack, replica, pins, watch, log } = this.deps;
    writeBack.linked(isConnected);
    if (!isConnected) {
      subscriptions.disconnected();
      this.deps.colleagues.disconnected();
      if (this.wasConnected) log(`offline: ${why}`);
      // A person knows of what that person asked for.
      const isOutage = !this.isEnding && !this.deps.session.isSuspended;
      if (!this.wasOffline && isOutage) watch.happened("offline", "", why);
      this.wasConnected = false;
      this.wasOffline ||= isOutage;
      return;
    }
    if (this.wasOffline) watch.happened("online");
    this.wasConnected = true;
    this.wasOffline = false;
    subscriptions.connected();
    volumeSpace.refresh();
    this.deps.conflicts.connected();
    this.deps.colleagues.changed();
    pins.connected();
    if (writeBack.isOn && !this.deps.session.mayOnlyRead)
      this.deps.nodeReserve
        .fill(this.epoch)
        .catch((error: unknown) => log("No ids could be reserved for work without a line.", error));
    unsent.replay().catch((error: unknown) => log("Unsent changes could not be sent.", error));
    writeBack.show().catch((error: unknown) => log("Changes of before could not be shown.", error));
    if (replica.facts()?.isWhole !== true) this.list();
  }

  changes(changes: readonly Change[], incomingSeqs: readonly number[]): void {
    const { feedApplier, pins, subscriptions, writeBack } = this.deps;
    writeBack.told(changes);
    feedApplier.apply(changes);
    pins.changed(changes);
    if (incomingSeqs.length > 0) subscriptions.announced(changes, incomingSeqs);
  }

  listAgain(): void {
    this.deps.writeBack.told(undefined);
    this.deps.replica.forgetCompleteness();
    this.deps.drive.dropFolder(0);
    if (!this.isEnding) this.deps.wholeListing.beginAgain();
  }

  private list(): void {
    if (!this.isEnding) this.deps.wholeListing.begin();
  }

  /**
   * Gives the drive the root as a former mount knew it: it can be shown without the server. Returns false where there
   * was none.
   */
  private showKnown(): boolean {
    const { replica, drive, tree } = this.deps;
    const facts = replica.facts();
    const root = replica.node(ROOT_NODE);
    if (facts === undefined || root === undefined) return false;
    this.epoch = facts.epoch;
    drive.putNode(tree.entry(root), false);
    return true;
  }

  /** Puts what a former process left in its order before anything is sent. */
  private restoreUnsent(): void {
    if (this.isRestored) return;
    this.isRestored = true;
    for (const [node, other] of this.deps.journal.bound(this.epoch)) this.deps.tree.bind(node, other);
    this.deps.writeBack.restore(this.deps.saves.unsent());
    this.takeInLeft().catch((error: unknown) => this.deps.log("What was left could not be taken in.", error));
  }

  /** Takes in what the drive of a killed process answered, and lets this one answer so when the journal has it. */
  private async takeInLeft(): Promise<void> {
    const { writeBack, requestHandler } = this.deps;
    const left = writeBack.early.left();
    await Promise.all(left.map((request) => requestHandler.takeIn({ ...request, id: 0 })));
    writeBack.early.begin(writeBack.isOn);
  }

  /** Sends what programs were told of before the server, as far as that is soon done: the rest keeps. */
  private async sendWhatWaits(): Promise<void> {
    const { writeBack, session, clock } = this.deps;
    if (!session.isResponsive || writeBack.outbox.isIdle) return;
    const over = Promise.withResolvers<void>();
    const timer = clock.after(UNMOUNT_SENDS_MS, over.resolve);
    await Promise.race([writeBack.sent().catch(() => undefined), over.promise]);
    timer.cancel();
  }

  private async closeAll(reason: string, force: boolean): Promise<void> {
    const { commits, pins, drivePause, readAhead, subscriptions, unsent, writeBack, session, watch, release } =
      this.deps;
    writeBack.ends();
    await commits.idle();
    if (!force) await this.sendWhatWaits();
    drivePause.close();
    this.deps.folderPauses.close();
    writeBack.outbox.close();
    const pinsClosed = pins.close();
    const colleaguesClosed = this.deps.colleagues.close();
    readAhead.close();
    subscriptions.close();
    unsent.close();
    await session.close();
    await pinsClosed;
    await colleaguesClosed;
    watch.transfers.close();
    await release();
    this.end.resolve(reason);
  }

  private notice(notice: DriveNotice): void {
    if (notice.op === "closed") this.closed(notice);
    else if (notice.op === "unmounted") {
      this.finish(notice.reason, false).catch((error: unknown) =>
        this.deps.log("The mount did not end cleanly.", error),
      );
    }
  }

  private closed({ file, node }: DriveNotice & { op: "closed" }): void {
    const { tree, contents, subscriptions, replica, commits, unsentContents, log } = this.deps;
    const real = tree.real(node);
    contents.closed(real);
    subscriptions.closed(real, replica.node(real)?.version ?? 0);
    commits
      .closed(file)
      .then(() => unsentContents.closed())
      .catch((error: unknown) => log("What was never saved could not be removed.", error));
  }

  private keepCache(): void {
    const { clock, cache, contents, settings, log } = this.deps;
    const { cacheBytes } = settings;
    clock.after(KEEP_CACHE_EVERY_MS, () => {
      if (this.isEnding) return;
      contents.markOldUnverified();
      const evicted = cache.usedBytes() > cacheBytes ? cache.evict(cacheBytes) : Promise.resolve();
      evicted.catch((error: unknown) => log("The cache could not be cleaned.", error)).finally(() => this.keepCache());
    });
  }
}
