// Puts the services of a mount together around a volume and a drive. Each is made once, of those before it; what is
// made later is reached by a function.
import { hostname } from "node:os";
import { WINDOWS_PERSON } from "@runnel/native/drive";
import { checkResult, isRunnelError } from "@runnel/shared";
import { NodeReserve } from "../changes/node-reserve.ts";
import { OwnChanges } from "../changes/own-changes.ts";
import { refusalSentence } from "../changes/refusal.ts";
import { WriteBack } from "../changes/write-back.ts";
import { Colleagues } from "../colleagues/colleagues.ts";
import { thisSystem } from "../control/host/this-system.ts";
import { Contents } from "../drive/contents.ts";
import { EarlyNames } from "../drive/early-names.ts";
import { FeedApplier } from "../drive/feed-applier.ts";
import { Names } from "../drive/names.ts";
import { RequestHandler } from "../drive/request-handler.ts";
import { LikelyBases } from "../drive/saving/likely-bases.ts";
import { type SavingServices, wireSaving } from "../drive/saving/saving.ts";
import { type Owner, Tree } from "../drive/tree.ts";
import { VolumeSpace } from "../drive/volume-space.ts";
import { Xattrs } from "../drive/xattrs.ts";
import { FullDisks } from "../full-disks.ts";
import type { MountSettings } from "../mount.ts";
import { DrivePause, type DrivePauseDeps } from "../pauses/drive-pause.ts";
import { FolderPauses } from "../pauses/folder-pauses.ts";
import type { Passages } from "../pauses/passages.ts";
import { Pins } from "../pins/pins.ts";
import { nodeAt } from "../replica/node-at.ts";
import type { Replica } from "../replica/replica.ts";
import { ReadAhead } from "../transfer/read-ahead.ts";
import { SmallFromOthers } from "../transfer/small-from-others.ts";
import { Sources } from "../transfer/sources/sources.ts";
import { transferOf } from "../transfer/transfer.ts";
import { PushSubscriptions } from "../transfer/push-subscriptions.ts";
import { FolderList } from "../view/folder-list.ts";
import { MountWatch } from "../view/mount-watch.ts";
import { Listings } from "../wire/listings.ts";
import { Operations } from "../wire/operations.ts";
import type { SessionEvents, SessionDeps } from "../wire/session-deps.ts";
import { Session } from "../wire/session.ts";
import { WholeListing } from "../wire/whole-listing.ts";
import { Conflicts } from "./conflicts.ts";
import { Incidents } from "./incidents.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { MountDeps } from "./mount-deps.ts";
import { Statistics } from "./statistics.ts";

type Connection = ReturnType<typeof connect>;
type Reading = ReturnType<typeof wireReading>;
export type MountServices = ReturnType<typeof wire>;

/** A request that reads asks twice at the most, each time for a silence. */
const READ_DEADLINE_SILENCES = 2.5;
/** Divisor of the cache for the share of what programs are likely to read next. */
const AHEAD_OF_CACHE = 8;

export function wire(deps: MountDeps) {
  const { drive, replica, cache } = deps;
  const incidents = new Incidents({
    storedPathOf: (node) => replica.pathOf(node),
    log: deps.log,
  });
  const problem = (sentence: string): void => {
    if (incidents.addProblem(sentence)) connection.watch.happened("problem", "", sentence);
  };
  const connection = connect(deps, {
    wasUsed: () => lifecycle.wasUsed(),
    resume: () => lifecycle.resume(),
    reservedNodes: () => connection.nodeReserve.take(lifecycle.epoch),
    namesOf: (node) => reading.tree.namesOf(node),
    progress: (folder) => answering.requestHandler.progress(folder),
    listed: () => pins.listed(),
    problem,
    events: {
      attached: (facts) => lifecycle.attached(facts),
      changes: (changes, incomingSeqs) => lifecycle.changes(changes, incomingSeqs),
      content: (version, difference) => reading.subscriptions.received(version, difference),
      current: (seq) => replica.advance(seq),
      listAgain: () => lifecycle.listAgain(),
      lease: (untilMs) => {
        drive.setLease(untilMs);
        if (connection.session.hasLease) writeBack.leased();
      },
      silence: (ms) => drive.setDeadlineMin(READ_DEADLINE_SILENCES * ms),
      waiting: (n, whom, untilMs) => {
        if (n === 0) answering.requestHandler.hasToWait();
        else connection.changes.noteWaiting(n, whom, untilMs);
      },
      granted: (folder, isContinued) => writeBack.granted(folder, isContinued),
      leaseLost: () => writeBack.leaseLost(),
      noticed: () => conflicts.changed(),
      shutOut: (key) => colleagues.shutOut(key),
      colleagues: (areThere) => colleagues.areThere(areThere),
      recalled: (folder) => writeBack.recalled(folder),
      lack: (version, offset, length) => reading.transfer.bytesOfCommitted(version, offset, length),
      link: (isConnected, why) => lifecycle.linked(isConnected, why),
    },
  });
  replica.onDamage(problem);
  cache.onIndexDamage(problem);
  cache.onDamaged((version, bytes) => {
    incidents.addDamage(version, bytes);
    pins.damaged(version.node);
  });
  const happened: DrivePauseDeps["happened"] = (kind, path, detail) => connection.watch.happened(kind, path, detail);
  const pauses = new FolderPauses({
    ...deps,
    happened,
    names: {
      namesOf: (node) => reading.tree.namesOf(node),
      pathOf: (node) => reading.tree.pending.pathOf(node),
      nodeAt: (path) => nodeAt(reading.tree.pending, path),
    },
    changed: () => {
      writeBack.early.stop();
      reading.readAhead.pausesChanged();
      writeBack.outbox.pausesChanged();
      pins.pausesChanged();
      colleagues.pausesChanged();
      saving.unsent.replay().catch((error: unknown) => deps.log("Unsent changes could not be sent.", error));
    },
  });
  const sources = new Sources({
    ...deps,
    lateMs: () => connection.session.silenceMs,
    dropped: (_source, sentence, isForGood) => (isForGood ? problem(sentence) : deps.log(sentence)),
  });
  const reading = wireReading(deps, connection, pauses, sources, (node) => saving.commits.settled(node));
  const pins = new Pins({
    ...deps,
    ...connection,
    ...reading,
    pauses,
    downloads: reading.transfer.downloads,
    list: deps.pinList,
    settings: deps.settings,
  });
  if (deps.pinList.damage !== undefined) problem(deps.pinList.damage);
  const { tree } = reading;
  const likelyBases = new LikelyBases({ tree, replica, cache });
  const writeBack = new WriteBack({
    ...deps,
    ...connection,
    isOn: deps.settings.isAsync,
    pauses,
    pending: tree.pending,
    isOwnerShown: tree.isOwnerShown,
    epoch: () => lifecycle.epoch,
    sendSave: (save, how) => saving.unsent.sendInTurn(save, how),
    madeFolder: ({ folder, node }, real, seq) => {
      if (node === real) return tree.madeFolder(node, seq);
      tree.bind(node, real);
      // The drive has an empty one there.
      for (const known of [folder, node]) drive.dropFolder(known);
    },
    real: (node) => tree.real(node),
    ended: ({ bindings, nodes }) => {
      for (const { folder } of bindings) drive.dropFolder(folder);
      for (const { node } of nodes) {
        const state = tree.known(node);
        if (state !== undefined) drive.putNode(tree.entry(state), true);
      }
    },
    pathOf: (operation) => tree.pathOfOperation(operation),
    list: (folder) => tree.entries(folder),
    answersOffline: () => void connection.figures.offlineAnswers++,
    refused: ({ record, names }, error) => {
      const { operation } = record;
      const { node } = error.detail;
      const isFile = operation.op === "make" && operation.attributes.type === "file";
      const isOther = isFile && error.kind === "Exists" && node !== undefined && tree.known(node)?.type === "file";
      if (isOther) tree.bind(operation.node, node);
      for (const [folder] of names) drive.dropFolder(folder);
      const isGone = (tree.known(operation.node)?.nlink ?? 0) === 0;
      const sentence = isOther ? undefined : refusalSentence(record, error, isGone);
      if (sentence !== undefined) problem(sentence);
      return isOther ? node : undefined;
    },
  });
  const saving = wireSaving({
    ...deps,
    ...connection,
    ...reading,
    writeBack,
    pauses,
    isQueued: (save) => writeBack.outbox.has(save),
    whyHeld: (save) => {
      const why = pauses.why([save.record.node], save.record.path);
      return why ?? (writeBack.outbox.holds(save) ? "It comes after a change of something that is paused." : undefined);
    },
    dropNames: (save, why) => writeBack.dropNames(save, why),
    transfers: connection.watch.transfers,
    likelyBases,
    epoch: () => lifecycle.epoch,
    saved: (version, sizeBytes) => {
      const content = cache.find(version);
      if (content !== undefined) colleagues.stored(content.id);
      reading.subscriptions.made(version);
      answering.volumeSpace.saved(sizeBytes);
    },
    unsaved: (path, failure) => {
      const kind = isRunnelError(failure, "Unreachable") ? "unsent" : "refused";
      connection.watch.happened(kind, path, failure instanceof Error ? failure.message : "");
    },
    problem,
  });
  const answering = wireAnswering({ ...deps, ...connection, ...reading, ...saving, writeBack, likelyBases, problem });
  const folderList = new FolderList({ ...deps, pins, pauses });
  const { session, watch } = connection;
  const colleagues = new Colleagues({ ...deps, session, sources, problem, pauses, epoch: () => lifecycle.epoch });
  reading.transfer.downloads.onStored((id) => colleagues.stored(id));
  const drivePause = new DrivePause({ ...deps, session, happened });
  const conflicts = new Conflicts({
    session,
    added: ({ path, by }) => watch.happened("conflict", path, by),
    log: deps.log,
  });
  const views = { pins, drivePause, folderPauses: pauses, folderList, incidents, conflicts, colleagues };
  const services = { ...connection, ...reading, ...saving, ...answering, ...views, writeBack };
  const lifecycle = new Lifecycle({ ...deps, ...services });
  return { ...services, lifecycle };
}

interface ConnectionCallbacks extends Pick<SessionDeps, "wasUsed" | "resume" | "reservedNodes" | "namesOf"> {
  events: SessionEvents;
  /** Called when more of a folder's listing has come. */
  progress(folder: number): void;
  /** Called when the whole tree has come. */
  listed(): void;
  problem(sentence: string): void;
}

function connect(
  { settings, volume, clock, dialer, executor, drive, replica, journal, ...deps }: MountDeps,
  { events, progress, listed, problem, ...asked }: ConnectionCallbacks,
) {
  const session = new Session({
    url: settings.url,
    volume,
    clock,
    dialer,
    executor,
    instance: () => journal.instance,
    software: `${deps.software} on ${hostname()}`,
    isReadOnly: deps.isReadOnly,
    ...(deps.token === undefined ? {} : { token: () => deps.token?.() }),
    ...(deps.machine === undefined ? {} : { machine: deps.machine }),
    ...asked,
    listsAll: true,
    events,
  });
  const listings = new Listings({ session, replica, progress });
  const wholeListing = new WholeListing({
    session,
    listings,
    listed,
    failed: (error) => problem(`The drive could not be listed: ${error.message}`),
  });
  const places = [
    { root: deps.data, holds: "unsent changes" },
    { root: deps.cacheRoot, holds: "the cache" },
  ];
  const fullDisks = new FullDisks(places, clock);
  const changes = new OwnChanges(journal);
  const nodeReserve = new NodeReserve({
    journal,
    ask: async (count) => checkResult("newNodes", await session.ask("newNodes", { count })),
  });
  const operations = new Operations({ session, changes, clock, answered: (error) => fullDisks.answered(error) });
  const figures = new Statistics(drive, session);
  const watch = new MountWatch({
    clock,
    waitingFor: () => changes.waitingFor(),
    isOnline: () => session.isResponsive,
    pathOf: (node) => pathIn(replica, node),
    totals: () => figures.totals(),
    happened: (happening) => deps.happened?.(happening),
  });
  return { session, changes, nodeReserve, operations, listings, wholeListing, fullDisks, figures, watch };
}

function wireReading(
  { settings, clock, executor, drive, replica, cache, log }: MountDeps,
  { session, changes, listings, figures, watch }: Connection,
  pauses: Passages,
  sources: Sources,
  settled: (node: number) => Promise<void>,
) {
  const ask = {
    list: (folder: number) => listings.list(folder),
    stat: (nodes: number[]) => listings.stat(nodes),
  };
  const tree = new Tree(replica, changes, ask, ownerOf(settings), thisSystem.hasUserNumbers);
  const { transfers } = watch;
  const transfer = transferOf({ cache, session, executor, clock, reused: figures.reused, transfers, pauses, sources });
  const aheadBytesMax = settings.cacheBytes / AHEAD_OF_CACHE;
  const { downloads, ownRecipes } = transfer;
  const others = new SmallFromOthers({ cache, session, executor, sources, downloads });
  const ahead = { cache, session, executor, transfers, clock, names: replica, pauses, others, aheadBytesMax, log };
  const readAhead = new ReadAhead(ahead);
  const subscriptions = new PushSubscriptions({
    cache,
    downloads,
    session,
    clock,
    isOpen: (node) => contents.isOpen(node),
    log,
  });
  const contents = new Contents({
    drive,
    tree,
    cache,
    downloads,
    ownRecipes,
    readAhead,
    subscriptions,
    pauses,
    session,
    clock,
    settled,
  });
  return { tree, transfer, sources, readAhead, subscriptions, contents };
}

function wireAnswering(
  deps: MountDeps &
    Connection &
    Reading &
    SavingServices & { writeBack: WriteBack; likelyBases: LikelyBases; problem(sentence: string): void },
) {
  const { session, figures, fullDisks } = deps;
  const volumeSpace = new VolumeSpace(deps);
  const isCurrent = (node: number): boolean => session.hasLease && session.elsewhere.touched([node]).length === 0;
  const early = new EarlyNames(deps);
  const requestHandler = new RequestHandler({
    ...deps,
    volumeSpace,
    early,
    names: new Names({ ...deps, early, hasLease: (node) => isCurrent(node) }),
    xattrs: new Xattrs(deps),
    answersOffline: () => void figures.offlineAnswers++,
    read: (error, gaveWay) => fullDisks.read(error, gaveWay),
  });
  return { volumeSpace, requestHandler, feedApplier: new FeedApplier(deps) };
}

/** Returns "" where the path is not known, or the replica can say nothing. */
function pathIn(replica: Replica, node: number): string {
  try {
    return replica.pathOf(node) ?? "";
  } catch {
    return "";
  }
}

/** Returns whom programs see as the owner; undefined when it is who is stored. */
function ownerOf({ mapOwner }: MountSettings): Owner | undefined {
  if (!mapOwner) return undefined;
  const [uid = WINDOWS_PERSON.uid, gid = WINDOWS_PERSON.gid] = [process.getuid?.(), process.getgid?.()];
  return { uid, gid };
}
